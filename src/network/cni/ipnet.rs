//! Addresses with the length of their network part, of both families, and the arithmetic that address plugins need.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `10.244.1.7/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IpNet {
    /// The address; it may have host bits.
    pub address: IpAddr,
    /// Bits of the network part.
    pub prefix: u8,
}

impl IpNet {
    /// An IPv4 address and so many bits of its network, 32 at most.
    pub fn v4(address: Ipv4Addr, prefix: u8) -> IpNet {
        IpNet { address: address.into(), prefix: prefix.min(32) }
    }

    /// How many bits an address of this family has.
    pub fn bits(&self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// The first address.
    pub fn network(&self) -> IpAddr {
        of_number(self.address, number(self.address) & !self.host_mask())
    }

    /// The range without host bits.
    pub fn range(&self) -> IpNet {
        IpNet { address: self.network(), prefix: self.prefix }
    }

    /// The last address.
    pub fn last(&self) -> IpAddr {
        of_number(self.address, number(self.address) | self.host_mask())
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && self.network() <= address && address <= self.last()
    }

    fn host_mask(&self) -> u128 {
        let host = u32::from(self.bits() - self.prefix);
        1u128.checked_shl(host).map_or(u128::MAX, |size| size - 1)
    }
}

/// The next address; that after the last is the last.
pub fn next(address: IpAddr) -> IpAddr {
    of_number(address, number(address).saturating_add(1))
}

/// The address before; that before the first is the first.
pub fn before(address: IpAddr) -> IpAddr {
    of_number(address, number(address).saturating_sub(1))
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// An address of the family of `like`.
fn of_number(like: IpAddr, number: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        IpAddr::V6(_) => IpAddr::V6(number.into()),
    }
}

impl fmt::Display for IpNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Why a text is no range: Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid CIDR address: {0}")]
pub struct NotACidr(String);

impl FromStr for IpNet {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<IpNet, NotACidr> {
        let wrong = || NotACidr(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let net =
            IpNet { address: address.parse().map_err(|_| wrong())?, prefix: prefix.parse().map_err(|_| wrong())? };
        if net.prefix > net.bits() { Err(wrong()) } else { Ok(net) }
    }
}

impl Serialize for IpNet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpNet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IpNet, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_ends() {
        for (text, first, last) in [
            ("10.1.2.7/24", "10.1.2.0", "10.1.2.255"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.3"),
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            ("2001:db8::5/64", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff"),
        ] {
            let net: IpNet = text.parse().unwrap();
            assert_eq!((net.network().to_string(), net.last().to_string()), (first.to_owned(), last.to_owned()));
            assert_eq!(net.to_string(), text);
        }
        assert_eq!(next("10.1.2.255".parse().unwrap()).to_string(), "10.1.3.0");
        for wrong in ["10.1.2.0", "10.1.2.0/33", "10.1.2/24", "a/8", "::/129"] {
            assert_eq!(wrong.parse::<IpNet>().unwrap_err().to_string(), format!("invalid CIDR address: {wrong}"));
        }
    }
}
