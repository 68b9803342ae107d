//! What Go calls the type of a field. Structs tell their name, and the rest is found by asking a visitor what it
//! would take; only strings with a Go type of their own need a table.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::source::Error;

/// The Go type of a struct: `v1.PodSpec`. Nearly all of the API's types live in a package of that name.
pub fn of_struct(name: &str) -> String {
    format!("v1.{name}")
}

/// The Go type of the list that `visitor` takes: `[]v1.Container`.
pub fn of_list<'de, V: Visitor<'de>>(visitor: V) -> String {
    let found = RefCell::default();
    // The probe ends every visit with an error, after it has noted what was asked for.
    let _ = visitor.visit_seq(Probe { found: &found });
    format!("[]{}", found.take())
}

/// The Go type of the map that `visitor` takes: `map[string]string`.
pub fn of_map<'de, V: Visitor<'de>>(visitor: V) -> String {
    let found = RefCell::default();
    let _ = visitor.visit_map(Probe { found: &found });
    match found.take().as_str() {
        "resource.Quantity" => "v1.ResourceList".to_owned(),
        value => format!("map[string]{value}"),
    }
}

/// The Go type of a string field.
pub fn of_string(struct_name: &str, field: &str) -> &'static str {
    match (struct_name, field) {
        ("ServiceSpec", "type") => "v1.ServiceType",
        ("Secret", "type") => "v1.SecretType",
        ("DeploymentStrategy", "type") => "v1.DeploymentStrategyType",
        ("PodCondition", "type") => "v1.PodConditionType",
        ("NodeCondition", "type") => "v1.NodeConditionType",
        ("DeploymentCondition", "type") => "v1.DeploymentConditionType",
        ("NodeAddress", "type") => "v1.NodeAddressType",
        ("PodStatus", "phase") => "v1.PodPhase",
        ("NamespaceStatus", "phase") => "v1.NamespacePhase",
        ("Toleration", "operator") => "v1.TolerationOperator",
        ("NodeSelectorRequirement", "operator") => "v1.NodeSelectorOperator",
        ("LabelSelectorRequirement", "operator") => "v1.LabelSelectorOperator",
        (name, "status") if name.ends_with("Condition") => "v1.ConditionStatus",
        ("EmptyDirVolumeSource", "medium") => "v1.StorageMedium",
        ("HTTPGetAction", "scheme") => "v1.URIScheme",
        (_, "restartPolicy") => "v1.RestartPolicy",
        (_, "imagePullPolicy") => "v1.PullPolicy",
        (_, "terminationMessagePolicy") => "v1.TerminationMessagePolicy",
        (_, "dnsPolicy") => "v1.DNSPolicy",
        (_, "protocol") => "v1.Protocol",
        (_, "sessionAffinity") => "v1.ServiceAffinity",
        (_, "effect") => "v1.TaintEffect",
        (_, "preemptionPolicy") => "v1.PreemptionPolicy",
        (_, "whenUnsatisfiable") => "v1.UnsatisfiableConstraintAction",
        (_, "uid") => "types.UID",
        _ => "string",
    }
}

/// Notes what is asked of it.
#[derive(Clone, Copy)]
struct Probe<'p> {
    found: &'p RefCell<String>,
}

impl Probe<'_> {
    fn note<T>(self, go_type: impl Into<String>) -> Result<T, Error> {
        self.found.replace(go_type.into());
        Err(Error::Refused)
    }
}

impl<'de> SeqAccess<'de> for Probe<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        seed.deserialize(*self).map(Some)
    }
}

impl<'de> MapAccess<'de> for Probe<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let key: StrDeserializer<'_, Error> = "".into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(*self)
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("interface {}")
    }

    fn deserialize_bool<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("bool")
    }

    fn deserialize_i32<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("int32")
    }

    fn deserialize_i64<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("int64")
    }

    fn deserialize_string<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("string")
    }

    fn deserialize_str<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note("[]uint8")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, _: V) -> Result<V::Value, Error> {
        match name {
            "Quantity" => self.note("resource.Quantity"),
            name => self.note(of_struct(name)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(of_list(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(of_map(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.note(of_struct(name))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}
