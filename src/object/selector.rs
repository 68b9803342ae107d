//! Selectors: which objects belong, by label or by field.
//!
//! A label selector has two spellings, the typed one in specs (`matchLabels`, `matchExpressions`) and the string of
//! a query (`app=web,tier in (a,b),!old`); both become a [`Selector`], a list of requirements that must all hold.
//! Mirrors `k8s.io/apimachinery/pkg/labels` and `metav1.LabelSelectorAsSelector`.
//!
//! - [`parse`]: the string form.
//! - [`fields`]: field selectors, `spec.nodeName=node-1`.
//! - [`nodes`]: which nodes a Pod asks for.
//! - [`names`]: what a label's key and value may look like.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub mod fields;
pub mod names;
pub mod nodes;
mod parse;

pub use fields::FieldSelector;

/// The labels of an object, as its metadata has them.
pub type Labels = BTreeMap<String, String>;

/// Which objects belong, by their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// All must hold; sorted by key, as they print.
    requirements: Vec<Requirement>,
    /// Selects no object at all, as a missing `LabelSelector` does.
    nothing: bool,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How the label is compared.
    pub operator: Operator,
    /// What it is compared with: sorted, without duplicates.
    values: Vec<String>,
}

/// How a label is compared. The names are `selection.Operator`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`; also holds without the label.
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`
    DoubleEquals,
    /// `key!=a`; also holds without the label.
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

impl Selector {
    /// Selects every object.
    pub const fn everything() -> Selector {
        Selector { requirements: Vec::new(), nothing: false }
    }

    /// Selects no object.
    pub const fn nothing() -> Selector {
        Selector { requirements: Vec::new(), nothing: true }
    }

    /// Reads the string form. The error is what the API server says.
    pub fn parse(text: &str) -> Result<Selector, String> {
        Ok(Selector::of_requirements(parse::requirements(text)?))
    }

    /// A typed selector; an empty one selects everything. Mirrors `metav1.LabelSelectorAsSelector`.
    pub fn of(selector: &LabelSelector) -> Result<Selector, String> {
        let mut requirements = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            requirements.push(Requirement::new(key, Operator::Equals, vec![value.clone()])?);
        }
        for expression in selector.match_expressions.iter().flatten() {
            let operator = match expression.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = expression.values.clone().unwrap_or_default();
            requirements.push(Requirement::new(&expression.key, operator, values)?);
        }
        Ok(Selector::of_requirements(requirements))
    }

    /// A typed selector that may be missing; a missing one selects nothing.
    pub fn of_option(selector: Option<&LabelSelector>) -> Result<Selector, String> {
        selector.map_or(Ok(Selector::nothing()), Selector::of)
    }

    /// Objects with all these labels, as a Service selects. Mirrors `labels.SelectorFromSet`; nothing is checked.
    pub fn of_labels(labels: &Labels) -> Selector {
        let equals = |(key, value): (&String, &String)| Requirement {
            key: key.clone(),
            operator: Operator::Equals,
            values: vec![value.clone()],
        };
        Selector::of_requirements(labels.iter().map(equals).collect())
    }

    fn of_requirements(mut requirements: Vec<Requirement>) -> Selector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Selector { requirements, nothing: false }
    }

    /// Whether an object with these labels belongs.
    pub fn matches(&self, labels: Option<&Labels>) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether every object belongs.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether no object belongs.
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// The conditions; all of them must hold.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }
}

impl Requirement {
    /// A checked requirement. The error is what the API server says. Mirrors `labels.NewRequirement`.
    pub fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Requirement, String> {
        let mut problems = Vec::new();
        let key_problems = names::check_label_key(key);
        if !key_problems.is_empty() {
            problems.push(invalid("key", key, &key_problems.join("; ")));
        }
        if let Some(problem) = wrong_number_of_values(operator, &values) {
            problems.push(problem);
        }
        values.sort();
        values.dedup();
        for (i, value) in values.iter().enumerate() {
            if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
                const WHY: &str = "for 'Gt', 'Lt' operators, the value must be an integer";
                problems.push(invalid(&format!("values[{i}]"), value, WHY));
            }
            let value_problems = names::check_label_value(value);
            if !value_problems.is_empty() {
                problems.push(invalid(&format!("values[{i}][{key}]"), value, &value_problems.join("; ")));
            }
        }
        match problems.len() {
            0 => Ok(Requirement { key: key.to_owned(), operator, values }),
            1 => Err(problems.remove(0)),
            _ => Err(format!("[{}]", problems.join(", "))),
        }
    }

    /// What the label is compared with: sorted, without duplicates.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether an object with these labels meets this. Mirrors `Requirement.Matches`.
    pub fn matches(&self, labels: Option<&Labels>) -> bool {
        let value = labels.and_then(|labels| labels.get(&self.key));
        let listed = |value: &String| self.values.contains(value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.integers(value).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.integers(value).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn integers(&self, value: Option<&String>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

fn invalid(path: &str, value: &str, why: &str) -> String {
    format!("{path}: Invalid value: {value:?}: {why}")
}

fn wrong_number_of_values(operator: Operator, values: &[String]) -> Option<String> {
    use Operator::*;
    let (fits, why) = match operator {
        In | NotIn => (!values.is_empty(), "for 'in', 'notin' operators, values set can't be empty"),
        Equals | DoubleEquals | NotEquals => (values.len() == 1, "exact-match compatibility requires one single value"),
        Exists | DoesNotExist => (values.is_empty(), "values set must be empty for exists and does not exist"),
        GreaterThan | LessThan => (values.len() == 1, "for 'Gt', 'Lt' operators, exactly one value is required"),
    };
    let list = serde_json::to_string(values).unwrap_or_default();
    (!fits).then(|| format!("values: Invalid value: {list}: {why}"))
}

/// Whether a typed selector selects these labels, without building a [`Selector`]. One that is invalid selects
/// nothing; the API server stores none that is.
pub fn selects(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let value = |key: &String| labels.and_then(|labels| labels.get(key));
    let all_labels = selector.match_labels.iter().flatten().all(|(key, want)| value(key) == Some(want));
    all_labels
        && selector.match_expressions.iter().flatten().all(|expression| {
            let listed = |value: &String| expression.values.as_ref().is_some_and(|values| values.contains(value));
            match expression.operator.as_str() {
                "In" => value(&expression.key).is_some_and(listed),
                "NotIn" => !value(&expression.key).is_some_and(listed),
                "Exists" => value(&expression.key).is_some(),
                "DoesNotExist" => value(&expression.key).is_none(),
                _ => false,
            }
        })
}

/// Whether a typed selector has no condition, and so selects everything.
pub fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty())
        && selector.match_expressions.as_ref().is_none_or(|expressions| expressions.is_empty())
}

impl fmt::Display for Selector {
    /// The string form, as `status.selector` of a Scale and kubectl's tables have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            write!(f, "{}{requirement}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// A typed selector for people: `<none>` when it selects everything. Mirrors `metav1.FormatLabelSelector`.
pub fn format_label_selector(selector: Option<&LabelSelector>) -> String {
    match Selector::of_option(selector) {
        Err(_) => "<error>".to_owned(),
        Ok(selector) if selector.requirements.is_empty() => "<none>".to_owned(),
        Ok(selector) => selector.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(text: &str) -> Labels {
        let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        text.split(',').filter_map(pair).collect()
    }

    #[test]
    fn a_selector_selects() {
        #[rustfmt::skip]
        let cases = [
            ("", "a=1", true), ("a=1", "a=1,b=2", true), ("a=1", "a=2", false), ("a==1", "a=1", true),
            ("a!=1", "a=2", true), ("a!=1", "a=1", false), ("a!=1", "b=1", true), ("a", "a=1", true), ("a", "b=1", false),
            ("!a", "b=1", true), ("!a", "a=", false), ("a in (1,2)", "a=2", true), ("a in (1,2)", "b=2", false),
            ("a notin (1,2)", "a=3", true), ("a notin (1,2)", "b=1", true), ("a notin (1,2)", "a=1", false),
            ("a>1", "a=2", true), ("a>2", "a=2", false), ("a<2", "a=x", false), ("a=", "a=", true), ("a=1,b=2", "a=1", false),
        ];
        for (selector, set, want) in cases {
            assert_eq!(Selector::parse(selector).unwrap().matches(Some(&labels(set))), want, "{selector} of {set}");
        }
        assert!(Selector::everything().matches(None));
        assert!(!Selector::nothing().matches(None));
    }

    #[test]
    fn a_typed_selector_is_the_string_one() {
        let typed: LabelSelector = serde_json::from_value(json!({
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "e", "operator": "NotIn", "values": ["y", "x"]},
                {"key": "c", "operator": "DoesNotExist"},
                {"key": "d", "operator": "Exists"},
            ],
        }))
        .unwrap();
        let selector = Selector::of(&typed).unwrap();
        assert_eq!(selector.to_string(), "a=1,b=2,!c,d,e notin (x,y)");
        for set in ["a=1,b=2,d=", "a=1,b=2,c=3,d=4", "a=1,b=2,d=,e=x", "a=1,d=", ""] {
            assert_eq!(selects(&typed, Some(&labels(set))), selector.matches(Some(&labels(set))), "{set}");
        }
        assert_eq!(format_label_selector(None), "<none>");
        assert_eq!(format_label_selector(Some(&LabelSelector::default())), "<none>");
    }

    #[test]
    fn a_wrong_typed_selector_is_refused() {
        let typed = |value| Selector::of(&serde_json::from_value(value).unwrap()).unwrap_err();
        let empty = typed(json!({"matchExpressions": [{"key": "e", "operator": "In"}]}));
        assert_eq!(empty, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
        let operator = typed(json!({"matchExpressions": [{"key": "e", "operator": "Is"}]}));
        assert_eq!(operator, "\"Is\" is not a valid label selector operator");
    }
}
