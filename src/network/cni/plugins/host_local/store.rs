//! Which addresses are taken: one file for each. Mirrors `backend/disk` and `backend/allocator/allocator.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::ranges::RangeSet;
use crate::cni::ipnet::IpNet;
use crate::disk::Disk;

/// Where networks have their directories, unless the configuration says `dataDir`.
const DATA_DIR: &str = "/var/lib/cni/networks";

/// The file that holds the lock.
const LOCK: &str = "lock";

/// One network's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    directory: String,
}

impl Store {
    /// The store of a network below `data_dir`; empty: the usual place.
    pub fn new(data_dir: &str, network: &str) -> Store {
        let data_dir = if data_dir.is_empty() { DATA_DIR } else { data_dir };
        Store { directory: format!("{}/{network}", data_dir.trim_end_matches('/')) }
    }

    /// Makes the directory, and the file in it that holds the lock.
    pub fn open(&self, disk: &Disk) -> Result<(), String> {
        let lock = format!("{}/{LOCK}", self.directory);
        if disk.has(&lock) {
            return Ok(());
        }
        disk.put(&lock, "").map_err(|error| format!("open {lock}: {error}"))
    }

    /// The file of an address.
    pub fn path(&self, address: IpAddr) -> String {
        format!("{}/{address}", self.directory)
    }

    /// All files, by name, but for the one that holds the lock.
    pub fn files(&self, disk: &Disk) -> BTreeMap<String, String> {
        let all = disk.visit(&self.directory, |name, text| Some((name.to_owned(), text.to_owned())));
        all.into_iter().filter(|(name, _)| name != LOCK).collect()
    }

    /// Makes files what they are to be. Gives the paths of those that were others.
    pub fn change(
        &self,
        disk: &Disk,
        before: &BTreeMap<String, String>,
        after: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        let changed = differ.filter_map(|name| {
            let path = format!("{}/{name}", self.directory);
            let done = match after.get(name) {
                Some(text) => disk.put(&path, text),
                None => disk.remove(&path),
            };
            done.is_ok().then_some(path)
        });
        changed.collect()
    }

    /// Takes an address for a container's interface: `wish`, or the next free one. `at` is the set's place in the
    /// configuration. Gives it with the length of its subnet, and its gateway.
    pub fn allocate(
        &self,
        disk: &Disk,
        set: &RangeSet,
        at: usize,
        owner: (&str, &str),
        wish: Option<IpAddr>,
    ) -> Result<(IpNet, Option<IpAddr>), String> {
        let last = format!("{}/last_reserved_ip.{at}", self.directory);
        let taken = match wish {
            Some(wish) => Some(self.take_wish(disk, set, owner, wish)?),
            None => {
                let held = self.held(disk, owner.0, owner.1);
                if let Some(held) = held.into_iter().find(|held| set.range_for(*held).is_some()) {
                    return Err(format!(
                        "{held} has been allocated to {}, duplicate allocation is not allowed",
                        owner.0
                    ));
                }
                let before = disk.read(&last).and_then(|text| text.parse().ok());
                set.after(before).map(|(address, _)| address).find(|address| self.reserve(disk, owner, *address))
            }
        };
        let found = taken.and_then(|address| Some((address, set.range_for(address)?)));
        let Some((address, range)) = found else {
            return Err(format!("no IP addresses available in range set: {set}"));
        };
        disk.put(&last, &address.to_string()).map_err(|error| format!("open {last}: {error}"))?;
        let prefix = range.subnet.map_or(0, |subnet| subnet.prefix);
        Ok((IpNet { address, prefix }, range.gateway))
    }

    fn take_wish(&self, disk: &Disk, set: &RangeSet, owner: (&str, &str), wish: IpAddr) -> Result<IpAddr, String> {
        if set.range_for(wish).is_some_and(|range| range.gateway == Some(wish)) {
            return Err(format!("requested ip {wish} is subnet's gateway"));
        }
        if !self.reserve(disk, owner, wish) {
            return Err(format!("requested IP address {wish} is not available in range set {set}"));
        }
        Ok(wish)
    }

    /// Makes an address's file. False if it is there.
    fn reserve(&self, disk: &Disk, (id, ifname): (&str, &str), address: IpAddr) -> bool {
        disk.create(&self.path(address), &format!("{id}\r\n{ifname}")).is_ok()
    }

    /// Removes the files of a container's interface. Gives their paths.
    pub fn release(&self, disk: &Disk, id: &str, ifname: &str) -> Vec<String> {
        let paths = self.files_of(disk, id, ifname);
        paths.into_iter().filter(|path| disk.remove(path).is_ok()).collect()
    }

    /// The addresses of a container's interface.
    pub fn held(&self, disk: &Disk, id: &str, ifname: &str) -> Vec<IpAddr> {
        let paths = self.files_of(disk, id, ifname);
        paths.iter().filter_map(|path| path.rsplit('/').next()?.parse().ok()).collect()
    }

    /// Files that name the container and its interface, or, as older versions wrote them, the container alone.
    fn files_of(&self, disk: &Disk, id: &str, ifname: &str) -> Vec<String> {
        let owner = format!("{id}\r\n{ifname}");
        let ours = |text: &str| text.trim() == owner || text.trim() == id;
        let names = disk.visit(&self.directory, |name, text| ours(text).then(|| name.to_owned()));
        names.into_iter().map(|name| format!("{}/{name}", self.directory)).collect()
    }
}
