//! A plugin from elsewhere for new Pods, in the place of ServiceAccount's, Priority's and DefaultTolerationSeconds' choices. What
//! these do beside (a token's volume, the preemption policy) they go on doing.

use std::sync::Arc;

use object::reader::Reader;
use object::{Object, Pod, Status};

use super::attributes::{Attributes, forbidden};

/// Changes a Pod, given as it came, before defaults; or says why it is refused.
pub type PodPlugin = dyn Fn(&Pod, &mut Pod, &dyn Reader) -> Result<(), Refused>;

/// Why there is no Pod.
#[derive(Clone, Debug)]
pub enum Refused {
    /// The plugin does not want it.
    Forbidden(String),
    /// The plugin has no answer.
    Broken(String),
}

/// Asks the plugin about a Pod that came like this.
pub(super) fn ask(plugin: &PodPlugin, came: &Pod, attributes: &Attributes, object: &mut Object) -> Result<(), Status> {
    let Object::Pod(pod) = &mut *object else { return Ok(()) };
    match plugin(came, Arc::make_mut(pod), attributes.reader) {
        Ok(()) => Ok(()),
        Err(Refused::Forbidden(message)) => Err(Status { message, ..forbidden(attributes.request, Some(object), "") }),
        Err(Refused::Broken(how)) => Err(Status::internal(&format!("the plugin for Pods has no answer: {how}"))),
    }
}
