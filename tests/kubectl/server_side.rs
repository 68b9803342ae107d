//! Server-side apply as kubectl shows it: what it prints, what it asks for, and who manages what after it.

use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::shell::Shell;
use crate::verbs::check;

fn web(replicas: Option<i64>, image: &str) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": image}]}}}});
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

/// A shell whose commands find three manifests.
fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "server-side");
    let files = [
        ("web.yaml", web(Some(2), "nginx:1")),
        ("new.yaml", web(Some(2), "nginx:2")),
        ("less.yaml", web(None, "nginx:1")),
    ];
    shell.cluster.kubectl.files =
        Rc::new(files.iter().map(|(name, file)| ((*name).to_owned(), file.to_string())).collect());
    shell
}

const MANAGERS: &str = "kubectl get deploy web --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";

const CONFLICT: &str = "error: Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts";

#[test]
fn fields_have_managers_and_conflicts_are_told() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f web.yaml --force-conflicts", "error: --force-conflicts only works with --server-side"),
            ("kubectl apply -f web.yaml --server-side --force", "error: --force cannot be used with --server-side"),
            (
                "kubectl apply -f web.yaml --server-side --dry-run=client",
                "error: --dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
            ),
            (
                "kubectl apply -f web.yaml --server-side --dry-run=server",
                "deployment.apps/web serverside-applied (server dry run)",
            ),
            ("kubectl apply -f web.yaml --server-side", "deployment.apps/web serverside-applied"),
            ("kubectl apply -f web.yaml --server-side", "deployment.apps/web serverside-applied"),
            ("kubectl get deploy web -o jsonpath={.metadata.managedFields}", ""),
            ("kubectl scale deploy/web --replicas=3", "deployment.apps/web scaled"),
            ("kubectl apply -f web.yaml --server-side", CONFLICT),
            ("kubectl apply -f less.yaml --server-side", "deployment.apps/web serverside-applied"),
            ("kubectl get deploy web -o jsonpath={.spec.replicas}", "3"),
            ("kubectl apply -f web.yaml --server-side --force-conflicts", "deployment.apps/web serverside-applied"),
            ("kubectl get deploy web -o jsonpath={.spec.replicas}", "2"),
            (
                "kubectl apply -f new.yaml --server-side --field-manager=other",
                "error: Apply failed with 1 conflict: conflict with \"kubectl\": .spec.template.spec.containers[name=\"web\"].image\nPlease …",
            ),
        ],
    );
    let managers = shell.line(MANAGERS);
    assert_eq!(managers.matches("kubectl").count(), 1, "the one that scaled manages nothing any more: {managers}");
}

#[test]
fn what_was_applied_without_the_flag_is_taken_over() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f web.yaml", "deployment.apps/web created"),
            ("kubectl apply -f new.yaml --server-side", "deployment.apps/web serverside-applied"),
        ],
    );
    let patches: Vec<&str> = shell.calls.iter().map(String::as_str).filter(|call| call.starts_with("patch")).collect();
    let patch = |manager: &str| format!("patch deployments web 200 fieldManager={manager}&fieldValidation=Strict");
    let [own, keeper] = [patch("kubectl"), patch("kubectl-last-applied")];
    assert_eq!(patches, [&own, &keeper, &own, &own].map(String::as_str));
    let managers = shell.line(MANAGERS);
    // Who keeps the annotation has changed nothing by it, and so has never written.
    assert!(managers.starts_with("kubectl-last-applied kubectl ") && !managers.contains("client-side"), "{managers}");
    check(&mut shell, &[("kubectl apply -f less.yaml --server-side", "deployment.apps/web serverside-applied")]);
    assert_eq!(
        shell.line("kubectl get deploy web -o jsonpath={.spec.replicas}"),
        "1",
        "what it applied no more is gone"
    );
}
