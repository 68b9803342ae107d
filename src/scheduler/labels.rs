//! The selector of a topology spread constraint or an affinity term, put together from several sources.

use object::selector::Selector;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Labels as objects carry them.
pub use object::selector::Labels;

/// Selectors that must all match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matcher(Vec<Selector>);

impl Matcher {
    /// An absent selector matches nothing, an empty one everything. One that cannot be read matches nothing;
    /// the API server lets none through.
    pub fn new(selector: Option<&LabelSelector>) -> Matcher {
        Matcher(vec![Selector::of_option(selector).unwrap_or(Selector::nothing())])
    }

    /// Matches objects that have all these labels.
    pub fn of_labels(labels: &Labels) -> Matcher {
        Matcher(vec![Selector::of_labels(labels)])
    }

    /// Adds `key=value`.
    pub fn require_equal(&mut self, key: &str, value: &str) {
        self.0.push(Selector::of_labels(&Labels::from([(key.to_owned(), value.to_owned())])));
    }

    /// Adds all that `other` requires.
    pub fn and(&mut self, other: &Matcher) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Whether nothing is required, so that everything matches. Mirrors `labels.Selector.Empty`.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Selector::is_everything)
    }

    /// Whether `labels` meet every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|selector| selector.matches(Some(labels)))
    }
}
