//! Why a condition holds, or does not: of its parts those that decide it, each with what is there, in words.

use serde_json::Value;

use super::eval::{Scope, follow};
use super::{Expression, Node, Operator, Part, Path, Root};
use crate::diff;
use object::text::shortened;

/// Of a longer value only the beginning is shown.
const LONG: usize = 60;
/// More fields are not named.
const MOST: usize = 3;

impl Expression {
    /// Why it does not hold, and what must be: `spec.replicas is 1, and must be 2`.
    pub fn why_not(&self, scope: &dyn Scope) -> String {
        Why { of: self, scope, must: true }.text(false)
    }

    /// Why it holds: `status.phase is "Failed"`.
    pub fn why(&self, scope: &dyn Scope) -> String {
        Why { of: self, scope, must: false }.text(true)
    }
}

/// A value, short enough for a line: of a list of objects what its items are called.
pub fn brief(value: &Value) -> String {
    let text = match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            format!("[{}]", items.iter().map(called).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    };
    shortened(&text, LONG).into_owned()
}

/// What an item of a list is called: its kind and name, its type, its first address; else it is shown.
fn called(item: &Value) -> String {
    let text = |field: &str| item.get(field).and_then(Value::as_str);
    match (text("kind"), text("name")) {
        (Some(kind), Some(name)) => return format!("{kind} {name}"),
        (None, Some(name)) => return name.to_owned(),
        _ => {}
    }
    let address = || item.pointer("/addresses/0").and_then(Value::as_str);
    let name = ["type", "key", "ip"].into_iter().find_map(text).or_else(address);
    name.map_or_else(|| item.to_string(), str::to_owned)
}

/// An expression in a step, and what is asked of it.
struct Why<'a> {
    of: &'a Expression,
    scope: &'a dyn Scope,
    /// Whether to say what must be.
    must: bool,
}

impl Why<'_> {
    /// Why the whole is true, or false.
    fn text(&self, is: bool) -> String {
        let reasons = self.reasons(&self.of.node, is);
        if reasons.is_empty() { self.of.text.clone() } else { reasons.join("; ") }
    }

    fn is(&self, node: &Node) -> bool {
        self.of.is(node, self.scope).unwrap_or(false)
    }

    /// Why this node is true, or false. It is so.
    fn reasons(&self, node: &Node, is: bool) -> Vec<String> {
        match node {
            Node::Not(inner) => self.reasons(inner, !is),
            // All parts decide it, or one of them is enough.
            Node::Any(parts) if !is => {
                let parts: Vec<String> = parts.iter().map(|part| self.reasons(part, is).join(" and ")).collect();
                vec![parts.join(", or: ")]
            }
            Node::All(parts) | Node::Any(parts) => {
                let parts = parts.iter().filter(|part| self.is(part) == is);
                let mut reasons: Vec<(bool, String)> = parts
                    .flat_map(|part| self.reasons(part, is).into_iter().map(|why| (is_there(part), why)))
                    .collect();
                // That there is such an object says little beside something else.
                if reasons.iter().any(|(is_there, _)| !is_there) {
                    reasons.retain(|(is_there, _)| !is_there);
                }
                reasons.into_iter().map(|(_, why)| why).collect()
            }
            Node::Changed(parts) => vec![self.changed(parts, is)],
            Node::Compare { left, operator, right, .. } => vec![self.compared(left, *operator, right, is)],
            Node::Matches { left, pattern, .. } => {
                let not = if is { "not " } else { "" };
                let must = format!(", and must {not}match {:?}", pattern.0.as_str());
                vec![self.there(left) + if self.must { &must } else { "" }]
            }
            Node::Path(_) | Node::Length { .. } | Node::Literal(_) | Node::Cel(_) => vec![self.truth(node, is)],
        }
    }

    fn values(&self, node: &Node) -> Vec<Value> {
        self.of.values(node, self.scope).unwrap_or_default()
    }

    fn shown(&self, node: &Node) -> String {
        self.values(node).iter().map(brief).collect::<Vec<_>>().join(", ")
    }

    fn is_null(&self, node: &Node) -> bool {
        self.values(node).iter().all(Value::is_null)
    }

    /// Of something that must be there, or true; or must not.
    fn truth(&self, node: &Node, is: bool) -> String {
        if is_object(node) {
            return match (is, self.must) {
                (true, true) => "it is there, and must be gone".to_owned(),
                (true, false) => "it is there".to_owned(),
                (false, _) => "it is gone".to_owned(),
            };
        }
        let there = self.there(node);
        let must = match (self.values(node).as_slice(), is) {
            ([Value::Bool(_)], _) => format!(", and must be {}", !is),
            ([Value::Number(_)], true) => ", and must be 0".to_owned(),
            (_, true) => ", and must be empty".to_owned(),
            (_, false) => ", and must not be".to_owned(),
        };
        if self.must { there + &must } else { there }
    }

    /// What is at a place: `spec.replicas is 1`.
    fn there(&self, node: &Node) -> String {
        let (name, verb) = (name(node), verb(node));
        match self.is_null(node) {
            true => format!("{name} {verb} missing"),
            false => match self.shown(node) {
                text if text.is_empty() || text == "[]" || text == "{}" => format!("{name} {verb} empty"),
                text => format!("{name} {verb} {text}"),
            },
        }
    }

    fn compared(&self, left: &Node, operator: Operator, right: &Node, is: bool) -> String {
        let to_null = matches!(right, Node::Literal(Value::Null));
        if to_null && is_object(left) {
            return self.truth(left, !self.is_null(left));
        }
        let there = self.there(left);
        if !self.must {
            return there;
        }
        let wanted = match right {
            Node::Literal(value) => brief(value),
            other => format!("{} ({})", name(other), self.shown(other)),
        };
        let must = match if is { opposite(operator) } else { (operator, false) } {
            (Operator::Equal, _) if to_null => "not be set".to_owned(),
            (Operator::NotEqual, _) if to_null => "not be".to_owned(),
            (Operator::Equal, _) => format!("be {wanted}"),
            (Operator::NotEqual, _) => format!("not be {wanted}"),
            (Operator::Less, _) => format!("be less than {wanted}"),
            (Operator::LessOrEqual, _) => format!("be at most {wanted}"),
            (Operator::Greater, _) => format!("be more than {wanted}"),
            (Operator::GreaterOrEqual, _) => format!("be at least {wanted}"),
            (Operator::Like, false) => format!("look like {wanted}"),
            (Operator::Like, true) => format!("not look like {wanted}"),
            (Operator::Contains, not) => format!("{}have {wanted} in it", negation(not)),
            (Operator::StartsWith, not) => format!("{}start with {wanted}", negation(not)),
            (Operator::EndsWith, not) => format!("{}end with {wanted}", negation(not)),
        };
        format!("{there}, and must {must}")
    }

    fn changed(&self, parts: &[Part], is: bool) -> String {
        let at = |root| follow(self.scope.root(root), parts).into_iter().next().unwrap_or_default();
        let (old, new) = (at(Root::Old), at(Root::New));
        let place = place(parts);
        if !is {
            return format!("{place} has not changed{}", if self.must { ", and must" } else { "" });
        }
        let all = diff::values(&place, &old, &new);
        let one = |value: &Option<Value>| value.as_ref().map_or("missing".to_owned(), brief);
        let said = all.iter().take(MOST);
        let said: Vec<_> =
            said.map(|one_| format!("{} was {} and is {}", one_.path, one(&one_.old), one(&one_.new))).collect();
        let more = if all.len() > MOST { format!(", and {} fields more", all.len() - MOST) } else { String::new() };
        format!("{}{more}{}", said.join(", "), if self.must { ", and must stay" } else { "" })
    }
}

/// The comparison that is true where this one is not; a pattern has none of its own, so it is said beside it.
fn opposite(operator: Operator) -> (Operator, bool) {
    match operator {
        Operator::Equal => (Operator::NotEqual, false),
        Operator::NotEqual => (Operator::Equal, false),
        Operator::Less => (Operator::GreaterOrEqual, false),
        Operator::LessOrEqual => (Operator::Greater, false),
        Operator::Greater => (Operator::LessOrEqual, false),
        Operator::GreaterOrEqual => (Operator::Less, false),
        of_texts @ (Operator::Like | Operator::Contains | Operator::StartsWith | Operator::EndsWith) => {
            (of_texts, true)
        }
    }
}

fn negation(is: bool) -> &'static str {
    if is { "not " } else { "" }
}

/// Whether it asks for no more than that an object is there.
fn is_there(node: &Node) -> bool {
    match node {
        Node::Compare { left, operator: Operator::NotEqual, right, .. } => {
            is_object(left) && matches!(**right, Node::Literal(Value::Null))
        }
        other => is_object(other),
    }
}

/// Whether it is a whole object.
fn is_object(node: &Node) -> bool {
    matches!(node, Node::Path(Path { root: Root::Old | Root::New | Root::Object, parts }) if parts.is_empty())
}

fn verb(node: &Node) -> &'static str {
    match node {
        Node::Path(Path { root: Root::Old, .. }) => "was",
        Node::Length { of, .. } => verb(of),
        _ => "is",
    }
}

/// What a node is called: of a path in an object the path alone.
fn name(node: &Node) -> String {
    match node {
        Node::Path(Path { root: Root::Old | Root::New | Root::Object, parts }) => match parts.is_empty() {
            true => "it".to_owned(),
            false => place(parts),
        },
        Node::Path(Path { root: Root::Event, parts }) if place(parts) == "from" => "the caller".to_owned(),
        Node::Path(Path { root: Root::Event, parts }) if place(parts) == "verb" => "the call".to_owned(),
        Node::Path(Path { root: Root::Event, parts }) if place(parts) == "subresource" => {
            "the subresource of the call".to_owned()
        }
        Node::Path(Path { root, parts }) => {
            let name = Root::ALL.iter().find(|(_, one)| one == root).map_or("", |(name, _)| name);
            format!("{name}.{}", place(parts)).trim_end_matches('.').to_owned()
        }
        Node::Length { of, .. } => format!("the number of {}", name(of)),
        Node::Literal(value) => brief(value),
        Node::Cel(rule) => rule.source.clone(),
        _ => "the condition".to_owned(),
    }
}

/// A path as fields are named everywhere: `metadata.labels["kubernetes.io/os"]`, `containers[0].image`.
fn place(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Field(field) if field.contains(['.', '/']) => text += &format!("[{field:?}]"),
            Part::Field(field) if text.is_empty() => text += field,
            Part::Field(field) => text += &format!(".{field}"),
            Part::Index(index) => text += &format!("[{index}]"),
            Part::Named(name) => text += &format!("[{name}]"),
            Part::Any => text += "[*]",
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;
    use super::*;

    struct Objects(Value, Value);

    impl Scope for Objects {
        fn root(&self, root: Root) -> &Value {
            if root == Root::Old { &self.0 } else { &self.1 }
        }
    }

    fn objects() -> Objects {
        Objects(
            json!({"spec": {"replicas": 3, "containers": [{"name": "web", "image": "nginx:1.27"}]}}),
            json!({
                "metadata": {"labels": {"a/b": "1"}, "ownerReferences": [{"kind": "Service", "name": "web"}]},
                "spec": {"replicas": 1, "paused": true, "containers": [{"name": "web", "image": "nginx:1.28"}]},
                "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}],
            }),
        )
    }

    #[test]
    fn what_does_not_hold_says_what_is_there_and_what_must_be() {
        for (text, why) in [
            ("new.spec.replicas == 2", "spec.replicas is 1, and must be 2"),
            ("len(new.endpoints) == 3", "the number of endpoints is 2, and must be 3"),
            ("new.spec.replicas == 1 and new.spec.paused == false", "spec.paused is true, and must be false"),
            (
                "new.spec.replicas == 2 or new.spec.replicas > 3",
                "spec.replicas is 1, and must be 2, or: spec.replicas is 1, and must be more than 3",
            ),
            ("not new", "it is there, and must be gone"),
            ("not new.endpoints", "endpoints is [10.0.0.1, 10.0.0.2], and must be empty"),
            ("new.status.phase", "status.phase is missing, and must not be"),
            ("new.status.phase != null", "status.phase is missing, and must not be"),
            ("new.metadata.ownerReferences == null", "metadata.ownerReferences is [Service web], and must not be set"),
            (r#"not (new.metadata.labels["a/b"] == "1")"#, r#"metadata.labels["a/b"] is "1", and must not be "1""#),
            (
                "new.spec.containers[web].image ~ \"*:1.27\"",
                "spec.containers[web].image is \"nginx:1.28\", and must look like \"*:1.27\"",
            ),
            ("new.spec.replicas == old.spec.replicas", "spec.replicas is 1, and must be spec.replicas (3)"),
            ("not changed(spec.replicas)", "spec.replicas was 3 and is 1, and must stay"),
        ] {
            assert_eq!(parse(text).unwrap().why_not(&objects()), why, "{text}");
        }
    }

    #[test]
    fn what_holds_says_what_is_there() {
        let gone = Objects(json!({"spec": {}}), Value::Null);
        assert_eq!(parse("old != null and new == null").unwrap().why(&gone), "it is gone");
        for (text, why) in [
            (
                "old != null and changed(spec.containers)",
                "spec.containers[web].image was \"nginx:1.27\" and is \"nginx:1.28\"",
            ),
            ("new and not new.status and old.spec.replicas == 3", "status is missing; old.spec.replicas was 3"),
            ("new != null", "it is there"),
        ] {
            assert_eq!(parse(text).unwrap().why(&objects()), why.replace("old.", ""), "{text}");
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(brief(&json!("a".repeat(100))).chars().count(), LONG + 1);
    }
}
