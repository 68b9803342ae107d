//! The row of plugins that may change an object, and the place in it of a plugin from elsewhere.

use std::rc::Rc;
use std::sync::Arc;

use object::pod::MIRROR;
use object::{Object, Pod, Status};
use wire::Request;

use super::attributes::{Attributes, Mutate};
use super::elsewhere::{PodPlugin, ask};
use super::{MUTATING, Plugin};

/// The plugins that may change an object, in their order.
#[derive(Clone)]
pub struct Row(Rc<[Place]>);

/// A place in the row.
enum Place {
    /// A shipped plugin.
    Shipped(Mutate),
    /// A shipped plugin that leaves the Pods alone which a plugin from elsewhere admits.
    Yielding(Mutate),
    /// The plugin from elsewhere.
    Elsewhere(Rc<PodPlugin>),
}

impl Row {
    /// The shipped plugins.
    pub fn shipped() -> Row {
        Row(MUTATING.iter().map(|(_, admit)| Place::Shipped(*admit)).collect())
    }

    /// The shipped plugins, and one from elsewhere for new Pods: it stands before ServiceAccount, so that its choice of an
    /// account counts, and in the place of DefaultTolerationSeconds.
    pub fn with(plugin: Rc<PodPlugin>) -> Row {
        let mut row = Vec::new();
        for (name, admit) in MUTATING {
            row.extend((*name == Plugin::ServiceAccount).then(|| Place::Elsewhere(plugin.clone())));
            row.push(match name {
                Plugin::DefaultTolerationSeconds => Place::Yielding(*admit),
                _ => Place::Shipped(*admit),
            });
        }
        Row(row.into())
    }

    /// A new Pod as it came, before defaults, if a plugin from elsewhere is to admit it.
    pub fn as_it_came(&self, request: &Request, object: &Object) -> Option<Arc<Pod>> {
        let elsewhere = self.0.iter().any(|place| matches!(place, Place::Elsewhere(_)));
        let mirror = object.meta().annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR));
        match object {
            Object::Pod(pod) if elsewhere && request.subresource.is_none() && !mirror => Some(pod.clone()),
            _ => None,
        }
    }

    /// Runs the row on an object. `came`: what [`Row::as_it_came`] has said of it.
    pub fn admit(&self, came: Option<&Pod>, attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
        for place in &*self.0 {
            match (place, came) {
                (Place::Shipped(admit), _) | (Place::Yielding(admit), None) => admit(attributes, object)?,
                (Place::Elsewhere(plugin), Some(came)) => ask(&**plugin, came, attributes, object)?,
                (Place::Yielding(_), Some(_)) | (Place::Elsewhere(_), None) => {}
            }
        }
        Ok(())
    }
}
