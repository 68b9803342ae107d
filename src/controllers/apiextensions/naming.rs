//! The names of a definition are accepted if no other definition of its group has them. Mirrors `naming_controller.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames as Names,
};

use crate::claim::aggregate;
use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use engine::Memory;
use object::definition::{condition, set_condition};
use object::time::Instant;
use object::{Key, Kind, Object};

use super::name_of;

/// The row of the naming controller. One worker, so that no two definitions are given a name at once.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CustomResourceDefinition],
    ..Registration::new("crd-naming-condition-controller", &|context| Rc::new(NamingController::new(context)))
};

/// Keys are definitions.
pub struct NamingController {
    client: Client,
    queue: Queue,
    definitions: Lister<CustomResourceDefinition>,
    /// Own writes that the cache has not heard of yet.
    written: Memory<BTreeMap<Key, Arc<CustomResourceDefinition>>>,
}

impl NamingController {
    fn new(context: &ControllerContext) -> NamingController {
        NamingController {
            client: context.client.clone(),
            queue: context.queue.clone(),
            definitions: context.lister(),
            written: context.memory(BTreeMap::new()),
        }
    }
}

impl Controller for NamingController {
    fn on_change(&self, change: &Change) {
        let key = change.key();
        let heard = |written: &Arc<CustomResourceDefinition>| {
            Object::CustomResourceDefinition(written.clone()).revision() <= change.latest().revision()
        };
        self.written.borrow_mut().retain(|other, written| *other != key || !heard(written));
        self.queue.add(key);
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(seen) = self.definitions.get(&key) else {
            // Its names are free again.
            self.requeue_others(&key);
            return Ok(());
        };
        let accepted = accepted(&seen);
        if accepted == seen.spec.names {
            return Ok(());
        }
        let mut definition = CustomResourceDefinition::clone(&seen);
        decide(&mut definition, &self.taken(&seen), self.client.now());
        if definition == *seen {
            return Ok(());
        }
        match self.client.update_status(definition).await {
            Ok(written) => {
                self.written.borrow_mut().insert(key.clone(), written);
                self.requeue_others(&key);
                Ok(())
            }
            // Deleted or changed in between: the change brings it back.
            Err(status) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(status) => Err(status.into()),
        }
    }
}

impl NamingController {
    /// The names that are accepted in the group of a definition, its own included.
    fn taken(&self, of: &CustomResourceDefinition) -> Taken {
        let written = self.written.borrow();
        let mut taken = Taken::default();
        for there in self.definitions.list().iter().filter(|there| there.spec.group == of.spec.group) {
            let names = accepted(written.get(&Key::new("", name_of(there))).unwrap_or(there));
            taken.resources.extend([names.plural, names.singular.unwrap_or_default()]);
            taken.resources.extend(names.short_names.unwrap_or_default());
            taken.kinds.extend([names.kind, names.list_kind.unwrap_or_default()]);
        }
        taken
    }

    /// Mirrors `requeueAllOtherGroupCRDs`; the group is what the name says after its first dot.
    fn requeue_others(&self, key: &Key) {
        let group = |name: &str| name.split_once('.').map(|(_, group)| group.to_owned());
        let others = self
            .definitions
            .list()
            .into_iter()
            .filter(|there| name_of(there) != key.name() && Some(there.spec.group.clone()) == group(key.name()));
        others.for_each(|there| self.queue.add(Key::new("", name_of(&there))));
    }
}

#[derive(Debug, Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

fn accepted(definition: &CustomResourceDefinition) -> Names {
    definition.status.as_ref().and_then(|status| status.accepted_names.clone()).unwrap_or_default()
}

/// Accepts the names that are free, and says so. Mirrors `calculateNamesAndConditions`.
fn decide(definition: &mut CustomResourceDefinition, taken: &Taken, now: Instant) {
    let (wanted, mut names) = (definition.spec.names.clone(), accepted(definition));
    let mut conflict = None;
    let mut claim = |reason: &'static str, wanted: &[&str], has: &[&str], taken: &BTreeSet<String>| {
        let used = wanted.iter().filter(|name| !has.contains(name) && taken.contains(**name));
        let refused = aggregate(used.map(|name| Error::Other(format!("{name:?} is already in use"))).collect());
        let free = refused.is_none();
        conflict = refused.map(|why| (reason, why.to_string())).or(conflict.take());
        free
    };
    if claim("PluralConflict", &[&wanted.plural], &[&names.plural], &taken.resources) {
        names.plural = wanted.plural;
    }
    let (singular, has) = (wanted.singular.clone().unwrap_or_default(), names.singular.clone().unwrap_or_default());
    if claim("SingularConflict", &[&singular], &[&has], &taken.resources) {
        names.singular = wanted.singular;
    }
    let (new, has) = (wanted.short_names, names.short_names.clone());
    let [new_texts, has_texts] =
        [&new, &has].map(|names| names.iter().flatten().map(String::as_str).collect::<Vec<_>>());
    if claim("ShortNamesConflict", &new_texts, &has_texts, &taken.resources) {
        names.short_names = new;
    }
    if claim("KindConflict", &[&wanted.kind], &[&names.kind], &taken.kinds) {
        names.kind = wanted.kind;
    }
    let (list_kind, has) = (wanted.list_kind.clone().unwrap_or_default(), names.list_kind.clone().unwrap_or_default());
    if claim("ListKindConflict", &[&list_kind], &[&has], &taken.kinds) {
        names.list_kind = wanted.list_kind;
    }
    names.categories = wanted.categories;
    definition.status.get_or_insert_default().accepted_names = Some(names);
    let free = conflict.is_none();
    let (reason, message) = conflict.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    set_condition(definition, "NamesAccepted", free, reason, &message, now);
    match condition(definition, "Established") {
        Some(there) if there.status == "True" || !free => {}
        _ if free => {
            set_condition(definition, "Established", false, "Installing", "the initial names have been accepted", now);
        }
        _ => set_condition(definition, "Established", false, "NotAccepted", "not all names are accepted", now),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_given_to_whoever_asks_first() {
        let taken = |resources: &[&str], kinds: &[&str]| Taken {
            resources: resources.iter().map(|name| (*name).to_owned()).collect(),
            kinds: kinds.iter().map(|name| (*name).to_owned()).collect(),
        };
        #[rustfmt::skip]
        let cases = [
            (taken(&[], &[]), "True", "NoConflicts", "no conflicts found", "Installing"),
            (taken(&["crontabs"], &[]), "False", "PluralConflict", "\"crontabs\" is already in use", "NotAccepted"),
            (taken(&["ct"], &[]), "False", "ShortNamesConflict", "\"ct\" is already in use", "NotAccepted"),
            (taken(&["crt", "ct"], &[]), "False", "ShortNamesConflict",
                "[\"ct\" is already in use, \"crt\" is already in use]", "NotAccepted"),
            (taken(&["crontab"], &["CronTab"]), "False", "KindConflict", "\"CronTab\" is already in use", "NotAccepted"),
        ];
        for (taken, status, reason, message, established) in cases {
            let value = json!({"metadata": {"name": "crontabs.a.b"}, "spec": {"group": "a.b", "scope": "Cluster", "versions": [],
                "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList", "shortNames": ["ct", "crt"]}}});
            let mut definition: CustomResourceDefinition = serde_json::from_value(value).unwrap();
            decide(&mut definition, &taken, Instant::default());
            let found = condition(&definition, "NamesAccepted").unwrap();
            let told = (found.status.as_str(), found.reason.as_deref().unwrap(), found.message.as_deref().unwrap());
            assert_eq!(told, (status, reason, message));
            let found = condition(&definition, "Established").unwrap();
            assert_eq!((found.status.as_str(), found.reason.as_deref().unwrap()), ("False", established));
            assert_eq!(accepted(&definition) == definition.spec.names, status == "True");
        }
    }
}
