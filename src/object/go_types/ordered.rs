//! Objects as Go prints them that has read them into structs: fields in the order in which a struct declares them.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Field, GoType, fields_in, own_fields, resolve};

/// Where kind and version of an object stand: `TypeMeta` comes first in every kind.
const TYPE_META: [&str; 2] = ["kind", "apiVersion"];

/// An object of a kind, serialised as `encoding/json` does with its struct. What the struct does not have comes last, by name.
pub struct Ordered<'v> {
    outermost: &'v str,
    go_type: &'v str,
    value: &'v Value,
}

impl<'v> Ordered<'v> {
    /// An object of that kind; one that the table does not have is printed by name, as a map is.
    pub fn object(kind: &'v str, value: &'v Value) -> Ordered<'v> {
        Ordered { outermost: kind, go_type: kind, value }
    }

    fn part(&self, go_type: &'v str, value: &'v Value) -> Ordered<'v> {
        Ordered { outermost: self.outermost, go_type, value }
    }

    /// The struct's fields that are there, and what else is.
    fn entries(&self, fields: &'static [Field]) -> Vec<(&'v str, Ordered<'v>)> {
        let written = self.value.as_object().into_iter().flatten();
        let find = |name: &str| self.value.as_object().and_then(|written| written.get_key_value(name));
        let plain = |(name, value): (&'v String, &'v Value)| (name.as_str(), self.part("any", value));
        let mut order = Vec::new();
        declared(self.outermost, fields, &mut order);
        // A kind in a list of them is a whole object too; what refers to one declares these fields where it has them.
        let is_embedded = |name: &&&str| order.iter().all(|field| field.json != **name);
        let head = TYPE_META.iter().filter(is_embedded).filter_map(|name| find(name).map(plain));
        let body = order.iter().filter_map(|field| {
            let (name, value) = find(&field.json)?;
            Some((name.as_str(), self.part(field.go_type, value)))
        });
        let mut entries: Vec<_> = head.chain(body).collect();
        let known: BTreeSet<&str> = entries.iter().map(|(name, _)| *name).collect();
        entries.extend(written.filter(|(name, _)| !known.contains(name.as_str())).map(plain));
        entries
    }
}

/// The fields of a struct in order, with those of what it embeds in its place.
fn declared(outermost: &str, fields: &'static [Field], order: &mut Vec<&'static Field>) {
    for field in fields {
        match field.inline {
            true => declared(outermost, fields_in(outermost, field.go_type).unwrap_or_default(), order),
            false => order.push(field),
        }
    }
}

/// One level of an object, in order.
pub enum Tree<'v> {
    /// A struct or a map.
    Map(Vec<(&'v str, Ordered<'v>)>),
    /// A list.
    List(Vec<Ordered<'v>>),
    /// What has nothing in it.
    Leaf(&'v Value),
}

impl<'v> Ordered<'v> {
    /// What is in it.
    pub fn tree(&self) -> Tree<'v> {
        let list = |items: &'v [Value], of| Tree::List(items.iter().map(|value| self.part(of, value)).collect());
        let map = |values: &'v Map<String, Value>, of| {
            Tree::Map(values.iter().map(|(name, value)| (name.as_str(), self.part(of, value))).collect())
        };
        match (resolve(self.go_type), self.value) {
            (GoType::Pointer(target), value) => self.part(target, value).tree(),
            (GoType::Struct(fields), Value::Object(_)) => {
                Tree::Map(self.entries(own_fields(self.outermost, self.go_type).unwrap_or(fields)))
            }
            (GoType::List(item), Value::Array(items)) => list(items, item),
            (GoType::Map(of), Value::Object(values)) => map(values, of),
            (_, Value::Array(items)) => list(items, "any"),
            (_, Value::Object(values)) => map(values, "any"),
            (_, value) => Tree::Leaf(value),
        }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.tree() {
            Tree::Map(entries) => serializer.collect_map(entries),
            Tree::List(items) => serializer.collect_seq(items),
            Tree::Leaf(value) => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_come_as_their_structs_declare_them() {
        let container = json!({"image": "nginx", "name": "web", "resources": {}});
        let template = json!({"spec": {"containers": [container]}, "metadata": {"labels": {"b": "2", "a": "1"}}});
        let spec = json!({"template": template, "selector": null, "replicas": 1});
        let whole = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec, "mine": 1, "metadata": {"name": "web"}});
        let text = serde_json::to_string(&Ordered::object("Deployment", &whole)).expect("it can be written");
        let want = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"replicas":1,"selector":null,"template":{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"web","image":"nginx","resources":{}}]}}},"mine":1}"#;
        assert_eq!(text, want);
    }

    #[test]
    fn what_a_struct_embeds_stands_among_its_fields_and_other_kinds_are_maps() {
        let volume = json!({"emptyDir": {}, "name": "data"});
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": null, "volumes": [volume]}});
        let text = serde_json::to_string(&Ordered::object("Pod", &pod)).expect("it can be written");
        let spec = r#"{"volumes":[{"name":"data","emptyDir":{}}],"containers":null}"#;
        assert_eq!(text, format!(r#"{{"kind":"Pod","apiVersion":"v1","spec":{spec}}}"#));
        let site = json!({"spec": 1, "kind": "Site", "apiVersion": "example.com/v1"});
        let text = serde_json::to_string(&Ordered::object("Site", &site)).expect("it can be written");
        assert_eq!(text, site.to_string(), "nobody knows its struct");
    }
}
