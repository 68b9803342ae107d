//! Two courses of events side by side: where they part, and how their ends differ.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use engine::{Note, Step};
use kinds::registry;
use object::{Kind, Object};

use super::Session;
use super::changes::Changed;
use super::describe;
use super::diff::FieldChange;
use super::properties;
use super::travel::Chosen;

/// Two courses, in the order in which they were asked for.
#[derive(Debug)]
pub struct Comparison {
    /// Where they part; none if one is the beginning of the other, or they are the same.
    pub parting: Option<Parting>,
    /// How far each was followed, and how it ended.
    pub ends: [End; 2],
    /// Objects that differ at the ends: `old` is the first course's, `new` the second's. Leases and Events are left out.
    pub objects: Vec<Changed>,
    /// The step that wrote each of them last, on either course; none if it was before the first.
    pub made: Vec<[Option<u64>; 2]>,
}

/// Where two courses part.
#[derive(Debug)]
pub struct Parting {
    /// The first step that differs.
    pub step: u64,
    /// What happened in it on either course; none where that one ends before.
    pub sides: [Option<String>; 2],
    /// What was chosen there, if that is why they part.
    pub choices: [Option<Chosen>; 2],
}

/// The end of a course.
#[derive(Debug)]
pub struct End {
    /// Steps that were run.
    pub steps: u64,
    /// Whether nothing is left to do.
    pub quiet: bool,
    /// What should hold and does not: the property, how it was broken, and in which step.
    pub broken: Vec<String>,
}

/// What is to be known of one course before two are laid side by side.
struct Course {
    /// A digest of what each step looks like.
    looks: Vec<u64>,
    choices: Vec<Chosen>,
    objects: BTreeMap<String, Object>,
    /// The step that wrote each object last.
    made: BTreeMap<String, u64>,
    end: End,
}

impl Session {
    /// Lays two courses side by side: branches by their place, or the present course. Both are run through once; where
    /// the session stands afterwards is where it stood.
    pub fn compare(&mut self, which: [Option<usize>; 2]) -> Result<Comparison, String> {
        let known = self.branches().len();
        if which.iter().flatten().any(|place| *place >= known) {
            return Err("there is no such branch".to_owned());
        }
        let [a, b] = which.map(|course| self.visit(course, Course::of));
        let common = a.looks.iter().zip(&b.looks).take_while(|(a, b)| a == b).count();
        let parts = common < a.looks.len() && common < b.looks.len();
        let parting = parts.then(|| {
            let step = common as u64 + 1;
            let first = a.choices.iter().zip(&b.choices).take_while(|(a, b)| a == b).count();
            let chosen = |course: &Course| course.choices.get(first).filter(|c| c.after < step).cloned();
            let choices = [chosen(&a), chosen(&b)];
            Parting { step, sides: which.map(|course| self.visit(course, |there| there.headline_at(step))), choices }
        });
        let objects = differing(&a.objects, &b.objects);
        let made = |changed: &Changed| {
            let key = changed.new.as_ref().or(changed.old.as_ref()).map(key_of).unwrap_or_default();
            [a.made.get(&key).copied(), b.made.get(&key).copied()]
        };
        let made = objects.iter().map(made).collect();
        Ok(Comparison { parting, ends: [a.end, b.end], objects, made })
    }

    /// Looks at another course, and comes back.
    fn visit<T>(&mut self, course: Option<usize>, look: impl FnOnce(&mut Session) -> T) -> T {
        let here = self.place();
        if let Some(number) = course {
            self.switch(number);
        }
        let seen = look(self);
        if let Some(number) = course {
            self.switch(number);
        }
        self.return_here(here);
        seen
    }

    fn headline_at(&mut self, step: u64) -> Option<String> {
        (self.goto(step) == step).then_some(())?;
        Some(describe::headline(&self.cluster.engine, &self.current()?.event).to_string())
    }
}

impl Course {
    /// Runs through the present course.
    fn of(session: &mut Session) -> Course {
        let (end, mut properties, mut broken) = (session.furthest(), properties::all(), Vec::new());
        session.goto(0);
        while session.cluster.engine.steps() < end
            && let Some(step) = session.next_step()
        {
            properties.retain_mut(|property| match property.check(&session.cluster.engine, &step) {
                Ok(()) => true,
                Err(what) => {
                    broken.push(format!("{}: {what}, in step {}", property.name(), step.id.0));
                    false
                }
            });
            session.keep(step);
        }
        let (steps, quiet) = (session.history().len() as u64, session.is_idle());
        for property in properties.iter_mut().filter(|_| quiet) {
            if let Err(what) = property.finish(&session.cluster.engine) {
                broken.push(format!("{}: {what}, in the end", property.name()));
            }
        }
        let stored = session.cluster.engine.server.api.store.prefix("/registry/");
        let shown = stored.filter(|(_, entry)| !matches!(entry.value.kind(), Kind::Event | Kind::Lease));
        Course {
            looks: session.history().iter().map(|step| look(session, step)).collect(),
            choices: session.choices().to_vec(),
            made: session.history().iter().flat_map(written).collect(),
            objects: shown.map(|(key, entry)| (key.to_owned(), entry.value.clone())).collect(),
            end: End { steps, quiet, broken },
        }
    }
}

/// The objects that a step wrote, by their keys.
fn written(step: &Step) -> Vec<(String, u64)> {
    let key = |note: &Note| match note {
        Note::Stored { key, .. } => Some((key.to_string(), step.id.0)),
        _ => None,
    };
    step.notes.iter().filter_map(key).collect()
}

/// What is to be seen of a step: when, who, what, whom. Numbers of events may differ long before a difference shows.
fn look(session: &Session, step: &Step) -> u64 {
    let mut hasher = DefaultHasher::new();
    step.time.0.hash(&mut hasher);
    describe::headline(&session.cluster.engine, &step.event).to_string().hash(&mut hasher);
    hasher.finish()
}

fn key_of(object: &Object) -> String {
    registry::key(object.kind(), object.namespace(), object.name())
}

fn differing(a: &BTreeMap<String, Object>, b: &BTreeMap<String, Object>) -> Vec<Changed> {
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    let changed = keys.into_iter().map(|key| Changed { old: a.get(key).cloned(), new: b.get(key).cloned() });
    changed.filter(|changed| !telling(changed).is_empty()).collect()
}

/// The fields that tell two courses apart: times, heartbeats and uids differ between any two.
pub fn telling(changed: &Changed) -> Vec<FieldChange> {
    const OF_ANY: &[&str] = &["uid", "resourceVersion", "startedAt", "finishedAt", "time", "containerID"];
    let is_of_any = |field: &FieldChange| {
        let last = field.path.rsplit(['.', '[']).next().unwrap_or_default().trim_end_matches(']');
        OF_ANY.contains(&last) || last.ends_with("Time") || last.ends_with("Timestamp")
    };
    changed.fields().into_iter().filter(|field| !is_of_any(field)).collect()
}
