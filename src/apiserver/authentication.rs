//! Authentication: who is asking?
//!
//! A request that reaches the API server over the network carries credentials: a client certificate, a bearer token, or
//! nothing. Authentication turns them into a [`User`], a name and groups, and nothing after it looks at the credentials
//! again. Components are connected from the beginning, each as the user that its credentials name; a client that connects to
//! port 6443 shows a token or is anonymous. Every component has its own identity: the scheduler's certificate says
//! `system:kube-scheduler`, a kubelet's `system:node:node-1` in the group `system:nodes`, a controller has a service account in
//! `kube-system`, and the administrator's certificate puts its holder in `system:masters`, which may do everything.
//!
//! Must hold:
//! - A wrong token is refused with 401 and never falls back to anonymous. Kept by
//!   `a_token_says_who_asks_and_a_wrong_one_is_refused`.
//! - No credentials at all make the user anonymous, who is then mostly forbidden to do things (403). Kept by
//!   `a_token_says_who_asks`.
//!
//! Mirrors `k8s.io/apiserver/pkg/authentication`: `request/{x509,bearertoken,anonymous,union}` and
//! `serviceaccount/util.go`.
//!
//! Left out: a certificate is what it claims here, and has no number of its own (`authentication.kubernetes.io/credential-id`).
//! OIDC, bootstrap tokens, webhooks, the front proxy.

use std::collections::BTreeMap;
use std::time::Duration;

use object::status::Reason;
use object::time::Instant;
use object::token::{self, Bounds, Claims, ISSUER};
use object::{Accessor, Kind, Object, Status};
use wire::{Request, User};

use super::authorization::quoted;
use object::reader::Reader;

/// The user that a request's token names; None: it has none.
///
/// # Errors
/// The 401: a token that is no good is not made up for by anything else.
pub(super) fn by_token(request: &Request, now: Instant, reader: &dyn Reader) -> Result<Option<User>, Status> {
    let Some(token) = request.token() else { return Ok(None) };
    let bearer = Bearer::of(token, &[ISSUER.to_owned()], now, reader);
    // It tells an attacker nothing: no details, no reason why.
    let bearer = bearer.map_err(|_| Status::new(Reason::Unauthorized, "Unauthorized"))?;
    Ok(Some(User { acting_as: request.user.acting_as.clone(), ..bearer.user(&request.user.agent) }))
}

/// The bearer of a service account's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// What the token claims, which is so.
    pub claims: Claims,
    /// The audiences it was made for, among those that it is shown to.
    pub audiences: Vec<String>,
}

/// What is said of a token that this cluster has not issued.
const NOBODYS: &str = "invalid bearer token";
/// How far clocks may go apart. Mirrors `jwt.DefaultLeeway`.
const LEEWAY: Duration = Duration::from_secs(60);

impl Bearer {
    /// The bearer of a token that is `shown_to` these at this time.
    ///
    /// # Errors
    /// Why it is no good. Mirrors `jwtTokenAuthenticator.AuthenticateToken` of `pkg/serviceaccount`.
    pub fn of(token: &str, shown_to: &[String], now: Instant, reader: &dyn Reader) -> Result<Bearer, String> {
        let forged = if token::is_ours(token) { "go-jose/go-jose: error in cryptographic primitive" } else { NOBODYS };
        let claims = token::read(token).ok_or(forged)?;
        let own = [ISSUER.to_owned()];
        let meant_for: &[String] = match &claims.bounds {
            Bounds::Time { audiences, .. } if !audiences.is_empty() => audiences,
            _ => &own,
        };
        let audiences: Vec<String> = meant_for.iter().filter(|one| shown_to.contains(one)).cloned().collect();
        if audiences.is_empty() {
            let [meant_for, shown_to] = [meant_for, shown_to].map(quoted);
            return Err(format!("token audiences {meant_for} is invalid for the target audiences {shown_to}"));
        }
        let there = |kind, name: &str| reader.get(kind, &claims.namespace, name);
        match &claims.bounds {
            Bounds::Secret(secret) => check_secret(there(Kind::Secret, secret), token)?,
            Bounds::Time { issued, expires, .. } => check_time(*issued, *expires, now)?,
        }
        check_account(there(Kind::ServiceAccount, &claims.account), &claims, now)?;
        match &claims.bounds {
            Bounds::Time { pod: Some((name, uid)), .. } => check_bound(there(Kind::Pod, name), uid, now)?,
            Bounds::Time { secret: Some((name, uid)), .. } => check_bound(there(Kind::Secret, name), uid, now)?,
            Bounds::Time { node: Some((name, uid)), .. } => check_bound(reader.get(Kind::Node, "", name), uid, now)?,
            Bounds::Time { .. } | Bounds::Secret(_) => {}
        }
        Ok(Bearer { claims, audiences })
    }

    /// The user who that is, with all that the token says. `agent` is what the client calls itself. Mirrors
    /// `ServiceAccountInfo.UserInfo`.
    pub fn user(&self, agent: &str) -> User {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if let Bounds::Time { pod, node, id, .. } = &self.claims.bounds {
            let mut say = |key: &str, value: String| drop(extra.insert(extra_key(key), vec![value]));
            say("credential-id", format!("JTI={id}"));
            for (kind, bound) in [("pod", pod), ("node", node)] {
                let Some((name, uid)) = bound else { continue };
                say(&format!("{kind}-name"), name.clone());
                if !uid.is_empty() {
                    say(&format!("{kind}-uid"), uid.clone());
                }
            }
        }
        let user = User::service_account(&self.claims.namespace, &self.claims.account, agent);
        User { uid: self.claims.account_uid.clone(), extra, ..user }
    }
}

fn extra_key(name: &str) -> String {
    format!("authentication.kubernetes.io/{name}")
}

/// What a review says of a token that is no good: the server asks twice, and those who know only its own token first.
pub fn said_of(why: &str) -> String {
    if why == NOBODYS { why.to_owned() } else { format!("[{NOBODYS}, {why}]") }
}

/// A token of old is good as long as it lies in its Secret. Mirrors `legacyValidator.Validate`.
fn check_secret(secret: Option<Object>, token: &str) -> Result<(), String> {
    let Some(Object::Secret(secret)) = secret else { return Err("Token has been invalidated".to_owned()) };
    if secret.metadata.deletion_timestamp.is_some() {
        return Err("Token has been invalidated".to_owned());
    }
    let held = secret.data.as_ref().and_then(|data| data.get("token"));
    match held.is_some_and(|held| held.0 == token.as_bytes()) {
        true => Ok(()),
        false => Err("Token does not match server's copy".to_owned()),
    }
}

fn check_time(issued: Instant, expires: Instant, now: Instant) -> Result<(), String> {
    if now > expires + LEEWAY {
        return Err("service account token has expired".to_owned());
    }
    if now + LEEWAY < issued {
        return Err("service account token is not valid yet".to_owned());
    }
    Ok(())
}

/// Mirrors `validator.Validate`.
fn check_account(account: Option<Object>, claims: &Claims, now: Instant) -> Result<(), String> {
    let Claims { namespace, account: name, account_uid: claimed, .. } = claims;
    let account = account.ok_or_else(|| Status::not_found(Kind::ServiceAccount, name).message)?;
    if is_gone(&account, now) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    let uid = account.meta().uid();
    match uid == claimed {
        true => Ok(()),
        false => Err(format!("service account UID ({uid}) does not match claim ({claimed})")),
    }
}

fn check_bound(object: Option<Object>, claimed: &str, now: Instant) -> Result<(), String> {
    let invalidated = || "service account token has been invalidated".to_owned();
    let object = object.filter(|object| !is_gone(object, now)).ok_or_else(invalidated)?;
    let (uid, kind) = (object.meta().uid(), object.kind().info().singular());
    match uid == claimed {
        true => Ok(()),
        false => Err(format!("{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})")),
    }
}

/// Whether an object that is still there should have gone.
fn is_gone(object: &Object, now: Instant) -> bool {
    object.meta().deletion_timestamp.as_ref().is_some_and(|at| Instant::from_time(at) + LEEWAY < now)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::rc::Rc;

    use serde_json::{Value, json};

    use super::*;
    use crate::admission::testing::Objects;
    use wire::Connection;

    /// A request that shows this.
    fn shows(token: Option<&str>) -> Request {
        let user = User::anonymous("curl");
        let bearer = token.unwrap_or_default().to_owned();
        let connection = Connection { peer: Ipv4Addr::LOCALHOST, user_agent: String::new(), bearer };
        Request { connection: Some(Rc::new(connection)), ..Request::path(Rc::new(user), "/version") }
    }

    #[test]
    fn a_token_says_who_asks_and_a_wrong_one_is_refused() {
        let nobody = by_token(&shows(None), Instant(0), &Objects::default()).expect("nothing is shown");
        assert_eq!(nobody, None);
        let refused = by_token(&shows(Some("nonsense")), Instant(0), &Objects::default()).expect_err("it is no token");
        assert_eq!((refused.code, refused.message.as_str(), refused.details), (401, "Unauthorized", None));
    }

    /// What is bound to a Pod says which, and on which node it is; what is not says its number and the account.
    #[test]
    fn a_bearer_is_told_with_its_pod() {
        let object = |kind: &str, name: &str, uid: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n", "uid": uid}});
        let there = Objects::parse(&[object("ServiceAccount", "a", "u1"), object("Pod", "web", "p1")]);
        let extra = |pod: Option<(&str, &str)>| {
            let bounds = Bounds::Time {
                audiences: vec!["vault".into()],
                issued: Instant(0),
                expires: Instant(1),
                pod: pod.map(|(name, uid)| (name.to_owned(), uid.to_owned())),
                secret: None,
                node: pod.map(|_| ("node-1".to_owned(), String::new())),
                id: "7".to_owned(),
            };
            let claims = Claims { namespace: "n".into(), account: "a".into(), account_uid: "u1".into(), bounds };
            let bearer = Bearer::of(&token::sign(&claims), &["vault".to_owned()], Instant(0), &there)?;
            let info = bearer.user("").info();
            assert_eq!(info.uid.as_deref(), Some("u1"));
            Ok::<_, String>(json!(info.extra))
        };
        let [id, node, name, uid] = ["credential-id", "node-name", "pod-name", "pod-uid"].map(extra_key);
        let all = json!({&id: ["JTI=7"], node: ["node-1"], name: ["web"], uid: ["p1"]});
        assert_eq!(extra(Some(("web", "p1"))), Ok(all));
        assert_eq!(extra(None), Ok(json!({id: ["JTI=7"]})));
        let other = "pod UID (p1) does not match service account pod ref claim (p2)";
        assert_eq!(extra(Some(("web", "p2"))), Err(other.to_owned()));
        assert_eq!(extra(Some(("db", "p1"))), Err("service account token has been invalidated".to_owned()));
    }

    /// A token is good as long as all that it is bound to is there.
    #[test]
    fn tokens_end_with_what_they_are_bound_to() {
        let meta = |name: &str, uid: &str| json!({"name": name, "namespace": "n", "uid": uid});
        let account = |uid: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("a", uid)});
        let pod = |uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("web", uid)});
        let claims = |bounds| Claims { namespace: "n".into(), account: "a".into(), account_uid: "u1".into(), bounds };
        let (issued, expires) = (Instant(1_000_000_000), Instant(601_000_000_000));
        let meant_for = |audience: &str, pod: Option<&str>| {
            let pod = pod.map(|uid| ("web".to_owned(), uid.to_owned()));
            let (audiences, id) = (vec![audience.to_owned()], "7".to_owned());
            token::sign(&claims(Bounds::Time { audiences, issued, expires, pod, secret: None, node: None, id }))
        };
        let timed = |pod: Option<&str>| meant_for(ISSUER, pod);
        let legacy = token::sign(&claims(Bounds::Secret("s".into())));
        let secret = |token: &str| {
            let data = json!({"token": k8s_openapi::ByteString(token.as_bytes().to_vec())});
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta("s", "s1"), "data": data})
        };
        let (early, late, too_late) = (Instant(2_000_000_000), expires, Instant(661_000_000_001));
        let cases: &[(&str, &String, Instant, Vec<Value>, bool)] = &[
            ("in time", &timed(None), early, vec![account("u1")], true),
            ("meant for another", &meant_for("vault", None), early, vec![account("u1")], false),
            ("a moment late", &timed(None), late, vec![account("u1")], true),
            ("too late", &timed(None), too_late, vec![account("u1")], false),
            ("no account", &timed(None), early, vec![], false),
            ("another account", &timed(None), early, vec![account("u2")], false),
            ("its Pod is there", &timed(Some("p1")), early, vec![account("u1"), pod("p1")], true),
            ("its Pod is gone", &timed(Some("p1")), early, vec![account("u1")], false),
            ("another Pod", &timed(Some("p1")), early, vec![account("u1"), pod("p2")], false),
            ("in its Secret", &legacy, late, vec![account("u1"), secret(&legacy)], true),
            ("the Secret is gone", &legacy, late, vec![account("u1")], false),
            ("another is in the Secret", &legacy, late, vec![account("u1"), secret("x")], false),
        ];
        for (what, token, now, objects, good) in cases {
            let got = by_token(&shows(Some(token)), *now, &Objects::parse(objects));
            assert_eq!(got.is_ok(), *good, "{what}");
            if let Ok(Some(user)) = got {
                assert_eq!((user.name.as_str(), &*user.agent), ("system:serviceaccount:n:a", "curl"), "{what}");
            }
        }
    }
}
