//! ComponentStatuses: made up at each request.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ComponentStatus;
use serde_json::Value;

use crate::printers::cells::name;
use crate::printers::columns::{NAME, column};
use crate::printers::fields::{list, text};
use crate::row::{Facts, Row, Table};

/// What the server knows of ComponentStatuss.
pub const ROW: Row<ComponentStatus> = Row::new(Facts {
    deprecation: Some("v1 ComponentStatus is deprecated in v1.19+"),
    table: Table { columns: &[NAME, column("Status"), column("Message"), column("Error")], cells },
    ..Facts::new("/registry/componentstatuses/", 3)
});

/// A component is healthy, or it is not; the condition says why.
fn cells(component: &Value, _: Timestamp) -> Vec<Value> {
    let healthy = list(component, "conditions").iter().find(|condition| text(condition, "type") == "Healthy");
    let said = |field: &str| healthy.map_or("", |condition| text(condition, field)).to_owned();
    let status = match healthy.map(|condition| text(condition, "status")) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    };
    cells![name(component), status, said("message"), said("error")]
}
