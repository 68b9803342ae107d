//! csrcleaner: deletes requests that have been answered for an hour, or been left alone for a day, and those whose certificate
//! has ended. Mirrors `pkg/controller/certificates/cleaner`.
//!
//! It looks round once an hour, counted from its start, as long as there are requests.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::certificates::{APPROVED, DENIED, FAILED, certificate, conditions};
use object::time::Instant;
use object::x509::certificate::not_after;
use object::{Accessor, Key, Kind};
use wire::DeleteOptions;

use super::ACCOUNT;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CertificateSigningRequest],
    account: Some(ACCOUNT),
    ..Registration::new("certificatesigningrequest-cleaner-controller", &|context| Rc::new(Cleaner::new(context)))
};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(3600);
/// How long a request stays that has been answered: signed, denied, or failed.
const ANSWERED: Duration = Duration::from_secs(3600);
/// How long one stays about which nothing was said.
const PENDING: Duration = Duration::from_secs(24 * 3600);

/// There is one key, for the round.
struct Cleaner {
    client: Client,
    queue: Queue,
    requests: Lister<CertificateSigningRequest>,
    started: Instant,
}

impl Cleaner {
    fn new(context: &ControllerContext) -> Cleaner {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        let started = client.now();
        Cleaner { client, queue, requests: context.lister(), started }
    }

    fn look_later(&self) {
        let left = self.client.now().until_round(self.started, PERIOD);
        self.queue.add_after_background(Key::new("", "all"), left);
    }
}

impl Controller for Cleaner {
    fn on_change(&self, change: &Change) {
        if let Change::Added(_) = change {
            self.look_later();
        }
    }

    async fn reconcile(&self, _: Key) -> Result<(), Error> {
        let all = self.requests.list();
        for request in &all {
            if is_over(request, self.client.now()) {
                let gone = self.client.delete::<CertificateSigningRequest>(
                    "",
                    request.metadata.name(),
                    DeleteOptions::default(),
                );
                match gone.await {
                    Err(status) if !status.is_not_found() => return Err(status.into()),
                    _ => {}
                }
            }
        }
        if !all.is_empty() {
            self.look_later();
        }
        Ok(())
    }
}

/// Whether a request has had its time. Mirrors `handle` of `cleaner.go`.
fn is_over(request: &CertificateSigningRequest, now: Instant) -> bool {
    let older = |time: Option<&Time>, than| time.is_some_and(|time| now - Instant::from_time(time) > than);
    let said =
        |type_: &str| conditions(request).any(|c| c.type_ == type_ && older(c.last_update_time.as_ref(), ANSWERED));
    let signed = certificate(request);
    let ended = signed.and_then(not_after).is_some_and(|end| now > end);
    let pending = conditions(request).next().is_none();
    ended
        || signed.is_some() && said(APPROVED)
        || said(DENIED)
        || said(FAILED)
        || pending && older(request.metadata.creation_timestamp.as_ref(), PENDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answered_requests_stay_an_hour_and_others_a_day() {
        let at = |hours: u64| Instant(hours * 3600 * 1_000_000_000);
        for (condition, signed, hours, want) in [
            (None, false, 24, false),
            (None, false, 25, true),
            (Some("Approved"), false, 30, false),
            (Some("Approved"), true, 1, false),
            (Some("Approved"), true, 2, true),
            (Some("Denied"), false, 1, false),
            (Some("Denied"), false, 2, true),
            (Some("Failed"), false, 2, true),
            (Some("Other"), false, 30, false),
        ] {
            let conditions: Vec<_> = { condition.iter() }
                .map(|type_| json!({"type": type_, "status": "True", "lastUpdateTime": at(0).time()}))
                .collect();
            let status = json!({"conditions": conditions, "certificate": signed.then_some("AAAA")});
            let meta = json!({"name": "x", "creationTimestamp": at(0).time()});
            let spec = json!({"request": "", "signerName": "a/b"});
            let request = serde_json::from_value(json!({"metadata": meta, "spec": spec, "status": status})).unwrap();
            assert_eq!(is_over(&request, at(hours)), want, "{condition:?} {signed} {hours}");
        }
    }
}
