//! A webhook as a configuration describes it.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, MutatingWebhook, MutatingWebhookConfiguration, NamedRuleWithOperations, RuleWithOperations,
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};

use crate::cel::types::Type;
use crate::expression::{Environment, Expression, hold};
use crate::question::Question;
use object::Accessor;

/// The port where nothing is said.
pub const PORT: i32 = 443;

/// So long an answer is waited for where nothing is said.
pub const TIMEOUT_SECONDS: i32 = 10;

/// A webhook, ready to be asked. Its side effects are not here: one that has any when a request is only tried is not stored.
pub struct Hook {
    /// Its configuration, its name and its place there: no two have the same.
    pub id: String,
    /// What errors call it: `pods.example.com`.
    pub name: String,
    /// Whether it may change objects.
    pub mutating: bool,
    /// Which requests it is about; none at all without rules.
    pub constraints: Option<MatchResources>,
    /// What else must hold of them.
    pub conditions: Vec<Expression>,
    /// Whether a request passes that it cannot be asked about.
    pub ignores_failures: bool,
    /// How long its answer is waited for.
    pub timeout: Duration,
    /// Whether it wants to see what webhooks behind it have changed.
    pub reinvoke: bool,
    /// Where it listens.
    pub client: WebhookClientConfig,
}

/// The webhooks of a configuration, in its order.
pub fn mutating(of: &MutatingWebhookConfiguration) -> Vec<Hook> {
    let configuration = of.metadata.name();
    let numbered = of.webhooks.iter().flatten().enumerate();
    numbered.map(|(place, hook)| Hook::new(&format!("mutating/{configuration}/{place}"), hook, true)).collect()
}

/// The same of one whose webhooks may only refuse.
pub fn validating(of: &ValidatingWebhookConfiguration) -> Vec<Hook> {
    let configuration = of.metadata.name();
    let numbered = of.webhooks.iter().flatten().map(as_mutating).enumerate();
    numbered.map(|(place, hook)| Hook::new(&format!("validating/{configuration}/{place}"), &hook, false)).collect()
}

/// A webhook that may only refuse, with the fields of one that may do more: all that both have is the same.
pub fn as_mutating(hook: &ValidatingWebhook) -> MutatingWebhook {
    let ValidatingWebhook {
        admission_review_versions,
        client_config,
        failure_policy,
        match_conditions,
        match_policy,
        name,
        namespace_selector,
        object_selector,
        rules,
        side_effects,
        timeout_seconds,
    } = hook.clone();
    MutatingWebhook {
        admission_review_versions,
        client_config,
        failure_policy,
        match_conditions,
        match_policy,
        name,
        namespace_selector,
        object_selector,
        reinvocation_policy: None,
        rules,
        side_effects,
        timeout_seconds,
    }
}

impl Hook {
    fn new(place: &str, hook: &MutatingWebhook, mutating: bool) -> Hook {
        let seconds = u64::try_from(hook.timeout_seconds.unwrap_or(TIMEOUT_SECONDS)).unwrap_or_default();
        let environment = Environment::new(false, false);
        let condition = |text: &str| environment.expression(text.trim(), Some(&Type::Bool)).ok();
        Hook {
            id: format!("{place}/{}", hook.name),
            name: hook.name.clone(),
            mutating,
            constraints: constraints(hook),
            // No webhook is stored with one that does not compile.
            conditions: hook.match_conditions.iter().flatten().filter_map(|of| condition(&of.expression)).collect(),
            ignores_failures: hook.failure_policy.as_deref() == Some("Ignore"),
            timeout: Duration::from_secs(seconds),
            reinvoke: hook.reinvocation_policy.as_deref() == Some("IfNeeded"),
            client: hook.client_config.clone(),
        }
    }

    /// The plugin that asks it.
    pub fn plugin(&self) -> &'static str {
        if self.mutating { "MutatingAdmissionWebhook" } else { "ValidatingAdmissionWebhook" }
    }

    /// Whether a request is put to it. An error says why a condition cannot be worked out. Mirrors `ShouldCallHook`.
    pub fn is_about(&self, question: &Question) -> Result<bool, String> {
        if !self.constraints.as_ref().is_some_and(|constraints| question.matches(constraints)) {
            return Ok(false);
        }
        match hold(&self.conditions, &question.plain_activation()) {
            Err(_) if self.ignores_failures => Ok(false),
            held => held,
        }
    }

    /// The whole of what is said if it cannot be asked or gives no answer.
    pub fn failure(&self, why: &str) -> String {
        format!("failed calling webhook {:?}: failed to call webhook: Post {:?}: {why}", self.name, self.url())
    }

    /// The URL that errors quote: `https://webself.default.svc:443/validate?timeout=10s`.
    fn url(&self) -> String {
        let timeout = self.timeout.as_secs();
        match (&self.client.service, &self.client.url) {
            (Some(service), _) => {
                let ServiceReference { name, namespace, port, .. } = service;
                let port = port.unwrap_or(PORT);
                format!("https://{name}.{namespace}.svc:{port}{}?timeout={timeout}s", path_of(service))
            }
            (None, url) => format!("{}?timeout={timeout}s", url.as_deref().unwrap_or_default()),
        }
    }
}

/// Where a Service is asked.
pub fn path_of(service: &ServiceReference) -> String {
    service.path.clone().filter(|path| !path.is_empty()).unwrap_or_else(|| "/".to_owned())
}

/// Which requests it is about, in the terms of policies.
fn constraints(hook: &MutatingWebhook) -> Option<MatchResources> {
    let rules: Vec<_> = hook.rules.iter().flatten().map(as_named).collect();
    (!rules.is_empty()).then(|| MatchResources {
        resource_rules: Some(rules),
        namespace_selector: hook.namespace_selector.clone(),
        object_selector: hook.object_selector.clone(),
        ..MatchResources::default()
    })
}

/// A webhook's rule as one of a policy's, which can name objects besides.
pub fn as_named(rule: &RuleWithOperations) -> NamedRuleWithOperations {
    let RuleWithOperations { api_groups, api_versions, operations, resources, scope } = rule.clone();
    NamedRuleWithOperations { api_groups, api_versions, operations, resources, scope, resource_names: None }
}
