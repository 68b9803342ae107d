//! Scaling: a PATCH of the scale, or GET and PUT where the command says what it must find.

use std::path::Path;

use crate::shell::Shell;

fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "scale");
    shell.line("kubectl create deployment web --image=nginx:1.27 --replicas=2");
    shell.line("kubectl rollout status deployment web");
    shell.calls.clear();
    shell
}

#[test]
fn what_must_be_there_is_looked_at_in_the_scale() {
    let mut shell = shell();
    for (line, shown, calls) in [
        ("--replicas=3", "deployment.apps/web scaled", &["patch deployments/scale web 200"][..]),
        (
            "--current-replicas=3 --replicas=4",
            "deployment.apps/web scaled",
            &["get deployments/scale web 200", "update deployments/scale web 200"],
        ),
        (
            "--current-replicas=3 --replicas=5",
            "error: Expected replicas to be 3, was 4",
            &["get deployments/scale web 200"],
        ),
        (
            "--resource-version=1 --replicas=5",
            "error: Expected resource version to be 1, was ",
            &["get deployments/scale web 200"],
        ),
    ] {
        shell.calls.clear();
        let printed = shell.line(&format!("kubectl scale deployment web {line}"));
        assert!(printed.starts_with(shown), "{line}: {printed}");
        let about_scale: Vec<&str> = shell
            .calls
            .iter()
            .map(|call| call.split(" ?").next().unwrap_or_default())
            .filter(|c| c.contains("/scale"))
            .collect();
        assert_eq!(about_scale, calls, "{line}: {:#?}", shell.calls);
    }
}

#[test]
fn what_is_told_has_the_new_size() {
    let mut shell = shell();
    for (line, replicas) in
        [("--replicas=5 --dry-run=client", "5"), ("--replicas=3", "3"), ("--current-replicas=3 --replicas=4", "4")]
    {
        let printed = shell.line(&format!("kubectl scale deployment web {line} -o jsonpath={{.spec.replicas}}"));
        assert_eq!(printed, replicas, "{line}");
    }
}

#[test]
fn whoever_waits_sees_the_pods_come() {
    let mut shell = shell();
    let line = "kubectl scale deployment web --replicas=3 --timeout=10s";
    assert_eq!(shell.line(line).trim_end(), "deployment.apps/web scaled");
    assert_eq!(shell.line("kubectl get deployment web -o jsonpath={.status.replicas}"), "3");
    shell.line("kubectl create quota none --hard=pods=3");
    shell.line("sleep 1");
    let line = "kubectl scale deployment web --replicas=4 --timeout=2s";
    assert_eq!(shell.line(line).trim_end(), "error: timed out waiting for \"web\" to be synced");
}
