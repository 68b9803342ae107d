//! Kinds that users define, as kubectl shows them: from the definition to the last object.

use std::path::Path;
use std::rc::Rc;

use cluster::{Cluster, Config};
use serde_json::{Value, json};

use crate::shell::Shell;
use crate::verbs::check;

/// The definition of the documentation's CronTab, with all that kubectl can show of it.
fn crontabs() -> Value {
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["cronSpec"], "properties": {
            "cronSpec": {"type": "string", "pattern": r"^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$"},
            "image": {"type": "string"},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
            "policy": {"type": "string", "enum": ["Allow", "Forbid"]},
            "port": {"x-kubernetes-int-or-string": true},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "labelSelector": {"type": "string"}}}}});
    let columns = json!([
        {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Image", "type": "string", "priority": 1, "jsonPath": ".spec.image"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.labelSelector"}},
                "additionalPrinterColumns": columns}]}})
}

fn crontab(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": spec})
}

/// A shell whose commands find these files.
fn shell(files: &[(&str, &[Value])]) -> Shell {
    let mut shell = Shell::new(Path::new("."), "custom");
    let text = |objects: &[Value]| objects.iter().map(|o| format!("---\n{o}\n")).collect::<String>();
    let files = files.iter().map(|(name, objects)| ((*name).to_owned(), text(objects))).collect();
    shell.cluster.kubectl.files = Rc::new(files);
    shell
}

const INVALID: &str = "The CronTab \"my\" is invalid: ";
const FORMAT: &str = "the body of the request was in an unknown format - accepted media types include: \
    application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

#[test]
fn fields_that_a_definition_names_can_be_selected_by() {
    let mut definition = crontabs();
    let paths = json!([{"jsonPath": ".spec.image"}, {"jsonPath": ".spec.replicas"}]);
    definition["spec"]["versions"][0]["selectableFields"] = paths;
    let of = |image: &str, replicas: u32| json!({"cronSpec": "5 * * * *", "image": image, "replicas": replicas});
    let objects = [crontab("a", of("x", 1)), crontab("b", of("x", 2)), crontab("c", of("y", 2))];
    let mut shell = shell(&[("crd.yaml", &[definition]), ("all.yaml", &objects)]);
    shell.line("kubectl apply -f crd.yaml");
    shell.line("sleep 1");
    shell.line("kubectl apply -f all.yaml");
    const NAME: &str = "crontab.stable.example.com";
    check(
        &mut shell,
        &[
            ("kubectl get ct -o name --field-selector spec.image=x", &format!("{NAME}/a\n{NAME}/b")),
            ("kubectl get ct -o name --field-selector spec.image=x,spec.replicas!=1", &format!("{NAME}/b")),
            (
                "kubectl delete ct --field-selector spec.image=y",
                "crontab.stable.example.com \"c\" deleted from custom namespace",
            ),
            (
                "kubectl get ct --field-selector spec.cronSpec=x",
                "Error from server (BadRequest): Unable to find \"stable.example.com/v1, Resource=crontabs\" that match label selector \"\", field selector \"spec.cronSpec=x\": field label not supported: spec.cronSpec",
            ),
        ],
    );
}

/// What a schema that has become stricter has against objects that it finds is no matter of those who change something else.
#[test]
fn what_was_wrong_before_may_stay() {
    let mut strict = crontabs();
    strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["image"]["maxLength"] =
        json!(3);
    let old = crontab("my", json!({"cronSpec": "5 * * * *", "image": "long-name"}));
    let mut shell = shell(&[("crd.yaml", &[crontabs()]), ("strict.yaml", &[strict]), ("my.yaml", &[old])]);
    shell.line("kubectl apply -f crd.yaml");
    shell.line("sleep 1");
    shell.line("kubectl apply -f my.yaml");
    shell.line("kubectl apply -f strict.yaml");
    check(
        &mut shell,
        &[
            ("kubectl label ct my a=b", "crontab.stable.example.com/my labeled"),
            (
                "kubectl patch ct my --type=merge -p '{\"spec\":{\"replicas\":2}}'",
                "crontab.stable.example.com/my patched",
            ),
            (
                "kubectl patch ct my --type=merge -p '{\"spec\":{\"image\":\"other-name\"}}'",
                "The CronTab \"my\" is invalid: …",
            ),
            (
                "kubectl patch ct my --type=merge -p '{\"spec\":{\"image\":\"ok\"}}'",
                "crontab.stable.example.com/my patched",
            ),
        ],
    );
}

#[test]
fn a_kind_of_ones_own_is_a_kind_as_any() {
    let good = crontab("my", json!({"cronSpec": "* * * * */5", "image": "cron:1"}));
    let bad = crontab("my", json!({"cronSpec": "often", "replicas": 15, "policy": "Never", "port": true}));
    let mut changed = good.clone();
    changed["spec"] = json!({"cronSpec": "5 * * * *"});
    let unknown = crontab("other", json!({"cronSpec": "* * * * *", "typo": 1, "extra": {"any": [1, {"x": "y"}]}}));
    let mut shell = shell(&[
        ("crd.yaml", &[crontabs()]),
        ("good.yaml", &[good]),
        ("bad.yaml", &[bad]),
        ("changed.yaml", &[changed]),
        ("unknown.yaml", &[unknown]),
    ]);
    let not_supported = format!(
        "error: application/strategic-merge-patch+json is not supported by stable.example.com/v1, Kind=CronTab: {FORMAT}"
    );
    let invalid = |why: &str| format!("{INVALID}{why}");
    let too_many =
        invalid("spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10");
    #[rustfmt::skip]
    check(&mut shell, &[
        ("kubectl apply -f good.yaml", "error: resource mapping not found for name: \"my\" namespace: \"\" from \"good.yaml\": no matches for kind \"CronTab\" in version \"stable.example.com/v1\"\nensure CRDs are installed first\n  hint: …"),
        ("kubectl get ct", "error: the server doesn't have a resource type \"ct\""),
        ("kubectl apply -f crd.yaml", "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created"),
        ("kubectl wait --for=condition=Established crd/crontabs.stable.example.com", "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com condition met"),
        ("kubectl get crd -o jsonpath={.items[*].status.conditions[*].message}", "no conflicts found the initial names have been accepted"),
        ("kubectl get crd -o jsonpath={.items[*].status.conditions[*].reason}", "NoConflicts InitialNamesAccepted"),
        ("kubectl get crontabs", "No resources found in custom namespace."),
        ("kubectl apply -f bad.yaml", "The CronTab \"my\" is invalid: \n\
            * spec.cronSpec: Invalid value: \"often\": spec.cronSpec in body should match '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$'\n\
            * spec.policy: Unsupported value: \"Never\": supported values: \"Allow\", \"Forbid\"\n\
            * spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"\n\
            * spec.replicas: Invalid value: 15: spec.replicas in body should be less than or equal to 10"),
        ("kubectl apply -f good.yaml", "crontab.stable.example.com/my created"),
        ("kubectl apply -f good.yaml", "crontab.stable.example.com/my unchanged"),
        ("kubectl get ct", "NAME   SPEC          REPLICAS   AGE\nmy     * * * * */5   1          0s"),
        ("kubectl get crontab/my -o wide --no-headers", "my    * * * * */5   1     cron:1   0s"),
        ("kubectl get ct my -o jsonpath={.apiVersion}/{.kind}:{.metadata.generation}", "stable.example.com/v1/CronTab:1"),
        ("kubectl get all", "NAME …\ncrontab.stable.example.com/my …"),
        ("kubectl get ct -A --show-labels", "NAMESPACE   NAME   SPEC          REPLICAS   AGE   LABELS\ncustom      my     * * * * */5   1          0s    <none>"),
        ("kubectl apply -f unknown.yaml", "Error from server (BadRequest): error when creating \"unknown.yaml\": CronTab in version \"v1\" cannot be handled as a CronTab: strict decoding error: unknown field \"spec.typo\""),
        ("kubectl apply --validate=warn -f unknown.yaml", "Warning: unknown field \"spec.typo\"\ncrontab.stable.example.com/other created"),
        ("kubectl get ct other -o jsonpath={.spec}", "{\"cronSpec\":\"* * * * *\",\"extra\":{\"any\":[1,{\"x\":\"y\"}]},\"replicas\":1}"),
        ("kubectl scale ct/my --replicas=3", "crontab.stable.example.com/my scaled"),
        ("kubectl patch ct my --type=merge -p '{\"spec\":{\"replicas\":11}}'", &too_many),
        ("kubectl scale ct/my --replicas=11", &too_many),
        ("kubectl patch ct my --type=merge -p '{\"spec\":{\"cronSpec\":null}}'", &invalid("spec.cronSpec: Required value")),
        ("kubectl patch ct my --type=merge -p '{\"spec\":{\"replicas\":\"two\"}}'", &invalid("spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"")),
        ("kubectl patch ct my -p '{\"spec\":{\"replicas\":2}}'", &not_supported),
        ("kubectl patch ct my --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":2}]'", "crontab.stable.example.com/my patched"),
        ("kubectl patch ct my --type=merge -p '{\"status\":{\"replicas\":9}}'", "crontab.stable.example.com/my patched (no change)"),
        ("kubectl patch ct my --subresource=status --type=merge -p '{\"spec\":{\"replicas\":9},\"status\":{\"replicas\":2}}'", "crontab.stable.example.com/my patched"),
        ("kubectl get ct my -o jsonpath={.metadata.generation}:{.spec.replicas}:{.status.replicas}", "3:2:2"),
        ("kubectl label ct my tier=gold", "crontab.stable.example.com/my labeled"),
        ("kubectl annotate ct my note=x", "crontab.stable.example.com/my annotated"),
        ("kubectl get ct -l tier=gold -o name", "crontab.stable.example.com/my"),
        ("kubectl get ct --field-selector metadata.name=other -o name", "crontab.stable.example.com/other"),
        ("kubectl apply -f changed.yaml", "crontab.stable.example.com/my configured"),
        ("kubectl get ct my -o jsonpath={.spec}{.metadata.labels}", "{\"cronSpec\":\"5 * * * *\",\"replicas\":2}{\"tier\":\"gold\"}"),
        ("kubectl wait --for=jsonpath={.status.replicas}=2 ct/my", "crontab.stable.example.com/my condition met"),
        ("kubectl describe ct my", "Name:         my\nNamespace:    custom\nLabels:       tier=gold\nAnnotations:  note: x\nAPI Version:  stable.example.com/v1\nKind:         CronTab\nMetadata:\n  Creation Timestamp:  2026…"),
        ("kubectl get --raw /apis/stable.example.com/v1/namespaces/custom/crontabs/my/scale", "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{…"),
        ("kubectl get --raw /apis/stable.example.com/v1/namespaces/custom/ticks", "Error from server (NotFound): the server could not find the requested resource"),
        ("kubectl auth can-i delete crontabs", "yes"),
        ("kubectl delete ct other", "crontab.stable.example.com \"other\" deleted from custom namespace"),
        ("kubectl delete -f crd.yaml", "customresourcedefinition.apiextensions.k8s.io \"crontabs.stable.example.com\" deleted"),
        ("kubectl get ct", "error: the server doesn't have a resource type \"ct\""),
        ("kubectl apply -f crd.yaml", "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created"),
        ("sleep 1", ""),
        ("kubectl get ct", "No resources found in custom namespace."),
    ]);
}

#[test]
fn what_is_known_is_applied_though_the_rest_is_not() {
    let mut shell = shell(&[("all.yaml", &[crontabs(), crontab("my", json!({"cronSpec": "* * * * *"}))])]);
    #[rustfmt::skip]
    check(&mut shell, &[
        ("kubectl apply -f all.yaml", "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created\nerror: resource mapping not found …\nensure CRDs are installed first\n  hint: …"),
        ("kubectl apply -f all.yaml", "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com unchanged\ncrontab.stable.example.com/my created"),
    ]);
}

#[test]
fn definitions_that_are_wrong_are_refused() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut definition = crontabs();
        change(&mut definition);
        definition
    };
    const INVALID: &str = "The CustomResourceDefinition \"crontabs.stable.example.com\" is invalid: ";
    // What all versions have in common, as of one alone, the server keeps in the spec.
    let schema = "spec.validation.openAPIV3Schema";
    #[rustfmt::skip]
    let cases: Vec<(Value, String)> = vec![
        (with(&|d| d["metadata"]["name"] = json!("crons.stable.example.com")),
            "The CustomResourceDefinition \"crons.stable.example.com\" is invalid: metadata.name: Invalid value: \"crons.stable.example.com\": must be spec.names.plural+\".\"+spec.group".into()),
        (with(&|d| d["spec"]["scope"] = json!("Here")), format!("{INVALID}spec.scope: Unsupported value: \"Here\": supported values: \"Cluster\", \"Namespaced\"")),
        (with(&|d| d["spec"]["versions"][0]["storage"] = json!(false)), format!("{INVALID}\n* spec.versions: Invalid value: …\n* status.storedVersions: Invalid value: null: must have at least one stored version")),
        (with(&|d| d["spec"]["versions"][0]["schema"] = json!({})), format!("{INVALID}spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required")),
        (with(&|d| d["spec"]["versions"][0]["name"] = json!("V1")), format!("{INVALID}spec.versions[0].name: Invalid value: \"V1\": a DNS-1035 label must consist of…")),
        (with(&|d| d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["image"] = json!({})),
            format!("{INVALID}{schema}.properties[spec].properties[image].type: Required value: must not be empty for specified object fields")),
        (with(&|d| d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]["default"] = json!(11)),
            format!("{INVALID}{schema}.properties[spec].properties[replicas].default: Invalid value: 11:  in body should be less than or equal to 10")),
        (with(&|d| d["spec"]["names"]["shortNames"] = json!(["C T"])), format!("{INVALID}spec.names.shortNames[0]: Invalid value: \"C T\": a DNS-1035 label must…")),
        (with(&|d| d["spec"]["versions"][0]["additionalPrinterColumns"][0]["type"] = json!("text")),
            format!("{INVALID}spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string")),
        (with(&|d| d["spec"]["versions"][0]["subresources"]["scale"]["specReplicasPath"] = json!(".status.n")),
            format!("{INVALID}spec.subresources.scale.specReplicasPath: Invalid value: \".status.n\": should be a json path under .spec")),
        (with(&|d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.colour"}])),
            format!("{INVALID}spec.selectableFields[0].jsonPath: Invalid value: \".spec.colour\": is an invalid path: does not refer to a valid field")),
        (with(&|d| d["spec"]["bogus"] = json!(1)), "Error from server (BadRequest): error when creating \"crd.yaml\": CustomResourceDefinition in version \"v1\" cannot be handled as a CustomResourceDefinition: strict decoding error: unknown field \"spec.bogus\"".into()),
    ];
    for (definition, want) in cases {
        check(&mut shell(&[("crd.yaml", &[definition])]), &[("kubectl apply -f crd.yaml", &want)]);
    }
}

#[test]
fn names_are_taken_once() {
    let mut second = crontabs();
    second["metadata"]["name"] = json!("ticks.stable.example.com");
    second["spec"]["names"] = json!({"plural": "ticks", "kind": "Tick", "shortNames": ["ct"]});
    let mut shell = shell(&[("one.yaml", &[crontabs()]), ("two.yaml", &[second])]);
    #[rustfmt::skip]
    check(&mut shell, &[
        ("kubectl apply -f one.yaml", "…"), ("sleep 1", ""),
        ("kubectl apply -f two.yaml", "…"), ("sleep 1", ""),
        ("kubectl get crd ticks.stable.example.com -o jsonpath={.status.conditions[*].reason}:{.status.conditions[0].message}",
            "ShortNamesConflict NotAccepted:\"ct\" is already in use"),
        ("kubectl get ticks", "error: the server doesn't have a resource type \"ticks\""),
        ("kubectl delete crd crontabs.stable.example.com", "…"), ("sleep 1", ""),
        ("kubectl get ticks", "No resources found in custom namespace."),
        ("kubectl get ct", "No resources found in custom namespace."),
    ]);
}

#[test]
fn versions_show_one_object_twice() {
    let mut definition = crontabs();
    let mut beta = definition["spec"]["versions"][0].clone();
    (beta["name"], beta["storage"]) = (json!("v1beta1"), json!(false));
    beta["deprecated"] = json!(true);
    definition["spec"]["versions"].as_array_mut().unwrap().push(beta);
    let mut old = crontab("old", json!({"cronSpec": "* * * * *"}));
    old["apiVersion"] = json!("stable.example.com/v1beta1");
    let mut shell = shell(&[("crd.yaml", &[definition]), ("old.yaml", &[old])]);
    #[rustfmt::skip]
    check(&mut shell, &[
        ("kubectl apply -f crd.yaml", "…"), ("sleep 1", ""),
        ("kubectl apply -f old.yaml", "Warning: stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab\n…"),
        ("kubectl get ct old -o jsonpath={.apiVersion}", "stable.example.com/v1"),
        ("kubectl get crontabs.v1beta1.stable.example.com old -o jsonpath={.apiVersion}", "Warning: …"),
        // It gets, lists and watches, and says once what every answer says.
        ("kubectl wait crontabs.v1beta1.stable.example.com old --for=jsonpath={.spec.replicas}=1",
            "Warning: stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab\ncrontab.stable.example.com/old condition met"),
    ]);
}

#[test]
fn another_cluster_and_an_earlier_one_know_nothing_of_it() {
    let mut shell = shell(&[("crd.yaml", &[crontabs()])]);
    let before = shell.cluster.save().expect("nothing is under way");
    check(&mut shell, &[("kubectl apply -f crd.yaml", "…"), ("sleep 1", ""), ("kubectl get ct", "No resources…")]);
    let unknown: &[(&str, &str)] = &[("kubectl get ct", "error: the server doesn't have a resource type \"ct\"")];
    let mut other = Shell::new(Path::new("."), "custom");
    other.cluster = Cluster::start(Config::default());
    check(&mut other, unknown);
    shell.cluster.restore(&before);
    check(&mut shell, unknown);
}
