//! Events, which two groups serve: `events.k8s.io` asks more of them than `v1`.

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{Column, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::validation;
use crate::object::event::Event;
use crate::object::validation::names::check_path_segment;

/// What the server knows of Events.
pub const ROW: Row<Event> = Row {
    validation: Validation {
        create: validation::event::event,
        update: |problems, new, _| validation::event::event(problems, new),
        in_other_version: Some((validation::event::strict_event, validation::event::strict_event_update)),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: Table {
            columns: &[
                column("Last Seen"),
                column("Type"),
                column("Reason"),
                column("Object"),
                wide("Subobject"),
                wide("Source"),
                column("Message"),
                wide("First Seen"),
                wide("Count"),
                Column { priority: 1, ..NAME },
            ],
            cells: cells::event_cells,
        },
        ..Facts::new("/registry/events/", 5)
    })
};
