//! `metadata.managedFields`: who wrote which field, kept with every version and shown to those who ask.
//!
//! What is stored has no managedFields in it. Each entry of the store has a [`History`] beside its object, which says who
//! wrote it; what follows from that is worked out only when an answer shows it, or when a client applies.
//!
//! - [`apply`]: apply patches.
//! - [`shapes`]: what each kind lets through where, and which of its structs are always there.
//! - [`templates`]: Pods of one owner are written alike. [`typed`]: values of wrong types.
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager`. A write manages what was sent, before admission and the
//! kind's strategy had their say: what a plugin fills in has no manager. Bindings, deletions and evictions change no manager.
//!
//! Left out: of an update the state that was stored is taken for the one that was sent, so what the server fills in (a node
//! port) and what policies and webhooks change is the updater's; the fields of a configuration are not compared with the
//! types that they have in OpenAPI; a client that applies in another version of a kind is said to have applied in the one that is
//! stored; a client that applies ephemeral containers or sizes owns the container names too (`GetResetFieldsFilter`).

use std::borrow::Cow;
use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;

use crate::store::Entry;
use object::fields::history::{Before, Run};
use object::fields::{BuiltIn, History, Managers, Operation, Set, Step, Write, Writer};
use object::time::Instant;
use object::{Kind, Object, versions};
use wire::Request;

use super::recent::Recent;
use rules::apiextensions::Definitions;
use rules::apiextensions::fields::Custom;

pub(super) mod apply;
pub mod shapes;
pub mod templates;
pub mod typed;

/// What a write says of who manages what.
#[derive(Clone)]
pub(crate) enum Written {
    /// Nothing: the server does it.
    ByNobody,
    /// This writer sent this, or what is stored then.
    By(Writer, Option<Object>),
    /// This writer sent a new object with these fields.
    Fields(Writer, Rc<Set>),
    /// It has been worked out.
    Known(Managers),
}

impl Written {
    /// The server writes through a client of its own, as every component does.
    pub(crate) fn by_server(kind: Kind, subresource: &'static str) -> Written {
        let (manager, api_version) = ("kube-apiserver".into(), kind.info().api_version.into());
        Written::By(
            Writer { manager, operation: Operation::Update, api_version, subresource: subresource.into() },
            None,
        )
    }
}

/// In whose name a request writes.
pub(crate) fn writer(request: &Request, operation: Operation) -> Writer {
    let manager = match request.options.field_manager.as_str() {
        "" => request.user.program().to_owned().into(),
        named => Cow::Owned(named.to_owned()),
    };
    let (api_version, subresource) =
        (request.kind.info().api_version, request.subresource.map_or("", |it| it.as_str()));
    Writer { manager, operation, api_version: api_version.into(), subresource: subresource.into() }
}

/// Everybody who wrote lately: what they write has them in common.
#[derive(Clone, Default)]
pub struct Writers(Recent<Rc<Writer>, Rc<Writer>>);

impl Writers {
    fn shared(&mut self, writer: Writer) -> Rc<Writer> {
        if let Some(known) = self.0.get(&writer) {
            return known.clone();
        }
        let writer = Rc::new(writer);
        self.0.insert(writer.clone(), writer.clone());
        writer
    }
}

/// The history of an object after a write of it.
pub(crate) fn after(
    definitions: &Definitions,
    writers: &mut Writers,
    old: Option<&Entry>,
    new: &Object,
    written: Written,
    now: Instant,
) -> History {
    let before = old.map(|entry| entry.history.clone()).unwrap_or_default();
    match written {
        Written::ByNobody => before,
        Written::Known(managers) => History::known(managers),
        Written::Fields(by, fields) => History::made(writers.shared(by), now, fields),
        Written::By(by, sent) => {
            let new = sent.unwrap_or_else(|| new.clone());
            let old = old.map(|entry| Before::Object(entry.value.clone()));
            let run = Run { by: writers.shared(by), at: now, old, new };
            before.and(run, &|managers, run| play(definitions, managers, run))
        }
    }
}

/// What a row of writes makes of who manages what.
pub(crate) fn play(definitions: &Definitions, managers: &Managers, run: &Run) -> Managers {
    // An update of an object without managers takes no field. Mirrors `skipNonAppliedManager`.
    if managers.is_empty() && run.old.is_some() {
        return Managers::default();
    }
    let (old, new) = run.compared();
    let kind = new.kind();
    // Recorded so; no strategy says why.
    if kind == Kind::CertificateSigningRequest {
        return Managers::default();
    }
    // Nor does an update of the scale, if the object's replicas have no manager.
    if run.by.subresource == "scale" && !is_managed(managers, &replicas(definitions, kind)) {
        return managers.clone();
    }
    let has_status = definitions.of(kind).is_none_or(|version| version.has_status);
    let ignored = shapes::reset_fields(kind, &run.by.subresource, has_status);
    let write = Write { by: &run.by, at: shapes::time_of(&run.by, run.at), ignored: &ignored };
    // What was written in another version has the fields of that.
    let other = versions::other(kind).filter(|other| other.info().api_version == run.by.api_version);
    let (kind, old, new) = match other {
        Some(other) => (other, old.map(|old| old.in_version(other)), new.in_version(other)),
        None => (kind, old, new),
    };
    let (old, new) = (shapes::whole(kind, old.as_ref()), shapes::whole(kind, Some(&new)));
    update(definitions, managers, kind, (&old, &new), &write)
}

/// Where the objects of a kind have their replicas.
pub(crate) fn replicas(definitions: &Definitions, kind: Kind) -> Vec<Step> {
    let scale = definitions.of(kind).and_then(|version| version.scale.as_ref());
    let path = scale.map_or("spec.replicas", |scale| scale.spec_replicas_path.trim_start_matches('.'));
    path.split('.').map(Step::field).collect()
}

pub(crate) fn is_managed(managers: &Managers, path: &[Step]) -> bool {
    managers.0.iter().any(|managed| managed.fields.has_path(path))
}

pub(crate) fn update(
    definitions: &Definitions,
    managers: &Managers,
    kind: Kind,
    (old, new): (&Value, &Value),
    write: &Write,
) -> Managers {
    match kind {
        Kind::Custom(_) if versions::stored_as(kind) == kind => {
            managers.update(&Custom::new(kind, definitions.of(kind).map(|v| &v.schema)), old, new, write)
        }
        kind => managers.update(&BuiltIn::new(kind), old, new, write),
    }
}

/// The managers that a client sent; none if they make no sense. Mirrors `isResetManagedFields`.
pub(crate) fn sent_managers(entries: &[ManagedFieldsEntry]) -> Option<Managers> {
    match entries {
        [] => Some(Managers::default()),
        [only] if *only == ManagedFieldsEntry::default() => Some(Managers::default()),
        entries => Managers::of_entries(entries).filter(|managers| !managers.is_empty()),
    }
}

#[cfg(test)]
mod tests;
