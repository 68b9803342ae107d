//! What a ValidatingAdmissionPolicy's status says of its expressions.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments, replicasets]}
  validations:
  - expression: object.spec.replica <= 5
";

#[test]
fn a_policys_status_tells_of_fields_that_a_kind_has_not() {
    let mut shell = Shell::new(Path::new("."), "small");
    let right = POLICY.replace("replica <=", "replicas <=");
    let files = [("wrong.yaml", POLICY), ("right.yaml", right.as_str())];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    const MANAGERS: &str = "kubectl get validatingadmissionpolicy small --show-managed-fields -o \
                            jsonpath={.metadata.managedFields[*].manager}:{.metadata.managedFields[*].operation}";
    #[rustfmt::skip]
    let script = [
        ("kubectl apply -f wrong.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io/small created"), ("sleep 1", ""),
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status.observedGeneration}:{.status.typeChecking.expressionWarnings[*].fieldRef}",
            "1:spec.validations[0].expression"),
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status.typeChecking.expressionWarnings[0].warning}",
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica <= 5\n | ...........^\n\napps/v1, Kind=ReplicaSet: ERROR: …"),
        (MANAGERS, "validatingadmissionpolicy-status-controller kubectl-client-side-apply:Apply Update"),
        ("kubectl apply -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io/small configured"), ("sleep 1", ""),
        // Whoever applies takes a field away with the last that was in it.
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status}", "{\"observedGeneration\":2}"),
        ("kubectl delete -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io \"small\" deleted"),
        ("kubectl apply -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io/small created"), ("sleep 1", ""),
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status}", "{\"observedGeneration\":1,\"typeChecking\":{}}"),
    ];
    check(&mut shell, &script);
}
