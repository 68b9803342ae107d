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
//! The cleaner of tokens that were not used for a year (`legacy-service-account-token-cleaner`), and the label by which
//! the API server notes their use.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use engine::Memory;
use object::token::{self, Bounds, Claims};
use object::well_known::SERVICE_ACCOUNT_TOKEN;
use object::{Accessor, Key, Kind, Object};
use wire::{self, DeleteOptions};

use super::root_ca::CERTIFICATE;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::ServiceAccount, Kind::Secret],
    workers: 5,
    max_retries: Some(10),
    // It makes the tokens of service accounts, and so cannot wait for its own.
    account: None,
    ..Registration::new("tokens-controller", &|context| Rc::new(Tokens::new(context)))
};

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const CA: &str = "ca.crt";
const NAMESPACE: &str = "namespace";
const TOKEN: &str = "token";

/// How often taking a Secret out of an account is tried where others write the account too, and how long after a conflict.
/// Mirrors `RemoveTokenBackoff`.
const REMOVAL_TRIES: usize = 10;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);

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

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        match key.name().strip_prefix("serviceaccounts/") {
            Some(account) => self.sync_account(&key, account).await,
            None => self.sync_secret(&key).await,
        }
    }
}

impl Tokens {
    /// An account went, and takes its tokens along. Mirrors `syncServiceAccount`.
    async fn sync_account(&self, key: &Key, account: &str) -> Result<(), Error> {
        let Some(uid) = self.gone.borrow().get(key).cloned() else { return Ok(()) };
        let account = Key::new(key.namespace(), account);
        for secret in self.secrets.by_index(BY_ACCOUNT, account.as_str()) {
            // One that was never filled means any account of the name.
            if matches!(annotation(&secret, ACCOUNT_UID), of if of.is_empty() || of == uid) {
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
        match self.account_for(&secret).await? {
            Some(account) => self.fill(&secret, &account).await,
            None => self.delete(&secret).await,
        }
    }

    /// A Secret went: its account, if the cache has it, names it no more. If that cannot be written it is left at that.
    async fn forget(&self, key: &Key) -> Result<(), Error> {
        let Some(secret) = self.gone_secrets.borrow_mut().remove(key) else { return Ok(()) };
        if self.cached_account(&secret).is_none() {
            return Ok(());
        }
        for _ in 0..REMOVAL_TRIES {
            match self.remove_reference(key, &secret).await {
                Err(status) if status.is_conflict() => self.client.sleep(REMOVAL_PAUSE).await,
                _ => break,
            }
        }
        Ok(())
    }

    /// Mirrors `removeSecretReference`.
    async fn remove_reference(&self, key: &Key, secret: &Secret) -> Result<(), wire::Error> {
        let live = self.client.get::<ServiceAccount>(key.namespace(), annotation(secret, ACCOUNT_NAME)).await?;
        let is_it = |there: Option<&str>| there == Some(key.name());
        let names = live.secrets.iter().flatten().any(|there| is_it(there.name.as_deref()));
        if !means(secret, &live) || !names {
            return Ok(());
        }
        let mut account = ServiceAccount::clone(&live);
        account.secrets.get_or_insert_default().retain(|there| !is_it(there.name.as_deref()));
        self.client.update(account).await.map(drop)
    }

    fn cached_account(&self, secret: &Secret) -> Option<Arc<ServiceAccount>> {
        let namespace = secret.metadata.namespace();
        self.accounts.get(&Key::new(namespace, annotation(secret, ACCOUNT_NAME))).filter(|there| means(secret, there))
    }

    /// The account that a Secret names, if there is one: in the cache, or else at the API server.
    async fn account_for(&self, secret: &Secret) -> Result<Option<Arc<ServiceAccount>>, Error> {
        if let Some(account) = self.cached_account(secret) {
            return Ok(Some(account));
        }
        let namespace = secret.metadata.namespace();
        match self.client.get::<ServiceAccount>(namespace, annotation(secret, ACCOUNT_NAME)).await {
            Err(status) if status.is_not_found() => Ok(None),
            found => Ok(Some(found?).filter(|account| means(secret, account))),
        }
    }

    /// Puts in what is missing. Mirrors `generateTokenIfNeeded`.
    async fn fill(&self, cached: &Secret, account: &ServiceAccount) -> Result<(), Error> {
        if !lacks_something(cached) {
            return Ok(());
        }
        let key = Key::of_meta(&cached.metadata);
        let live = match self.client.get::<Secret>(key.namespace(), key.name()).await {
            Err(status) if status.is_not_found() => return Ok(()),
            found => found?,
        };
        // A client has changed it: a watch event is on its way.
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
    secret.type_.as_deref() == Some(SERVICE_ACCOUNT_TOKEN)
}

fn annotation<'a>(secret: &'a Secret, name: &str) -> &'a str {
    let annotations = secret.metadata.annotations.as_ref();
    annotations.and_then(|annotations| annotations.get(name)).map_or("", String::as_str)
}

/// Whether the Secret is for this account. The same name with another uid is another account.
fn means(secret: &Secret, account: &ServiceAccount) -> bool {
    let uid = annotation(secret, ACCOUNT_UID);
    uid.is_empty() || account.metadata.uid() == uid
}

fn by_account(object: &Object) -> Vec<String> {
    let Object::Secret(secret) = object else { return Vec::new() };
    let account = Key::new(object.namespace(), annotation(secret, ACCOUNT_NAME));
    if is_token(secret) { vec![account.to_string()] } else { Vec::new() }
}

/// Mirrors `secretUpdateNeeded`.
fn lacks_something(secret: &Secret) -> bool {
    let data = |name: &str| secret.data.as_ref().and_then(|data| data.get(name)).map_or(&[][..], |bytes| &bytes.0);
    data(CA) != CERTIFICATE.as_bytes() || data(NAMESPACE).is_empty() || data(TOKEN).is_empty()
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
