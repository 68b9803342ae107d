//! ComponentStatuses: made up at each request.

use k8s_openapi::api::core::v1::ComponentStatus;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{NAME, column};
use crate::kinds::row::{Facts, Row, Table};

/// What the server knows of ComponentStatuss.
pub const ROW: Row<ComponentStatus> = Row::new(Facts {
    deprecation: Some("v1 ComponentStatus is deprecated in v1.19+"),
    table: Table {
        columns: &[NAME, column("Status"), column("Message"), column("Error")],
        cells: cells::component_cells,
    },
    ..Facts::new("/registry/componentstatuses/", 3)
});
