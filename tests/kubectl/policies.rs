//! What a ValidatingAdmissionPolicy's status says of its expressions, and what a MutatingAdmissionPolicy makes of objects.

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
        (MANAGERS, "validatingadmissionpolicy-status kubectl-client-side-apply:Apply Update"),
        ("kubectl apply -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io/small configured"), ("sleep 1", ""),
        // What was found is gone, and what it was in is applied still.
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status}", "{\"observedGeneration\":2,\"typeChecking\":{}}"),
        ("kubectl delete -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io \"small\" deleted"),
        ("kubectl apply -f right.yaml", "validatingadmissionpolicy.admissionregistration.k8s.io/small created"), ("sleep 1", ""),
        ("kubectl get validatingadmissionpolicy small -o jsonpath={.status}", "{\"observedGeneration\":1,\"typeChecking\":{}}"),
    ];
    check(&mut shell, &script);
}

const MUTATING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: ['', example.com], apiVersions: [v1], operations: [CREATE], resources: [secrets, things]}
  variables:
  - {name: team, expression: params.data.team}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'team': variables.team}}}\"}
  - patchType: JSONPatch
    jsonPatch: {expression: \"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'by': request.userInfo.username}}]\"}
  reinvocationPolicy: IfNeeded
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: here}
spec:
  policyName: team
  paramRef: {name: teams, parameterNotFoundAction: Deny}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}}}
";

#[test]
fn a_policy_changes_what_is_made() {
    let mut shell = Shell::new(Path::new("."), "team");
    let thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {}\n";
    let files = [("policy.yaml", MUTATING), ("thing.yaml", thing)];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    #[rustfmt::skip]
    let script = [
        ("kubectl api-resources --api-group=admissionregistration.k8s.io -o name",
            "mutatingadmissionpolicies.admissionregistration.k8s.io\nmutatingadmissionpolicybindings.admissionregistration.k8s.io\nmutatingwebhookconfigurations.admissionregistration.k8s.io\n…"),
        ("kubectl apply -f policy.yaml",
            "mutatingadmissionpolicy.admissionregistration.k8s.io/team created\nmutatingadmissionpolicybinding.admissionregistration.k8s.io/here created\ncustomresourcedefinition.apiextensions.k8s.io/things.example.com created"),
        ("sleep 1", ""),
        ("kubectl get mutatingadmissionpolicies", "NAME   MUTATIONS   PARAMKIND      AGE\nteam   2           v1/ConfigMap   1s"),
        ("kubectl get mutatingadmissionpolicybindings", "NAME   POLICYNAME   PARAMREF   AGE\nhere   team         */teams    1s"),
        ("kubectl create secret generic s", "error: failed to create secret policy 'team' with binding 'here' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
        ("kubectl create configmap teams --from-literal=size=3", "configmap/teams created"),
        ("kubectl create -f thing.yaml",
            "The things \"t\" is invalid: : policy 'team' with binding 'here' denied request: expression 'Object{metadata: Object.metadata{labels: {'team': variables.team}}}' resulted in error: composited variable \"team\" fails to evaluate: no such key: team"),
        ("kubectl patch configmap teams -p '{\"data\":{\"team\":\"shop\"}}'", "configmap/teams patched"),
        ("kubectl create secret generic s", "secret/s created"),
        ("kubectl get secret s -o jsonpath={.metadata.labels}{.metadata.annotations}", "{\"team\":\"shop\"}{\"by\":\"kubernetes-admin\"}"),
        // No client has written it, and so it has no manager.
        ("kubectl get secret s --show-managed-fields -o jsonpath={.metadata.managedFields[*].fieldsV1}", "{\"f:type\":{}}"),
        ("kubectl create -f thing.yaml", "thing.example.com/t created"),
        ("kubectl get thing t -o jsonpath={.metadata.labels}{.metadata.annotations}{.spec}", "{\"team\":\"shop\"}{\"by\":\"kubernetes-admin\"}{\"size\":1}"),
        ("kubectl explain mutatingadmissionpolicy.spec.mutations.patchType", "GROUP:      admissionregistration.k8s.io\nKIND:       MutatingAdmissionPolicy\nVERSION:    v1\n\nFIELD: patchType <string>\nENUM:\n    ApplyConfiguration\n    JSONPatch\n\nDESCRIPTION:\n    ApplyConfiguration or JSONPatch."),
        ("kubectl delete mutatingadmissionpolicy team", "mutatingadmissionpolicy.admissionregistration.k8s.io \"team\" deleted"),
        ("kubectl create secret generic u", "secret/u created"),
        ("kubectl get secret u -o jsonpath={.metadata.labels}", ""),
    ];
    check(&mut shell, &script);
}
