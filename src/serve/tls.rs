//! TLS, with an authority that is made anew at each start: a certificate for the server, and one for each user, who is known by it.
//! Mirrors what kubeadm makes: `O` is a group, `CN` the user.
//!
//! Left out: certificates that a cluster's own signer has issued; a second group in a certificate, which its user has all the same.

use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use cluster::clients::Identity;

use super::users::KnownUser;

/// What a server needs to speak it, and who is who.
pub struct Tls {
    /// For the sockets.
    pub config: Arc<ServerConfig>,
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// Certificates of users, as bytes, and whose they are.
    users: Vec<(CertificateDer<'static>, Identity)>,
    /// The same for kubeconfigs.
    credentials: Vec<Credentials>,
}

/// What a user shows, in PEM.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl Tls {
    /// An authority, and certificates by it: for a server of these names and addresses, and for users.
    ///
    /// # Errors
    /// No keys can be made on this machine.
    pub fn new(names: Vec<String>, users: &[KnownUser]) -> anyhow::Result<Tls> {
        let key = KeyPair::generate().context("no key can be made")?;
        let mut params = named("kubernetes", None)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = params.signed_by(&key, &issuer)?;
        let server_key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));

        let (mut known, mut credentials) = (Vec::new(), Vec::new());
        for KnownUser { identity, .. } in users {
            let key = KeyPair::generate()?;
            let mut params = named(&identity.name, identity.groups.first())?;
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let certificate = params.signed_by(&key, &issuer)?;
            known.push((certificate.der().clone(), identity.clone()));
            credentials.push(Credentials { certificate: certificate.pem(), key: key.serialize_pem() });
        }
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone())?;
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![server.der().clone()], server_key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { config: Arc::new(config), authority: authority.pem(), users: known, credentials })
    }

    /// Whose certificate a connection has shown.
    pub fn user(&self, shown: Option<&[CertificateDer]>) -> Option<&Identity> {
        let first = shown?.first()?;
        self.users.iter().find(|(certificate, _)| certificate == first).map(|(_, identity)| identity)
    }

    /// What the user of this place in the list shows.
    pub fn credentials(&self, user: usize) -> Option<&Credentials> {
        self.credentials.get(user)
    }
}

fn named(name: &str, group: Option<&String>) -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group.as_str());
    }
    Ok(params)
}
