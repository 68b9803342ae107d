//! Fields of older kustomizations: `vars`, `configurations`, `transformers`. What is expected is what kubectl 1.36.4 prints.

use super::{built, text};

const WITH_VARIABLES: &str = r#"apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {a: "$(SVC)", n: "x"}}
spec:
  containers:
  - name: c
    image: nginx
    args: ["--to=$(SVC)", "$(UNKNOWN)", "$$(SVC)"]
    env: [{name: P, value: "$(PORT)"}]
"#;

const VARS: &str = r#"namePrefix: dev-
resources: [all.yaml]
vars:
- name: SVC
  objref: {apiVersion: v1, kind: Service, name: web}
- name: PORT
  objref: {apiVersion: v1, kind: Service, name: web}
  fieldref: {fieldpath: "spec.ports[0].port"}
- name: UNUSED
  objref: {apiVersion: v1, kind: Service, name: web}
"#;

const RESOLVED: &str = r#"apiVersion: v1
kind: Service
metadata:
  name: dev-web
spec:
  ports:
  - port: 80
  selector:
    app: web
---
apiVersion: v1
kind: Pod
metadata:
  annotations:
    a: dev-web
    "n": x
  name: dev-web
spec:
  containers:
  - args:
    - --to=dev-web
    - $(UNKNOWN)
    - $(SVC)
    env:
    - name: P
      value: 80
    image: nginx
    name: c
"#;

const OF_OTHER_KINDS: &str = r#"apiVersion: example.com/v1
kind: Db
metadata: {name: db}
spec: {secret: s, image: 'nginx:1', n: 3, labels: {}, replicas: 1, arg: '$(SVC)', ref: {name: web}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
---
apiVersion: v1
kind: Service
metadata: {name: web}
"#;

const FIELDS: &str = r#"nameReference:
- kind: Secret
  version: v1
  fieldSpecs:
  - {kind: Db, path: spec/secret}
varReference:
- {kind: Db, path: spec/arg}
images:
- {kind: Db, path: spec/image}
replicas:
- {kind: Db, path: spec/replicas, create: true}
commonLabels:
- {kind: Db, path: spec/labels, create: true}
commonAnnotations:
- {kind: Db, path: spec/annos, create: true}
namespace:
- {kind: Db, path: spec/ns, create: true}
namePrefix:
- {kind: Db, path: spec/ref/name}
"#;

const CONFIGURED: &str = r#"configurations: [conf.yaml]
namePrefix: dev-
namespace: shop
resources: [all.yaml]
commonLabels: {a: b}
commonAnnotations: {c: d}
images: [{name: nginx, newTag: "2"}]
replicas: [{name: db, count: 5}]
vars:
- name: SVC
  objref: {apiVersion: v1, kind: Service, name: web}
"#;

const CHANGED: &str = r#"apiVersion: v1
kind: Secret
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: dev-s
  namespace: shop
---
apiVersion: v1
kind: Service
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: dev-web
  namespace: shop
spec:
  selector:
    a: b
---
apiVersion: example.com/v1
kind: Db
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: dev-db
  namespace: shop
spec:
  annos:
    c: d
  arg: dev-web
  image: nginx:2
  labels:
    a: b
  "n": 3
  ns: shop
  ref:
    name: dev-web
  replicas: 5
  secret: dev-s
"#;

const PLAIN: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 1, template: {spec: {containers: [{name: c, image: 'nginx:1'}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {a: b}
"#;

const OBJECTS: &str = r#"apiVersion: builtin
kind: PrefixTransformer
metadata: {name: p}
prefix: dev-
fieldSpecs: [{path: metadata/name}]
---
apiVersion: builtin
kind: LabelTransformer
metadata: {name: l}
labels: {a: b}
fieldSpecs: [{path: metadata/labels, create: true}]
---
apiVersion: builtin
kind: NamespaceTransformer
metadata: {name: n, namespace: shop}
fieldSpecs: [{path: metadata/namespace, create: true}]
---
apiVersion: builtin
kind: AnnotationsTransformer
metadata: {name: an}
annotations: {x: "y"}
fieldSpecs: [{path: metadata/annotations, create: true}]
---
apiVersion: builtin
kind: ImageTagTransformer
metadata: {name: i}
imageTag: {name: nginx, newTag: "2"}
---
apiVersion: builtin
kind: ReplicaCountTransformer
metadata: {name: r}
replica: {name: web, count: 3}
fieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]
---
apiVersion: builtin
kind: SuffixTransformer
metadata: {name: s}
suffix: -x
fieldSpecs: [{path: metadata/name}]
"#;

const TRANSFORMED: &str = r#"resources: [all.yaml]
transformers:
- p.yaml
- |
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {name: pt}
  patch: |-
    - op: add
      path: /spec/type
      value: NodePort
  target: {kind: Service}
"#;

const DONE: &str = r#"apiVersion: v1
kind: Service
metadata:
  annotations:
    x: "y"
  labels:
    a: b
  name: dev-web-x
  namespace: shop
spec:
  a: b
  type: NodePort
---
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    x: "y"
  labels:
    a: b
  name: dev-web-x
  namespace: shop
spec:
  replicas: 3
  template:
    spec:
      containers:
      - image: nginx:2
        name: c
"#;

#[test]
fn variables_stand_for_fields_of_other_objects() {
    assert_eq!(text(&[("all.yaml", WITH_VARIABLES), ("kustomization.yaml", VARS)], "."), RESOLVED);
}

#[test]
fn configurations_name_more_fields() {
    let files = [("all.yaml", OF_OTHER_KINDS), ("conf.yaml", FIELDS), ("kustomization.yaml", CONFIGURED)];
    assert_eq!(text(&files, "."), CHANGED);
    // A directory above knows them too.
    let below = files.map(|(name, text)| (format!("below/{name}"), text));
    let mut files: Vec<(&str, &str)> = below.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    files.push(("kustomization.yaml", "resources: [below]\nnamePrefix: x-"));
    let built = text(&files, ".");
    assert!(built.contains("secret: x-dev-s\n") && built.contains("arg: x-dev-web\n"), "{built}");
}

#[test]
fn transformers_change_what_is_there() {
    let files = [("all.yaml", PLAIN), ("p.yaml", OBJECTS), ("kustomization.yaml", TRANSFORMED)];
    assert_eq!(text(&files, "."), DONE);
}

#[test]
fn mistakes_in_them_are_told_in_the_words_of_kustomize() {
    let missing = "evalsymlink failure on 'no.yaml' : lstat no.yaml: no such file or directory";
    let object = |kind: &str, more: &str| {
        format!("transformers:\n- |\n  apiVersion: {kind}\n  metadata: {{name: x}}\n  {more}\n")
    };
    let var = |object: &str| format!("vars: [{{name: SVC, objref: {{apiVersion: v1, kind: Service, {object}}}]");
    for (kustomization, want) in [
        (
            var("name: nobody}"),
            "var '{SVC Service.v1.[noGrp] {metadata.name}}' cannot be mapped to a field in the set of known resources",
        ),
        (
            var("name: web}, fieldref: {fieldpath: spec.clusterIP}"),
            "field specified in var '{SVC Service.v1.[noGrp] {spec.clusterIP}}' not found in corresponding resource",
        ),
        (
            "vars: [{name: A, objref: {apiVersion: v1, kind: Service, name: web}}, {name: A}]".to_owned(),
            "merging vars [{A Service.[noVer].[noGrp] {}} {A [noKind].[noVer].[noGrp] {}}]: var 'A' already encountered",
        ),
        ("configurations: [no.yaml]".to_owned(), missing),
        (
            "configurations: [bad.yaml]".to_owned(),
            "error unmarshaling JSON: while decoding JSON: json: unknown field \"nonsense\"",
        ),
        (
            object("example.com/v1\n  kind: Magic", ""),
            "external plugins disabled; unable to load external plugin 'Magic'",
        ),
        (object("builtin\n  kind: Magic", ""), "unable to load builtin Magic.builtin.[noGrp]"),
        (
            object("builtin\n  kind: PrefixTransformer", "prefix: x-"),
            "plugin PrefixTransformer.builtin.[noGrp]/x.[noNs] fails configuration: fieldSpecs is not expected to be nil",
        ),
        (
            object("builtin\n  kind: ReplicaCountTransformer", "replica: {name: web, count: 8}"),
            "resource with name web does not match a config with the following GVK []",
        ),
        (
            object("builtin\n  kind: ConfigMapGenerator", ""),
            "plugin ConfigMapGenerator.builtin.[noGrp]/x.[noNs] not a transformer",
        ),
    ] {
        let kustomization = format!("resources: [all.yaml]\n{kustomization}");
        let files = [("all.yaml", PLAIN), ("bad.yaml", "nonsense: []"), ("kustomization.yaml", &kustomization)];
        assert_eq!(built(&files, ".").unwrap_err(), want, "{kustomization}");
    }
}
