//! Helm, where there is one: `KUBESTEP_HELM` names it, or it is on the path. The chart has a hook, a definition and a dependency.

use std::path::PathBuf;

use crate::http::ask;
use crate::kubectl::{Client, on_path};
use crate::program::{Served, replayed};
use crate::sent::Sent;
use crate::skip::skipped;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/serve/chart");

/// The program.
pub fn helm() -> Option<PathBuf> {
    let found = std::env::var_os("KUBESTEP_HELM").map(Into::into).or_else(|| on_path("helm"));
    if found.is_none() {
        skipped("helm");
    }
    found
}

/// The image of the release's Deployment.
fn image(served: &Served) -> String {
    let web = ask(served, "GET", "/apis/apps/v1/namespaces/default/deployments/my-web", "").json();
    web["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn helm_installs_upgrades_rolls_back_and_uninstalls() {
    let Some(program) = helm() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
    let code = |client: &Client, path: &str| ask(&client.served, "GET", path, "").code;

    let installed = client.prints(&format!("install my {CHART} --wait --timeout 120s"));
    assert!(installed.contains("STATUS: deployed"), "{installed}");
    assert!(installed.contains("The API server is v1.36") && installed.contains("Deployments: true"), "{installed}");
    let web = ask(&client.served, "GET", "/apis/apps/v1/namespaces/default/deployments/my-web", "").json();
    assert_eq!(web["status"]["availableReplicas"], 2, "{web}");
    assert_eq!(code(&client, "/api/v1/namespaces/default/configmaps/my-cache"), 200);
    assert_eq!(code(&client, "/apis/shop.example.com/v1/namespaces/default/orders/my-first"), 200);
    // The hook's Job went when it had succeeded.
    assert_eq!(code(&client, "/apis/batch/v1/namespaces/default/jobs/my-migrate"), 404);
    assert!(client.prints("status my").contains("REVISION: 1"));
    assert!(client.prints("list").contains("shop-0.1.0"));

    // A trial that the server answers, and that changes nothing.
    let dry = client.prints(&format!("upgrade my {CHART} --set tag=1.27 --dry-run=server"));
    assert!(dry.contains("image: nginx:1.27"), "{dry}");
    assert_eq!(image(&client.served), "nginx:1.29");

    client.prints(&format!("upgrade my {CHART} --set tag=1.28 --wait --timeout 120s"));
    assert_eq!(image(&client.served), "nginx:1.28");
    let history = client.prints("history my");
    assert!(history.contains("superseded") && history.contains("Upgrade complete"), "{history}");
    client.prints("rollback my 1 --wait --timeout 120s");
    assert_eq!(image(&client.served), "nginx:1.29");

    let again = client.run(&format!("install my {CHART}"));
    let refused = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && refused.contains("cannot reuse a name that is still in use"), "{refused}");

    client.prints("uninstall my --wait --timeout 120s");
    assert_eq!(code(&client, "/apis/apps/v1/namespaces/default/deployments/my-web"), 404);
    // Definitions stay, as Helm has it.
    assert_eq!(code(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/orders.shop.example.com"), 200);
    let saved = client.served.end();
    sends_what_it_sends_to_a_real_server(&Sent::all(&saved));
    replayed(&client.served.folder, &saved, "clients\n");
}

/// Records of releases in protobuf, objects applied by the server, and waits for whole kinds (rule 36).
fn sends_what_it_sends_to_a_real_server(sent: &[Sent]) {
    const SECRETS: &str = "/api/v1/namespaces/default/secrets";
    const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/my-web";
    let records: Vec<&Sent> = sent.iter().filter(|one| one.line.contains(SECRETS) && !one.body.is_empty()).collect();
    for method in ["POST", "PUT"] {
        assert!(records.iter().any(|one| one.line.starts_with(method)), "{method}: {records:?}");
    }
    assert!(records.iter().all(|one| one.is_protobuf()), "{records:?}");
    let of_web: Vec<&Sent> = sent.iter().filter(|one| one.line.ends_with(WEB)).collect();
    let (looks, applies) = (&of_web[0], &of_web[1]);
    assert!(looks.line.starts_with("GET") && applies.line.starts_with("PATCH"), "{of_web:?}");
    assert_eq!(applies.header("content-type"), "application/apply-patch+yaml");
    assert!(
        ["fieldManager=helm", "fieldValidation=Strict", "force=false"].iter().all(|one| applies.has(one)),
        "{applies:?}"
    );
    let waits: Vec<&Sent> = sent.iter().filter(|one| one.is_watch_list()).collect();
    assert!(waits.iter().any(|one| one.line.ends_with("/apis/apps/v1/namespaces/default/deployments")), "{waits:?}");
    assert!(!waits.iter().any(|one| one.parameters.contains("fieldSelector")), "{waits:?}");
}
