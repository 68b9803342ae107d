//! The token controller: fills the Secrets in which service accounts' tokens of old lie.
//!
//! Once every account got such a Secret. Now a token is asked for when it is needed and ends by itself; but who creates a
//! Secret of type `kubernetes.io/service-account-token` that names an account in an annotation still gets one that never
//! ends: this controller puts the token into it, with the cluster's certificate and the namespace. When the account goes
//! so does the Secret, and with it the token, since the API server looks whether both are there. When the Secret goes the
//! account does not name it any more, if it did.
//!
//! Mirrors `pkg/controller/serviceaccount/tokens_controller.go`.
//!
//! # Left out
//!
//! The cleaner of tokens that nobody has used for a year (`legacy-service-account-token-cleaner`), and the label by which
//! the API server notes their use.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use crate::apiserver::request::DeleteOptions;
use crate::client::informer::Change;
use crate::client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use crate::engine::{LocalBoxFuture, Memory};
use crate::object::token::{self, Bounds, Claims};
use crate::object::{Key, Kind, Object};

use super::root_ca::CERTIFICATE;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    name: "tokens-controller",
    watches: &[Kind::ServiceAccount, Kind::Secret],
    workers: 5,
    max_retries: Some(10),
    new: &|context| Rc::new(Tokens::new(context)),
};

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const CA: &str = "ca.crt";
const NAMESPACE: &str = "namespace";
const TOKEN: &str = "token";

/// The index of token Secrets by the account that they name.
const BY_ACCOUNT: &str = "service account";

/// Keys are Secrets, and `NAMESPACE/serviceaccounts/NAME`.
struct Tokens {
    client: Client,
    queue: Queue,
    accounts: Lister<ServiceAccount>,
    secrets: Lister<Secret>,
    /// Accounts that went, by key: their uid.
    gone: Memory<BTreeMap<Key, String>>,
    /// Secrets that went, by key.
    gone_secrets: Memory<BTreeMap<Key, Arc<Secret>>>,
}

impl Tokens {
    fn new(context: &ControllerContext) -> Tokens {
        context.add_index::<Secret>(BY_ACCOUNT, by_account);
        Tokens {
            client: context.client.clone(),
            queue: context.queue.clone(),
            accounts: context.lister(),
            secrets: context.lister(),
            gone: context.memory(BTreeMap::new()),
            gone_secrets: context.memory(BTreeMap::new()),
        }
    }

    async fn sync(&self, key: Key) -> Result<(), Error> {
        match key.name().strip_prefix("serviceaccounts/") {
            Some(account) => self.sync_account(&key, account).await,
            None => self.sync_secret(&key).await,
        }
    }

    /// An account went, and takes its tokens along. Mirrors `syncServiceAccount`.
    async fn sync_account(&self, key: &Key, account: &str) -> Result<(), Error> {
        let Some(uid) = self.gone.borrow().get(key).cloned() else { return Ok(()) };
        let account = Key::new(key.namespace(), account);
        for secret in self.secrets.by_index(BY_ACCOUNT, account.as_str()) {
            if annotation(&secret, ACCOUNT_UID) == uid {
                self.delete(&secret).await?;
            }
        }
        self.gone.borrow_mut().remove(key);
        Ok(())
    }

    /// Mirrors `syncSecret`.
    async fn sync_secret(&self, key: &Key) -> Result<(), Error> {
        let Some(secret) = self.secrets.get(key).filter(|secret| is_token(secret)) else {
            return self.forget(key).await;
        };
        match self.account_of(&secret).await? {
            Some(account) => self.fill(&secret, &account).await,
            None => self.delete(&secret).await,
        }
    }

    /// A Secret went: its account names it no more. Mirrors `removeSecretReference`.
    async fn forget(&self, key: &Key) -> Result<(), Error> {
        let Some(secret) = self.gone_secrets.borrow().get(key).cloned() else { return Ok(()) };
        if let Some(account) = self.account_of(&secret).await? {
            let names = |account: &ServiceAccount| {
                account.secrets.iter().flatten().any(|s| s.name.as_deref() == Some(key.name()))
            };
            if names(&account) {
                let mut account = ServiceAccount::clone(&account);
                account.secrets.get_or_insert_default().retain(|there| there.name.as_deref() != Some(key.name()));
                self.client.update(account).await?;
            }
        }
        self.gone_secrets.borrow_mut().remove(key);
        Ok(())
    }

    /// The account that a Secret names, if there is one: in the cache, or else at the API server. The same name with
    /// another uid is another account.
    async fn account_of(&self, secret: &Secret) -> Result<Option<Arc<ServiceAccount>>, Error> {
        let (name, uid) = (annotation(secret, ACCOUNT_NAME), annotation(secret, ACCOUNT_UID));
        let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
        let means = |account: &Arc<ServiceAccount>| {
            uid.is_empty() || account.metadata.uid.as_deref().unwrap_or_default() == uid
        };
        if let Some(account) = self.accounts.get(&Key::new(namespace, name)).filter(means) {
            return Ok(Some(account));
        }
        match self.client.get::<ServiceAccount>(namespace, name).await {
            Err(status) if status.is_not_found() => Ok(None),
            found => Ok(Some(found?).filter(means)),
        }
    }

    /// Puts in what is missing. Mirrors `generateTokenIfNeeded`.
    async fn fill(&self, cached: &Secret, account: &ServiceAccount) -> Result<(), Error> {
        if !lacks_something(cached, account) {
            return Ok(());
        }
        let key = Key::of_meta(&cached.metadata);
        let live = match self.client.get::<Secret>(key.namespace(), key.name()).await {
            Err(status) if status.is_not_found() => return Ok(()),
            found => found?,
        };
        // Somebody has changed it: the news is on its way.
        if live.metadata.resource_version != cached.metadata.resource_version {
            return Ok(());
        }
        match self.client.update(filled(Secret::clone(&live), account)).await {
            Err(status) if !status.is_conflict() && !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }

    async fn delete(&self, secret: &Secret) -> Result<(), Error> {
        let key = Key::of_meta(&secret.metadata);
        let this = DeleteOptions { uid: secret.metadata.uid.clone(), ..DeleteOptions::default() };
        match self.client.delete::<Secret>(key.namespace(), key.name(), this).await {
            Err(status) if !status.is_conflict() && !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }
}

fn is_token(secret: &Secret) -> bool {
    secret.type_.as_deref() == Some(TYPE)
}

fn annotation<'a>(secret: &'a Secret, name: &str) -> &'a str {
    let annotations = secret.metadata.annotations.as_ref();
    annotations.and_then(|annotations| annotations.get(name)).map_or("", String::as_str)
}

fn by_account(object: &Object) -> Vec<String> {
    let Object::Secret(secret) = object else { return Vec::new() };
    let account = Key::new(object.namespace(), annotation(secret, ACCOUNT_NAME));
    if is_token(secret) { vec![account.to_string()] } else { Vec::new() }
}

/// Mirrors `secretUpdateNeeded`.
fn lacks_something(secret: &Secret, account: &ServiceAccount) -> bool {
    let data = |name: &str| secret.data.as_ref().and_then(|data| data.get(name)).map_or(&[][..], |bytes| &bytes.0);
    let uid = account.metadata.uid.as_deref().unwrap_or_default();
    data(CA) != CERTIFICATE.as_bytes()
        || data(NAMESPACE).is_empty()
        || data(TOKEN).is_empty()
        || annotation(secret, ACCOUNT_UID) != uid
}

fn filled(mut secret: Secret, account: &ServiceAccount) -> Secret {
    let part = |field: &Option<String>| field.clone().unwrap_or_default();
    let (namespace, name) = (part(&secret.metadata.namespace), part(&secret.metadata.name));
    let claims = Claims {
        namespace: namespace.clone(),
        account: part(&account.metadata.name),
        account_uid: part(&account.metadata.uid),
        bounds: Bounds::Secret(name),
    };
    let annotations = secret.metadata.annotations.get_or_insert_default();
    annotations.insert(ACCOUNT_NAME.to_owned(), claims.account.clone());
    annotations.insert(ACCOUNT_UID.to_owned(), claims.account_uid.clone());
    let data = secret.data.get_or_insert_default();
    data.insert(CA.to_owned(), ByteString(CERTIFICATE.as_bytes().to_vec()));
    for (key, value) in [(NAMESPACE, namespace), (TOKEN, token::sign(&claims))] {
        let there = data.entry(key.to_owned()).or_default();
        if there.0.is_empty() {
            *there = ByteString(value.into_bytes());
        }
    }
    secret
}

impl Controller for Tokens {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Deleted(Object::ServiceAccount(account)) => {
                let key = Key::new(change.key().namespace(), &format!("serviceaccounts/{}", change.key().name()));
                self.gone.borrow_mut().insert(key.clone(), account.metadata.uid.clone().unwrap_or_default());
                self.queue.add(key);
            }
            Change::Added(Object::Secret(secret)) | Change::Updated { new: Object::Secret(secret), .. }
                if is_token(secret) =>
            {
                self.queue.add(change.key());
            }
            Change::Deleted(Object::Secret(secret)) if is_token(secret) => {
                self.gone_secrets.borrow_mut().insert(change.key(), secret.clone());
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    fn reconcile(self: Rc<Self>, key: Key) -> LocalBoxFuture<Result<(), Error>> {
        Box::pin(async move { self.sync(key).await })
    }
}
