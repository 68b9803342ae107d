//! DELETE, of one object or of many. Mirrors `endpoints/handlers/delete.go`. What it means for an object:
//! [`super::pipeline`].

use object::{Kind, Status};
use wire::{Body, DeleteOptions, Response};

use super::pipeline::write::{Done, Write};
use super::waiting::{Collection, Reviews, waiting};
use super::{ApiServer, Handling, Outcome, continue_token};
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

    /// Each object is a commit of its own, and what goes wrong with one leaves those behind it. Mirrors `DeleteCollection` of
    /// `registry/generic/registry/store.go`, with one worker.
    pub(super) fn delete_collection(&mut self, handling: &mut Handling) -> Outcome {
        self.check_state(handling)?;
        let (mut all, revision) = (self.matching(handling)?, self.store.revision());
        let limit = usize::try_from(handling.request.options.limit).unwrap_or(usize::MAX);
        let goes_on = limit > 0 && all.len() > limit;
        if goes_on {
            all.truncate(limit);
        }
        let last = all.last().filter(|_| goes_on).map(|last| continue_token::after(last, handling.request, revision));
        let (warnings, next) = (std::mem::take(&mut handling.warnings), last.unwrap_or_default());
        self.delete_next(handling, Collection { all, next, done: 0, revision, warnings })
    }

    /// Deletes the next object of many. What has gone meanwhile is passed over.
    pub(super) fn delete_next(&mut self, handling: &mut Handling, mut collection: Collection) -> Outcome {
        let request = handling.request;
        handling.warnings = std::mem::take(&mut collection.warnings);
        let default = DeleteOptions::default();
        let options = if let Body::Delete(options) = &request.body { options } else { &default };
        while let Some(next) = collection.all.get(collection.done) {
            if let Ok(object) = self.stored(request.kind, next.namespace(), next.name()) {
                let done = self.write(handling, Write::delete(object, options.clone()));
                let waits = !handling.calls.is_empty();
                match done {
                    Err(status) if !waits && !status.is_not_found() => return Err(status),
                    _ => {}
                }
                collection.done += usize::from(!waits);
                if waits || collection.done < collection.all.len() {
                    let (done, count) = (collection.done, collection.all.len());
                    handling.stage("collection", || format!("{done} of {count} are deleted"));
                    collection.warnings = std::mem::take(&mut handling.warnings);
                    let (random, now) = (self.fork_random(), handling.now);
                    let reviews = handling.reviews.get_or_insert_with(|| Reviews::new(random, now));
                    reviews.collection = Some(collection);
                    return Err(waiting());
                }
            } else {
                collection.done += 1;
            }
        }
        let Collection { all, next, revision, .. } = collection;
        Ok((200, Response::List { items: all, revision, continue_token: next, remaining: None }))
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
