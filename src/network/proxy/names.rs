//! Names of chains. A chain's name has room for 28 characters, so what it is for is hashed into it.
//! Mirrors `portProtoHash` and `servicePortEndpointChainName` of `pkg/proxy/iptables/proxier.go`.

use std::fmt;

use crate::netfilter::Protocol;
use object::sha256;

/// Characters of a hash that an iptables chain's name takes.
const LEN: usize = 16;

/// One port of one Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortName {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub service: String,
    /// The port's; empty if it has none.
    pub port: String,
    /// What it speaks.
    pub protocol: Protocol,
}

impl fmt::Display for PortName {
    /// `default/web:http`, or `default/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.service)?;
        if self.port.is_empty() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl PortName {
    /// The chain of the port with this prefix: `KUBE-SVC-NPX46M4PTMTKRN6Y`.
    pub fn chain(&self, prefix: &str) -> String {
        format!("{prefix}{}", hash(&format!("{self}{}", self.protocol.as_str()), LEN))
    }

    /// The chain that leads to one endpoint, `ip:port`.
    pub fn endpoint_chain(&self, endpoint: &str) -> String {
        format!("KUBE-SEP-{}", hash(&format!("{self}{}{endpoint}", self.protocol.as_str()), LEN))
    }
}

/// The first characters of the base32 of the SHA-256 of a text.
pub fn hash(text: &str, len: usize) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = sha256::digest(text.as_bytes());
    let bit = |i: usize| digest.get(i / 8).map_or(0, |byte| byte >> (7 - i % 8) & 1);
    let five = |at: usize| (at..at + 5).fold(0, |value, i| value << 1 | usize::from(bit(i)));
    (0..len).map(|i| char::from(ALPHABET[five(5 * i)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that clusters with these Services really have.
    #[test]
    fn chains_are_named_as_everywhere() {
        #[rustfmt::skip]
        let cases = [
            ("default", "kubernetes", "https", Protocol::Tcp, "KUBE-SVC-NPX46M4PTMTKRN6Y"),
            ("kube-system", "kube-dns", "dns", Protocol::Udp, "KUBE-SVC-TCOU7JCQXEZGVUNU"),
            ("kube-system", "kube-dns", "dns-tcp", Protocol::Tcp, "KUBE-SVC-ERIFXISQEP7F7OF4"),
            ("kube-system", "kube-dns", "metrics", Protocol::Tcp, "KUBE-SVC-JD5MR3NA4I4DYORP"),
        ];
        for (namespace, service, port, protocol, want) in cases {
            let name = PortName { namespace: namespace.into(), service: service.into(), port: port.into(), protocol };
            assert_eq!(name.chain("KUBE-SVC-"), want, "{name}");
        }
    }
}
