//! What schemas are called: by the Go package of their type. `io.k8s.api.core.v1.Pod`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::Kind;
use crate::go_types::{self, Field, GoType};

/// The Go package that a struct is declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    /// That of an API group in a version: `k8s.io/api/apps/v1`.
    Of(&'static str, &'static str),
    /// `k8s.io/apimachinery/pkg/apis/meta/v1`
    Meta,
    /// Another of `k8s.io/apimachinery/pkg`.
    Machinery(&'static str),
}

/// The core group's.
pub const CORE: Package = Package::Of("", "v1");

/// What all kinds share.
const META: [&str; 22] = [
    "APIGroup",
    "APIGroupList",
    "APIResource",
    "APIResourceList",
    "APIVersions",
    "Condition",
    "DeleteOptions",
    "FieldSelectorRequirement",
    "GroupVersionForDiscovery",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
    "Patch",
    "Preconditions",
    "ServerAddressByClientCIDR",
    "ShardInfo",
    "Status",
    "StatusCause",
    "StatusDetails",
];

/// The kinds of the core group, the structs that they are made of, and two that only others use.
static OF_CORE: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let mut found = BTreeSet::from(["TopologySelectorTerm", "TopologySelectorLabelRequirement"]);
    for kind in Kind::built_in().filter(|kind| kind.info().group.is_empty()) {
        found.insert(kind.info().kind);
        collect(go_types::fields(kind.info().kind).unwrap_or_default(), &mut found);
    }
    found
});

fn collect(fields: &'static [Field], found: &mut BTreeSet<&'static str>) {
    for field in fields {
        let mut go_type = field.go_type;
        while let GoType::Pointer(inner) | GoType::List(inner) | GoType::Map(inner) = go_types::resolve(go_type) {
            go_type = inner;
        }
        if let GoType::Struct(fields) = go_types::resolve(go_type)
            && (field.inline || found.insert(go_type))
        {
            collect(fields, found);
        }
    }
}

impl Package {
    /// That of a kind.
    pub fn of_kind(kind: Kind) -> Package {
        let info = kind.info();
        Package::Of(info.group, info.version)
    }

    /// That of a group's version.
    pub fn of_group(group: &'static str, version: &'static str) -> Package {
        Package::Of(group, version)
    }

    /// The group.
    pub fn group(self) -> &'static str {
        if let Package::Of(group, _) = self { group } else { "" }
    }

    /// The version.
    pub fn version(self) -> &'static str {
        if let Package::Of(_, version) = self { version } else { "v1" }
    }

    /// The name of the schema of one of its types.
    pub fn name(self, called: &str) -> String {
        match self {
            Package::Of("", version) => format!("io.k8s.api.core.{version}.{called}"),
            Package::Of("apiextensions.k8s.io", version) => {
                format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{called}")
            }
            Package::Of("apiregistration.k8s.io", version) => {
                format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{version}.{called}")
            }
            Package::Of(group, version) => {
                let package = group.split('.').next().unwrap_or_default();
                format!("io.k8s.api.{package}.{version}.{called}")
            }
            Package::Meta => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{called}"),
            Package::Machinery(package) => format!("io.k8s.apimachinery.pkg.{package}.{called}"),
        }
    }
}

/// The package of a struct somewhere in an `outermost` of the package `own`, and what it is called there.
pub fn of_struct<'t>(outermost: &str, go_type: &'t str, own: Package) -> (Package, &'t str) {
    let called = go_type.strip_prefix("v2.").unwrap_or(go_type);
    let is_own = go_types::fields(&format!("{outermost}.{called}")).is_some();
    match called {
        called if is_own => (own, called),
        called if META.contains(&called) => (Package::Meta, called),
        called if OF_CORE.contains(called) => (CORE, called),
        called => (own, called),
    }
}

/// The package of a type that reads and prints itself, and what it is called there; none of one that may be anything.
pub fn opaque(go_type: &str) -> Option<(Package, &'static str)> {
    const EXTENSIONS: Package = Package::Of("apiextensions.k8s.io", "v1");
    Some(match go_type {
        "Time" => (Package::Meta, "Time"),
        "MicroTime" => (Package::Meta, "MicroTime"),
        "Duration" => (Package::Meta, "Duration"),
        "FieldsV1" => (Package::Meta, "FieldsV1"),
        "resource.Quantity" => (Package::Machinery("api.resource"), "Quantity"),
        "intstr.IntOrString" => (Package::Machinery("util.intstr"), "IntOrString"),
        "runtime.RawExtension" => (Package::Machinery("runtime"), "RawExtension"),
        "JSON" => (EXTENSIONS, "JSON"),
        "JSONSchemaPropsOrArray" => (EXTENSIONS, "JSONSchemaPropsOrArray"),
        "JSONSchemaPropsOrBool" => (EXTENSIONS, "JSONSchemaPropsOrBool"),
        "JSONSchemaPropsOrStringArray" => (EXTENSIONS, "JSONSchemaPropsOrStringArray"),
        "CustomResourceSubresourceStatus" => (EXTENSIONS, "CustomResourceSubresourceStatus"),
        _ => return None,
    })
}

/// The schema of a type that reads and prints itself, or that documents tell nothing of.
pub fn fixed(called: &str) -> &'static str {
    match called {
        "Time" => r#"{"description":"A time to the second, in RFC 3339.","type":"string","format":"date-time"}"#,
        "MicroTime" => {
            r#"{"description":"A time to the microsecond, in RFC 3339.","type":"string","format":"date-time"}"#
        }
        "Duration" => r#"{"description":"A time span as Go writes it: 1m30s.","type":"string"}"#,
        "FieldsV1" => {
            r#"{"description":"A set of fields, as a tree of their names: f:NAME is a field, k:{KEYS} an item of a list.","type":"object"}"#
        }
        "Quantity" => {
            r#"{"description":"A number with a unit: 500m, 1.5, 128Mi.","oneOf":[{"type":"string"},{"type":"number"}]}"#
        }
        "IntOrString" => {
            r#"{"description":"A number, or a text such as a percentage or the name of a port.","format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}"#
        }
        "RawExtension" => r#"{"description":"Any object.","type":"object"}"#,
        "Patch" => {
            r#"{"description":"A change to an object, of the kind that the content type says.","type":"object"}"#
        }
        "WatchEvent" => {
            r##"{"description":"One event of a watch.","type":"object","required":["type","object"],"properties":{"object":{"description":"The object as it is now, or was before it was deleted; or the Status that ended the watch.","allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}]},"type":{"description":"ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.","type":"string","default":""}}}"##
        }
        "CustomResourceSubresourceStatus" => r#"{"description":"That there is a status of its own.","type":"object"}"#,
        "Info" => {
            concat!(
                r#"{"description":"Info contains versioning information. how we'll want to distribute that information.","#,
                r#""type":"object","required":["major","minor","gitVersion","gitCommit","gitTreeState","buildDate","goVersion","#,
                r#""compiler","platform"],"properties":{"buildDate":{"type":"string","default":""},"#,
                r#""compiler":{"type":"string","default":""},"#,
                r#""emulationMajor":{"description":"EmulationMajor is the major version of the emulation version","type":"string"},"#,
                r#""emulationMinor":{"description":"EmulationMinor is the minor version of the emulation version","type":"string"},"#,
                r#""gitCommit":{"type":"string","default":""},"gitTreeState":{"type":"string","default":""},"#,
                r#""gitVersion":{"type":"string","default":""},"goVersion":{"type":"string","default":""},"#,
                r#""major":{"description":"Major is the major version of the binary version","type":"string","default":""},"#,
                r#""minCompatibilityMajor":{"description":"MinCompatibilityMajor is the major version of the minimum compatibility version","type":"string"},"#,
                r#""minCompatibilityMinor":{"description":"MinCompatibilityMinor is the minor version of the minimum compatibility version","type":"string"},"#,
                r#""minor":{"description":"Minor is the minor version of the binary version","type":"string","default":""},"#,
                r#""platform":{"type":"string","default":""}}}"#,
            )
        }
        "JSON" => r#"{"description":"Any value."}"#,
        "JSONSchemaPropsOrArray" => r#"{"description":"A schema, or a list of them."}"#,
        "JSONSchemaPropsOrBool" => r#"{"description":"A schema, or whether anything will do."}"#,
        _ => r#"{"description":"A schema, or a list of names."}"#,
    }
}
