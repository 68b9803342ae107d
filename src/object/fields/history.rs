//! Who manages which fields, worked out when a client asks.
//!
//! Few clients do: controllers and kubelets throw `managedFields` away. But every write would have to compare two
//! objects field by field. So an object remembers with its version only who wrote what over what, as references to versions
//! that were there anyway, and [`History::managers`] plays the writes again. Writes of one manager in a row are one, and of
//! a long row of writes the older ones are worked out, so that few old versions are kept.
//!
//! Left out: a field that a manager changes and changes back within such a row does not become its own by that.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::managers::{Managed, Managers, Writer};
use super::set::Set;
use crate::pod::PodStatus;
use crate::time::Instant;
use crate::{Object, Pod, Shared};

/// How many rows of writes are remembered before the older ones are worked out.
const RUNS_MAX: usize = 8;

/// Who has written an object.
#[derive(Clone, Default)]
pub struct History(Past);

#[derive(Clone, Default)]
enum Past {
    #[default]
    Nothing,
    Known(Rc<Managers>),
    Made(Rc<Made>),
    Wrote(Rc<Wrote>),
}

/// An object was created with fields that are known.
struct Made {
    by: Rc<Writer>,
    at: Instant,
    fields: Rc<Set>,
}

struct Wrote {
    run: Run,
    earlier: Option<Rc<Earlier>>,
    known: OnceCell<Rc<Managers>>,
}

struct Earlier {
    history: History,
    /// How many rows of writes are remembered in it.
    runs: usize,
}

/// Writes of one manager with none of another between them.
#[derive(Clone, Debug)]
pub struct Run {
    /// Who wrote.
    pub by: Rc<Writer>,
    /// When last.
    pub at: Instant,
    /// What was there before; none: the object was created.
    pub old: Option<Before>,
    /// What was written last.
    pub new: Object,
}

/// What was there before a row of writes.
#[derive(Clone, Debug)]
pub enum Before {
    /// All of it.
    Object(Object),
    /// The status of a Pod, if a write changed nothing else.
    Status(Shared<PodStatus>),
}

impl Run {
    /// A write of all that there is.
    pub fn of(by: Writer, at: Instant, old: Option<Object>, new: Object) -> Run {
        Run { by: by.into(), at, old: old.map(Before::Object), new }
    }

    /// What was there before, and what was written, as far as the two can differ.
    pub fn compared(&self) -> (Option<Object>, Object) {
        match (&self.old, &self.new) {
            (Some(Before::Status(old)), Object::Pod(new)) => {
                let only = |status| Object::Pod(Arc::new(Pod { status, ..Pod::default() }));
                (Some(only(Some(old.clone()))), only(new.status.clone()))
            }
            (Some(Before::Object(old)), new) => (Some(old.clone()), new.clone()),
            (Some(Before::Status(_)) | None, new) => (None, new.clone()),
        }
    }

    /// The same, but without what was not written of the version before.
    fn slim(mut self) -> Run {
        if let (Some(Before::Object(Object::Pod(old))), Object::Pod(new)) = (&self.old, &self.new)
            && let Some(status) = old.status.as_ref().filter(|_| differ_in_status_alone(old, new))
        {
            self.old = Some(Before::Status(status.clone()));
        }
        self
    }

    /// Both as one row, if one manager wrote both. A row that keeps only statuses cannot go on with more than that.
    fn followed_by(&self, next: &Run) -> Option<Run> {
        let widens = matches!((&self.old, &next.old), (Some(Before::Status(_)), Some(Before::Object(_))));
        (self.by == next.by && !widens).then(|| Run { old: self.old.clone(), ..next.clone() })
    }
}

/// Whether a write of a status left everything else as it was.
fn differ_in_status_alone(old: &Pod, new: &Pod) -> bool {
    let (a, b) = (&old.metadata, &new.metadata);
    let same_spec = match (&old.spec, &new.spec) {
        (Some(old), Some(new)) => old.same(new),
        (old, new) => old.is_none() && new.is_none(),
    };
    same_spec
        && a.labels == b.labels
        && a.annotations == b.annotations
        && a.finalizers == b.finalizers
        && a.owner_references == b.owner_references
        && a.deletion_timestamp == b.deletion_timestamp
        && a.deletion_grace_period_seconds == b.deletion_grace_period_seconds
}

/// What a row of writes makes of who manages what.
pub type Play<'a> = &'a dyn Fn(&Managers, &Run) -> Managers;

impl History {
    /// It is known who manages what.
    pub fn known(managers: Managers) -> History {
        History(if managers.is_empty() { Past::Nothing } else { Past::Known(managers.into()) })
    }

    /// The object was created with these fields.
    pub fn made(by: Rc<Writer>, at: Instant, fields: Rc<Set>) -> History {
        History(Past::Made(Made { by, at, fields }.into()))
    }

    /// The same, and then another write.
    #[must_use]
    pub fn and(&self, run: Run, play: Play) -> History {
        let last = match &self.0 {
            Past::Wrote(last) => Some(last),
            _ => None,
        };
        let goes_on = last.filter(|last| matches!(&run.old, Some(Before::Object(old)) if old.same(&last.run.new)));
        let run = run.slim();
        let (run, earlier) = match goes_on.and_then(|last| Some((last.run.followed_by(&run)?, last))) {
            Some((both, last)) => (both, last.earlier.clone()),
            None => (run, self.as_earlier(play).map(Rc::new)),
        };
        History(Past::Wrote(Wrote { run, earlier, known: OnceCell::new() }.into()))
    }

    /// What comes before the next row of writes. If there are too many of them it is worked out.
    fn as_earlier(&self, play: Play) -> Option<Earlier> {
        let runs = match &self.0 {
            Past::Nothing => return None,
            Past::Known(_) | Past::Made(_) => 0,
            Past::Wrote(last) => 1 + last.earlier.as_ref().map_or(0, |earlier| earlier.runs),
        };
        Some(match runs {
            RUNS_MAX.. => Earlier { history: History(Past::Known(self.managers(play))), runs: 0 },
            _ => Earlier { history: self.clone(), runs },
        })
    }

    /// Who manages what.
    pub fn managers(&self, play: Play) -> Rc<Managers> {
        match &self.0 {
            Past::Nothing => Rc::default(),
            Past::Known(managers) => managers.clone(),
            Past::Made(made) => {
                let (by, fields) = (Writer::clone(&made.by), made.fields.clone());
                Managers(vec![Managed { by, at: Some(made.at.time()), fields }]).into()
            }
            Past::Wrote(last) => {
                let before = || last.earlier.as_ref().map(|earlier| earlier.history.managers(play)).unwrap_or_default();
                last.known.get_or_init(|| play(&before(), &last.run).into()).clone()
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
