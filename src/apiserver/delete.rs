//! DELETE, of one object or of many. Mirrors `endpoints/handlers/delete.go`. What it means for an object:
//! [`super::pipeline`].

use object::{Kind, Object, Status};
use wire::{Body, DeleteOptions, Response};

use super::pipeline::write::{Done, Write};
use super::waiting::waiting;
use super::{ApiServer, Handling, Outcome};
use kinds::scheduling::priority_class::is_system_priority_class;

impl ApiServer {
    pub(super) fn delete(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        // Only who deletes one by its name is held back, as in `pkg/registry/scheduling/priorityclass`.
        if request.kind == Kind::PriorityClass && is_system_priority_class(&request.name) {
            const WHY: &str = "this is a system priority class and cannot be deleted";
            return Err(Status::forbidden(request.kind, &request.name, WHY));
        }
        let object = self.stored(request.kind, &request.namespace, &request.name)?;
        let default = DeleteOptions::default();
        let options = if let Body::Delete(options) = &request.body { options } else { &default };
        let done = self.write(handling, Write::delete(object, options.clone()))?;
        Ok(answer(done, options))
    }

    pub(super) fn delete_collection(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let matching = self.matching(handling)?;
        let default = DeleteOptions::default();
        let options = if let Body::Delete(options) = &request.body { options } else { &default };
        let revision = self.store.revision();
        self.ask_webhooks_of_all(handling, &matching)?;
        for object in &matching {
            self.write(handling, Write::delete(object.clone(), options.clone()))?;
        }
        Ok((200, Response::List { items: matching, revision, continue_token: String::new(), remaining: None }))
    }

    /// Asks the webhooks about all that is to go before the first goes: nothing is half done while they are waited for.
    fn ask_webhooks_of_all(&self, handling: &mut Handling, all: &[Object]) -> Result<(), Status> {
        for object in all {
            // What one refuses is refused in its turn.
            let _ = self
                .ask_mutating_of_delete(handling, object)
                .and_then(|()| self.ask_validating(handling, Some(object), None));
        }
        if handling.calls.is_empty() { Ok(()) } else { Err(waiting()) }
    }
}

/// What the caller is told. While the object is not gone, a caller of the old way learns that by the code; to tell others would
/// break them. Mirrors `DeleteResource`.
fn answer(done: Done, options: &DeleteOptions) -> (u16, Response) {
    match done {
        Done::Gone(object) if !kinds::facts(object.kind()).returns_deleted => {
            (200, Response::Success { uid: object.meta().uid.clone().unwrap_or_default() })
        }
        Done::Gone(object) => (200, Response::Object(object)),
        done => (if options.says_orphan_not { 202 } else { 200 }, Response::Object(done.into_object())),
    }
}
