//! Tokens of service accounts: JSON web tokens that say who their bearer is.
//!
//! A token is three pieces of base64: how it is signed, what it claims, and the signature, by which the API server knows
//! that it was made in this cluster. There are two kinds. Those that `serviceaccounts/token` gives end after a while, and
//! most are bound to a Pod and end with it. Those of old lie in a Secret and end with that.
//!
//! Mirrors `pkg/serviceaccount/{jwt,claims,legacy}.go`.
//!
//! Left out: key pairs. A real cluster signs with a private key (RS256), so that any client can verify it; here the signer
//! and the verifier share a secret (HS256), as API server and kube-controller-manager share the key file. The one year
//! for which old clients may use a token of 3607 seconds.

use std::sync::Arc;

use serde_json::{Value, json};

use super::random::Random;
use super::time::Instant;
use super::{base64, sha256};

/// Who makes tokens that end, and for whom they are unless another audience is named.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Who makes tokens that lie in Secrets.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The secret that signs.
const KEY: &[u8] = b"the cluster's own sa.key";
/// The block size of SHA-256 in bytes.
const BLOCK: usize = 64;

/// What a token claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The account's namespace.
    pub namespace: String,
    /// The account's name.
    pub account: String,
    /// The account's uid.
    pub account_uid: String,
    /// How far it reaches.
    pub bounds: Bounds,
}

/// When a token ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// With the Secret of this name in which it lies.
    Secret(String),
    /// At a time.
    Time {
        /// Who may be shown it.
        audiences: Vec<String>,
        /// When it was made; whole seconds count.
        issued: Instant,
        /// When it ends.
        expires: Instant,
        /// With the Pod of this name and uid, if it goes before.
        pod: Option<(String, String)>,
        /// With the Secret of this name and uid.
        secret: Option<(String, String)>,
        /// The name and the uid of the node on which that Pod is, which ends no token; without a Pod, the node with which it
        /// ends.
        node: Option<(String, String)>,
        /// The token's own number (`jti`), by which an audit log tells it from others.
        id: String,
    },
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds::Secret(String::new())
    }
}

/// A token that was given out. Its text is worked out when a client reads it: each Pod has one, and few Pods look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Token(Arc<Claims>);

impl Token {
    /// The one that claims this.
    pub fn new(claims: Claims) -> Token {
        Token(claims.into())
    }

    /// The token as its bearer shows it.
    pub fn text(&self) -> String {
        sign(&self.0)
    }
}

/// The number of a token that was made at this time for this subject. It is worked out, so that giving out a token changes no
/// uid that is given later.
pub fn number(subject: &str, issued: Instant) -> String {
    let digest = sha256::digest(format!("{subject} {}", issued.0).as_bytes());
    Random::new(digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))).uid()
}

/// The token that claims this.
pub fn sign(claims: &Claims) -> String {
    let header = base64::encode(json!({"alg": "HS256", "kid": "kubestep"}).to_string().as_bytes());
    let signed = format!("{header}.{}", base64::encode(document(claims).to_string().as_bytes()));
    let signature = base64::encode(&hmac(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// What a token claims, if it was signed in this cluster.
pub fn read(token: &str) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    if base64::decode(signature).ok()? != hmac(signed.as_bytes()) {
        return None;
    }
    let (_, claims) = signed.split_once('.')?;
    claims_of(&serde_json::from_slice(&base64::decode(claims).ok()?).ok()?)
}

/// Whether a token says that it was made in this cluster, which any client can claim. Mirrors `hasCorrectIssuer`.
pub fn is_ours(token: &str) -> bool {
    let [_, claims, _] = token.split('.').collect::<Vec<_>>()[..] else { return false };
    let claimed: Option<Value> = base64::decode(claims).ok().and_then(|claims| serde_json::from_slice(&claims).ok());
    claimed.is_some_and(|claimed| claimed["iss"] == ISSUER || claimed["iss"] == LEGACY_ISSUER)
}

fn document(claims: &Claims) -> Value {
    let Claims { namespace, account, account_uid, bounds } = claims;
    let subject = format!("system:serviceaccount:{namespace}:{account}");
    match bounds {
        Bounds::Secret(secret) => json!({
            "iss": LEGACY_ISSUER, "sub": subject,
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": secret,
            "kubernetes.io/serviceaccount/service-account.name": account,
            "kubernetes.io/serviceaccount/service-account.uid": account_uid,
        }),
        Bounds::Time { audiences, issued, expires, pod, secret, node, id } => {
            let mut about = json!({"namespace": namespace, "serviceaccount": {"name": account, "uid": account_uid}});
            for (field, bound) in [("pod", pod), ("secret", secret), ("node", node)] {
                if let Some((name, uid)) = bound {
                    about[field] = json!({"name": name, "uid": uid});
                }
            }
            let second = |at: &Instant| at.timestamp().as_second();
            json!({
                "aud": audiences, "exp": second(expires), "iat": second(issued), "iss": ISSUER, "jti": id,
                "kubernetes.io": about, "nbf": second(issued), "sub": subject,
            })
        }
    }
}

fn claims_of(document: &Value) -> Option<Claims> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let legacy = |field: &str| text(&document[format!("kubernetes.io/serviceaccount/{field}")]);
    if document["iss"] == LEGACY_ISSUER {
        return Some(Claims {
            namespace: legacy("namespace")?,
            account: legacy("service-account.name")?,
            account_uid: legacy("service-account.uid")?,
            bounds: Bounds::Secret(legacy("secret.name")?),
        });
    }
    let about = &document["kubernetes.io"];
    let at = |field: &str| {
        let second = jiff::Timestamp::from_second(document[field].as_i64()?).ok()?;
        Some(Instant::from_time(&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(second)))
    };
    let pair = |value: &Value| Some((text(&value["name"])?, text(&value["uid"])?));
    let (account, account_uid) = pair(&about["serviceaccount"])?;
    let audiences = document["aud"].as_array()?.iter().filter_map(text).collect();
    let bounds = Bounds::Time {
        audiences,
        issued: at("iat")?,
        expires: at("exp")?,
        pod: pair(&about["pod"]),
        secret: pair(&about["secret"]),
        node: pair(&about["node"]),
        id: text(&document["jti"])?,
    };
    Some(Claims { namespace: text(&about["namespace"])?, account, account_uid, bounds })
}

/// RFC 2104 with SHA-256 and the cluster's key, which is shorter than a block.
fn hmac(message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        block.iter_mut().zip(KEY).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = sha256::digest(&[&padded(0x36), message].concat());
    sha256::digest(&[&padded(0x5c)[..], &inner].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(bounds: Bounds) -> Claims {
        Claims { namespace: "n".into(), account: "a".into(), account_uid: "u".into(), bounds }
    }

    fn hour(pod: Option<(String, String)>) -> Bounds {
        let (issued, expires) = (Instant(1_000_000_000), Instant(3_601_000_000_000));
        let node = pod.as_ref().map(|_| ("node-1".to_owned(), "node-uid".to_owned()));
        let (secret, id) = (None, number("web", issued));
        Bounds::Time { audiences: vec![ISSUER.into()], issued, expires, pod, secret, node, id }
    }

    #[test]
    fn tokens_are_read_as_they_were_signed() {
        let pod = Some(("web".to_owned(), "pod-uid".to_owned()));
        for bounds in [Bounds::Secret("s".into()), hour(None), hour(pod)] {
            let claims = claims(bounds);
            assert_eq!(read(&sign(&claims)), Some(claims));
        }
    }

    #[test]
    fn what_was_touched_says_nothing() {
        let token = sign(&claims(hour(None)));
        let other = sign(&claims(Bounds::Secret("s".into())));
        let (signed, _) = token.rsplit_once('.').unwrap();
        let (_, signature) = other.rsplit_once('.').unwrap();
        for wrong in [signed, &format!("{signed}.{signature}"), &token[1..], "", "a.b", "a.b.c", "..", "a.b.c.d"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert!(is_ours(&format!("{signed}.{signature}")) && !is_ours(signed) && !is_ours("a.b.c"));
    }

    #[test]
    fn people_can_read_them() {
        let token = sign(&claims(hour(Some(("web".into(), "pod-uid".into())))));
        let claimed = base64::decode(token.split('.').nth(1).unwrap()).unwrap();
        let claimed: Value = serde_json::from_slice(&claimed).unwrap();
        assert_eq!(claimed["sub"], "system:serviceaccount:n:a");
        assert_eq!(claimed["exp"].as_i64().unwrap() - claimed["iat"].as_i64().unwrap(), 3600);
        assert_eq!(claimed["kubernetes.io"]["pod"], json!({"name": "web", "uid": "pod-uid"}));
        assert_eq!(claimed["kubernetes.io"]["node"], json!({"name": "node-1", "uid": "node-uid"}));
        assert_eq!(claimed["jti"].as_str().map(str::len), Some(36));
    }
}
