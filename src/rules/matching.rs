//! Which requests a policy, a binding or a webhook is about. Mirrors `pkg/admission/plugin/policy/matching` and
//! `pkg/admission/plugin/webhook/predicates`.
//!
//! Left out: `matchPolicy: Equivalent` finds nothing more than `Exact`, since every built-in kind has one version here, and a
//! custom kind is asked about in the version of the request.

use k8s_openapi::api::admissionregistration::v1::{MatchResources, NamedRuleWithOperations};

use object::selector::selects;
use object::{Kind, Object};

use super::question::Question;
use super::scale;

impl Question<'_> {
    /// Whether a policy with these constraints is about the request. Without any it is about none.
    pub fn is_of(&self, constraints: Option<&MatchResources>) -> bool {
        constraints.is_some_and(|constraints| self.matches(constraints))
    }

    /// Whether the request is among these.
    pub fn matches(&self, resources: &MatchResources) -> bool {
        let any = |rules: &Option<Vec<NamedRuleWithOperations>>| rules.iter().flatten().any(|rule| self.is_by(rule));
        let all = resources.resource_rules.as_ref().is_none_or(Vec::is_empty);
        (all || any(&resources.resource_rules))
            && !any(&resources.exclude_resource_rules)
            && self.is_in_namespace(resources)
            && self.has_labels(resources)
    }

    /// The labels of the object's Namespace; those of a Namespace itself as it will be. Other objects of the cluster are in
    /// no namespace, and match.
    fn is_in_namespace(&self, resources: &MatchResources) -> bool {
        let Some(selector) = &resources.namespace_selector else { return true };
        if self.request.kind == Kind::Namespace {
            return self.new.or(self.old).is_none_or(|object| selects(selector, object.meta().labels.as_ref()));
        }
        if self.request.namespace.is_empty() {
            return true;
        }
        let namespace = self.namespace();
        selects(selector, namespace.as_ref().and_then(|namespace| namespace.meta().labels.as_ref()))
    }

    /// The labels of the object as it was or will be. A Scale has none.
    fn has_labels(&self, resources: &MatchResources) -> bool {
        let Some(selector) = &resources.object_selector else { return true };
        let of_scale = scale::is_asked(self.request);
        let has = |object: Option<&Object>| {
            object.is_some_and(|o| selects(selector, o.meta().labels.as_ref().filter(|_| !of_scale)))
        };
        has(self.new) || has(self.old)
    }

    fn is_by(&self, rule: &NamedRuleWithOperations) -> bool {
        let info = self.request.kind.info();
        let holds = |list: &Option<Vec<String>>, wanted: &str| {
            list.iter().flatten().any(|there| there == "*" || there == wanted)
        };
        let resource = |text: &String| {
            let (resource, part) = text.split_once('/').unwrap_or((text, ""));
            (resource == "*" || resource == info.plural) && (part == "*" || part == self.subresource())
        };
        let scope = match rule.scope.as_deref() {
            Some("Namespaced") => info.namespaced,
            Some("Cluster") => !info.namespaced,
            _ => true,
        };
        let names = rule.resource_names.as_deref().unwrap_or_default();
        scope
            && holds(&rule.operations, self.operation())
            && holds(&rule.api_groups, info.group)
            && holds(&rule.api_versions, info.version)
            && rule.resources.iter().flatten().any(resource)
            && (names.is_empty() || names.iter().any(|name| name == self.name()))
    }
}
