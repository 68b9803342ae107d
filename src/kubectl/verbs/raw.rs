//! `--raw PATH`: a request that kubectl passes on as it is. Mirrors `k8s.io/kubectl/pkg/rawhttp`.
//!
//! `kubectl replace --raw /api/v1/namespaces/NAME/finalize -f FILE` is how people get rid of a namespace that cannot be
//! emptied. Left out: watches, and what a kubelet answers.

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::proxied;
use kinds::printers::View;
use object::status::Reason;
use object::{Discovery, Status};
use rest::HttpRequest;
use rest::exchange::RawRequest;
use wire::{Body, Response, Verb};

/// What a client says of an answer with code 404 that is no Status.
const NOT_FOUND: &str = "the server could not find the requested resource";
/// And of one with code 503.
const UNAVAILABLE: &str = "the server is currently unable to handle the request";

/// Sends a request with this method to the path of `--raw`, with the file of `-f` as its body unless it only reads.
pub async fn raw(method: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let body = match (method, args.values("filename")) {
        ("GET", _) | ("DELETE", []) => String::new(),
        (_, [path]) => cx.open_text(path)?,
        _ => return Err(Failure::text("--raw can only use a single local file or stdin")),
    };
    let target = args.value("raw");
    if !args.words.is_empty() {
        return Err(Failure::text("arguments may not be passed when --raw is specified"));
    }
    cx.line(send(method, target, &body, cx).await?.trim_end());
    Ok(())
}

/// What stands at a path.
pub async fn get(target: &str, cx: &Kubectl) -> Result<String, Failure> {
    send("GET", target, "", cx).await
}

async fn send(method: &str, target: &str, body: &str, cx: &Kubectl) -> Result<String, Failure> {
    let known = match rest::is_built_in(target) {
        true => Discovery::default(),
        false => cx.discover().await?,
    };
    let http = HttpRequest::in_json(cx.client.user().clone(), method, target, "application/json", body);
    let call = rest::call(&http, &known).map_err(|answer| refused(answer.code, &answer.body))?;
    if call.request.verb == Verb::Watch {
        return Err(Failure::text("a watch by --raw is left out; use get --watch"));
    }
    let answer = cx.ask(call.request.clone()).await?;
    cx.warn(&answer.warnings);
    if let (Ok(through @ (Response::Proxied { .. } | Response::PassedOn { .. })), Body::Proxy { target: behind }) =
        (&answer.result, &call.request.body)
    {
        let raw = RawRequest { method, target, headers: &[], body: body.as_bytes() };
        let answer = proxied::fetch(&*cx.nodes, &cx.client, through, behind, &raw).await;
        return match answer.code {
            200..=299 => Ok(answer.body),
            // Go's client follows.
            301 => Box::pin(send(method, answer.header("Location"), body, cx)).await,
            code => Err(refused(code, &answer.body).into()),
        };
    }
    if let Ok(Response::PassedOn { .. }) = answer.result {
        if call.is_connection() {
            return Err(rest::upgrade_required().into());
        }
        return Err(Failure::text("what a kubelet answers is left out with --raw; use kubectl logs or kubectl exec"));
    }
    let told = rest::respond(&call, &answer, View { now: cx.now(), known: &known }).body;
    if let Ok(Response::Page { .. }) = answer.result {
        match answer.code {
            404 => return Err(Status::new(Reason::NotFound, NOT_FOUND).into()),
            503 => return Err(Status::new(Reason::ServiceUnavailable, UNAVAILABLE).into()),
            _ => {}
        }
    }
    answer.result?;
    Ok(told)
}

/// The answer of another server, or one that was given before there was a request.
fn refused(code: u16, body: &str) -> Status {
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let reason = match code {
        404 => Reason::NotFound,
        405 => Reason::MethodNotAllowed,
        500 => Reason::InternalError,
        503 => Reason::ServiceUnavailable,
        _ => Reason::BadRequest,
    };
    Status::new(reason, told["message"].as_str().unwrap_or(NOT_FOUND))
}
