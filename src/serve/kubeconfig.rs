//! Kubeconfigs for clients: an address with a secret in it, which is the user, or in TLS the user's certificate.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;

use super::tls::Credentials;
use super::users::KnownUser;

/// The text of a kubeconfig for a user; in TLS with the authority's certificate and what the user shows.
pub fn text(address: &str, user: &KnownUser, tls: Option<(&str, &Credentials)>, namespace: &str) -> String {
    let base64 = |text: &str| serde_json::json!(ByteString(text.as_bytes().to_vec()));
    let (server, authority, shown) = match tls {
        None => (format!("http://{address}{}", user.path()), String::new(), "{}".to_owned()),
        Some((authority, Credentials { certificate, key })) => (
            format!("https://{address}"),
            format!("    certificate-authority-data: {}\n", base64(authority)),
            format!("{{client-certificate-data: {}, client-key-data: {}}}", base64(certificate), base64(key)),
        ),
    };
    let server = serde_json::Value::from(server);
    let (name, namespace) = (serde_json::Value::from(user.identity.name.as_str()), serde_json::Value::from(namespace));
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: kubestep\n  cluster:\n    server: {server}\n{authority}users:\n- name: {name}\n  \
         user: {shown}\ncontexts:\n- name: kubestep\n  context:\n    cluster: kubestep\n    user: {name}\n    namespace: \
         {namespace}\ncurrent-context: kubestep\n"
    )
}

/// Writes one for its owner's eyes alone. Whole or not at all, so that a script that waits for the file can use it.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut options = File::options();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&beside)?.write_all(text.as_bytes())?;
    std::fs::rename(&beside, path).inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
