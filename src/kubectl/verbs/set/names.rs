//! `set serviceaccount`, `set selector` and `set subject`: whom an object means.

use serde_json::{Value, json};

use super::super::create::label_selector;
use super::change::{Words, change, of_object, pod_spec};
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use object::Kind;
use object::well_known::RBAC;

/// `kubectl set serviceaccount KIND/NAME ACCOUNT`. It is sent even if it changes nothing.
pub(super) async fn service_account(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((account, words)) = args.words[1..].split_last() else {
        return Err(Failure::text("serviceaccount is required"));
    };
    let said = Words { done: "serviceaccount updated", refused: "failed to patch ServiceAccountName ", always: true };
    change(words, said, args, cx, |kind, object| {
        pod_spec(kind, object)?["serviceAccountName"] = json!(account);
        Ok(())
    })
    .await
}

/// `kubectl set selector service/NAME KEY=VALUE,…`: whom a Service sends to.
pub(super) async fn selector(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((selector, words)) = args.words[1..].split_last() else {
        return Err(Failure::text("one selector is required"));
    };
    let selector = label_selector(selector)?;
    if let Some(expressions) = selector.get("matchExpressions") {
        return Err(Failure::text(format!("match expression {expressions} not supported on this object")));
    }
    for (kind, object) in cx.objects("set", words, args).await? {
        if kind != Kind::Service {
            return Err(Failure::text("setting a selector is only supported for Services"));
        }
        let mut new = object.clone();
        new["spec"]["selector"] = selector["matchLabels"].clone();
        let query = plain_options("kubectl-set", args)?;
        let changed = cx.patch_difference(kind, &object, &new, query).await?;
        cx.tell_struct(&changed.unwrap_or(object), "selector updated", args)?;
    }
    Ok(())
}

/// `kubectl set subject rolebinding/NAME --user=NAME --group=NAME --serviceaccount=NAMESPACE:NAME`: who has a role, too.
pub(super) async fn subject(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let sorted = |flag| {
        let mut names: Vec<&str> = args.values(flag).iter().flat_map(|names| names.split(',')).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut subjects = Vec::new();
    for (flag, kind) in [("user", "User"), ("group", "Group")] {
        subjects.extend(sorted(flag).iter().map(|name| json!({"apiGroup": RBAC, "kind": kind, "name": name})));
    }
    for account in sorted("serviceaccount") {
        let named = account.split_once(':').filter(|(_, name)| !name.is_empty() && !name.contains(':'));
        let (namespace, name) = named.ok_or_else(|| Failure::text("serviceaccount must be <namespace>:<name>"))?;
        let namespace = if namespace.is_empty() { cx.namespace(args) } else { namespace };
        subjects.push(json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}));
    }
    if subjects.is_empty() {
        return Err(Failure::text("you must specify at least one value of user, group or serviceaccount"));
    }
    let said = Words { done: "subjects updated", refused: "failed to patch subjects to rolebinding: ", always: false };
    change(&args.words[1..], said, args, cx, |kind, object| {
        if !matches!(kind, Kind::RoleBinding | Kind::ClusterRoleBinding) {
            let why = "setting subjects is only supported for RoleBinding/ClusterRoleBinding";
            return Err(of_object(kind, object, why));
        }
        let there = object["subjects"].as_array().cloned().unwrap_or_default();
        let new = subjects.iter().filter(|subject| !there.contains(subject)).cloned();
        object["subjects"] = Value::Array(there.iter().cloned().chain(new).collect());
        Ok(())
    })
    .await
}
