//! A process that restarts goes back in time (#59848; #54096, #97294; and the stale-state bugs that Sieve found in
//! operators, as instaclustr/cassandra-operator#402 and rabbitmq/cluster-operator#648).
//!
//! API servers answer lists from a cache in memory that follows etcd by a watch of its own. It may lag behind by any
//! time. A process that asks one API server and later, after a restart, another one may so see a state that is older
//! than what it has seen before. A kubelet finds a Pod that was deleted, and starts its containers: if the Pod has been
//! replaced elsewhere under the same name, as a StatefulSet does, two of it run at once. A controller does not find what
//! it has created before it crashed, and creates it again.
//!
//! Right: to list the newest state. The wrong part here is no program but the way informers list: with
//! `resourceVersion=0`, which asks for any state that it has. With the feature WatchList, which the shipped parts have, an
//! informer begins with a watch whose first state is as new as etcd's at the time of asking.

use cluster::Parts;

/// A cluster without WatchList.
pub fn parts() -> Parts {
    Parts { watch_list: false, ..Parts::default() }
}
