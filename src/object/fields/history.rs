//! Who manages which fields, worked out when somebody asks.
//!
//! Hardly anybody does: controllers and kubelets throw `managedFields` away. But every write would have to compare two
//! objects field by field. So an object remembers with its version only who wrote what over what, as references to versions
//! that were there anyway, and [`History::managers`] plays the writes again. Writes of one manager in a row are one, and of
//! a long row of writes the older ones are worked out, so that few old versions are kept.
//!
//! Left out: a field that a manager changes and changes back within such a row does not become its own by that.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use super::managers::{Managers, Writer};
use crate::object::Object;
use crate::object::time::Instant;

/// How many rows of writes are remembered before the older ones are worked out.
const RUNS_MAX: usize = 8;

/// Who has written an object.
#[derive(Clone, Default)]
pub struct History(Option<Rc<Link>>);

enum Link {
    Known(Rc<Managers>),
    Wrote { run: Run, before: History, runs: usize, known: OnceCell<Rc<Managers>> },
}

/// Writes of one manager with none of another between them.
#[derive(Clone, Debug)]
pub struct Run {
    /// Who wrote.
    pub by: Writer,
    /// When last.
    pub at: Instant,
    /// What was there before; none: the object was created.
    pub old: Option<Object>,
    /// What was written last.
    pub new: Object,
}

/// What a row of writes makes of who manages what.
pub type Play<'a> = &'a dyn Fn(&Managers, &Run) -> Managers;

impl History {
    /// It is known who manages what.
    pub fn known(managers: Managers) -> History {
        History((!managers.is_empty()).then(|| Rc::new(Link::Known(Rc::new(managers)))))
    }

    /// The same, and then another write.
    #[must_use]
    pub fn and(&self, mut run: Run, play: Play) -> History {
        let (mut before, mut runs) = (self.clone(), 1);
        match self.0.as_deref() {
            Some(Link::Wrote { run: last, before: earlier, runs: so_far, .. })
                if last.by == run.by && run.old.as_ref().is_some_and(|old| old.same(&last.new)) =>
            {
                run.old.clone_from(&last.old);
                (before, runs) = (earlier.clone(), *so_far);
            }
            Some(Link::Wrote { runs: so_far, .. }) if *so_far < RUNS_MAX => runs = so_far + 1,
            Some(Link::Wrote { .. }) => before = History::known(Managers::clone(&self.managers(play))),
            Some(Link::Known(_)) | None => {}
        }
        History(Some(Rc::new(Link::Wrote { run, before, runs, known: OnceCell::new() })))
    }

    /// Who manages what.
    pub fn managers(&self, play: Play) -> Rc<Managers> {
        match self.0.as_deref() {
            None => Rc::default(),
            Some(Link::Known(managers)) => managers.clone(),
            Some(Link::Wrote { run, before, known, .. }) => {
                known.get_or_init(|| Rc::new(play(&before.managers(play), run))).clone()
            }
        }
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("History")
    }
}

impl PartialEq for History {
    /// It goes with a version: who holds the same version has the same history.
    fn eq(&self, _: &History) -> bool {
        true
    }
}
