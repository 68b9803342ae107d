//! The row of a kind: everything the server knows of it, as values and plain functions.
//!
//! Each kind's file has a constant `ROW`: what differs from [`Row::new`] is what is particular about the kind. The
//! functions take the typed object; [`Known`] is the same row for a caller that holds an object of any kind.
//!
//! Mirrors what a storage of `pkg/registry` is put together from: the strategy, the table convertor, the defaulting and
//! validation functions of `pkg/apis`.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, Column, NAME};
use object::selector::names::check_subdomain;
use object::time::Instant;
use object::validation::field::Problems;
use object::{Kind, Object, Resource};

/// What the server knows of a kind, beside its names.
pub struct Row<T> {
    /// What can be told of the kind without an object.
    pub facts: Facts,
    /// Fills in what the sender left out.
    pub defaults: Option<fn(&mut T)>,
    /// Whether an object lacks defaults at all: one that does not stays shared.
    pub lacks_defaults: fn(&T) -> bool,
    /// What happens to an object between admission and validation.
    pub strategy: Strategy<T>,
    /// What is wrong with an object.
    pub validation: Validation<T>,
    /// What is right and yet hardly meant.
    pub warnings: Warnings<T>,
}

/// What can be told of a kind without an object of it.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Where objects lie in etcd: `/registry/services/specs/`.
    pub etcd: &'static str,
    /// The chapter of the course that tells of the kind.
    pub chapter: usize,
    /// Fields that another chapter tells of: how their paths begin.
    pub field_chapters: &'static [(&'static str, usize)],
    /// What the server warns of at every request for a kind that has had its time.
    pub deprecation: Option<&'static str>,
    /// What is wrong with the name of an object.
    pub check_name: fn(&str) -> Vec<String>,
    /// Whether finalizers need no domain: those of kinds whose validation is not that of `pkg/apis/core`.
    pub any_finalizers: bool,
    /// How objects show in a table.
    pub table: Table,
    /// Whether a PUT without resourceVersion is accepted: `AllowUnconditionalUpdate`.
    pub unconditional_update: bool,
    /// Whether a PUT of an absent object creates it: `AllowCreateOnUpdate`.
    pub create_on_update: bool,
    /// Whether deletion takes a grace period: `CheckGracefulDelete`.
    pub graceful: bool,
    /// Whether a DELETE answers with the object instead of a Status: `ReturnDeletedObject`.
    pub returns_deleted: bool,
    /// Whether deleting an object leaves what it owns behind, unless the request says otherwise:
    /// `DefaultGarbageCollectionPolicy`.
    pub orphans_by_default: bool,
    /// Whether the first DELETE only marks the object, until its finalizers are gone.
    pub outlives_first_delete: bool,
}

/// The columns of a kind, and the cells of an object given the time it is.
#[derive(Clone, Copy)]
pub struct Table {
    /// From left to right.
    pub columns: &'static [Column<'static>],
    /// As many cells as there are columns.
    pub cells: fn(&Value, Timestamp) -> Vec<Value>,
}

/// What a kind's strategy does to an object. Mirrors `rest.RESTCreateStrategy` and its like.
pub struct Strategy<T> {
    /// Takes out fields behind gates that are off by default.
    pub drop_disabled: Option<fn(&mut Arc<T>)>,
    /// What `metadata.generation` counts.
    pub generation: Generation<T>,
    /// The `status` subresource, if the kind has one.
    pub status: Option<Status<T>>,
    /// Before a create.
    pub prepare_for_create: Option<fn(&mut T, Instant)>,
    /// Writes into a new object who asks for it.
    pub note_requester: Option<fn(&mut T, UserInfo)>,
    /// Before an update of the main resource.
    pub prepare_for_update: Option<fn(new: &mut T, old: &T)>,
    /// Before an update of the status.
    pub prepare_for_status_update: Option<fn(new: &mut T, old: &T, now: Instant)>,
    /// When an object is marked as being deleted.
    pub prepare_for_deletion: Option<fn(dying: &mut T, old: &T, now: Instant)>,
    /// Whether finalizers in the spec still hold the object.
    pub has_spec_finalizers: fn(&T) -> bool,
}

/// What `metadata.generation` counts.
pub enum Generation<T> {
    /// Nothing.
    Never,
    /// It is 1 when an object is created, and goes up when an update asks for something else.
    Counted(fn(new: &T, old: &T) -> bool),
    /// The same, but a new object has none.
    FromFirstChange(fn(new: &T, old: &T) -> bool),
}

/// What either endpoint of a kind with a `status` subresource leaves as it was.
pub struct Status<T> {
    /// At the main endpoint the status stays.
    pub keep_status: fn(new: &mut Arc<T>, old: &T),
    /// At that of the status the spec does.
    pub keep_spec: fn(new: &mut Arc<T>, old: &T),
}

/// The [`Status`] of a kind whose fields are called `spec` and `status`.
macro_rules! spec_and_status {
    () => {
        Some($crate::row::Status {
            keep_status: |new, old| $crate::strategy::kept::keep(new, |object| &mut object.status, &old.status),
            keep_spec: |new, old| $crate::strategy::kept::keep(new, |object| &mut object.spec, &old.spec),
        })
    };
}
pub(crate) use spec_and_status;

/// What is wrong with an object, apart from its metadata.
pub struct Validation<T> {
    /// With a new one.
    pub create: fn(&mut Problems, &T),
    /// With a change.
    pub update: fn(&mut Problems, new: &T, old: &T),
    /// With a change of the status.
    pub status: fn(&mut Problems, new: &T, old: &T),
    /// With one that was written in another version of the kind, if that asks more: on create and on update.
    pub in_other_version: Option<(Check<T>, CheckUpdate<T>)>,
}

/// Tells what is wrong with a new object.
pub type Check<T> = fn(&mut Problems, &T);
/// Tells what is wrong with a change.
pub type CheckUpdate<T> = fn(&mut Problems, new: &T, old: &T);

/// Warnings about an object that is valid and yet hardly what its author wanted.
pub struct Warnings<T> {
    /// What becomes of the object's name, if it should be a DNS label for that.
    pub name_is_used_in: Option<&'static str>,
    /// Of one that is new or changed.
    pub any: fn(&mut Vec<String>, &T),
    /// Of one that is new.
    pub create: fn(&mut Vec<String>, &T),
    /// Of one that is changed.
    pub update: fn(&mut Vec<String>, new: &T, old: &T),
    /// Of a new status.
    pub status: fn(&mut Vec<String>, &T),
    /// Whether a change asks for other Pods, if that is not what [`Generation`] counts.
    pub asks_for_other_pods: Option<fn(new: &T, old: &T) -> bool>,
}

impl Facts {
    /// What goes for most kinds; objects lie in etcd under this path.
    pub const fn new(etcd: &'static str, chapter: usize) -> Facts {
        Facts {
            etcd,
            chapter,
            field_chapters: &[],
            deprecation: None,
            check_name: check_subdomain,
            any_finalizers: false,
            table: Table::NAME_AND_AGE,
            unconditional_update: true,
            create_on_update: false,
            graceful: false,
            returns_deleted: false,
            orphans_by_default: false,
            outlives_first_delete: false,
        }
    }
}

impl Table {
    /// What there is to tell of any object: its name and its age.
    pub const NAME_AND_AGE: Table =
        Table { columns: &[NAME, AGE], cells: |object, now| cells![name(object), created(object, now)] };
}

impl<T> Row<T> {
    /// A kind about whose objects there is nothing particular.
    pub const fn new(facts: Facts) -> Row<T> {
        Row {
            facts,
            defaults: None,
            lacks_defaults: |_| true,
            strategy: Strategy::DEFAULT,
            validation: Validation::DEFAULT,
            warnings: Warnings::DEFAULT,
        }
    }
}

impl<T> Strategy<T> {
    /// Nothing happens to an object.
    pub const DEFAULT: Strategy<T> = Strategy {
        drop_disabled: None,
        generation: Generation::Never,
        status: None,
        prepare_for_create: None,
        note_requester: None,
        prepare_for_update: None,
        prepare_for_status_update: None,
        prepare_for_deletion: None,
        has_spec_finalizers: |_| false,
    };
}

impl<T> Validation<T> {
    /// Nothing is looked at but the metadata.
    pub const DEFAULT: Validation<T> =
        Validation { create: |_, _| {}, update: |_, _, _| {}, status: |_, _, _| {}, in_other_version: None };
}

impl<T> Warnings<T> {
    /// Nothing is said.
    pub const DEFAULT: Warnings<T> = Warnings {
        name_is_used_in: None,
        any: |_, _| {},
        create: |_, _| {},
        update: |_, _, _| {},
        status: |_, _| {},
        asks_for_other_pods: None,
    };
}

/// A row, for a caller that holds objects of any kind. Objects must be of the row's own.
pub trait Known: Sync {
    /// Whose row it is.
    fn kind(&self) -> Kind;
    /// See [`Facts`].
    fn facts(&self) -> &Facts;
    /// Whether there is a `status` subresource.
    fn has_status(&self) -> bool;
    /// See [`Row::defaults`].
    fn set_defaults(&self, object: &mut Object);
    /// See [`Strategy::drop_disabled`].
    fn drop_disabled(&self, object: &mut Object);
    /// Numbers a new object, if the kind is counted, and prepares it: see [`Strategy::prepare_for_create`].
    fn prepare_for_create(&self, object: &mut Object, now: Instant);
    /// See [`Strategy::note_requester`].
    fn note_requester(&self, object: &mut Object, user: &dyn Fn() -> UserInfo);
    /// Keeps the status, and prepares an update: see [`Strategy::prepare_for_update`].
    fn prepare_for_update(&self, new: &mut Object, old: &Object);
    /// Whether an update makes a new generation.
    fn is_next_generation(&self, new: &Object, old: &Object) -> bool;
    /// Keeps the spec, and prepares an update of the status: see [`Strategy::prepare_for_status_update`].
    fn prepare_for_status_update(&self, new: &mut Object, old: &Object, now: Instant);
    /// See [`Strategy::prepare_for_deletion`].
    fn prepare_for_deletion(&self, dying: &mut Object, old: &Object, now: Instant);
    /// See [`Strategy::has_spec_finalizers`].
    fn has_spec_finalizers(&self, object: &Object) -> bool;
    /// See [`Validation::create`].
    fn validate_create(&self, problems: &mut Problems, object: &Object, in_other_version: bool);
    /// See [`Validation::update`].
    fn validate_update(&self, problems: &mut Problems, new: &Object, old: &Object, in_other_version: bool);
    /// See [`Validation::status`].
    fn validate_status(&self, problems: &mut Problems, new: &Object, old: &Object);
    /// See [`Warnings::name_is_used_in`].
    fn name_is_used_in(&self) -> Option<&'static str>;
    /// See [`Warnings::any`].
    fn warn(&self, told: &mut Vec<String>, object: &Object);
    /// See [`Warnings::create`].
    fn warn_on_create(&self, told: &mut Vec<String>, object: &Object);
    /// See [`Warnings::update`].
    fn warn_on_update(&self, told: &mut Vec<String>, new: &Object, old: &Object);
    /// See [`Warnings::status`].
    fn warn_on_status_update(&self, told: &mut Vec<String>, object: &Object);
    /// See [`Warnings::asks_for_other_pods`].
    fn asks_for_other_pods(&self, new: &Object, old: &Object) -> Option<bool>;
}

impl<T: Resource> Known for Row<T> {
    fn kind(&self) -> Kind {
        T::kind()
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn has_status(&self) -> bool {
        self.strategy.status.is_some()
    }

    fn set_defaults(&self, object: &mut Object) {
        let Some(set) = self.defaults else { return };
        let object = typed_mut::<T>(object);
        if (self.lacks_defaults)(object) {
            set(Arc::make_mut(object));
        }
    }

    fn drop_disabled(&self, object: &mut Object) {
        if let Some(drop) = self.strategy.drop_disabled {
            drop(typed_mut(object));
        }
    }

    fn prepare_for_create(&self, object: &mut Object, now: Instant) {
        if let Generation::Counted(_) = self.strategy.generation {
            object.meta_mut().generation = Some(1);
        }
        if let Some(prepare) = self.strategy.prepare_for_create {
            prepare(Arc::make_mut(typed_mut(object)), now);
        }
    }

    fn note_requester(&self, object: &mut Object, user: &dyn Fn() -> UserInfo) {
        if let Some(note) = self.strategy.note_requester {
            note(Arc::make_mut(typed_mut(object)), user());
        }
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        let (new, old) = (typed_mut::<T>(new), typed::<T>(old));
        if let Some(status) = &self.strategy.status {
            (status.keep_status)(new, old);
        }
        if let Some(prepare) = self.strategy.prepare_for_update {
            prepare(Arc::make_mut(new), old);
        }
    }

    fn is_next_generation(&self, new: &Object, old: &Object) -> bool {
        match self.strategy.generation {
            Generation::Never => false,
            Generation::Counted(differ) | Generation::FromFirstChange(differ) => differ(typed(new), typed(old)),
        }
    }

    fn prepare_for_status_update(&self, new: &mut Object, old: &Object, now: Instant) {
        let (new, old) = (typed_mut::<T>(new), typed::<T>(old));
        if let Some(status) = &self.strategy.status {
            (status.keep_spec)(new, old);
        }
        if let Some(prepare) = self.strategy.prepare_for_status_update {
            prepare(Arc::make_mut(new), old, now);
        }
    }

    fn prepare_for_deletion(&self, dying: &mut Object, old: &Object, now: Instant) {
        if let Some(prepare) = self.strategy.prepare_for_deletion {
            prepare(Arc::make_mut(typed_mut(dying)), typed(old), now);
        }
    }

    fn has_spec_finalizers(&self, object: &Object) -> bool {
        (self.strategy.has_spec_finalizers)(typed(object))
    }

    fn validate_create(&self, problems: &mut Problems, object: &Object, in_other_version: bool) {
        match self.validation.in_other_version.filter(|_| in_other_version) {
            Some((check, _)) => check(problems, typed(object)),
            None => (self.validation.create)(problems, typed(object)),
        }
    }

    fn validate_update(&self, problems: &mut Problems, new: &Object, old: &Object, in_other_version: bool) {
        match self.validation.in_other_version.filter(|_| in_other_version) {
            Some((_, check)) => check(problems, typed(new), typed(old)),
            None => (self.validation.update)(problems, typed(new), typed(old)),
        }
    }

    fn validate_status(&self, problems: &mut Problems, new: &Object, old: &Object) {
        (self.validation.status)(problems, typed(new), typed(old));
    }

    fn name_is_used_in(&self) -> Option<&'static str> {
        self.warnings.name_is_used_in
    }

    fn warn(&self, told: &mut Vec<String>, object: &Object) {
        (self.warnings.any)(told, typed(object));
    }

    fn warn_on_create(&self, told: &mut Vec<String>, object: &Object) {
        (self.warnings.create)(told, typed(object));
    }

    fn warn_on_update(&self, told: &mut Vec<String>, new: &Object, old: &Object) {
        (self.warnings.update)(told, typed(new), typed(old));
    }

    fn warn_on_status_update(&self, told: &mut Vec<String>, object: &Object) {
        (self.warnings.status)(told, typed(object));
    }

    fn asks_for_other_pods(&self, new: &Object, old: &Object) -> Option<bool> {
        self.warnings.asks_for_other_pods.map(|asks| asks(typed(new), typed(old)))
    }
}

/// The object as what its row takes.
fn typed<T: Resource>(object: &Object) -> &T {
    T::from_object(object).expect("a row is asked about objects of its own kind")
}

/// The same, to be changed.
fn typed_mut<T: Resource>(object: &mut Object) -> &mut Arc<T> {
    T::from_object_mut(object).expect("a row is asked about objects of its own kind")
}
