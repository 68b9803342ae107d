mod old;

use std::collections::BTreeMap;
use std::path::Path;

use crate::workdir::Workdir;

use super::*;
use crate::print::yaml;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      serviceAccountName: web
      containers:
      - {name: web, image: 'nginx:1.27', envFrom: [{configMapRef: {name: settings}}]}
      volumes:
      - {name: data, persistentVolumeClaim: {claimName: data}}
";

const RIGHTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [''], resources: [configmaps], resourceNames: [settings], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}, {kind: ServiceAccount, name: default}]
";

/// What a directory of these files comes to.
fn built(files: &[(&str, &str)], directory: &str) -> Result<Vec<Value>, String> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    build(&Files::new(&Workdir::plain(Path::new("/nowhere")), &files), directory, Order::Legacy)
        .map(|built| built.objects)
}

fn text(files: &[(&str, &str)], directory: &str) -> String {
    let objects = built(files, directory).unwrap();
    objects.iter().map(yaml::print).collect::<Vec<_>>().join("---\n")
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    objects.iter().map(|object| format!("{} {}", object["kind"].as_str().unwrap(), name(object))).collect()
}

/// The Secrets are those of the documentation of Kubernetes, with the names that a kubectl of these years gives them; the
/// last hash is that of kustomize's own tests.
#[test]
fn names_of_what_is_generated_are_those_of_kustomize() {
    let files = [
        ("password.txt", "username=admin\npassword=secret\n"),
        (
            "a/kustomization.yaml",
            "secretGenerator: [{name: example-secret-2, literals: [username=admin, password=secret]}]",
        ),
        ("b/kustomization.yaml", "configMapGenerator: [{name: blue}]\nnamePrefix: b-"),
        ("kustomization.yaml", "secretGenerator: [{name: example-secret-1, files: [password.txt]}]"),
    ];
    for (directory, want) in [
        (".", "Secret example-secret-1-2kdd8ckcc7"),
        ("a", "Secret example-secret-2-8c5228dkb9"),
        ("b", "ConfigMap b-blue-6ct58987ht"),
    ] {
        assert_eq!(names(&built(&files, directory).unwrap()), [want], "{directory}");
    }
}

#[test]
fn whoever_names_an_object_is_told_its_new_name() {
    let files = [
        (
            "base/kustomization.yaml",
            "resources: [web.yaml, rights.yaml, claim.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]",
        ),
        ("base/web.yaml", WEB),
        ("base/rights.yaml", RIGHTS),
        ("base/claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"),
        ("dev/kustomization.yaml", "resources: [../base]\nnamespace: shop\nnamePrefix: dev-\nnameSuffix: -v2"),
    ];
    let objects = built(&files, "dev").unwrap();
    let settings = objects[3]["metadata"]["name"].as_str().unwrap();
    assert!(settings.starts_with("dev-settings-v2-"), "{settings}");
    assert_eq!(objects[1]["rules"][0]["resourceNames"][0], settings);
    assert_eq!(objects[2]["roleRef"]["name"], "dev-web-v2");
    let want = serde_json::json!([{"kind": "ServiceAccount", "name": "dev-web-v2", "namespace": "shop"},
        {"kind": "ServiceAccount", "name": "default", "namespace": "shop"}]);
    assert_eq!(objects[2]["subjects"], want);
    let pod = &objects[5]["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "dev-web-v2");
    assert_eq!(pod["containers"][0]["envFrom"][0]["configMapRef"]["name"], settings);
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "dev-data-v2");
    assert!(objects.iter().all(|object| object["metadata"]["namespace"] == "shop"));
}

#[test]
fn labels_go_where_they_are_asked_for() {
    for (labels, want) in [
        ("commonLabels: {a: b}", [true, true, true]),
        ("labels: [{pairs: {a: b}, includeSelectors: true}]", [true, true, true]),
        ("labels: [{pairs: {a: b}, includeTemplates: true}]", [true, true, false]),
        ("labels: [{pairs: {a: b}}]", [true, false, false]),
    ] {
        let files = [("kustomization.yaml", &*format!("resources: [web.yaml]\n{labels}")), ("web.yaml", WEB)];
        let object = built(&files, ".").unwrap().remove(0);
        let paths = ["/metadata/labels/a", "/spec/template/metadata/labels/a", "/spec/selector/matchLabels/a"];
        assert_eq!(paths.map(|path| object.pointer(path).is_some()), want, "{labels}");
    }
}

#[test]
fn images_and_replicas_are_found_by_name() {
    for (images, want) in [
        ("{name: nginx, newTag: '1.28'}", "nginx:1.28"),
        ("{name: nginx, newName: my.registry:5000/nginx}", "my.registry:5000/nginx:1.27"),
        ("{name: nginx, newName: web, digest: 'sha256:abc'}", "web@sha256:abc"),
        ("{name: nginx, tagSuffix: -alpine}", "nginx:1.27-alpine"),
        ("{name: ngin, newTag: '1.28'}", "nginx:1.27"),
        ("{name: '[', newTag: '1.28'}", "nginx:1.27"),
    ] {
        let kustomization = format!("resources: [web.yaml]\nimages: [{images}]\nreplicas: [{{name: web, count: 3}}]");
        let object = built(&[("kustomization.yaml", &kustomization), ("web.yaml", WEB)], ".").unwrap().remove(0);
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], want, "{images}");
        assert_eq!(object["spec"]["replicas"], 3);
    }
}

#[test]
fn patches_change_what_they_name_or_select() {
    let sidecar = "
resources: [web.yaml]
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      template:
        spec:
          serviceAccountName: null
          containers:
          - {name: log, image: busybox}
          - {name: web, envFrom: [], args: [a]}
          volumes: [{name: data, $patch: delete}]
- path: replicas.yaml
  target: {kind: Deploy.*}
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: web}
  patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"x\": \"y\"}}]'
";
    let files = [
        ("kustomization.yaml", sidecar),
        ("web.yaml", WEB),
        ("replicas.yaml", "- {op: add, path: /spec/replicas, value: 2}"),
    ];
    assert_eq!(
        text(&files, "."),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  labels:\n    x: \"y\"\n  name: web\nspec:\n  replicas: 2\n  \
         template:\n    spec:\n      containers:\n      - image: busybox\n        name: log\n      - args:\n        - a\n        \
         envFrom: []\n        image: nginx:1.27\n        name: web\n      volumes: []\n"
    );
    let gone = "resources: [web.yaml]\npatches:\n- patch: |-\n    $patch: delete\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n";
    assert_eq!(built(&[("kustomization.yaml", gone), ("web.yaml", WEB)], "."), Ok(Vec::new()));
}

#[test]
fn an_overlay_adds_to_what_is_generated_or_replaces_it() {
    let base =
        ("base/kustomization.yaml", "configMapGenerator: [{name: c, literals: [a=1, b=2], options: {labels: {x: z}}}]");
    for (behavior, want) in [
        ("merge", serde_json::json!({"a": "1", "b": "3", "c": "4"})),
        ("replace", serde_json::json!({"b": "3", "c": "4"})),
    ] {
        let overlay = format!(
            "resources: [../base]\nconfigMapGenerator: [{{name: c, behavior: {behavior}, literals: [b=3, c='4']}}]"
        );
        let objects = built(&[base, ("over/kustomization.yaml", &overlay)], "over").unwrap();
        assert_eq!((objects.len(), &objects[0]["data"]), (1, &want), "{behavior}");
        assert_eq!(objects[0]["metadata"]["labels"]["x"], "z");
    }
    let options = "generatorOptions: {disableNameSuffixHash: true, immutable: true, annotations: {by: me}}\n\
                   configMapGenerator: [{name: c, envs: [vars]}]";
    let object = built(&[("kustomization.yaml", options), ("vars", "# no\nA=1=2\n\n  B\n")], ".").unwrap().remove(0);
    let want = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"A": "1=2", "B": ""}, "immutable": true,
        "metadata": {"name": "c", "annotations": {"by": "me"}}});
    assert_eq!(object, want);
}

#[test]
fn a_value_is_copied_into_fields() {
    let files = [
        ("web.yaml", WEB),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {config.kubernetes.io/local-config: 'true'}}\nspec: {host: 'db.shop:5432'}",
        ),
        (
            "kustomization.yaml",
            "
resources: [web.yaml, pod.yaml]
replacements:
- source: {kind: Pod, fieldPath: spec.host, options: {delimiter: ':', index: 0}}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ['spec.template.spec.containers.[name=web].args.0', 'metadata.annotations.[a.b/c]']
    options: {create: true}
  - select: {name: web}
    fieldPaths: [spec.template.spec.containers.*.image]
    options: {delimiter: ':', index: 1}
patches:
- target: {kind: Deployment}
  patch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/containers/0/args\", \"value\": [x]}]'
",
        ),
    ];
    let objects = built(&files, ".").unwrap();
    assert_eq!(names(&objects), ["Deployment web"]);
    let container = &objects[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["args"][0]), (&"nginx:db.shop".into(), &"db.shop".into()));
    assert_eq!(objects[0]["metadata"]["annotations"]["a.b/c"], "db.shop");
}

#[test]
fn what_others_need_comes_first_unless_another_order_is_asked_for() {
    let all = format!("{WEB}---{RIGHTS}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n");
    for (order, want) in [
        ("", ["Namespace shop", "ServiceAccount web", "Role web", "RoleBinding web", "Deployment web"]),
        ("fifo", ["Deployment web", "ServiceAccount web", "Role web", "RoleBinding web", "Namespace shop"]),
    ] {
        let sort = if order.is_empty() { String::new() } else { format!("sortOptions: {{order: {order}}}") };
        let kustomization = format!("resources: [all.yaml]\n{sort}");
        assert_eq!(names(&built(&[("kustomization.yaml", &kustomization), ("all.yaml", &all)], ".").unwrap()), want);
    }
}

#[test]
fn mistakes_are_told_in_the_words_of_kustomize() {
    let missing = "evalsymlink failure on 'no.yaml' : lstat no.yaml: no such file or directory";
    let one = ("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}");
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("", "kustomization.yaml is empty"),
        ("kind: Kustomization", "kustomization.yaml is empty"),
        ("resource: [one.yaml]", "invalid Kustomization: json: unknown field \"resource\"\n  hint: was resources meant?"),
        ("images: [{name: a, newTag: 1.27}]", "invalid Kustomization: json: cannot unmarshal number into Go struct field Image.images.newTag of type string"),
        ("resources: one.yaml", "invalid Kustomization: json: cannot unmarshal string into Go struct field Kustomization.resources of type []string"),
        ("resources: [one.yaml", "invalid Kustomization: yaml: line 1: did not find expected ',' or ']'"),
        ("apiVersion: v1\nresources: [one.yaml]", "Failed to read kustomization file under .:\napiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1"),
        ("validators: [a.yaml]", "validators: left out here; the API server checks what is applied"),
        ("resources: [no.yaml]", "accumulating resources: accumulation err='accumulating resources from 'no.yaml': MISSING': must build at directory: not a valid directory: MISSING"),
        ("resources: [one.yaml, one.yaml]", "accumulating resources: accumulation err='accumulating resources from 'one.yaml': merging resources from 'one.yaml': may not add resource with an already registered id: ConfigMap.v1.[noGrp]/one.[noNs]': must build at directory: 'one.yaml': file is not directory"),
        ("resources: [bad.yaml]", "accumulating resources: accumulating resources from 'bad.yaml': MalformedYAMLError: yaml: line 1: did not find expected ',' or '}' in File: bad.yaml"),
        ("resources: [below]", "accumulating resources: accumulation err='accumulating resources from 'below': 'below' must resolve to a file': couldn't make target for path 'below': unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory 'below'"),
        ("resources: [.]", "accumulating resources: accumulation err='accumulating resources from '.': '.' must resolve to a file': cycle detected: candidate root '.' contains visited root '.'"),
        ("resources: ['github.com/a/b?ref=v1']", "accumulating resources: accumulation err='accumulating resources from 'github.com/a/b?ref=v1': REMOTE': REMOTE"),
        ("configMapGenerator: [{name: a, literals: [b]}]", "loading KV pairs: literal sources [b]: invalid literal source b, expected key=value"),
        ("configMapGenerator: [{name: a, literals: [b=1, b=2]}]", "configmap a illegally repeats the key `b`"),
        ("configMapGenerator: [{name: a, files: [../above]}]", "loading KV pairs: file sources: [../above]: security; file '/above' is not in or below '.'"),
        ("configMapGenerator: [{name: a, behavior: merge}]", "merging from generator ConfigMapGenerator: id resid.ResId{Gvk:resid.Gvk{Group:\"\", Version:\"v1\", Kind:\"ConfigMap\", isClusterScoped:false}, Name:\"a\", Namespace:\"\"} does not exist; cannot merge or replace"),
        ("resources: [one.yaml]\nconfigMapGenerator: [{name: one}]", "merging from generator ConfigMapGenerator: id resid.ResId{Gvk:resid.Gvk{Group:\"\", Version:\"v1\", Kind:\"ConfigMap\", isClusterScoped:false}, Name:\"one\", Namespace:\"\"} exists; can not use behavior: 'unspecified', behavior must be merge or replace"),
        ("resources: [one.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: x}}'}]", "no resource matches strategic merge patch \"Pod.v1.[noGrp]/x.[noNs]\": no matches for Id Pod.v1.[noGrp]/x.[noNs]; failed to find unique target for patch Pod.v1.[noGrp]/x.[noNs]"),
        ("resources: [one.yaml]\npatches: [{patch: 'nonsense'}]", "trouble configuring builtin PatchTransformer with config: `\npatch: nonsense\n`: unable to parse SM or JSON patch from [patch: \"nonsense\"]"),
        ("resources: [one.yaml]\npatches: [{target: {kind: ConfigMap}}]", "trouble configuring builtin PatchTransformer with config: `\ntarget:\n  kind: ConfigMap\n`: must specify one of patch and path in\ntarget:\n  kind: ConfigMap\n"),
        ("resources: [one.yaml]\npatches: [{patch: '[{op: remove, path: /data/a}]', target: {kind: ConfigMap}}]", "remove operation does not apply: doc is missing path: \"/data/a\": missing value"),
        ("resources: [one.yaml]\npatches: [{patch: '[{op: replace, path: /data/a, value: x}]', target: {kind: ConfigMap}}]", "replace operation does not apply: doc is missing path: /data/a: missing value"),
        ("resources: [one.yaml]\nreplicas: [{name: one, count: 1}]", "resource with name one does not match a config with the following GVK [Deployment.[noVer].[noGrp] ReplicationController.[noVer].[noGrp] ReplicaSet.[noVer].[noGrp] StatefulSet.[noVer].[noGrp]]"),
        ("resources: [nameless.yaml]", "accumulating resources: accumulation err='accumulating resources from 'nameless.yaml': missing metadata.name in object {{v1 Pod} {{ } map[] map[]}}': must build at directory: 'nameless.yaml': file is not directory"),
        ("components: [part]", "accumulating components: accumulateDirectory: \"expected kind 'Component' for path 'part' but got 'Kustomization'\""),
        ("sortOptions: {order: x}\nresources: [one.yaml]", "the field 'sortOptions.order' must be one of [fifo, legacy]"),
    ];
    for (kustomization, want) in cases {
        let files = [
            ("kustomization.yaml", *kustomization),
            one,
            ("bad.yaml", "{a: b"),
            ("nameless.yaml", "{apiVersion: v1, kind: Pod}"),
            ("below/x.yaml", ""),
            ("../above", "x"),
            ("part/kustomization.yaml", "namePrefix: x"),
        ];
        let remote = |path: &str| {
            format!(
                "nothing is fetched here, and {path} is somewhere else; save it beside the kustomization, and name that"
            )
        };
        let want = want.replace("MISSING", missing).replace("REMOTE", &remote("github.com/a/b?ref=v1"));
        assert_eq!(built(&files, ".").unwrap_err(), want, "{kustomization}");
    }
}

/// As in `evanphx/json-patch`, version 4: RFC 6902 wants the field to be there.
#[test]
fn a_field_that_is_replaced_need_not_be_there() {
    let files = [
        (
            "kustomization.yaml",
            "resources: [one.yaml]\npatches: [{patch: '[{op: replace, path: /data, value: {a: x}}]', target: {kind: ConfigMap}}]",
        ),
        ("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"),
    ];
    assert_eq!(built(&files, ".").expect("it is added")[0]["data"]["a"], "x");
}

/// Each directory names two others twice, and so on.
#[test]
fn directories_that_name_each_other_without_end_are_refused() {
    let mut files = vec![("0/kustomization.yaml".to_owned(), "namePrefix: x".to_owned())];
    for n in 1..40 {
        files.push((format!("{n}/kustomization.yaml"), format!("resources: [../{0}, ../{0}]", n - 1)));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let error = built(&files, "39").unwrap_err();
    assert!(error.ends_with("more than 1000 directories are not built for one here"), "{error}");
}
