//! `explain`: the form in which fields are listed. What they mean is said in our own words, and is not compared here.

use std::path::Path;
use std::rc::Rc;

use object::Kind;
use object::explain::explain;
use serde_json::json;

use crate::shell::Shell;

fn check(shell: &mut Shell, script: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (line, want) in script {
        let shown = shell.line(line);
        if shown.trim_end() != *want {
            wrong.push(format!("$ {line}\n- {want}\n+ {shown}"));
        }
    }
    assert!(wrong.is_empty(), "- wanted, + shown\n{}", wrong.join("\n"));
}

#[test]
fn what_is_not_there_is_told() {
    let mut shell = Shell::new(Path::new("."), "explain");
    check(
        &mut shell,
        &[
            (
                "kubectl explain",
                "error: You must specify the type of resource to explain. Use \"kubectl api-resources\" for a complete list of \
                 supported resources.",
            ),
            ("kubectl explain pods services", "error: We accept only this format: explain RESOURCE"),
            ("kubectl explain foo", "the server doesn't have a resource type \"foo\""),
            ("kubectl explain pod.foo", "KIND:       Pod\nVERSION:    v1\n\nerror: field \"foo\" does not exist"),
            (
                "kubectl explain pod.spec.foo.bar",
                "KIND:       Pod\nVERSION:    v1\n\nerror: field \"bar\" does not exist",
            ),
            (
                "kubectl explain pod.spec.nodeName.x",
                "KIND:       Pod\nVERSION:    v1\n\nerror: field \"x\" does not exist",
            ),
            ("kubectl explain pod.spec.containers[0]", "error: invalid jsonpath syntax, first node must be field node"),
            ("kubectl explain pods[0].spec", "error: invalid jsonpath syntax, first node must be field node"),
            ("kubectl explain pod.spec..image", "error: invalid jsonpath syntax, first node must be field node"),
            ("kubectl explain pod.spec.*", "error: invalid jsonpath syntax, first node must be field node"),
            ("kubectl explain [0]", "error: invalid jsonpath syntax, first node must be field node"),
            (
                "kubectl explain pod.spec.containers[] --api-version=v1",
                "error: invalid jsonpath syntax, all nodes must be field nodes",
            ),
            (
                "kubectl explain deployments.apps.spec --api-version=apps/v1",
                "GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n\nerror: field \"spec\" does not exist",
            ),
            (
                "kubectl explain deploy --api-version=autoscaling/v1",
                "error: GVR (autoscaling/v1, Resource=deployments) not found in OpenAPI schema",
            ),
            ("kubectl explain deploy --api-version=apps/v1/x", "error: unexpected GroupVersion string: apps/v1/x"),
            ("kubectl explain gizmo -o table", "the server doesn't have a resource type \"gizmo\""),
            ("kubectl explain pod -o table", "error: unrecognized format: table"),
            (
                "kubectl explain deploy --api-version=apps/v2",
                "error: couldn't find resource for \"apps/v2, Resource=deployments\"",
            ),
            (
                "kubectl explain deploy --api-version=v1",
                "error: GVR (/v1, Resource=deployments) not found in OpenAPI schema",
            ),
        ],
    );
    assert!(shell.line("kubectl explain deployments.apps.spec.replicas").contains("\nFIELD: replicas <integer>\n\n\n"));
    assert!(shell.line("kubectl explain deploy --api-version=apps/v1").starts_with("GROUP:      apps\n"));
    assert!(shell.line("kubectl explain po").starts_with("KIND:       Pod\nVERSION:    v1\n\nDESCRIPTION:\n    "));
}

/// The values of the fields whose types the API marks as enumerations, and of no others.
#[test]
fn fields_have_their_values() {
    let values = |kind: Kind, path: &[&str], name: &str| {
        explain(kind, None, path).and_then(|there| there.field(name).cloned()).expect("it is there").values.join(" ")
    };
    let container = &["spec", "containers"][..];
    let rule = &["spec", "podFailurePolicy", "rules"][..];
    for (kind, path, name, want) in [
        (Kind::Job, &["spec"][..], "completionMode", "Indexed NonIndexed"),
        (Kind::Job, rule, "action", "Count FailIndex FailJob Ignore"),
        (Kind::Service, &["spec"], "sessionAffinity", "ClientIP None"),
        (Kind::Service, &["spec", "ports"], "protocol", "SCTP TCP UDP"),
        (Kind::Ingress, &["spec", "rules", "http", "paths"], "pathType", "Exact ImplementationSpecific Prefix"),
        (Kind::Pod, &["spec", "securityContext", "seccompProfile"], "type", "Localhost RuntimeDefault Unconfined"),
        (
            Kind::Pod,
            &["spec", "volumes", "hostPath"],
            "type",
            "\"\" BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket",
        ),
        (Kind::ValidatingWebhookConfiguration, &["webhooks", "rules"], "scope", "* Cluster Namespaced"),
        (Kind::Pod, &["spec", "containers", "resizePolicy"], "restartPolicy", ""),
        (Kind::Pod, container, "restartPolicy", ""),
    ] {
        assert_eq!(values(kind, path, name), want, "{kind} {path:?} {name}");
    }
    let mut shell = Shell::new(Path::new("."), "values");
    let signals = shell.line("kubectl explain pod.spec.containers.lifecycle");
    assert!(signals.contains("\n  enum: SIGABRT, SIGALRM, SIGBUS, SIGCHLD, ....\n"), "{signals}");
}

#[test]
fn fields_have_their_types() {
    let fields = |kind: Kind, path: &[&str]| {
        let explained = explain(kind, None, path).expect("it is there");
        let field = |field: &object::explain::Field| {
            format!("{} {}{}", field.name, field.type_name, if field.required { " required" } else { "" })
        };
        explained.fields.iter().map(field).collect::<Vec<_>>().join(", ")
    };
    for (kind, path, want) in [
        (
            Kind::Pod,
            &["spec", "containers", "ports"][..],
            "containerPort integer required, hostIP string, hostPort integer, name string, protocol string",
        ),
        (Kind::Deployment, &["spec", "strategy", "rollingUpdate"], "maxSurge IntOrString, maxUnavailable IntOrString"),
        (
            Kind::Pod,
            &["spec", "containers", "resources"],
            "claims []ResourceClaim, limits map[string]Quantity, requests map[string]Quantity",
        ),
        (
            Kind::ControllerRevision,
            &[],
            "apiVersion string, data RawExtension, kind string, metadata ObjectMeta, revision integer required",
        ),
        (
            Kind::Secret,
            &[],
            "apiVersion string, data map[string]string, immutable boolean, kind string, metadata ObjectMeta, stringData \
             map[string]string, type string",
        ),
        (
            Kind::PodDisruptionBudget,
            &["status", "conditions"],
            "lastTransitionTime string required, message string required, observedGeneration integer, reason string required, \
             status string required, type string required",
        ),
    ] {
        assert_eq!(fields(kind, path), want, "{kind} {path:?}");
    }
    let schema = ["spec", "versions", "schema", "openAPIV3Schema"];
    let deep = [&schema[..], &["properties"; 30][..]].concat();
    assert_eq!(
        explain(Kind::CustomResourceDefinition, None, &deep).expect("a type in itself").item_type(),
        "JSONSchemaProps"
    );
}

#[test]
fn kinds_that_users_define_are_explained_too() {
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "description": "What is wanted.", "required": ["cronSpec"], "properties": {
            "cronSpec": {"type": "string", "description": "When."},
            "policy": {"type": "string", "enum": ["Allow", "Forbid", "", "Replace", "Ask"]},
            "port": {"x-kubernetes-int-or-string": true},
            "steps": {"type": "array", "items": {"type": "object", "properties": {"image": {"type": "string"}}}},
            "env": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let mut shell = Shell::new(Path::new("."), "explain");
    shell.cluster.kubectl.files = Rc::new([("crd.yaml".to_owned(), definition.to_string())].into());
    shell.line("kubectl apply -f crd.yaml");
    shell.line("sleep 2");
    check(
        &mut shell,
        &[
            (
                "kubectl explain crontabs.stable.example.com.spec.policy",
                "GROUP:      stable.example.com\nKIND:       CronTab\nVERSION:    v1\n\nFIELD: policy <string>\nENUM:\n    Allow\n    \
                 Forbid\n    \"\"\n    Replace\n    Ask\n\nDESCRIPTION:\n    <empty>",
            ),
            (
                "kubectl explain crontab.spec",
                "GROUP:      stable.example.com\nKIND:       CronTab\nVERSION:    v1\n\nFIELD: spec <Object>\n\n\n\
                 DESCRIPTION:\n    What is wanted.\n    \nFIELDS:\n  cronSpec\t<string> -required-\n    When.\n\n  \
                 env\t<map[string]string>\n    <no description>\n\n  policy\t<string>\n  enum: Allow, Forbid, \"\", Replace, ....\n    \
                 <no description>\n\n  port\t<Object>\n    <no description>\n\n  steps\t<[]Object>\n    <no description>",
            ),
            (
                "kubectl explain crontab.spec.steps --recursive",
                "GROUP:      stable.example.com\nKIND:       CronTab\nVERSION:    v1\n\nFIELD: steps <[]Object>\n\n\nDESCRIPTION:\n    \
                 <empty>\nFIELDS:\n  image\t<string>",
            ),
            (
                "kubectl explain crontab.spec.foo",
                "GROUP:      stable.example.com\nKIND:       CronTab\nVERSION:    v1\n\nerror: field \"foo\" does not exist",
            ),
        ],
    );
    let whole = shell.line("kubectl explain crontab --recursive");
    assert!(whole.contains("\n  metadata\t<ObjectMeta>\n    annotations\t<map[string]string>\n"), "{whole}");
    assert!(whole.contains("\n  spec\t<Object> -required-\n    cronSpec\t<string> -required-\n"), "{whole}");
}
