//! Authentication: who is asking?
//!
//! Whatever reaches the API server over the network carries credentials: a client certificate, a bearer token, or
//! nothing. Authentication turns them into a [`User`], a name and groups, and nothing after it looks at the credentials
//! again. Every component has an identity of its own: the scheduler's certificate says `system:kube-scheduler`, a
//! kubelet's `system:node:node-1` in the group `system:nodes`, each controller has a service account in `kube-system`,
//! and the administrator's certificate puts its holder in `system:masters`, whom authorization never asks.
//!
//! Must hold: a wrong token is refused with 401 and never falls back to anonymous; no credentials at all make the user
//! anonymous, who is then mostly forbidden to do things (403).
//!
//! Mirrors `k8s.io/apiserver/pkg/authentication`: `request/{x509,bearertoken,anonymous,union}` and
//! `serviceaccount/util.go`.
//!
//! Left out: a certificate is what it claims here. OIDC, bootstrap tokens, webhooks, the front proxy.

use std::collections::BTreeMap;

use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::token::{self, Bounds, Claims, ISSUER};
use crate::object::{Kind, Object, Status};

use super::admission::Reader;
use super::request::User;

/// Everybody whose credentials were accepted is in this group.
const AUTHENTICATED: &str = "system:authenticated";

/// What a connection carries to say who it is.
#[derive(Clone, Copy, Debug)]
pub enum Credentials<'a> {
    /// A client certificate: its subject's common name and organizations.
    Certificate {
        /// Becomes the user's name.
        common_name: &'a str,
        /// Become the user's groups.
        organizations: &'a [&'a str],
    },
    /// `Authorization: Bearer …`.
    Bearer(&'a str),
    /// Nothing.
    None,
}

/// The tokens that the API server knows by heart: the static token file.
#[derive(Clone, Debug, Default)]
pub struct Authenticator {
    /// Users by token.
    tokens: BTreeMap<String, User>,
}

impl Authenticator {
    /// An authenticator that knows no token.
    pub fn new() -> Authenticator {
        Authenticator::default()
    }

    /// From now on `token` stands for `user`.
    pub fn add_token(&mut self, token: impl Into<String>, user: User) {
        self.tokens.insert(token.into(), user);
    }

    /// The user behind the credentials at this time, or the 401. `agent` is what the client calls itself.
    pub fn authenticate(
        &self,
        credentials: Credentials,
        agent: &str,
        now: Instant,
        reader: &dyn Reader,
    ) -> Result<User, Status> {
        let (name, mut groups) = match credentials {
            Credentials::Certificate { common_name, organizations } => {
                (common_name.to_owned(), organizations.iter().map(|group| (*group).to_owned()).collect())
            }
            Credentials::Bearer(token) => match self.tokens.get(token) {
                Some(user) => (user.name.clone(), user.groups.clone()),
                None => {
                    let claims = token::read(token).filter(|claims| is_good(claims, token, now, reader));
                    let Claims { namespace, account, .. } = claims.ok_or_else(unauthorized)?;
                    let user = User::service_account(&namespace, &account, agent);
                    (user.name, user.groups)
                }
            },
            Credentials::None => return Ok(anonymous(agent)),
        };
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Ok(User { name, groups, agent: agent.into() })
    }
}

/// Whether what a token is bound to is still there. Mirrors `validator.Validate` of `pkg/serviceaccount`.
fn is_good(claims: &Claims, token: &str, now: Instant, reader: &dyn Reader) -> bool {
    let there = |kind, name: &str, uid: &str| {
        reader.get(kind, &claims.namespace, name).is_some_and(|object| object.meta().uid.as_deref() == Some(uid))
    };
    let bounds_hold = match &claims.bounds {
        Bounds::Secret(name) => match reader.get(Kind::Secret, &claims.namespace, name) {
            Some(Object::Secret(secret)) => {
                let held = secret.data.as_ref().and_then(|data| data.get("token"));
                secret.metadata.deletion_timestamp.is_none() && held.is_some_and(|held| held.0 == token.as_bytes())
            }
            _ => false,
        },
        Bounds::Time { audiences, issued, expires, pod } => {
            let is_meant_for_us = audiences.iter().any(|audience| audience == ISSUER);
            is_meant_for_us
                && *issued <= now
                && now < *expires
                && pod.as_ref().is_none_or(|(name, uid)| there(Kind::Pod, name, uid))
        }
    };
    bounds_hold && there(Kind::ServiceAccount, &claims.account, &claims.account_uid)
}

/// Who asks without saying who they are.
pub fn anonymous(agent: &str) -> User {
    User { name: "system:anonymous".to_owned(), groups: vec!["system:unauthenticated".to_owned()], agent: agent.into() }
}

/// The 401. It tells an attacker nothing: no details, no reason why.
fn unauthorized() -> Status {
    Status::new(Reason::Unauthorized, "Unauthorized")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::apiserver::admission::testing::Objects;

    #[test]
    fn credentials_become_users() {
        let mut authenticator = Authenticator::new();
        authenticator.add_token("s3cret", User::service_account("kube-system", "job-controller", ""));
        let certificate = Credentials::Certificate { common_name: "jane", organizations: &["developers"] };
        let account = "system:serviceaccount:kube-system:job-controller";
        let cases = [
            (certificate, Ok(("jane", "developers,system:authenticated"))),
            (
                Credentials::Bearer("s3cret"),
                Ok((account, "system:serviceaccounts,system:serviceaccounts:kube-system,system:authenticated")),
            ),
            (Credentials::None, Ok(("system:anonymous", "system:unauthenticated"))),
            (Credentials::Bearer("nonsense"), Err((401, "Unauthorized"))),
        ];
        for (credentials, expected) in cases {
            let got = authenticator.authenticate(credentials, "test", Instant(0), &Objects::default());
            match expected {
                Ok((name, groups)) => {
                    let user = got.expect("the credentials are good");
                    assert_eq!((user.name.as_str(), user.groups.join(",").as_str()), (name, groups));
                }
                Err((code, message)) => {
                    let status = got.expect_err("the token is not known");
                    assert_eq!((status.code, status.message.as_str()), (code, message));
                    assert_eq!(status.details, None);
                }
            }
        }
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
            token::sign(&claims(Bounds::Time { audiences: vec![audience.to_owned()], issued, expires, pod }))
        };
        let timed = |pod: Option<&str>| meant_for(ISSUER, pod);
        let legacy = token::sign(&claims(Bounds::Secret("s".into())));
        let secret = |token: &str| {
            let data = json!({"token": k8s_openapi::ByteString(token.as_bytes().to_vec())});
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta("s", "s1"), "data": data})
        };
        let (early, late) = (Instant(2_000_000_000), expires);
        let cases: &[(&str, &String, Instant, Vec<Value>, bool)] = &[
            ("in time", &timed(None), early, vec![account("u1")], true),
            ("meant for another", &meant_for("vault", None), early, vec![account("u1")], false),
            ("too late", &timed(None), late, vec![account("u1")], false),
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
            let got = Authenticator::new().authenticate(Credentials::Bearer(token), "", *now, &Objects::parse(objects));
            assert_eq!(got.is_ok(), *good, "{what}");
            if let Ok(user) = got {
                assert_eq!(user.name, "system:serviceaccount:n:a", "{what}");
            }
        }
    }
}
