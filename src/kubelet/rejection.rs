//! Why a pod may not run here.

/// Why a pod may not run here: the reason of its status and Event, and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// `OutOfcpu`, `NodeAffinity`, `TaintToleration`, …
    pub reason: String,
    /// In the kubelet's words.
    pub message: String,
}

/// What a pod asks for and a node has no longer. Mirrors `InsufficientResourceError`.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// `cpu`, `memory`, `pods`, …
    pub resource: String,
    /// How much the pod asks for; of cpu, thousandths.
    pub requested: i64,
    /// How much the others asked for.
    pub used: i64,
    /// How much there is.
    pub capacity: i64,
}

impl Shortfall {
    /// How much is missing.
    pub fn amount(&self) -> i64 {
        self.requested - (self.capacity - self.used)
    }

    pub(crate) fn rejection(&self) -> Rejection {
        let Shortfall { resource, requested, used, capacity } = self;
        let amounts = format!("requested: {requested}, used: {used}, capacity: {capacity}");
        let message = format!("Node didn't have enough resource: {resource}, {amounts}");
        Rejection { reason: format!("OutOf{resource}"), message }
    }
}
