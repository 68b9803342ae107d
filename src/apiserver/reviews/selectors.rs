//! Selectors in a review: it asks about a list or a watch of some objects only. What cannot be understood is left away:
//! all that is asked must be allowed then. Mirrors `labelSelectorAsSelector` and `fieldSelectorAsSelector` of
//! `pkg/registry/authorization/util`.

use k8s_openapi::api::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldSelectorRequirement, LabelSelector};

use object::selector::{FieldSelector, Selector};

/// How much of a selector could be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Understood {
    /// All of it.
    Whole,
    /// Some requirements.
    InPart,
    /// Nothing.
    Not,
}

impl Understood {
    fn of(understood: usize, all: usize) -> Understood {
        match understood {
            n if n == all => Understood::Whole,
            0 => Understood::Not,
            _ => Understood::InPart,
        }
    }
}

/// What a field selector asks for, as text.
pub fn of_fields(selector: &FieldSelectorAttributes) -> (String, Understood) {
    match (selector.requirements.as_deref().unwrap_or_default(), selector.raw_selector.as_deref().unwrap_or_default()) {
        ([], raw) => match FieldSelector::terms_of(raw) {
            Ok(_) => (raw.to_owned(), Understood::Whole),
            Err(_) => (String::new(), Understood::Not),
        },
        (requirements, _) => {
            let terms: Vec<String> = requirements.iter().filter_map(term).collect();
            let understood = Understood::of(terms.len(), requirements.len());
            (terms.join(","), understood)
        }
    }
}

/// Of one field a selector knows only one value.
fn term(requirement: &FieldSelectorRequirement) -> Option<String> {
    let key = &requirement.key;
    match (requirement.operator.as_str(), requirement.values.as_deref().unwrap_or_default()) {
        ("In", [value]) => Some(format!("{key}={value}")),
        ("NotIn", [value]) => Some(format!("{key}!={value}")),
        _ => None,
    }
}

/// No authorizer here looks at labels.
pub fn of_labels(selector: &LabelSelectorAttributes) -> Understood {
    match (selector.requirements.as_deref().unwrap_or_default(), selector.raw_selector.as_deref().unwrap_or_default()) {
        ([], raw) if Selector::parse(raw).is_ok() => Understood::Whole,
        ([], _) => Understood::Not,
        (requirements, _) => {
            let alone = |one| LabelSelector { match_expressions: Some(vec![one]), ..LabelSelector::default() };
            let makes_sense = requirements.iter().filter(|one| Selector::of(&alone((*one).clone())).is_ok());
            Understood::of(makes_sense.count(), requirements.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    use super::*;

    #[test]
    fn what_makes_no_sense_is_left_away() {
        let require = |operator: &str, values: &[&str]| FieldSelectorRequirement {
            key: "spec.nodeName".to_owned(),
            operator: operator.to_owned(),
            values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
        };
        let list = |requirements: Vec<FieldSelectorRequirement>| {
            of_fields(&FieldSelectorAttributes { raw_selector: None, requirements: Some(requirements) })
        };
        let raw = |text: &str| {
            of_fields(&FieldSelectorAttributes { raw_selector: Some(text.to_owned()), requirements: None })
        };
        let good = || require("In", &["n1"]);
        for (got, text, understood) in [
            (raw("spec.nodeName=n1"), "spec.nodeName=n1", Understood::Whole),
            (raw("spec.nodeName in n1"), "", Understood::Not),
            (list(vec![good()]), "spec.nodeName=n1", Understood::Whole),
            (
                list(vec![require("NotIn", &["n1"]), require("In", &["n1", "n2"])]),
                "spec.nodeName!=n1",
                Understood::InPart,
            ),
            (list(vec![require("Exists", &[])]), "", Understood::Not),
            (list(vec![good(), require("Gt", &["1"])]), "spec.nodeName=n1", Understood::InPart),
        ] {
            assert_eq!(got, (text.to_owned(), understood));
        }
    }

    #[test]
    fn labels_are_looked_at_one_by_one() {
        let require = |operator: &str| LabelSelectorRequirement {
            key: "app".to_owned(),
            operator: operator.to_owned(),
            values: None,
        };
        let list = |operators: &[&str]| {
            let requirements = operators.iter().map(|operator| require(operator)).collect();
            of_labels(&LabelSelectorAttributes { raw_selector: None, requirements: Some(requirements) })
        };
        let raw = |text: &str| {
            of_labels(&LabelSelectorAttributes { raw_selector: Some(text.to_owned()), requirements: None })
        };
        assert_eq!([raw("app=web"), raw("&")], [Understood::Whole, Understood::Not]);
        assert_eq!(
            [list(&["Exists"]), list(&["Exists", "Near"]), list(&["Near"])],
            [Understood::Whole, Understood::InPart, Understood::Not]
        );
    }
}
