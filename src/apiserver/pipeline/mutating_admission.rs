//! The row of all that may change an object, and its second round.
//!
//! The plugins run first, then the policies, then the webhooks. If a policy or a webhook has changed something, the row is
//! gone through once more: a plugin may have to add to what is new. Of policies and webhooks only those take part then that
//! ask for it (`reinvocationPolicy: IfNeeded`) and after which something has changed.
//!
//! Mirrors `pkg/admission/reinvocation.go` of apiserver, and the `reinvocationcontext.go` of policies and of webhooks.

use std::collections::BTreeSet;

use crate::apiserver::admission::{Attributes, MUTATING, plugin_names};
use crate::apiserver::{ApiServer, Handling};
use crate::object::{Object, Pod, Status};

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

/// Who of the policies, or of the webhooks, has its turn in the second round.
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

impl ApiServer {
    /// All that may change an object. `for_plugin` is what a plugin of a learner's is asked about. Mirrors `reinvoker.Admit`.
    pub(crate) fn mutate(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        for_plugin: Option<&Pod>,
    ) -> Result<(), Status> {
        let mut rounds = Rounds::default();
        self.run_round(handling, old, new, for_plugin, &mut rounds)?;
        if rounds.wanted {
            rounds.again = true;
            self.run_round(handling, old, new, for_plugin, &mut rounds)?;
        }
        Ok(())
    }

    fn run_round(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        for_plugin: Option<&Pod>,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        for (name, admit) in MUTATING {
            match (for_plugin, *name) {
                (Some(came), "ServiceAccount") => self.ask_pod_plugin(handling, came, new)?,
                (Some(_), "DefaultTolerationSeconds") => continue,
                _ => {}
            }
            let mut attributes =
                Attributes { request: handling.request, old, reader: &self.store, random: &mut self.random };
            admit(&mut attributes, new)?;
        }
        handling.stage("mutating admission", || plugin_names(MUTATING.iter().map(|(name, _)| *name)));
        self.ask_mutating_policies(handling, old, new, rounds)?;
        self.ask_mutating(handling, old, Some(new), rounds)
    }
}
