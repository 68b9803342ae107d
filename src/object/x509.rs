//! Requests for certificates and the certificates themselves, as far as the cluster reads and writes them: PKCS #10 and
//! X.509.
//!
//! [`Request::parse`] reads what a CertificateSigningRequest carries, [`certificate::issue`] writes what
//! kube-controller-manager answers. `openssl req` makes the first, `openssl x509 -text` shows the second.
//!
//! Left out: all cryptography. The signature under a request is not checked, so the requester does not prove that it has
//! the key, and a certificate has no signature, for no authority here has a key.
//!
//! Mirrors Go's `crypto/x509` and `pkg/apis/certificates/helpers.go`.

pub mod certificate;
pub mod der;
pub mod pem;

use der::{Element, Elements, tag};

/// The block that a request is in.
pub const REQUEST: &str = "CERTIFICATE REQUEST";
/// The block that a certificate is in.
pub const CERTIFICATE: &str = "CERTIFICATE";

/// What an attribute of a name is, or what an extension is about: the bytes of its object identifier.
pub type Oid = &'static [u8];

const COMMON_NAME: Oid = &[0x55, 4, 3];
const ORGANIZATION: Oid = &[0x55, 4, 10];
const SUBJECT_ALT_NAME: Oid = &[0x55, 29, 17];
/// `extensionRequest` of PKCS #9.
const EXTENSION_REQUEST: Oid = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Who the certificate is to name: what each attribute is, and its value.
    pub subject: Vec<(Vec<u8>, String)>,
    /// The public key, as it stands in the request.
    pub public_key: Vec<u8>,
    /// Other names that the certificate is to have, as they stand in the request.
    pub alt_names: Option<Vec<u8>>,
    /// What kinds of other names these are: the DNS names, the e-mail addresses, the IP addresses, the URIs.
    pub has: AltNames,
}

/// How many other names of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is called what it counts")]
pub struct AltNames {
    pub dns: usize,
    pub email: usize,
    pub ip: usize,
    pub uri: usize,
}

impl Request {
    /// Reads the PEM that a CertificateSigningRequest has in its spec. Mirrors `ParseCSR`.
    pub fn parse(text: &[u8]) -> Result<Request, String> {
        let bytes = pem::decode(text, REQUEST).ok_or("PEM block type must be CERTIFICATE REQUEST")?;
        let mut outer = Elements::of(&bytes);
        let mut request = outer.expect(tag::SEQUENCE)?.inside();
        if !outer.is_empty() {
            return Err("asn1: syntax error: trailing data".to_owned());
        }
        let mut info = request.expect(tag::SEQUENCE)?.inside();
        request.expect(tag::SEQUENCE)?;
        request.expect(tag::BIT_STRING)?;
        info.expect(tag::INTEGER)?;
        let mut found = Request { subject: name(info.expect(tag::SEQUENCE)?)?, ..Request::default() };
        found.public_key = info.expect(tag::SEQUENCE)?.whole.to_vec();
        if !info.is_empty() {
            found.read_attributes(info.expect(tag::context(0))?)?;
        }
        Ok(found)
    }

    /// The name that the subject goes by; empty if it has none.
    pub fn common_name(&self) -> &str {
        self.values(COMMON_NAME).last().unwrap_or_default()
    }

    /// The groups that the subject is in, if the certificate is one of a client.
    pub fn organizations(&self) -> impl Iterator<Item = &str> {
        self.values(ORGANIZATION)
    }

    fn values(&self, of: Oid) -> impl Iterator<Item = &str> {
        self.subject.iter().filter(move |(oid, _)| oid == of).map(|(_, value)| value.as_str())
    }

    /// The attributes: of interest are the extensions that the certificate is to have.
    fn read_attributes(&mut self, attributes: Element) -> Result<(), String> {
        let mut attributes = attributes.inside();
        while !attributes.is_empty() {
            let mut attribute = attributes.expect(tag::SEQUENCE)?.inside();
            if attribute.expect(tag::OBJECT)?.content != EXTENSION_REQUEST {
                continue;
            }
            let mut values = attribute.expect(tag::SET)?.inside();
            let mut extensions = values.expect(tag::SEQUENCE)?.inside();
            while !extensions.is_empty() {
                self.read_extension(extensions.expect(tag::SEQUENCE)?)?;
            }
        }
        Ok(())
    }

    fn read_extension(&mut self, extension: Element) -> Result<(), String> {
        let mut parts = extension.inside();
        if parts.expect(tag::OBJECT)?.content != SUBJECT_ALT_NAME {
            return Ok(());
        }
        let mut value = parts.take()?;
        if value.tag == tag::BOOLEAN {
            value = parts.take()?;
        }
        let mut names = value.inside().expect(tag::SEQUENCE)?.inside();
        while !names.is_empty() {
            match names.take()?.tag {
                EMAIL => self.has.email += 1,
                DNS => self.has.dns += 1,
                URI => self.has.uri += 1,
                IP => self.has.ip += 1,
                _ => {}
            }
        }
        self.alt_names = Some(value.content.to_vec());
        Ok(())
    }
}

const EMAIL: u8 = tag::context_bytes(1);
const DNS: u8 = tag::context_bytes(2);
const URI: u8 = tag::context_bytes(6);
const IP: u8 = tag::context_bytes(7);

/// The attributes of a name, in their order.
fn name(name: Element) -> Result<Vec<(Vec<u8>, String)>, String> {
    let (mut sets, mut found) = (name.inside(), Vec::new());
    while !sets.is_empty() {
        let mut set = sets.expect(tag::SET)?.inside();
        while !set.is_empty() {
            let mut attribute = set.expect(tag::SEQUENCE)?.inside();
            let (oid, value) = (attribute.expect(tag::OBJECT)?, attribute.take()?);
            found.push((oid.content.to_vec(), String::from_utf8_lossy(value.content).into_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
