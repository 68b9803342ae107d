//! A machine, as the processes on it share it: its disk, and the network that its kernel keeps.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::rc::Rc;

use crate::cni::ipnet::IpNet;
use crate::cni::netns::NodeNetwork;
use crate::disk::Disk;
use crate::kernel::sockets::Sockets;
use engine::{Assumed, Hub, Memory, Note};

/// The release of the machines' kernel: that of the machine the recordings ran on, as a fake cAdvisor says it.
pub const KERNEL: &str = "3.16.0-0.bpo.4-amd64";

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
    /// What processes beside those of pods have taken, but for the disk, which knows itself; gone with the power. Whoever
    /// looks finds it, whichever kubelet runs.
    short_of: Memory<BTreeSet<Shortage>>,
}

impl Host {
    /// A machine that has just been switched on, with the address `address` and this disk.
    pub fn new(hub: &Hub, address: Ipv4Addr, disk: Disk) -> Host {
        let network = hub.memory(NodeNetwork::new(IpNet::v4(address, 16)));
        Host { disk, network, sockets: hub.memory(Sockets::default()), short_of: hub.memory(BTreeSet::new()) }
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
