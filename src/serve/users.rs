//! Who comes, by the secret in the path of the address: `http://127.0.0.1:6445/s/SECRET`.
//!
//! kubectl and Helm send no token over plain HTTP, but they accept a path as part of the server's address. So each kubeconfig
//! has an address of its own, which cannot be guessed, and which stands for one user.

use cluster::clients::Identity;
use kubestep::cli::port;

/// What stands before the secret.
const PREFIX: &str = "/s/";

/// A user who has a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// Who it is.
    pub identity: Identity,
    secret: String,
}

/// Who comes by a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comes<'a> {
    /// This user, for this path.
    As(&'a Identity, &'a str),
    /// Without a secret: a token may say who it is.
    Unknown(&'a str),
    /// With a secret that is wrong.
    Wrong,
}

impl KnownUser {
    /// The user of `NAME` or `NAME:GROUP:GROUP`.
    ///
    /// # Errors
    /// There is no name.
    pub fn parse(text: &str) -> Result<KnownUser, String> {
        // A service account's name has colons of its own.
        let (name, groups) = match text.strip_prefix("system:serviceaccount:") {
            Some(rest) => {
                let mut parts = rest.splitn(3, ':');
                let (namespace, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                let own = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
                let more = parts.next().into_iter().flat_map(|more| more.split(':')).map(str::to_owned);
                (format!("system:serviceaccount:{namespace}:{name}"), own.into_iter().chain(more).collect())
            }
            None => {
                let mut parts = text.split(':').map(str::to_owned);
                (parts.next().unwrap_or_default(), parts.collect::<Vec<_>>())
            }
        };
        if name.is_empty() || name.ends_with(':') || groups.iter().any(String::is_empty) {
            return Err(format!("{text:?} is no user; write NAME or NAME:GROUP, as in jane:developers"));
        }
        Ok(KnownUser { identity: Identity { name, groups }, secret: port::secret() })
    }

    /// The administrator whom kubeadm makes.
    pub fn admin() -> KnownUser {
        let identity = Identity { name: "kubernetes-admin".to_owned(), groups: vec!["system:masters".to_owned()] };
        KnownUser { identity, secret: port::secret() }
    }

    /// The path by which this user comes.
    pub fn path(&self) -> String {
        format!("{PREFIX}{}", self.secret)
    }
}

/// Who comes by this path, and for what.
pub fn comes<'a>(users: &'a [KnownUser], target: &'a str) -> Comes<'a> {
    let Some(rest) = target.strip_prefix(PREFIX) else { return Comes::Unknown(target) };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (secret, path) = rest.split_at(end);
    let found = users.iter().find(|user| is_same(&user.secret, secret));
    found.map_or(Comes::Wrong, |user| Comes::As(&user.identity, if path.is_empty() { "/" } else { path }))
}

/// Compares all of both, so that the time it takes says nothing.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read() {
        let read = |text| KnownUser::parse(text).map(|user| (user.identity.name, user.identity.groups.join(" ")));
        assert_eq!(read("jane"), Ok(("jane".to_owned(), String::new())));
        assert_eq!(read("jane:dev:ops"), Ok(("jane".to_owned(), "dev ops".to_owned())));
        let account = "system:serviceaccount:ci:deployer";
        let groups = "system:serviceaccounts system:serviceaccounts:ci".to_owned();
        assert_eq!(read(account), Ok((account.to_owned(), groups)));
        for wrong in ["", ":dev", "jane:", "system:serviceaccount:ci"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_says_who_comes() {
        let users = [KnownUser::admin(), KnownUser::parse("jane").expect("it is a user")];
        let target = format!("{}/api/v1/pods?limit=1", users[1].path());
        assert_eq!(comes(&users, &target), Comes::As(&users[1].identity, "/api/v1/pods?limit=1"));
        assert_eq!(comes(&users, &users[0].path()), Comes::As(&users[0].identity, "/"));
        assert_eq!(comes(&users, "/api"), Comes::Unknown("/api"));
        assert_eq!(comes(&users, "/s/guess/api"), Comes::Wrong);
        assert_eq!(comes(&users, "/s/"), Comes::Wrong);
    }
}
