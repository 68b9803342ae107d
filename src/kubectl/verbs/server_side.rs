//! `apply --server-side`: the manifest is sent as it is, and the API server works out what changes.
//!
//! Mirrors `applyOneObject` of `k8s.io/kubectl/pkg/cmd/apply`, and `k8s.io/client-go/util/csaupgrade`: an object that was
//! applied without the flag before has its fields handed over from the one manager to the other.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::options::write_options;
use crate::print::fields::{namespace_and_name, text};
use object::fields::{Set, Step};
use object::well_known::LAST_APPLIED;
use wire::Patch;

/// Who applies, unless `--field-manager` says something else.
pub const MANAGER: &str = "kubectl";
/// Who keeps the annotation of an apply without the flag from being taken away.
const KEEPER: &str = "kubectl-last-applied";
/// How often the managers are handed over anew when the object changes under it. Mirrors `maxPatchRetry`.
const RETRIES: usize = 5;

const ADVICE: &str = "Please review the fields above--they currently have other managers. Here
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

/// What flags do not go together.
pub fn check(args: &Args) -> Result<(), Failure> {
    let server_side = args.is_on("server-side");
    let wrong = match () {
        () if args.is_on("force-conflicts") && !server_side => "--force-conflicts only works with --server-side",
        () if server_side && matches!(args.value("dry-run"), "client" | "unchanged") => {
            "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"
        }
        () if server_side && args.is_on("force") => "--force cannot be used with --server-side",
        () => return Ok(()),
    };
    Err(Failure::text(wrong))
}

/// Applies one manifest. Returns the object as it is then.
pub async fn apply_one(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let cx = &cx.with_managed_fields(true);
    let mut object = match send(manifest, &manifest.object, args, cx).await {
        Err(Failure::Server { status, .. }) if status.is_conflict() => {
            return Err(Failure::text(format!("{}\n{ADVICE}", status.message)));
        }
        sent => sent?,
    };
    if args.value("dry-run") != "server" {
        object = take_over(manifest, object, args, cx).await?;
    }
    if !args.is_on("show-managed-fields")
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("managedFields");
    }
    Ok(object)
}

/// What the object would become.
pub async fn tried(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let mut query = write_options(MANAGER, args)?;
    (query.options.dry_run, query.options.force) = (true, args.is_on("force-conflicts"));
    cx.patch(manifest.kind, &manifest.object, Patch::Apply(manifest.object.clone()), None, query).await
}

async fn send(manifest: &Manifest, config: &Value, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let mut query = write_options(MANAGER, args)?;
    query.options.force = args.is_on("force-conflicts");
    cx.patch(manifest.kind, &manifest.object, Patch::Apply(config.clone()), None, query).await
}

/// What an earlier `apply` without the flag has written becomes this manager's. It happens once: after that nothing is left
/// to take over.
async fn take_over(manifest: &Manifest, mut object: Value, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let query = write_options(MANAGER, args)?;
    let manager = query.options.field_manager.clone();
    let annotation = object.pointer("/metadata/annotations").and_then(|all| all.get(LAST_APPLIED)).cloned();
    if let Some(annotation) = annotation.filter(|_| manager == MANAGER && owners(&object, "Apply").is_empty()) {
        let kept = json!({"apiVersion": text(&object, "apiVersion"), "kind": text(&object, "kind"),
            "metadata": {"name": text(&object, "metadata.name"), "annotations": {LAST_APPLIED: annotation}}});
        let mut query = query.clone();
        query.options.field_manager = KEEPER.to_owned();
        object = cx.patch(manifest.kind, &manifest.object, Patch::Apply(kept), None, query).await?;
    }
    let names = owners(&object, "Update");
    for _ in 0..RETRIES {
        let Some(patch) = handover(&object, &names, &manager) else { return Ok(object) };
        match cx.patch(manifest.kind, &manifest.object, Patch::Json(patch), None, query.clone()).await {
            Ok(_) => return send(manifest, &manifest.object, args, cx).await,
            Err(fault) if fault.is_conflict() => {
                let (namespace, name) = namespace_and_name(&object);
                object = cx.get(manifest.kind, namespace, name).await?;
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(object)
}

/// The managers that own the annotation of an apply without the flag.
fn owners(object: &Value, operation: &str) -> BTreeSet<String> {
    let path = ["metadata", "annotations", LAST_APPLIED].map(Step::field);
    let owns = |entry: &&Value| {
        entry["operation"] == operation && Set::from_json(&entry["fieldsV1"]).is_some_and(|set| set.has_path(&path))
    };
    entries(object).iter().filter(owns).map(|entry| text(entry, "manager").to_owned()).collect()
}

fn entries(object: &Value) -> &[Value] {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The patch that makes the fields of the managers `names` those of `manager`, which applies; none if there are none.
/// Mirrors `UpgradeManagedFieldsPatch`.
fn handover(object: &Value, names: &BTreeSet<String>, manager: &str) -> Option<Value> {
    let mut entries = entries(object).to_vec();
    let before = entries.clone();
    for name in names {
        let by = |entry: &Value, manager: &str, operation: &str| {
            entry["manager"] == manager && entry["operation"] == operation && entry.get("subresource").is_none()
        };
        let heir = entries.iter().position(|entry| by(entry, manager, "Apply"));
        let Some(heir) = heir.or_else(|| entries.iter().position(|entry| by(entry, name, "Update"))) else { continue };
        let all = entries.iter().enumerate().filter(|(i, entry)| *i == heir || by(entry, name, "Update"));
        let fields = all.filter_map(|(_, entry)| Set::from_json(&entry["fieldsV1"]));
        let fields = fields.fold(Set::default(), |all, fields| all.union(&fields));
        entries[heir]["operation"] = json!("Apply");
        entries[heir]["manager"] = json!(manager);
        entries[heir]["fieldsV1"] = fields.to_json();
        entries.retain(|entry| !by(entry, name, "Update"));
    }
    let version = object.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    (entries != before).then(|| {
        json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version}])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_handed_over() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let annotation = json!({"f:annotations": {format!("f:{LAST_APPLIED}"): {}}});
        let client = entry(
            "kubectl-client-side-apply",
            "Update",
            json!({"f:metadata": annotation, "f:spec": {"f:replicas": {}}}),
        );
        let server = entry("kubectl", "Apply", json!({"f:spec": {"f:paused": {}}}));
        let other = entry("other", "Update", json!({"f:spec": {"f:selector": {}}}));
        let of = |entries: &[Value]| json!({"metadata": {"resourceVersion": "7", "managedFields": entries}});
        let both = of(&[server.clone(), client.clone(), other.clone()]);
        let names = owners(&both, "Update");
        assert_eq!(names, BTreeSet::from(["kubectl-client-side-apply".to_owned()]));
        let patch = handover(&both, &names, "kubectl").unwrap();
        let merged = json!({"f:metadata": annotation, "f:spec": {"f:replicas": {}, "f:paused": {}}});
        assert_eq!(patch[0]["value"], json!([entry("kubectl", "Apply", merged), other]));
        let patch = handover(&of(&[client]), &names, "kubectl").unwrap();
        assert_eq!(patch[0]["value"][0]["manager"], "kubectl", "without an heir it becomes one");
        assert_eq!(handover(&of(&[server, other]), &BTreeSet::new(), "kubectl"), None);
    }
}
