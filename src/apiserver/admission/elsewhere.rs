//! Somebody else's plugin for new Pods, in the place of ServiceAccount's, Priority's and DefaultTolerationSeconds' choices. What
//! these do beside (a token's volume, the preemption policy) they go on doing.

use std::rc::Rc;
use std::sync::Arc;

use crate::object::pod::MIRROR;
use crate::object::{Object, Pod, Status};

use super::forbidden;
use crate::apiserver::{ApiServer, Handling};
use crate::object::reader::Reader;

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

impl ApiServer {
    /// New Pods are admitted by this plugin.
    pub fn use_pod_plugin(&mut self, plugin: Rc<PodPlugin>) {
        self.pod_plugin = Some(plugin);
    }

    /// The Pod as it came, if somebody else's plugin is to see it.
    pub(crate) fn for_pod_plugin(&self, handling: &Handling, object: &Object) -> Option<Arc<Pod>> {
        let mirror = object.meta().annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR));
        match object {
            Object::Pod(pod) if self.pod_plugin.is_some() && handling.request.subresource.is_none() && !mirror => {
                Some(pod.clone())
            }
            _ => None,
        }
    }

    /// Asks it.
    pub(crate) fn ask_pod_plugin(&self, handling: &Handling, came: &Pod, object: &mut Object) -> Result<(), Status> {
        let (Some(plugin), Object::Pod(pod)) = (&self.pod_plugin, &mut *object) else { return Ok(()) };
        match plugin(came, Arc::make_mut(pod), &self.store) {
            Ok(()) => Ok(()),
            Err(Refused::Forbidden(message)) => {
                Err(Status { message, ..forbidden(handling.request, Some(object), "") })
            }
            Err(Refused::Broken(how)) => Err(Status::internal(&format!("the plugin for Pods has no answer: {how}"))),
        }
    }
}
