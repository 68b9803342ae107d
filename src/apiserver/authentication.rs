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
//! Left out: signing. A token is a name in a table here, a certificate is what it claims. OIDC, bootstrap tokens,
//! webhooks, the front proxy.

use std::collections::BTreeMap;

use crate::object::Status;
use crate::object::status::Reason;

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

/// The tokens that the API server knows.
#[derive(Clone, Debug, Default)]
pub struct Authenticator {
    /// Users by token: the static token file, and the tokens of service accounts.
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

    /// The user behind the credentials, or the 401. `agent` is what the client calls itself.
    pub fn authenticate(&self, credentials: Credentials, agent: &str) -> Result<User, Status> {
        let (name, mut groups) = match credentials {
            Credentials::Certificate { common_name, organizations } => {
                (common_name.to_owned(), organizations.iter().map(|group| (*group).to_owned()).collect())
            }
            Credentials::Bearer(token) => {
                let user = self.tokens.get(token).ok_or_else(unauthorized)?;
                (user.name.clone(), user.groups.clone())
            }
            Credentials::None => return Ok(anonymous(agent)),
        };
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Ok(User { name, groups, agent: agent.into() })
    }
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
    use super::*;

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
            let got = authenticator.authenticate(credentials, "test");
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
}
