//! The two rounds of mutating admission: who has its turn in the second. Mirrors the `reinvocationcontext.go` of policies and
//! of webhooks in `pkg/admission/plugin` of apiserver.

use std::collections::BTreeSet;

use object::Object;

/// What is remembered of one request between the two rounds.
#[derive(Default)]
pub(super) struct Rounds {
    /// Whether this is the second.
    pub again: bool,
    /// Whether there is to be a second.
    pub wanted: bool,
    /// Of policies.
    pub policies: Turns,
    /// Of webhooks.
    pub webhooks: Turns,
}

/// Which of the policies, or of the webhooks, have a turn in the second round.
#[derive(Default)]
pub(super) struct Turns {
    /// Those that ask to be asked again, and were asked since the last change.
    asked: BTreeSet<String>,
    /// Those that are to be asked again.
    repeat: BTreeSet<String>,
    /// What they have left of the object.
    left: Option<Object>,
}

impl Turns {
    /// They are about to be asked. What others have changed meanwhile counts too.
    pub fn begin(&mut self, again: bool, object: Option<&Object>) {
        if again && self.left.as_ref() != object {
            self.changed();
        }
    }

    /// One that asks to be asked again has been asked.
    pub fn asked(&mut self, id: String) {
        self.asked.insert(id);
    }

    /// Whether one is to be asked again.
    pub fn repeats(&self, id: &str) -> bool {
        self.repeat.contains(id)
    }

    /// One has changed the object.
    pub fn changed(&mut self) {
        self.repeat.append(&mut self.asked);
    }

    /// All have been asked.
    pub fn end(&mut self, object: Option<&Object>) {
        self.left = object.cloned();
    }
}
