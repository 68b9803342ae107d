//! A machine, as the processes on it share it: its disk, and the network that its kernel keeps.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::rc::Rc;

use crate::cni::ipnet::IpNet;
use crate::cni::netns::NodeNetwork;
use crate::disk::{Disk, id_of};
use crate::kernel::sockets::Sockets;
use engine::{Assumed, Hub, Memory, Note};
use object::loads::Loads;
use object::time::Instant;

/// What tells a machine, and its run since it was switched on, from all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// `/etc/machine-id`.
    pub machine: String,
    /// The mainboard's, in SMBIOS.
    pub system: String,
    /// `/proc/sys/kernel/random/boot_id`: another one after each start.
    pub boot: String,
}

/// What a machine can be short of; `eviction.SignalMemoryAvailable`, `SignalNodeFsAvailable` and `SignalPIDAvailable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortage {
    /// Less than 100Mi of its memory is free.
    Memory,
    /// Too little of its disk is free.
    Disk,
    /// It can start no more processes.
    Pids,
}

/// One machine.
#[derive(Debug)]
pub struct Host {
    /// What an admin would look at.
    pub disk: Disk,
    /// Gone with the power.
    pub network: Memory<NodeNetwork>,
    /// Who listens; gone with the power too.
    pub sockets: Memory<Sockets>,
    /// What processes of pods take, on this machine and all others.
    pub loads: Memory<Loads>,
    /// What processes other than those of pods have taken, except for the disk, which knows that itself; gone with the power.
    /// It belongs to the machine, so it stays when its kubelet changes.
    short_of: Memory<BTreeSet<Shortage>>,
    /// When it was switched on.
    booted: Instant,
}

impl Host {
    /// A machine that has just been switched on, with the address `address` and this disk.
    pub fn new(hub: &Hub, address: Ipv4Addr, disk: Disk) -> Host {
        let network = hub.memory(NodeNetwork::new(IpNet::v4(address, 16)));
        let (sockets, short_of) = (hub.memory(Sockets::default()), hub.memory(BTreeSet::new()));
        Host { disk, network, sockets, loads: hub.memory(Loads::default()), short_of, booted: hub.now() }
    }

    /// The same machine, where processes take what is said there.
    pub fn under(self, loads: Memory<Loads>) -> Host {
        Host { loads, ..self }
    }

    /// Who it is.
    pub fn ids(&self) -> Ids {
        let machine = self.disk.read("/etc/machine-id").unwrap_or_default().trim().to_owned();
        let system = uuid(id_of(&format!("{machine} board")));
        let boot = uuid(id_of(&format!("{machine} {}", self.booted.0)));
        Ids { machine, system, boot }
    }

    /// A program that is not known is taken to do this. That is said once.
    pub fn assume(&self, hub: &Hub, program: &Rc<str>, does: Assumed) {
        if self.sockets.borrow_mut().assumed.insert((program.clone(), does)) {
            hub.note(|| Note::Assumed { program: program.clone(), does });
        }
    }

    /// The machine becomes short of something; None: it has enough of everything again. What fills the disk stays there when
    /// the power is gone.
    pub fn shorten(&self, shortage: Option<Shortage>) {
        match shortage {
            Some(Shortage::Disk) => self.disk.set_full(true),
            Some(shortage) => _ = self.short_of.borrow_mut().insert(shortage),
            None => {
                self.disk.set_full(false);
                self.short_of.borrow_mut().clear();
            }
        }
    }

    /// Whether it is short of this.
    pub fn is_short_of(&self, shortage: Shortage) -> bool {
        match shortage {
            Shortage::Disk => self.disk.is_full(),
            shortage => self.short_of.borrow().contains(&shortage),
        }
    }

    /// Whether it is short of anything.
    pub fn is_short(&self) -> bool {
        self.disk.is_full() || !self.short_of.borrow().is_empty()
    }
}

/// A random UUID's form: version 4, variant 1.
fn uuid(number: u128) -> String {
    let number = (number & !(0xf << 76) & !(0xc << 60)) | (0x4 << 76) | (0x8 << 60);
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_switched_on_again_has_another_boot_id() {
        let hub = Hub::new(0);
        let disk = Disk::new(&hub, "node-1");
        let on = |disk: &Disk| Host::new(&hub, [172, 18, 0, 10].into(), disk.clone()).ids();
        let first = on(&disk);
        assert_eq!(on(&disk), first);
        let parts: Vec<usize> = first.boot.split('-').map(str::len).collect();
        assert_eq!((parts.as_slice(), &first.boot[14..15]), (&[8, 4, 4, 4, 12][..], "4"));
        assert!("89ab".contains(&first.boot[19..20]), "{first:?}");
        hub.set_now(Instant(1));
        let again = on(&disk);
        assert!(again.boot != first.boot && again.machine == first.machine && again.system == first.system);
        let other = on(&Disk::new(&hub, "node-2"));
        assert!(other.machine != first.machine && other.system != first.system && other.boot != again.boot);
    }
}
