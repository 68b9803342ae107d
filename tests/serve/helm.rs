//! Helm, where there is one: `KUBESTEP_HELM` names it, or it is on the path. The chart has a hook, a definition and a dependency.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::http::ask;
use crate::program::{Served, replayed};
use crate::skip::skipped;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/serve/chart");

fn helm() -> Option<PathBuf> {
    let named = std::env::var_os("KUBESTEP_HELM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named
        .or_else(|| std::env::split_paths(&path).map(|folder| folder.join("helm")).find(|program| program.is_file()));
    if found.is_none() {
        skipped("helm");
    }
    found
}

/// Helm as a client of a cluster.
struct Client {
    program: PathBuf,
    served: Served,
}

impl Client {
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.current_dir(&self.served.folder).output().expect("helm can be started")
    }

    fn prints(&self, arguments: &[&str]) -> String {
        let out = self.run(arguments);
        let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{arguments:?}: {text}{errors}");
        text.into_owned()
    }

    fn image(&self) -> String {
        let web = ask(&self.served, "GET", "/apis/apps/v1/namespaces/default/deployments/my-web", "").json();
        web["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn helm_installs_upgrades_rolls_back_and_uninstalls() {
    let Some(program) = helm() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
    let code = |client: &Client, path: &str| ask(&client.served, "GET", path, "").code;

    let installed = client.prints(&["install", "my", CHART, "--wait", "--timeout", "120s"]);
    assert!(installed.contains("STATUS: deployed"), "{installed}");
    assert!(installed.contains("The API server is v1.36") && installed.contains("Deployments: true"), "{installed}");
    let web = ask(&client.served, "GET", "/apis/apps/v1/namespaces/default/deployments/my-web", "").json();
    assert_eq!(web["status"]["availableReplicas"], 2, "{web}");
    assert_eq!(code(&client, "/api/v1/namespaces/default/configmaps/my-cache"), 200);
    assert_eq!(code(&client, "/apis/shop.example.com/v1/namespaces/default/orders/my-first"), 200);
    // The hook's Job went when it had succeeded.
    assert_eq!(code(&client, "/apis/batch/v1/namespaces/default/jobs/my-migrate"), 404);
    assert!(client.prints(&["status", "my"]).contains("REVISION: 1"));
    assert!(client.prints(&["list"]).contains("shop-0.1.0"));

    // A trial that the server answers, and that changes nothing.
    let dry = client.prints(&["upgrade", "my", CHART, "--set", "tag=1.27", "--dry-run=server"]);
    assert!(dry.contains("image: nginx:1.27"), "{dry}");
    assert_eq!(client.image(), "nginx:1.29");

    client.prints(&["upgrade", "my", CHART, "--set", "tag=1.28", "--wait", "--timeout", "120s"]);
    assert_eq!(client.image(), "nginx:1.28");
    let history = client.prints(&["history", "my"]);
    assert!(history.contains("superseded") && history.contains("Upgrade complete"), "{history}");
    client.prints(&["rollback", "my", "1", "--wait", "--timeout", "120s"]);
    assert_eq!(client.image(), "nginx:1.29");

    let again = client.run(&["install", "my", CHART]);
    let refused = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && refused.contains("cannot reuse a name that is still in use"), "{refused}");

    client.prints(&["uninstall", "my", "--wait", "--timeout", "120s"]);
    assert_eq!(code(&client, "/apis/apps/v1/namespaces/default/deployments/my-web"), 404);
    // Definitions stay, as Helm has it.
    assert_eq!(code(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/orders.shop.example.com"), 200);
    let saved = client.served.end();
    replayed(&client.served.folder, &saved, "clients\n");
}
