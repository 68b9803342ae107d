//! Who asks, and as whom. Mirrors `k8s.io/apiserver/pkg/authentication/user`, and the headers `Impersonate-…` of
//! `authentication.k8s.io/v1`.

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::authentication::v1::UserInfo;

/// Members may do everything. Mirrors `user.SystemPrivilegedGroup`.
pub const MASTERS: &str = "system:masters";

/// Who asks: the identity that authentication finds behind a certificate or a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// `system:kube-scheduler`, `system:node:node-1`, `system:serviceaccount:kube-system:deployment-controller` …
    pub name: String,
    /// `system:authenticated` and others.
    pub groups: Vec<String>,
    /// Their uid, empty if it is not known.
    pub uid: String,
    /// What else is known of them.
    pub extra: BTreeMap<String, Vec<String>>,
    /// As whom they ask, if not as themselves: the server has yet to look whether they may.
    pub acting_as: Option<Rc<Impersonation>>,
    /// The component, as traces name it: `deployment-controller`, `kubelet/node-1`, `user/kubectl`.
    pub agent: Rc<str>,
}

impl User {
    fn new(name: String, groups: &[&str], agent: &str) -> User {
        let groups = groups.iter().map(|g| (*g).to_owned()).chain(["system:authenticated".to_owned()]).collect();
        User { name, groups, agent: agent.into(), ..User::default() }
    }

    /// A component by its client certificate: `system:kube-scheduler`.
    pub fn component(name: &str, agent: &str) -> User {
        User::new(name.to_owned(), &[], agent)
    }

    /// A controller by its service account's token.
    pub fn service_account(namespace: &str, account: &str, agent: &str) -> User {
        let group = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", &group];
        User::new(format!("system:serviceaccount:{namespace}:{account}"), &groups, agent)
    }

    /// An operator by its service account's token, in the namespace in which it was installed by hand.
    pub fn operator(account: &str, agent: &str) -> User {
        User::service_account("default", account, agent)
    }

    /// A kubelet by its client certificate.
    pub fn node(node: &str) -> User {
        User::new(format!("system:node:{node}"), &["system:nodes"], &format!("kubelet/{node}"))
    }

    /// The API server itself, when it writes what it always writes.
    pub fn loopback() -> User {
        User::part_of_server("kube-apiserver")
    }

    /// One of the controllers that the API server has in its own process.
    pub fn part_of_server(agent: &str) -> User {
        User::new("system:apiserver".to_owned(), &[MASTERS], agent)
    }

    /// The same, asking as another.
    pub fn acting_as(self, other: Impersonation) -> User {
        User { acting_as: Some(Rc::new(other)), ..self }
    }

    /// What others are told of them. Mirrors `authentication/v1 UserInfo`.
    pub fn info(&self) -> UserInfo {
        UserInfo {
            username: Some(self.name.clone()),
            uid: Some(self.uid.clone()).filter(|uid| !uid.is_empty()),
            groups: Some(self.groups.clone()),
            extra: Some(self.extra.clone()).filter(|extra| !extra.is_empty()),
        }
    }

    /// A client that shows nothing to say who it is. Mirrors `authentication/request/anonymous`.
    pub fn anonymous(agent: &str) -> User {
        let groups = vec!["system:unauthenticated".to_owned()];
        User { name: "system:anonymous".to_owned(), groups, agent: agent.into(), ..User::default() }
    }

    /// The person at the keyboard, who may do everything.
    pub fn admin() -> User {
        User::new("kubernetes-admin".to_owned(), &[MASTERS], "user/kubectl")
    }

    /// Whether they may do everything.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// Whether this is one of the controllers that are one program, each with its own account.
    pub fn is_controller(&self) -> bool {
        self.name.starts_with("system:serviceaccount:kube-system:") && !self.is_master()
    }

    /// The program that a client says it is, which is the first part of its `User-Agent`.
    pub fn program(&self) -> &str {
        match self.name.as_str() {
            "system:kube-controller-manager" => "kube-controller-manager",
            "system:kube-scheduler" if &*self.agent == "kube-scheduler" => "kube-scheduler",
            "system:apiserver" => "kube-apiserver",
            _ if self.is_controller() => "kube-controller-manager",
            name if name.starts_with("system:node:") => "kubelet",
            _ => {
                let agent = match self.agent.strip_prefix("wire/") {
                    // Of one outside, that is followed by its number.
                    Some(client) => client.rsplit_once('-').map_or(client, |(program, _)| program),
                    None => self.agent.strip_prefix("user/").unwrap_or(&self.agent),
                };
                agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown")
            }
        }
    }
}

/// Another user, as the one who asks describes them: `kubectl --as`, or the headers `Impersonate-…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// `Impersonate-User`; empty: no user is named.
    pub user: String,
    /// `Impersonate-Uid`, empty if it is missing.
    pub uid: String,
    /// `Impersonate-Group`, as often as it stands there.
    pub groups: Vec<String>,
    /// `Impersonate-Extra-…`: values by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// Whether more than a name is asked for.
    pub fn is_more_than_a_name(&self) -> bool {
        !(self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty())
    }
}

/// Who was allowed to be impersonated.
#[derive(Clone, Debug)]
pub struct Impersonated {
    /// Whom the request counts as.
    pub user: Rc<User>,
    /// The verb of the constrained mode that allowed it, empty if it was the old one.
    pub constraint: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_one_account_of_many_and_no_master() {
        let operator = User::operator("sizes", "sizes");
        assert_eq!(operator.name, "system:serviceaccount:default:sizes");
        let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
        assert_eq!(operator.groups, groups);
        assert_eq!((operator.program(), operator.is_controller(), operator.is_master()), ("sizes", false, false));
    }
}
