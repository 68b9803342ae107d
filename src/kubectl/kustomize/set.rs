//! The manifests of a kustomization, in the order in which they were gathered. Mirrors `api/resmap`.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::id::{Gvk, Id};
use super::resource::{Behavior, Resource};
use object::selector::Selector as Labels;

/// A kustomization of more objects is refused: all of them are gone over again and again.
const RESOURCES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Set(pub Vec<Resource>);

/// Which resources are meant: by regular expressions on what they are called, and by what they are marked with.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    pub id: Id,
    pub labels: String,
    pub annotations: String,
}

impl Set {
    /// Adds resources.
    ///
    /// # Errors
    /// One is there already.
    pub fn append(&mut self, more: Vec<Resource>) -> Result<(), String> {
        let mut known: BTreeSet<_> = self.0.iter().map(|resource| resource.id().key()).collect();
        for resource in more {
            let id = resource.id();
            if !known.insert(id.key()) {
                return Err(format!("may not add resource with an already registered id: {id}"));
            }
            if self.0.len() >= RESOURCES_MAX {
                return Err(format!("a kustomization may have {RESOURCES_MAX} objects here; split it"));
            }
            self.0.push(resource);
        }
        Ok(())
    }

    /// Adds what a generator has made, or has it change what is there. Mirrors `appendReplaceOrMerge`.
    ///
    /// # Errors
    /// The generator's behavior does not fit what is there.
    pub fn absorb(&mut self, mut made: Resource) -> Result<(), String> {
        let id = made.id();
        let there: Vec<usize> = (0..self.0.len()).filter(|&at| self.0[at].ids().any(|other| other.is(&id))).collect();
        match (there.as_slice(), made.behavior) {
            ([], Behavior::Merge | Behavior::Replace) => {
                Err(format!("id {} does not exist; cannot merge or replace", id.go()))
            }
            ([], _) => self.append(vec![made]),
            (&[at], Behavior::Replace) => {
                made.take_over(&self.0[at]);
                self.0[at] = made;
                Ok(())
            }
            (&[at], Behavior::Merge) => {
                made.take_over(&self.0[at]);
                made.merge_data(&self.0[at]);
                self.0[at] = made;
                Ok(())
            }
            ([_], behavior) => Err(format!(
                "id {} exists; can not use behavior: '{}', behavior must be merge or replace",
                id.go(),
                behavior.name()
            )),
            (several, _) => {
                let all: Vec<String> = several.iter().map(|&at| self.0[at].object.to_string()).collect();
                Err(format!("found multiple objects [{}] that could accept merge of {id}", all.join(" ")))
            }
        }
    }

    /// The place of the one that is or was called that. Mirrors `GetById`.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn by_id(&self, id: &Id) -> Result<usize, String> {
        let found: Vec<usize> = (0..self.0.len()).filter(|&at| self.0[at].ids().any(|other| other.is(id))).collect();
        let why = match found.as_slice() {
            &[at] => return Ok(at),
            [] => format!("no matches for Id {id}"),
            _ => format!("multiple matches for Id {id}"),
        };
        Err(format!("{why}; failed to find unique target for patch {id}"))
    }

    /// The places of those that a selector means.
    ///
    /// # Errors
    /// The selector is wrong.
    pub fn select(&self, selector: &Selector) -> Result<Vec<usize>, String> {
        let matcher = Matcher::of(selector)?;
        let is = |resource: &Resource| {
            let (now, first) = (resource.id(), resource.original_id());
            matcher.is_marked(resource)
                && matcher.gvk(&now.gvk)
                && [&first, &now].iter().any(|id| matcher.namespace(id.effective_namespace()))
                && [&first, &now].iter().any(|id| matcher.name(&id.name))
        };
        Ok((0..self.0.len()).filter(|&at| is(&self.0[at])).collect())
    }

    /// What has been built, without what is only there to be read.
    pub fn into_objects(self) -> Vec<Value> {
        self.0.into_iter().map(|resource| resource.object).collect()
    }
}

/// A selector whose expressions have been read. Mirrors `SelectorRegex`.
pub struct Matcher {
    parts: [Option<Regex>; 5],
    labels: Labels,
    annotations: Labels,
}

impl Matcher {
    /// Reads a selector.
    ///
    /// # Errors
    /// An expression is none.
    pub fn of(selector: &Selector) -> Result<Matcher, String> {
        let Id { gvk: Gvk { group, version, kind }, name, namespace } = &selector.id;
        let read = |text: &str| match text {
            "" => Ok(None),
            text => Regex::new(&format!("^(?:{text})$"))
                .map(Some)
                .map_err(|_| format!("error parsing regexp: {text:?} is no regular expression")),
        };
        let parts = [read(group)?, read(version)?, read(kind)?, read(name)?, read(namespace)?];
        Ok(Matcher {
            parts,
            labels: Labels::parse(&selector.labels)?,
            annotations: Labels::parse(&selector.annotations)?,
        })
    }

    fn is(&self, part: usize, text: &str) -> bool {
        self.parts[part].as_ref().is_none_or(|expression| expression.is_match(text))
    }

    /// Whether it means this group, version and kind.
    pub fn gvk(&self, gvk: &Gvk) -> bool {
        self.is(0, &gvk.group) && self.is(1, &gvk.version) && self.is(2, &gvk.kind)
    }

    /// Whether it means this name.
    pub fn name(&self, name: &str) -> bool {
        self.is(3, name)
    }

    /// Whether it means this namespace.
    pub fn namespace(&self, namespace: &str) -> bool {
        self.is(4, namespace)
    }

    /// Whether labels and annotations are as they should be.
    pub fn is_marked(&self, resource: &Resource) -> bool {
        self.labels.matches(Some(&resource.labels())) && self.annotations.matches(Some(&resource.annotations()))
    }
}
