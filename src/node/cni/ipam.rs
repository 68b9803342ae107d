//! host-local: addresses handed out from files. Mirrors `plugins/ipam/host-local`.
//!
//! Each address in use is a file named after it, in `/var/lib/cni/networks/NAME/`, that says whose it is. The search
//! for a free one starts after the address given last, so an address that was freed rests for a while.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::CniError;

/// The allocator of one network on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLocal {
    /// First address of the subnet.
    subnet: u32,
    /// Bits of its prefix.
    pub prefix: u32,
    /// Address files: the owner's container id and interface.
    reserved: BTreeMap<u32, (String, String)>,
    /// `last_reserved_ip.0`.
    last: Option<u32>,
}

impl HostLocal {
    /// For a subnet such as `10.244.0.0/24`. A subnet that cannot be read has no address to give.
    pub fn new(subnet: &str) -> HostLocal {
        let (base, prefix) = subnet.split_once('/').unwrap_or((subnet, "32"));
        let prefix = prefix.parse().unwrap_or(32).min(32);
        let base: Ipv4Addr = base.parse().unwrap_or(Ipv4Addr::UNSPECIFIED);
        HostLocal { subnet: u32::from(base), prefix, reserved: BTreeMap::new(), last: None }
    }

    /// The network's address plus one.
    pub fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.subnet.saturating_add(1))
    }

    fn last_usable(&self) -> u32 {
        let size = 1u64 << (32 - self.prefix);
        u32::try_from(u64::from(self.subnet) + size).unwrap_or(u32::MAX).saturating_sub(2)
    }

    /// Reserves the next free address for a container's interface.
    pub fn add(&mut self, container: &str, ifname: &str) -> Result<Ipv4Addr, CniError> {
        let owner = (container.to_owned(), ifname.to_owned());
        if let Some((address, _)) = self.reserved.iter().find(|(_, there)| **there == owner) {
            let address = Ipv4Addr::from(*address);
            let message = format!("{address} has been allocated to {container}, duplicate allocation is not allowed");
            return Err(CniError { code: 100, message });
        }
        let (first, last, gateway) = (self.subnet.saturating_add(1), self.last_usable(), u32::from(self.gateway()));
        let start = self.last.map_or(first, |last_given| if last_given >= last { first } else { last_given + 1 });
        let mut candidates = (start..=last).chain(first..start);
        let Some(address) = candidates.find(|a| *a != gateway && !self.reserved.contains_key(a)) else {
            let (from, to) = (Ipv4Addr::from(first), Ipv4Addr::from(last));
            let message =
                format!("failed to allocate for range 0: no IP addresses available in range set: {from}-{to}");
            return Err(CniError { code: 100, message });
        };
        self.reserved.insert(address, owner);
        self.last = Some(address);
        Ok(Ipv4Addr::from(address))
    }

    /// Gives back what a container's interface holds. Nothing to give back is no error.
    pub fn del(&mut self, container: &str, ifname: &str) -> Option<Ipv4Addr> {
        let found = self.reserved.iter().find(|(_, (c, i))| c == container && i == ifname).map(|(a, _)| *a)?;
        self.reserved.remove(&found);
        Some(Ipv4Addr::from(found))
    }

    /// The address that a container's interface holds.
    pub fn held(&self, container: &str, ifname: &str) -> Option<Ipv4Addr> {
        self.reserved.iter().find(|(_, (c, i))| c == container && i == ifname).map(|(a, _)| Ipv4Addr::from(*a))
    }

    /// The files an admin would find: name and content.
    pub fn files(&self) -> BTreeMap<String, String> {
        let address = |a: &u32| Ipv4Addr::from(*a).to_string();
        let mut files: BTreeMap<String, String> =
            self.reserved.iter().map(|(a, (id, ifname))| (address(a), format!("{id}\r\n{ifname}"))).collect();
        if let Some(last) = &self.last {
            files.insert("last_reserved_ip.0".into(), address(last));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_round() {
        let mut ipam = HostLocal::new("10.1.2.0/29");
        let given: Vec<String> = (0..5).map(|i| ipam.add(&format!("c{i}"), "eth0").unwrap().to_string()).collect();
        assert_eq!(given, ["10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6"]);
        let full = ipam.add("c5", "eth0").unwrap_err();
        assert!(full.message.contains("no IP addresses available in range set: 10.1.2.1-10.1.2.6"), "{}", full.message);
        ipam.del("c1", "eth0");
        ipam.del("c1", "eth0");
        assert_eq!(ipam.add("c6", "eth0").unwrap().to_string(), "10.1.2.3");
    }

    #[test]
    fn a_freed_address_rests() {
        let mut ipam = HostLocal::new("10.1.2.0/24");
        ipam.add("a", "eth0").unwrap();
        ipam.del("a", "eth0");
        assert_eq!(ipam.add("b", "eth0").unwrap().to_string(), "10.1.2.3");
        let twice = ipam.add("b", "eth0").unwrap_err();
        assert_eq!(twice.message, "10.1.2.3 has been allocated to b, duplicate allocation is not allowed");
    }
}
