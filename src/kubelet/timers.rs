//! What the kubelet's timers are for.
//!
//! To the engine a timer is two words, by which those who step see it: what it is, and a key. What they mean is said here
//! and nowhere else: [`Timer::what`] and `Display` write them, [`Timer::read`] reads them back.

use std::fmt;

use crate::probes::Kind;
use object::time::Instant;

/// Renew the node's lease.
pub const LEASE: &str = "node lease";
/// Compute, and if need be report, the node's status.
pub const NODE_STATUS: &str = "node status";
/// The files of a volume are due to be written anew.
pub const REMOUNT: &str = "volume refresh";
const RELIST: &str = "pleg relist";
const WORK: &str = "pod work queue";
const STATUS: &str = "status manager";
const MOUNT: &str = "volume manager";
const RUNTIME_UP: &str = "runtime up";
const DEADLINE: &str = "active deadline";
const SHUTDOWN: &str = "node shutdown";
const PREEMPTION: &str = "preemption";
const EVICTION: &str = "eviction manager";
const RESIZE: &str = "allocation manager";
const GARBAGE: &str = "garbage collection";
const ORPHAN: &str = "pod cleanup";
const MIRROR: &str = "mirror pod cleanup";
const PROBE: &str = "probe";

/// The key of [`Timer::Relief`].
const RELIEF: &str = "relief";
/// That of a sync's deadline, behind the pod's uid.
const OF_SYNC: &str = "deadline";
/// The groups of pods that end one after the other.
const GROUPS: [(bool, &str); 2] = [(true, "critical"), (false, "ordinary")];

/// A timer that goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer<'a> {
    /// List the runtime.
    Relist,
    /// A pod's turn in the work queue.
    Work {
        /// The pod.
        uid: &'a str,
    },
    /// Statuses that could not be written are tried again.
    Status,
    /// Renew the node's lease.
    Lease,
    /// Compute, and if need be report, the node's status.
    NodeStatus {
        /// When that is.
        at: Instant,
    },
    /// A volume may be tried again.
    MountAgain {
        /// Its pod.
        uid: &'a str,
        /// Which of the pod's volumes it is.
        volume: usize,
    },
    /// A sync has waited long enough for its volumes.
    MountDeadline {
        /// Its pod.
        uid: &'a str,
    },
    /// The files of a volume are due to be written anew.
    Remount {
        /// Its pod.
        uid: &'a str,
        /// Which of the pod's volumes it is.
        volume: usize,
    },
    /// Ask the runtime how it is.
    RuntimeUp,
    /// A pod's `activeDeadlineSeconds` may be over.
    Deadline {
        /// The pod.
        uid: &'a str,
    },
    /// The machine waits no longer for a group of pods to end.
    Shutdown {
        /// Whether it is the critical ones.
        critical: bool,
    },
    /// A pod that makes room should have ended by now.
    Preemption {
        /// The pod.
        uid: &'a str,
    },
    /// Look whether there is enough memory and disk.
    Eviction,
    /// A condition of the node may be over.
    Relief,
    /// Pods that are to be larger are tried again.
    Resize,
    /// Look for what the runtime keeps without need.
    Garbage,
    /// What is left of a pod that is gone could not be taken away: it is tried again.
    Orphan {
        /// The pod.
        uid: &'a str,
    },
    /// Nor could a mirror that stands for no pod.
    Mirror {
        /// Its namespace and name.
        pod: &'a str,
    },
    /// A probe's period is over.
    Probe {
        /// The pod.
        uid: &'a str,
        /// The container.
        container: &'a str,
        /// Which of its probes.
        kind: Kind,
        /// Which of the probe's periods.
        number: u64,
    },
}

impl<'a> Timer<'a> {
    /// What it is, for those who step.
    pub fn what(&self) -> &'static str {
        match self {
            Timer::Relist => RELIST,
            Timer::Work { .. } => WORK,
            Timer::Status => STATUS,
            Timer::Lease => LEASE,
            Timer::NodeStatus { .. } => NODE_STATUS,
            Timer::MountAgain { .. } | Timer::MountDeadline { .. } => MOUNT,
            Timer::Remount { .. } => REMOUNT,
            Timer::RuntimeUp => RUNTIME_UP,
            Timer::Deadline { .. } => DEADLINE,
            Timer::Shutdown { .. } => SHUTDOWN,
            Timer::Preemption { .. } => PREEMPTION,
            Timer::Eviction | Timer::Relief => EVICTION,
            Timer::Resize => RESIZE,
            Timer::Garbage => GARBAGE,
            Timer::Orphan { .. } => ORPHAN,
            Timer::Mirror { .. } => MIRROR,
            Timer::Probe { .. } => PROBE,
        }
    }

    /// The timer with these words. None: it is no timer of the kubelet's.
    pub fn read(what: &str, key: &'a str) -> Option<Timer<'a>> {
        Some(match what {
            RELIST => Timer::Relist,
            WORK => Timer::Work { uid: key },
            STATUS => Timer::Status,
            LEASE => Timer::Lease,
            NODE_STATUS => Timer::NodeStatus { at: Instant(key.parse().ok()?) },
            MOUNT => match key.split_once(' ')? {
                (uid, OF_SYNC) => Timer::MountDeadline { uid },
                (uid, volume) => Timer::MountAgain { uid, volume: volume.parse().ok()? },
            },
            REMOUNT => {
                let (uid, volume) = key.split_once(' ')?;
                Timer::Remount { uid, volume: volume.parse().ok()? }
            }
            RUNTIME_UP => Timer::RuntimeUp,
            DEADLINE => Timer::Deadline { uid: key },
            SHUTDOWN => Timer::Shutdown { critical: GROUPS.iter().find(|(_, name)| *name == key)?.0 },
            PREEMPTION => Timer::Preemption { uid: key },
            EVICTION if key == RELIEF => Timer::Relief,
            EVICTION => Timer::Eviction,
            RESIZE => Timer::Resize,
            GARBAGE => Timer::Garbage,
            ORPHAN => Timer::Orphan { uid: key },
            MIRROR => Timer::Mirror { pod: key },
            PROBE => {
                let [uid, container, kind, number] = key.split(' ').collect::<Vec<_>>()[..] else { return None };
                let kind = Kind::ALL.into_iter().find(|there| there.word() == kind)?;
                Timer::Probe { uid, container, kind, number: number.parse().ok()? }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Timer<'_> {
    /// The key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::Work { uid }
            | Timer::Deadline { uid }
            | Timer::Preemption { uid }
            | Timer::Orphan { uid }
            | Timer::Mirror { pod: uid } => f.write_str(uid),
            Timer::NodeStatus { at } => write!(f, "{}", at.0),
            Timer::MountAgain { uid, volume } | Timer::Remount { uid, volume } => write!(f, "{uid} {volume}"),
            Timer::MountDeadline { uid } => write!(f, "{uid} {OF_SYNC}"),
            Timer::Shutdown { critical } => {
                GROUPS.iter().filter(|(of, _)| of == critical).try_for_each(|(_, name)| f.write_str(name))
            }
            Timer::Relief => f.write_str(RELIEF),
            Timer::Probe { uid, container, kind, number } => write!(f, "{uid} {container} {} {number}", kind.word()),
            Timer::Relist
            | Timer::Status
            | Timer::Lease
            | Timer::RuntimeUp
            | Timer::Eviction
            | Timer::Resize
            | Timer::Garbage => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let uid = "6a1f";
        let probe = |kind| Timer::Probe { uid, container: "web", kind, number: 3 };
        for (timer, key) in [
            (Timer::Relist, ""),
            (Timer::Work { uid }, "6a1f"),
            (Timer::Status, ""),
            (Timer::Lease, ""),
            (Timer::NodeStatus { at: Instant(7) }, "7"),
            (Timer::MountAgain { uid, volume: 2 }, "6a1f 2"),
            (Timer::MountDeadline { uid }, "6a1f deadline"),
            (Timer::Remount { uid, volume: 0 }, "6a1f 0"),
            (Timer::RuntimeUp, ""),
            (Timer::Deadline { uid }, "6a1f"),
            (Timer::Shutdown { critical: true }, "critical"),
            (Timer::Shutdown { critical: false }, "ordinary"),
            (Timer::Preemption { uid }, "6a1f"),
            (Timer::Eviction, ""),
            (Timer::Relief, "relief"),
            (Timer::Resize, ""),
            (Timer::Garbage, ""),
            (Timer::Orphan { uid }, "6a1f"),
            (Timer::Mirror { pod: "default/web-node-1" }, "default/web-node-1"),
            (probe(Kind::ALL[0]), "6a1f web readiness 3"),
        ] {
            let written = timer.to_string();
            assert!(written == key || matches!(timer, Timer::Probe { .. }), "{timer:?}");
            assert_eq!(Timer::read(timer.what(), &written), Some(timer));
        }
        for kind in Kind::ALL {
            assert_eq!(Timer::read(PROBE, &probe(kind).to_string()), Some(probe(kind)));
        }
        for (what, key) in [("node", ""), (MOUNT, uid), (REMOUNT, "6a1f x"), (PROBE, "6a1f web 3"), (SHUTDOWN, "all")] {
            assert_eq!(Timer::read(what, key), None, "{what} {key}");
        }
    }
}
