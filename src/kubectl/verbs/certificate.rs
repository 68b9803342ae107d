//! `certificate approve` and `certificate deny`: what an administrator decides about requests for certificates. Mirrors
//! `k8s.io/kubectl/pkg/cmd/certificates`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::print::fields::{list, text};
use crate::usage::Usage;
use object::Kind;
use object::certificates::{APPROVED, DENIED};
use object::status::Reason;
use wire::{Body, Subresource, Verb};

/// How often a decision is sent while others write the request too.
const TRIES: usize = 11;

/// `kubectl certificate`.
pub const CERTIFICATE: Command = Command {
    usage: Usage {
        name: "certificate",
        words: "approve|deny NAME …",
        about: "Approve or deny requests for certificates.",
        flags: &[FILES, &["force", "output"]],
        ..Usage::EMPTY
    },
    run: Run::There(|args, cx| Box::pin(certificate(args, cx))),
    ..Command::EMPTY
};

/// What is decided.
struct Decision {
    /// The condition that says so.
    type_: &'static str,
    /// The condition that would speak against it.
    other: &'static str,
    reason: &'static str,
    message: &'static str,
    /// What has become of the request then.
    done: &'static str,
}

const APPROVE: Decision = Decision {
    type_: APPROVED,
    other: DENIED,
    reason: "KubectlApprove",
    message: "This CSR was approved by kubectl certificate approve.",
    done: "approved",
};

const DENY: Decision = Decision {
    type_: DENIED,
    other: APPROVED,
    reason: "KubectlDeny",
    message: "This CSR was denied by kubectl certificate deny.",
    done: "denied",
};

/// `kubectl certificate approve|deny NAME …`.
async fn certificate(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((verb, names)) = args.words.split_first() else {
        return Err(Failure::text("expected 'certificate approve|deny NAME'"));
    };
    let decision = match verb.as_str() {
        "approve" => APPROVE,
        "deny" => DENY,
        _ => return Err(Failure::usage("certificate", format!("unknown command {verb:?}"))),
    };
    if names.is_empty() && !args.gives_manifests() {
        return Err(Failure::text("one or more CSRs must be specified as <name> or -f <filename>"));
    }
    let kind = Kind::CertificateSigningRequest.info().qualified_plural();
    let words: Vec<String> = match names {
        [] => Vec::new(),
        names => std::iter::once(kind).chain(names.iter().cloned()).collect(),
    };
    let (objects, mut failed) = cx.objects_there(&format!("certificate {verb}"), &words, args).await?;
    for (kind, object) in objects {
        match decide(kind, &object, &decision, args.is_on("force"), cx).await {
            Ok(object) => cx.tell(&object, decision.done, args)?,
            Err(fault) => failed.push(fault),
        }
    }
    Failure::all(failed)
}

/// Writes the decision, as long as another writer comes first anew. Mirrors `modifyCertificateCondition`.
async fn decide(kind: Kind, read: &Value, decision: &Decision, force: bool, cx: &Kubectl) -> Result<Value, Failure> {
    let name = text(read, "metadata.name");
    if kind != Kind::CertificateSigningRequest {
        let (version, kind) = (kind.info().api_version, kind.info().kind);
        return Err(Failure::text(format!(
            "can only handle certificates.k8s.io/v1 CertificateSigningRequest, not {version} {kind}"
        )));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let mut object = cx.get(kind, "", name).await?;
        let has = |type_: &str| list(&object, "status.conditions").iter().any(|there| text(there, "type") == type_);
        if has(decision.other) {
            return Err(Failure::text(format!("certificate signing request {name:?} is already {}", decision.other)));
        }
        let decided = has(decision.type_);
        if decided && !force {
            return Ok(object);
        }
        if !decided {
            let now = cx.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let mut conditions = list(&object, "status.conditions").to_vec();
            conditions.push(json!({"type": decision.type_, "status": "True", "reason": decision.reason,
                "message": decision.message, "lastUpdateTime": now}));
            object["status"]["conditions"] = json!(conditions);
        }
        let mut request = cx.request(Verb::Update, kind, "", name, Body::Json(object.to_string()));
        request.subresource = Some(Subresource::Approval);
        match cx.send(request).await {
            Err(Failure::Server { status, .. }) if status.reason == Reason::Conflict && tries < TRIES => {}
            Err(fault) => return Err(fault),
            Ok(_) => return Ok(object),
        }
    }
}
