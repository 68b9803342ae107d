//! TLS, as far as it shows: the server says who it is, and the client may look whether it is whom it wanted.
//!
//! A client says hello, the server answers with its certificate, and what follows is marked as sealed. On the wire one would
//! read neither; here it can be read, because there is something to learn from it.
//!
//! Left out: versions, ciphers, keys; certificates of clients; that a sealed record is unreadable to others.

/// Why a client goes no further, in OpenSSL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// What came back is no TLS.
    NotTls,
    /// The signer of the certificate is not trusted.
    Untrusted,
    /// The certificate is for other names.
    OtherName,
}

const HELLO: &str = "TLS ClientHello, server name ";
const CERTIFICATE: &str = "TLS ServerHello, certificate for ";
const SEALED: &str = "TLS ";

/// The first thing that a client says to `host`.
pub fn hello(host: &str) -> String {
    format!("{HELLO}{host}")
}

/// The answer of a server that has these names, to a client's hello; None: it is none.
pub fn answer(said: &str, names: &[&str]) -> Option<String> {
    said.starts_with(HELLO).then(|| format!("{CERTIFICATE}{}", names.join(", ")))
}

/// What a client makes of the answer to its hello. `trusts`: it knows the authority that has signed.
///
/// # Errors
/// Why it says no more.
pub fn check(answer: &str, host: &str, trusts: bool) -> Result<(), Broken> {
    let names = answer.strip_prefix(CERTIFICATE).ok_or(Broken::NotTls)?;
    match trusts {
        false => Err(Broken::Untrusted),
        true if names.split(", ").any(|name| name == host) => Ok(()),
        true => Err(Broken::OtherName),
    }
}

/// Whether an answer to a hello is TLS at all, for a client that checks nothing.
///
/// # Errors
/// It is not.
pub fn accept(answer: &str) -> Result<(), Broken> {
    if answer.starts_with(CERTIFICATE) { Ok(()) } else { Err(Broken::NotTls) }
}

/// A text as a record, such as goes over an established connection.
pub fn seal(text: &str) -> String {
    format!("{SEALED}{text}")
}

/// What is in a record; None: it is none.
pub fn open(record: &str) -> Option<&str> {
    record.strip_prefix(SEALED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_looks_at_the_certificate() {
        let names = ["kubernetes", "kubernetes.default"];
        let said = answer(&hello("kubernetes"), &names).unwrap();
        for (host, trusts, expected) in [
            ("kubernetes", true, Ok(())),
            ("kubernetes", false, Err(Broken::Untrusted)),
            ("web", true, Err(Broken::OtherName)),
        ] {
            assert_eq!(check(&said, host, trusts), expected, "{host}");
        }
        assert_eq!(check("HTTP/1.1 400 Bad Request", "kubernetes", true), Err(Broken::NotTls));
        assert_eq!((accept(&said), accept("HTTP/1.1 400")), (Ok(()), Err(Broken::NotTls)));
    }

    #[test]
    fn records_give_back_what_is_in_them() {
        assert_eq!(open(&seal("GET /")), Some("GET /"));
        assert_eq!((open("GET /"), answer("GET / HTTP/1.1", &[])), (None, None));
    }
}
