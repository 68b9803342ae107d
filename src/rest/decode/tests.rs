use super::*;

fn error(kind: Kind, body: &str) -> String {
    match decode(kind, None, body, FieldValidation::Strict) {
        Ok((object, _)) => format!("decoded {}", object.to_json()),
        Err(status) => {
            assert_eq!(status.code, 400);
            status.message
        }
    }
}

#[test]
fn bodies_that_are_no_deployment() {
    const PREFIX: &str = "the object provided is unrecognized (must be of type Deployment): ";
    const PARSE: &str = "couldn't get version/kind; json parse error: ";
    #[rustfmt::skip]
        let cases = [
            ("", format!("{PREFIX}{PARSE}unexpected end of JSON input (<empty>)")),
            ("hello", format!("{PREFIX}{PARSE}invalid character 'h' looking for beginning of value (68656c6c6f)")),
            ("{\"a\":1,}", format!("{PREFIX}{PARSE}invalid character '}}' looking for beginning of object key string ({{\"a\":1,}})")),
            ("{\"kind\":1}", format!("{PREFIX}{PARSE}json: cannot unmarshal number into Go struct field .kind of type string ({{\"kind\":1}})")),
            (r#"{"apiVersion":"a/b/c"}"#, format!("{PREFIX}unexpected GroupVersion string: a/b/c ({{\"apiVersion\":\"a/b/c\"}})")),
            (r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[]}}"#,
                "Pod in version \"v1\" cannot be handled as a Deployment: converting (v1.Pod) to (apps.Deployment): unknown conversion".into()),
            (r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
                "List in version \"v1\" cannot be handled as a Deployment: converting (v1.List) to (apps.Deployment): unknown conversion".into()),
            (r#"{"apiVersion":"apps/v1","kind":"DeploymentList"}"#,
                "DeploymentList in version \"v1\" cannot be handled as a Deployment: converting (v1.DeploymentList) to (apps.Deployment): unknown conversion".into()),
            (r#"{"apiVersion":"apps/v1","kind":"Deploymint"}"#, "Deploymint in version \"v1\" cannot be handled as a \
                Deployment: no kind \"Deploymint\" is registered for version \"apps/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"".into()),
        ];
    for (body, want) in cases {
        assert_eq!(error(Kind::Deployment, body), want, "{body}");
    }
    assert!(error(Kind::Deployment, "[]").contains("json: cannot unmarshal array into Go value of type struct {"));
}

#[test]
fn a_patch_that_spoils_an_object_is_quoted() {
    let patched = serde_json::json!({"metadata": {"name": "web"}, "spec": {"replica": 1}});
    let patch = serde_json::json!({"spec": {"replica": 1}});
    let how = Patched::Strategic(&patch);
    let status = decode_patched(Kind::Deployment, None, &patched, how, (FieldValidation::Strict, &[])).unwrap_err();
    const WANT: &str = " \"\" is invalid: patch: Invalid value: \"map[spec:map[replica:1]]\": \
            strict decoding error: unknown field \"spec.replica\"";
    assert_eq!((status.code, status.message.as_str()), (422, WANT));
    let (_, warnings) = decode_patched(Kind::Deployment, None, &patched, how, (FieldValidation::Warn, &[])).unwrap();
    assert_eq!(warnings, ["unknown field \"spec.replica\""]);
}

#[test]
fn kind_and_version_come_from_the_path_when_missing() {
    let (object, warnings) =
        decode(Kind::Deployment, None, "{\"metadata\":{\"name\":\"web\"}}", FieldValidation::Strict).unwrap();
    assert_eq!((object.kind(), object.name(), warnings.len()), (Kind::Deployment, "web", 0));
    assert!(decode(Kind::Pod, None, "{\"kind\":null}", FieldValidation::Strict).is_ok());
}

#[test]
fn unknown_and_duplicate_fields_are_named_by_path() {
    #[rustfmt::skip]
        let cases = [
            (r#"{"spec":{"replica":3}}"#, vec!["unknown field \"spec.replica\""]),
            (r#"{"metadata":{"name":"a","name":"b"},"foo":1}"#, vec!["duplicate field \"metadata.name\"", "unknown field \"foo\""]),
            (r#"{"spec":{"template":{"spec":{"containers":[{"name":"a"},{"Image":"x","env":[{"nam":1}]}]}}}}"#, vec![
                "unknown field \"spec.template.spec.containers[1].Image\"", "unknown field \"spec.template.spec.containers[1].env[0].nam\""]),
            (r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#, vec!["duplicate field \"metadata.labels.a\""]),
            (r#"{"spec":{"selector":{"matchLabel":{}}},"status":{}}"#, vec!["unknown field \"spec.selector.matchLabel\""]),
            (r#"{"metadata":{"creationTimestamp":null,"labels":{},"finalizers":[]},"spec":{"replicas":0,"minReadySeconds":0}}"#, vec![]),
        ];
    for (body, want) in cases {
        let (_, warnings) = decode(Kind::Deployment, None, body, FieldValidation::Warn).unwrap();
        assert_eq!(warnings, want, "{body}");
        let (_, warnings) = decode(Kind::Deployment, None, body, FieldValidation::Ignore).unwrap();
        assert!(warnings.is_empty());
        if !want.is_empty() {
            let message = error(Kind::Deployment, body);
            let strict = format!("cannot be handled as a Deployment: strict decoding error: {}", want.join(", "));
            assert!(message.ends_with(&strict), "{message}");
        }
    }
}

#[test]
fn wrong_types_are_named_as_go_names_them() {
    const FIELD: &str = "into Go struct field";
    #[rustfmt::skip]
        let cases = [
            (r#"{"spec":{"replicas":"three"}}"#, format!("string {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":{"replicas":1.5}}"#, format!("number 1.5 {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":{"replicas":3000000000}}"#, format!("number 3000000000 {FIELD} DeploymentSpec.spec.replicas of type int32")),
            (r#"{"spec":5}"#, format!("number {FIELD} Deployment.spec of type v1.DeploymentSpec")),
            (r#"{"metadata":{"labels":{"a":1}}}"#, format!("number {FIELD} ObjectMeta.metadata.labels of type string")),
            (r#"{"metadata":{"labels":["a"]}}"#, format!("array {FIELD} ObjectMeta.metadata.labels of type map[string]string")),
            (r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#, format!("object {FIELD} PodSpec.spec.template.spec.containers of type []v1.Container")),
            (r#"{"spec":{"template":{"spec":{"containers":["a"]}}}}"#, format!("string {FIELD} PodSpec.spec.template.spec.containers of type v1.Container")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"env":[{"value":1}]}]}}}}"#, format!("number {FIELD} EnvVar.spec.template.spec.containers.env.value of type string")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"args":"a"}]}}}}"#, format!("string {FIELD} Container.spec.template.spec.containers.args of type []string")),
            (r#"{"spec":{"template":{"spec":{"restartPolicy":true}}}}"#, format!("bool {FIELD} PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy")),
            (r#"{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":"1"}}]}}}}"#, format!("string {FIELD} ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList")),
            (r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}}"#, format!("bool {FIELD} RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32")),
            (r#"{"metadata":{"creationTimestamp":5}}"#, format!("number {FIELD} ObjectMeta.metadata.creationTimestamp of type string")),
        ];
    for (body, want) in cases {
        let message = error(Kind::Deployment, body);
        let (_, why) = message.split_once("cannot be handled as a Deployment: ").unwrap_or_default();
        assert_eq!(why, format!("json: cannot unmarshal {want}"), "{body}: {message}");
    }
}

#[test]
fn texts_inside_fields_are_checked_too() {
    #[rustfmt::skip]
        let cases = [
            (Kind::Pod, r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}"#,
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
            (Kind::Secret, r#"{"data":{"a":"b c"}}"#, "illegal base64 data at input byte 1"),
            (Kind::Secret, r#"{"data":{"a":"abc"}}"#, "illegal base64 data at input byte 0"),
            (Kind::Pod, r#"{"metadata":{"deletionTimestamp":"now"}}"#,
                "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\""),
        ];
    for (kind, body, want) in cases {
        let message = error(kind, body);
        assert!(message.ends_with(&format!("cannot be handled as a {kind}: {want}")), "{message}");
    }
}

#[test]
fn values_become_what_go_would_print() {
    let body = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{},"annotations":null},"spec":{
            "hostNetwork":false,"nodeName":"","enableServiceLinks":false,"containers":[{"name":"a","args":[],"env":[null],
            "resources":{"limits":{"cpu":0.5,"memory":"1024Mi","pods":1}},"securityContext":{}}],"volumes":[{"name":"v","emptyDir":{}}]}}"#;
    let (object, warnings) = decode(Kind::Pod, None, body, FieldValidation::Strict).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let want = serde_json::json!({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{
            "enableServiceLinks":false,"containers":[{"name":"a","env":[{"name":""}],
            "resources":{"limits":{"cpu":"500m","memory":"1Gi","pods":"1"}},"securityContext":{}}],"volumes":[{"name":"v","emptyDir":{}}]}});
    assert_eq!(object.to_json(), want);
}
