//! A Pod in the namespaces of a node, with its disk below `/host`. Mirrors `visitNode`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::text;
use object::Kind;

use super::container::{Made, new_container, suffix};
use super::profile::{Profile, Style};

/// Makes the Pod, on that node and past the scheduler. It stays until the user deletes it.
pub(super) async fn visit(node: &Value, profile: &Profile<'_>, args: &Args, cx: &Kubectl) -> Result<Made, Failure> {
    let node = text(node, "metadata.name");
    let container = if args.has("container") { args.value("container") } else { "debugger" };
    let name = format!("node-debugger-{node}-{}", suffix(cx));
    if !args.is_on("quiet") {
        cx.line(format!("Creating debugging pod {name} with container {container} on node {node}."));
    }
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "kubectl-debug"}},
        "spec": {
            "containers": [new_container(container, args)],
            "nodeName": node,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
        },
    });
    profile.apply(&mut pod, container, Style::Node);
    let pod = cx.post(Kind::Pod, cx.namespace(args), &pod, plain_options("", args)?).await?;
    Ok(Made { pod, container: container.to_owned() })
}
