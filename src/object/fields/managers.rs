//! Who manages which fields of an object, and what a write does to that.
//!
//! Mirrors `merge.Updater` of structured-merge-diff and the chain of managers around it in
//! `apimachinery/pkg/util/managedfields/internal`.

use std::borrow::Cow;
use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, Time};
use serde_json::Value;

use super::compare::{Comparison, compare, set_of};
use super::merge::{merge, remove};
use super::schema::Schema;
use super::set::Set;

/// How many managers of operation Update an object has at most. The oldest are then seen as one.
const UPDATERS_MAX: usize = 10;
/// The name of that one.
const ANCIENT: &str = "ancient-changes";

/// Fields without a manager: the server sets them, or they say which object this is.
const NOBODYS: [&str; 11] = [
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
];

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It says all that it wants, and the server works out what that changes.
    Apply,
    /// It changes what it changes.
    Update,
}

/// Whose fields: the same program is another manager when it applies, and at each endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// `kubectl`, `kube-controller-manager` …
    pub manager: Cow<'static, str>,
    /// How it writes.
    pub operation: Operation,
    /// In which version of the kind.
    pub api_version: Cow<'static, str>,
    /// `status`, `scale`, or nothing.
    pub subresource: Cow<'static, str>,
}

impl Writer {
    /// Whether both are one manager. A manager that applies may go on in another version.
    pub fn is(&self, other: &Writer) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

impl std::fmt::Display for Writer {
    /// As in the message of a conflict: `"kubectl" using apps/v1`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using {}", self.api_version),
        }
    }
}

/// What one manager manages.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed {
    /// Who.
    pub by: Writer,
    /// When it last took any.
    pub at: Option<Time>,
    /// Which fields. Objects that are written alike share them.
    pub fields: Rc<Set>,
}

/// Everybody who manages fields of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managers(pub Vec<Managed>);

/// Why a configuration cannot be applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// It makes no sense.
    Config(String),
    /// It would change fields that others manage.
    Conflicts(Vec<(Writer, Set)>),
}

/// What is written, and in whose name.
#[derive(Debug)]
pub struct Write<'a> {
    /// Who writes.
    pub by: &'a Writer,
    /// When, if that is noted.
    pub at: Option<Time>,
    /// What the endpoint does not let through, even if it is sent.
    pub ignored: &'a Set,
}

impl Managers {
    /// Whether no field has a manager.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both say the same but for times.
    pub fn same(&self, other: &Managers) -> bool {
        let among = |managed: &Managed| other.0.iter().any(|o| o.by.is(&managed.by) && o.fields == managed.fields);
        self.0.len() == other.0.len() && self.0.iter().all(among)
    }

    fn fields_of(&self, by: &Writer) -> Option<&Rc<Set>> {
        self.0.iter().find(|managed| managed.by.is(by)).map(|managed| &managed.fields)
    }

    fn set(&mut self, by: &Writer, at: Option<Time>, fields: Set) {
        self.0.retain(|managed| !managed.by.is(by));
        if !fields.is_empty() {
            self.0.push(Managed { by: by.clone(), at, fields: Rc::new(fields) });
        }
    }

    /// A manager has turned `old` into `new`: it now manages what changed, and no other manager does.
    #[must_use]
    pub fn update<S: Schema>(&self, schema: &S, old: &Value, new: &Value, write: &Write) -> Managers {
        let changes = compare(schema, old, new).outside(write.ignored);
        let mut after = self.clone();
        after.lose(&changes, None);
        let taken = changes.written().difference(&Set::of_fields(&NOBODYS));
        if !taken.is_empty() {
            let all = after.fields_of(write.by).map_or_else(|| taken.clone(), |before| before.union(&taken));
            after.set(write.by, write.at.clone(), all);
        }
        after.merge_ancient();
        after
    }

    /// What `live` becomes when a manager applies `config`, and who manages what then.
    pub fn apply<S: Schema>(
        &self,
        schema: &S,
        live: &Value,
        config: &Value,
        write: &Write,
        force: bool,
    ) -> Result<(Value, Managers), Refused> {
        let wanted = set_of(schema, config).map_err(Refused::Config)?.without(write.ignored);
        let before = self.0.iter().find(|managed| managed.by.is(write.by));
        let last = before.map(|before| before.fields.clone()).unwrap_or_default();
        let mut after = self.clone();
        after.set(write.by, write.at.clone(), wanted);
        let merged = merge(schema, Some(live.clone()), config);
        let new = after.prune(schema, merged, &last);
        // A manager that changes nothing by it has not written now; a new one never has. Mirrors `managedFieldsUpdater.Apply`.
        let at = if new == *live { before.and_then(|before| before.at.clone()) } else { write.at.clone() };
        let changes = compare(schema, live, &new).outside(write.ignored);
        let conflicts = after.conflicts(&changes, write.by);
        if !force && !conflicts.is_empty() {
            return Err(Refused::Conflicts(conflicts));
        }
        after.lose(&changes, Some(write.by));
        // Only now: that the configuration has a name keeps the rest of the metadata.
        if let Some(wanted) = after.fields_of(write.by).map(|wanted| wanted.difference(&Set::of_fields(&NOBODYS))) {
            after.set(write.by, at, wanted);
        }
        Ok((new, after))
    }

    /// Whose fields a change would take away from others than `by`.
    fn conflicts(&self, changes: &Comparison, by: &Writer) -> Vec<(Writer, Set)> {
        let written = changes.written();
        let others = self.0.iter().filter(|managed| !managed.by.is(by));
        let taken = others.map(|managed| (managed.by.clone(), managed.fields.intersection(&written)));
        taken.filter(|(_, fields)| !fields.is_empty()).collect()
    }

    /// All but `by` lose what was changed or removed.
    fn lose(&mut self, changes: &Comparison, by: Option<&Writer>) {
        let gone = changes.written().union(&changes.removed);
        for managed in self.0.iter_mut().filter(|managed| by.is_none_or(|by| !managed.by.is(by))) {
            if !managed.fields.intersection(&gone).is_empty() {
                managed.fields = Rc::new(managed.fields.difference(&gone));
            }
        }
        self.0.retain(|managed| !managed.fields.is_empty());
    }

    /// `merged` without the fields that this manager applied before, leaves out now, and that have no other manager.
    fn prune<S: Schema>(&self, schema: &S, merged: Value, last: &Set) -> Value {
        if last.is_empty() {
            return merged;
        }
        let fields = |value: &Value| present(schema, value).with_structs(schema);
        let (all, last) = (fields(&merged), last.with_structs(schema));
        let pruned = remove(schema, merged.clone(), &last);
        // What others manage comes back, and with it what it stands in.
        let managed =
            self.0.iter().fold(Set::default(), |all, managed| all.union(&managed.fields)).with_structs(schema);
        let pruned = remove(schema, merged.clone(), &all.difference(&fields(&pruned).union(&managed)));
        // So does what this manager never had, though it stood in what it had.
        remove(schema, merged, &all.difference(&fields(&pruned)).intersection(&last))
    }

    /// Mirrors `capManagersManager`.
    fn merge_ancient(&mut self) {
        let is_update = |managed: &&Managed| managed.by.operation == Operation::Update;
        let mut surplus = self.0.iter().filter(is_update).count().saturating_sub(UPDATERS_MAX);
        if surplus == 0 {
            return;
        }
        let mut oldest: Vec<Managed> = self.0.iter().filter(is_update).cloned().collect();
        oldest.sort_by(|a, b| order(a).cmp(&order(b)));
        let mut first: Vec<Managed> = Vec::new();
        for managed in oldest {
            if surplus == 0 {
                return;
            }
            let version = managed.by.api_version.clone();
            let bucket = Writer {
                manager: ANCIENT.into(),
                subresource: "".into(),
                operation: Operation::Update,
                api_version: version,
            };
            let Some(one) = first.iter().find(|one| one.by.api_version == managed.by.api_version).cloned() else {
                first.push(managed);
                continue;
            };
            let before = self.fields_of(&bucket).cloned().unwrap_or_else(|| {
                self.0.retain(|other| !other.by.is(&one.by));
                one.fields
            });
            self.0.retain(|other| !other.by.is(&managed.by));
            self.set(&bucket, managed.at.clone(), before.union(&managed.fields));
            surplus -= 1;
        }
    }

    /// As `metadata.managedFields`: managers that apply first, then by age.
    pub fn entries(&self) -> Vec<ManagedFieldsEntry> {
        let mut sorted: Vec<&Managed> = self.0.iter().collect();
        sorted.sort_by(|a, b| order(a).cmp(&order(b)));
        let entry = |managed: &Managed| ManagedFieldsEntry {
            api_version: Some(managed.by.api_version.to_string()),
            fields_type: Some("FieldsV1".to_owned()),
            fields_v1: Some(FieldsV1(managed.fields.to_json())),
            manager: Some(managed.by.manager.to_string()),
            operation: Some(format!("{:?}", managed.by.operation)),
            subresource: Some(managed.by.subresource.to_string()).filter(|name| !name.is_empty()),
            time: managed.at.clone(),
        };
        sorted.into_iter().map(entry).collect()
    }

    /// Reads `metadata.managedFields`; none if it makes no sense.
    pub fn of_entries(entries: &[ManagedFieldsEntry]) -> Option<Managers> {
        let text = |text: &Option<String>| -> Cow<'static, str> { text.clone().unwrap_or_default().into() };
        let managed = |entry: &ManagedFieldsEntry| {
            let operation = match entry.operation.as_deref()? {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let fields = entry.fields_v1.as_ref().map_or(Some(Set::default()), |fields| Set::from_json(&fields.0))?;
            let (manager, api_version) = (text(&entry.manager), text(&entry.api_version));
            if entry.fields_type.as_deref() != Some("FieldsV1") || api_version.is_empty() {
                return None;
            }
            let by = Writer { manager, operation, api_version, subresource: text(&entry.subresource) };
            Some(Managed { by, at: entry.time.clone(), fields: Rc::new(fields) })
        };
        entries.iter().map(managed).collect::<Option<Vec<_>>>().map(Managers)
    }
}

fn order(managed: &Managed) -> (Operation, i64, &str, &str, &str) {
    let seconds = managed.at.as_ref().map_or(0, |time| time.0.as_second());
    (managed.by.operation, seconds, &managed.by.manager, &managed.by.api_version, &managed.by.subresource)
}

/// The fields of an object that is there already, even if something is wrong with it.
fn present<S: Schema>(schema: &S, value: &Value) -> Set {
    set_of(schema, value).unwrap_or_else(|_| compare(schema, &Value::Null, value).added)
}

impl Comparison {
    /// The same without what is in `ignored`, and below it.
    #[must_use]
    fn outside(self, ignored: &Set) -> Comparison {
        if ignored.is_empty() {
            return self;
        }
        let outside = |set: Set| set.without(ignored);
        Comparison { added: outside(self.added), modified: outside(self.modified), removed: outside(self.removed) }
    }
}
