//! csrsigning: answers requests that are approved with a certificate. Mirrors `pkg/controller/certificates/signer`.
//!
//! Left out: keys, and so signatures; see [`object::x509`]. The number of a certificate is its request's uid instead of another
//! 128 random bits. The real program runs this controller four times, once for each signer.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use client::{Change, Controller, ControllerContext, Error, Registration};
use object::certificates::{
    APPROVED, CLIENT, DENIED, FAILED, KUBELET_CLIENT, KUBELET_SERVING, LEGACY, check_client, check_kubelet_client,
    check_kubelet_serving, has,
};
use object::time::Instant;
use object::x509::certificate::{Validity, issue};
use object::{Accessor, Key, Kind, x509};

use super::{ACCOUNT, Requests, with_condition};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CertificateSigningRequest],
    workers: 5,
    account: Some(ACCOUNT),
    ..Registration::new("certificatesigningrequest-signing-controller", &|context| Rc::new(Signer::new(context)))
};

/// How long a certificate is good: `--cluster-signing-duration`. A request may ask for less, but no less than ten minutes.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
const SHORTEST: Duration = Duration::from_secs(600);
/// A certificate began to be good a little ago, for clocks that are slow; what is good for less than eight hours ends no sooner
/// for that.
const BACKDATE: Duration = Duration::from_secs(5 * 60);
const SHORT: Duration = Duration::from_secs(8 * 3600);

/// What a signer refuses, of a request and what it is to be used for.
type Check = fn(&x509::Request, &[String]) -> Result<(), String>;

/// The signers, and what each takes.
const SIGNERS: [(&str, Check); 4] = [
    (KUBELET_SERVING, check_kubelet_serving),
    (KUBELET_CLIENT, check_kubelet_client),
    (CLIENT, |_, usages| check_client(usages)),
    (LEGACY, |_, _| Ok(())),
];

/// Keys are CertificateSigningRequests.
struct Signer(Requests);

impl Signer {
    fn new(context: &ControllerContext) -> Signer {
        Signer(Requests::new(context))
    }
}

impl Controller for Signer {
    fn on_change(&self, change: &Change) {
        self.0.on_change(change);
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(request) = self.0.open(&key) else { return Ok(()) };
        if !has(&request, APPROVED) || has(&request, DENIED) || has(&request, FAILED) {
            return Ok(());
        }
        let Some((_, check)) = SIGNERS.iter().find(|(signer, _)| *signer == request.spec.signer_name) else {
            return Ok(());
        };
        let usages = request.spec.usages.as_deref().unwrap_or_default();
        let parsed = x509::Request::parse(&request.spec.request.0)
            .map_err(|why| Error::Other(format!("unable to parse csr {:?}: {why}", request.metadata.name())))?;
        let answered = match check(&parsed, usages) {
            Err(why) => with_condition(&request, FAILED, "SignerValidationFailure", why),
            Ok(()) => {
                let validity = validity(request.spec.expiration_seconds, self.0.client.now());
                let certificate = issue(&parsed, usages, &serial(&request), validity);
                let mut signed = CertificateSigningRequest::clone(&request);
                signed.status.get_or_insert_default().certificate = Some(ByteString(certificate.into_bytes()));
                signed
            }
        };
        self.0.client.update_status(answered).await?;
        Ok(())
    }
}

/// From when until when a certificate is good that is signed now. Mirrors `signer.duration` and `PermissiveSigningPolicy`.
fn validity(wanted: Option<i32>, now: Instant) -> Validity {
    let wanted = wanted.map_or(LONGEST, |seconds| Duration::from_secs(seconds.max(0) as u64));
    let lasts = wanted.clamp(SHORTEST, LONGEST);
    let until = if lasts < SHORT { now + lasts } else { now + (lasts - BACKDATE) };
    Validity { not_before: now.time().0 - BACKDATE, not_after: until.time().0 }
}

/// The hexadecimal digits of the uid, as bytes.
fn serial(request: &CertificateSigningRequest) -> Vec<u8> {
    let uid = request.metadata.uid.as_deref().unwrap_or_default();
    let digits: Vec<u8> = uid.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_lasts_as_long_as_asked_within_bounds() {
        let now = Instant(3600 * 1_000_000_000);
        let minutes = |seconds: Option<i32>| {
            let Validity { not_before, not_after } = validity(seconds, now);
            let since = |at: jiff::Timestamp| (at.as_second() - now.time().0.as_second()) / 60;
            (since(not_before), since(not_after))
        };
        let year = 365 * 24 * 60;
        for (wanted, want) in [
            (None, (-5, year - 5)),
            (Some(i32::MAX), (-5, year - 5)),
            (Some(24 * 3600), (-5, 24 * 60 - 5)),
            (Some(3600), (-5, 60)),
            (Some(1), (-5, 10)),
        ] {
            assert_eq!(minutes(wanted), want, "{wanted:?}");
        }
    }
}
