//! The kubeconfig: which cluster, as whom, and in which namespace unless a line says otherwise. Mirrors
//! `k8s.io/client-go/tools/clientcmd/api`.
//!
//! It is what kubeadm writes: one cluster, one user, one context that joins them. A user may add contexts and users. The
//! administrator has a certificate, all others a token or nothing.
//!
//! A server looks at a certificate first: with the administrator's, a token that is shown as well counts for nothing, as
//! on a real cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::failure::Failure;
use object::well_known::API_SERVER_IP;

/// The only cluster.
pub const CLUSTER: &str = "kubernetes";
/// The user that there is from the start.
pub const USER: &str = "kubernetes-admin";
/// Where it is. A real kubectl writes the home directory out.
pub const FILE: &str = "~/.kube/config";
/// The context that there is from the start.
const CONTEXT: &str = "kubernetes-admin@kubernetes";
/// What `view` shows in place of confidential data.
const OMITTED: &str = "DATA+OMITTED";
/// What it shows in place of a token.
const REDACTED: &str = "REDACTED";

/// What a user shows to a server. Mirrors `AuthInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// A client certificate and its key.
    Certificate,
    /// A bearer token.
    Token(String),
    /// Nothing.
    #[default]
    None,
}

/// A way to use a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The cluster's name.
    pub cluster: String,
    /// The user's name.
    pub user: String,
    /// Empty: `default`.
    pub namespace: String,
}

impl Context {
    /// The only cluster and the administrator, in namespace `default`.
    pub fn usual() -> Context {
        Context { cluster: CLUSTER.to_owned(), user: USER.to_owned(), namespace: String::new() }
    }
}

/// The file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Contexts by name.
    pub contexts: BTreeMap<String, Context>,
    /// What users show, by name.
    pub users: BTreeMap<String, Credentials>,
    /// The name of the one that is used.
    pub current: String,
}

impl Config {
    /// The file as kubeadm writes it, with this namespace.
    pub fn new(namespace: &str) -> Config {
        let namespace = if namespace == "default" { String::new() } else { namespace.to_owned() };
        let context = Context { cluster: CLUSTER.to_owned(), user: USER.to_owned(), namespace };
        Config {
            contexts: [(CONTEXT.to_owned(), context)].into(),
            users: [(USER.to_owned(), Credentials::Certificate)].into(),
            current: CONTEXT.to_owned(),
        }
    }

    /// The namespace of a context; an empty name means the current one.
    pub fn namespace(&self, context: &str) -> Result<String, Failure> {
        let name = if context.is_empty() { &self.current } else { context };
        let unknown = || Failure::text(format!("context \"{name}\" does not exist"));
        let found = self.contexts.get(name).ok_or_else(unknown)?;
        Ok(if found.namespace.is_empty() { "default".to_owned() } else { found.namespace.clone() })
    }

    /// What the user of a context shows; an empty name means the current one. A `token` is shown instead of the user's own,
    /// but not instead of a certificate.
    ///
    /// # Errors
    /// The context's user does not exist. A context that does not exist is [`Config::namespace`]'s to complain of.
    pub fn credentials(&self, context: &str, token: &str) -> Result<Credentials, Failure> {
        let name = if context.is_empty() { &self.current } else { context };
        let Some(of) = self.contexts.get(name) else { return Ok(Credentials::Certificate) };
        let missing = || Failure::text(format!("auth info {:?} does not exist", of.user));
        Ok(match self.users.get(&of.user).ok_or_else(missing)? {
            Credentials::Certificate => Credentials::Certificate,
            _ if !token.is_empty() => Credentials::Token(token.to_owned()),
            other => other.clone(),
        })
    }

    /// The file as `config view` prints it; `minify` leaves only what the current context uses.
    pub fn view(&self, minify: bool) -> Value {
        let shown = self.contexts.iter().filter(|(name, _)| !minify || **name == self.current);
        let contexts: Vec<Value> = shown.map(|(name, of)| json!({"context": context(of), "name": name})).collect();
        let server = server();
        let used = self.contexts.get(&self.current).map(|context| &context.user);
        let users = self.users.iter().filter(|(name, _)| !minify || Some(*name) == used);
        let users: Vec<Value> = users.map(|(name, shown)| json!({"name": name, "user": user(shown)})).collect();
        json!({
            "apiVersion": "v1",
            "clusters": [{"cluster": {"certificate-authority-data": OMITTED, "server": server}, "name": CLUSTER}],
            "contexts": contexts,
            "current-context": self.current,
            "kind": "Config",
            "users": users,
        })
    }
}

/// Where the API server listens.
pub fn server() -> String {
    format!("https://{API_SERVER_IP}:6443")
}

fn user(shows: &Credentials) -> Value {
    match shows {
        Credentials::Certificate => json!({"client-certificate-data": OMITTED, "client-key-data": OMITTED}),
        Credentials::Token(_) => json!({"token": REDACTED}),
        Credentials::None => json!({}),
    }
}

fn context(of: &Context) -> Value {
    let fields = [("cluster", &of.cluster), ("namespace", &of.namespace), ("user", &of.user)];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(fields.map(|(name, text)| (name.to_owned(), text.as_str().into())).collect())
}
