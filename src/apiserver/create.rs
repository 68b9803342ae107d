//! POST: a new object. Mirrors `endpoints/handlers/create.go`.

use super::pipeline::write::{Done, Write};
use super::{ApiServer, Handling, Outcome};

impl ApiServer {
    pub(super) fn create(&mut self, handling: &mut Handling) -> Outcome {
        let object = self.incoming(handling)?;
        let write = Write::create(handling, object, None)?;
        self.write(handling, write).map(Done::answer)
    }
}
