//! Taking a port of this machine, and words that only a page or client of this run can know.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::anyhow;

/// Takes a port. `other` is what has it if it is taken: `another cluster`.
///
/// # Errors
/// Says what to do: the port or the address is not to be had.
pub fn bind(host: Ipv4Addr, port: u16, other: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind((host, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrNotAvailable => anyhow!("{host} is no address of this machine; 0.0.0.0 is every one"),
        io::ErrorKind::AddrInUse => {
            anyhow!("port {port} of {host} is taken, perhaps by {other}; --port 0 finds a free one")
        }
        io::ErrorKind::PermissionDenied => anyhow!("port {port} needs more rights than yours; take one above 1023"),
        _ => anyhow!("{host}:{port}: {error}"),
    })
}

/// A word of 256 bits that cannot be guessed. The standard library seeds its hash tables from the system's randomness.
pub fn secret() -> String {
    (0..4).map(|_| format!("{:016x}", RandomState::new().build_hasher().finish())).collect()
}
