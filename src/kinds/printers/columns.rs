//! The columns of each kind: one row of the table below for each.
//!
//! Mirrors `AddHandlers` of `pkg/printers/internalversion/printers.go`. Left out: what a column means, in words.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Value, json};

use super::cells::{
    binding_cells, budget_cells, component_cells, created, data_count, deployment_cells, event_cells, name, node_cells,
    pod_cells, priority_class_cells, quota_cells, replica_set_cells, service_cells, slice_cells,
};
use super::duration::since;
use super::fields::{plain, selector, text};
use super::{admission, ingress, service, storage, workloads};
use crate::object::{Discovery, Kind, jsonpath};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its head: `Name`.
    pub name: &'a str,
    /// What it is said to hold, which is not always what its cells are: `string`, `integer`, `boolean` …
    pub type_: &'a str,
    /// More about that; empty for most.
    pub format: &'a str,
    /// 0, or more if it shows with `-o wide` only.
    pub priority: i32,
}

impl Column<'_> {
    /// As a Table has it.
    pub fn definition(&self) -> Value {
        let Column { name, type_, format, priority } = self;
        json!({"name": name, "type": type_, "format": format, "description": "", "priority": priority})
    }
}

/// How one kind shows in a table.
pub struct Layout<'a> {
    /// From left to right.
    pub columns: Cow<'a, [Column<'a>]>,
    /// The cells of one object, wide ones included, given the time it is.
    pub cells: Cells<'a>,
}

/// Makes the cells of one object, given the time it is.
pub type Cells<'a> = Box<dyn Fn(&Value, Timestamp) -> Vec<Value> + 'a>;

/// A column that always shows.
const fn always<'a>(name: &'a str, type_: &'a str) -> Column<'a> {
    Column { name, type_, format: "", priority: 0 }
}

/// A column of text.
const fn column(name: &str) -> Column<'_> {
    always(name, "string")
}

/// A column of text that shows with `-o wide` only.
const fn wide(name: &str) -> Column<'_> {
    Column { priority: 1, ..column(name) }
}

/// A column of whole numbers.
const fn integer(name: &str) -> Column<'_> {
    always(name, "integer")
}

/// A column of yes and no.
const fn boolean(name: &str) -> Column<'_> {
    always(name, "boolean")
}

/// The column of names.
const NAME: Column = Column { format: "name", ..column("Name") };

/// How `kind` shows in a table. A kind without a row of its own shows name and age, a custom kind what its definition says.
pub fn layout(kind: Kind, discovery: &Discovery) -> Layout<'_> {
    macro_rules! layout {
        ($cells:expr, $($column:expr),* $(,)?) => {
            Layout { columns: Cow::Borrowed(const { &[$($column),*] }), cells: Box::new($cells) }
        };
    }
    if let Some(columns) = discovery.columns(kind) {
        return custom(columns);
    }
    #[rustfmt::skip]
    let layout = match kind {
        Kind::Pod => layout!(pod_cells, NAME, column("Ready"), column("Status"), column("Restarts"),
            column("Age"), wide("IP"), wide("Node"), wide("Nominated Node"), wide("Readiness Gates")),
        Kind::Deployment => layout!(deployment_cells, NAME, column("Ready"), column("Up-to-date"),
            column("Available"), column("Age"), wide("Containers"), wide("Images"), wide("Selector")),
        Kind::ReplicaSet | Kind::ReplicationController => layout!(replica_set_cells, NAME, integer("Desired"), integer("Current"),
            integer("Ready"), column("Age"), wide("Containers"), wide("Images"), wide("Selector")),
        Kind::DaemonSet => layout!(workloads::daemon_set_cells, NAME, integer("Desired"), integer("Current"),
            integer("Ready"), integer("Up-to-date"), integer("Available"), column("Node Selector"), column("Age"),
            wide("Containers"), wide("Images"), wide("Selector")),
        Kind::StatefulSet => layout!(workloads::stateful_set_cells, NAME, column("Ready"), column("Age"),
            wide("Containers"), wide("Images")),
        Kind::ControllerRevision => layout!(workloads::revision_cells, NAME, column("Controller"),
            column("Revision"), column("Age")),
        Kind::Job => layout!(workloads::job_cells, NAME, column("Status"), column("Completions"),
            column("Duration"), column("Age"), wide("Containers"), wide("Images"), wide("Selector")),
        Kind::CronJob => layout!(workloads::cron_job_cells, NAME, column("Schedule"), column("Timezone"),
            boolean("Suspend"), integer("Active"), column("Last Schedule"), column("Age"), wide("Containers"), wide("Images"),
            wide("Selector")),
        Kind::Node => layout!(node_cells, NAME, column("Status"), column("Roles"), column("Age"),
            column("Version"), wide("Internal-IP"), wide("External-IP"), wide("OS-Image"), wide("Kernel-Version"),
            wide("Container-Runtime")),
        Kind::ComponentStatus => layout!(component_cells, NAME, column("Status"), column("Message"), column("Error")),
        Kind::Service => layout!(service_cells, NAME, column("Type"), column("Cluster-IP"),
            column("External-IP"), column("Port(s)"), column("Age"), wide("Selector")),
        Kind::Endpoints => layout!(|o, now| cells![name(o), service::endpoints(o), created(o, now)],
            NAME, column("Endpoints"), column("Age")),
        Kind::EndpointSlice => layout!(slice_cells, NAME, column("AddressType"), column("Ports"),
            column("Endpoints"), column("Age")),
        Kind::IPAddress => layout!(|o, now| cells![name(o), service::parent(o), created(o, now)],
            NAME, column("ParentRef"), column("Age")),
        Kind::ServiceCIDR => layout!(|o, now| cells![name(o), service::ranges(o), created(o, now)],
            NAME, column("CIDRs"), column("Age")),
        Kind::Ingress => layout!(ingress::cells, NAME, column("Class"), column("Hosts"), column("Address"),
            column("Ports"), column("Age")),
        Kind::IngressClass => layout!(ingress::class_cells, NAME, column("Controller"), column("Parameters"),
            column("Age")),
        Kind::NetworkPolicy => layout!(|o, now| cells![name(o), selector(o, "spec.podSelector"), created(o, now)],
            NAME, column("Pod-Selector"), column("Age")),
        Kind::ValidatingAdmissionPolicy => layout!(admission::policy_cells, NAME, integer("Validations"),
            column("ParamKind"), column("Age")),
        Kind::MutatingAdmissionPolicy => layout!(admission::policy_cells, NAME, integer("Mutations"),
            column("ParamKind"), column("Age")),
        Kind::ValidatingAdmissionPolicyBinding | Kind::MutatingAdmissionPolicyBinding => layout!(
            admission::binding_cells, NAME, column("PolicyName"), column("ParamRef"), column("Age")),
        Kind::MutatingWebhookConfiguration | Kind::ValidatingWebhookConfiguration => {
            layout!(admission::webhooks_cells, NAME, integer("Webhooks"), column("Age"))
        }
        Kind::ResourceQuota => layout!(quota_cells, NAME, column("Request"), column("Limit"), column("Age")),
        Kind::PodDisruptionBudget => layout!(budget_cells, NAME, column("Min Available"),
            column("Max Unavailable"), integer("Allowed Disruptions"), column("Age")),
        Kind::HorizontalPodAutoscaler => layout!(workloads::autoscaler_cells, NAME, column("Reference"),
            column("Targets"), column("MinPods"), column("MaxPods"), column("Replicas"), column("Age")),
        Kind::Namespace => layout!(|o, now| cells![name(o), text(o, "status.phase"), created(o, now)],
            NAME, column("Status"), column("Age")),
        Kind::ConfigMap => layout!(|o, now| cells![name(o), data_count(o), created(o, now)],
            NAME, column("Data"), column("Age")),
        Kind::Secret => layout!(|o, now| cells![name(o), text(o, "type"), data_count(o), created(o, now)],
            NAME, column("Type"), column("Data"), column("Age")),
        Kind::Event => layout!(event_cells, column("Last Seen"), column("Type"), column("Reason"), column("Object"),
            wide("Subobject"), wide("Source"), column("Message"), wide("First Seen"), wide("Count"), Column { priority: 1, ..NAME }),
        Kind::Lease => layout!(|o, now| cells![name(o), text(o, "spec.holderIdentity"), created(o, now)],
            NAME, column("Holder"), column("Age")),
        Kind::RuntimeClass => layout!(|o, now| cells![name(o), text(o, "handler"), created(o, now)],
            NAME, column("Handler"), column("Age")),
        Kind::PriorityClass => layout!(priority_class_cells, NAME, integer("Value"), boolean("Global-Default"),
            column("Age"), column("PreemptionPolicy")),
        Kind::LimitRange | Kind::Role | Kind::ClusterRole | Kind::CustomResourceDefinition => layout!(|o, _| cells![name(o), text(o, "metadata.creationTimestamp")],
            NAME, always("Created At", "date")),
        Kind::RoleBinding | Kind::ClusterRoleBinding => layout!(binding_cells, NAME, column("Role"),
            column("Age"), wide("Users"), wide("Groups"), wide("ServiceAccounts")),
        Kind::PersistentVolume => layout!(storage::volume_cells, NAME, column("Capacity"),
            column("Access Modes"), column("Reclaim Policy"), column("Status"), column("Claim"), column("StorageClass"),
            column("VolumeAttributesClass"), column("Reason"), column("Age"), wide("VolumeMode")),
        Kind::PersistentVolumeClaim => layout!(storage::claim_cells, NAME, column("Status"), column("Volume"),
            column("Capacity"), column("Access Modes"), column("StorageClass"), column("VolumeAttributesClass"),
            column("Age"), wide("VolumeMode")),
        Kind::StorageClass => layout!(storage::class_cells, NAME, column("Provisioner"), column("ReclaimPolicy"),
            column("VolumeBindingMode"), column("AllowVolumeExpansion"), column("Age")),
        Kind::VolumeAttachment => layout!(storage::attachment_cells, NAME, Column { name: "Attacher", ..NAME }, column("PV"),
            column("Node"), boolean("Attached"), column("Age")),
        Kind::CSIDriver => layout!(storage::driver_cells, NAME, boolean("AttachRequired"),
            boolean("PodInfoOnMount"), boolean("StorageCapacity"), column("TokenRequests"), boolean("RequiresRepublish"),
            column("Modes"), column("Age")),
        Kind::CSIStorageCapacity => layout!(storage::capacity_cells, NAME, column("StorageClassName"), column("Capacity")),
        Kind::PodTemplate => layout!(workloads::pod_template_cells, NAME, column("Containers"), column("Images"),
            column("Pod Labels")),
        Kind::CSINode => layout!(storage::driver_node_cells, NAME, integer("Drivers"), column("Age")),
        _ => any_layout(),
    };
    layout
}

/// What there is to tell of any object: its name and its age.
pub fn any_layout<'a>() -> Layout<'a> {
    let columns = Cow::Borrowed(const { &[NAME, column("Age")] as &[Column] });
    Layout { columns, cells: Box::new(|o, now| cells![name(o), created(o, now)]) }
}

/// The columns that a definition asks for. Mirrors `pkg/registry/customresource/tableconvertor` of
/// apiextensions-apiserver.
fn custom(columns: &[CustomResourceColumnDefinition]) -> Layout<'_> {
    let cells = move |object: &Value, now| {
        let cells = columns.iter().map(|column| custom_cell(column, object, now));
        std::iter::once(name(object).into()).chain(cells).collect()
    };
    let columns = columns.iter().map(|column| Column {
        name: &column.name,
        type_: &column.type_,
        format: column.format.as_deref().unwrap_or_default(),
        priority: column.priority.unwrap_or(0),
    });
    Layout { columns: std::iter::once(NAME).chain(columns).collect(), cells: Box::new(cells) }
}

/// The first value at the column's path, if it is of the column's type; else null.
fn custom_cell(column: &CustomResourceColumnDefinition, object: &Value, now: Timestamp) -> Value {
    let found = jsonpath::find(&column.json_path, object).unwrap_or_default();
    match (column.type_.as_str(), found.first()) {
        (_, None | Some(Value::Null)) => Value::Null,
        ("string", Some(value)) => plain(value).into(),
        ("date", Some(value)) => match value.as_str().map(str::parse) {
            Some(Ok(time)) => since(now, time).into(),
            _ => "<invalid>".into(),
        },
        ("integer", Some(value)) => value.as_f64().map_or(Value::Null, |number| (number as i64).into()),
        ("number", Some(value @ Value::Number(_))) | ("boolean", Some(value @ Value::Bool(_))) => (*value).clone(),
        _ => Value::Null,
    }
}
