//! A range of addresses, as rules and routes write it: `10.244.1.0/24`.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An address with the length of its network part. The address may have host bits, as that of an interface has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cidr {
    /// The address as it was written.
    pub address: Ipv4Addr,
    /// Bits of the network part, 0 to 32.
    pub prefix: u8,
}

impl Cidr {
    /// Every address: `0.0.0.0/0`.
    pub const ALL: Cidr = Cidr { address: Ipv4Addr::UNSPECIFIED, prefix: 0 };

    /// A range; a prefix above 32 counts as 32.
    pub fn new(address: Ipv4Addr, prefix: u8) -> Cidr {
        Cidr { address, prefix: prefix.min(32) }
    }

    /// One address alone.
    pub fn host(address: Ipv4Addr) -> Cidr {
        Cidr { address, prefix: 32 }
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.address)) & self.mask() == 0
    }

    /// The range itself, without host bits.
    pub fn network(&self) -> Cidr {
        Cidr { address: Ipv4Addr::from(u32::from(self.address) & self.mask()), prefix: self.prefix }
    }

    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0)
    }
}

impl From<Ipv4Addr> for Cidr {
    fn from(address: Ipv4Addr) -> Cidr {
        Cidr::host(address)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no range of addresses; write for example 10.244.1.0/24, or 10.244.1.7 for one address")]
pub struct NotACidr(String);

impl FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Cidr, NotACidr> {
        let wrong = || NotACidr(text.to_owned());
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let address = address.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        if prefix > 32 { Err(wrong()) } else { Ok(Cidr { address, prefix }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_begins_like_them() {
        for (range, address, inside) in [
            ("10.244.1.0/24", "10.244.1.255", true),
            ("10.244.1.7/24", "10.244.1.1", true),
            ("10.244.1.0/24", "10.244.2.0", false),
            ("0.0.0.0/0", "255.1.2.3", true),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("128.0.0.0/1", "127.0.0.1", false),
        ] {
            let range: Cidr = range.parse().unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), inside, "{range} {address}");
        }
        assert_eq!("10.244.1.7/24".parse::<Cidr>().unwrap().network().to_string(), "10.244.1.0/24");
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "a/8", "10.0.0.1/", "::1/64"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
    }
}
