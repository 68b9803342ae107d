//! LimitRanger: how much one Pod, container or claim may have, and what a container gets that does not say.
//!
//! A LimitRange is about each object alone, where a ResourceQuota is about their sum; the two are used together, because a
//! quota on CPU refuses Pods that do not say how much they need, and a LimitRange says it for them.
//!
//! Mirrors `plugin/pkg/admission/limitranger`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LimitRange, LimitRangeItem};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use object::quantity::Amount;
use object::resources::{ResourceList, amounts, pod_limits, pod_requests};
use object::status::aggregate;
use object::time::Instant;
use object::{Kind, Object, Pod, Status};
use wire::{Request, Subresource};

use super::{Attributes, forbidden};

/// Where a Pod says what it was given here.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Gives the containers of a new Pod what they do not ask for themselves. Mirrors `MutateLimit`.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let Object::Pod(pod) = object else { return Ok(()) };
    if !concerns(attributes.request, attributes.old, Kind::Pod) {
        return Ok(());
    }
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    for range in ranges(attributes, &namespace) {
        let limits = items(&range, "Container");
        let of = |list: fn(&LimitRangeItem) -> &Option<BTreeMap<String, Quantity>>| -> BTreeMap<String, Quantity> {
            limits.iter().flat_map(|limit| list(limit).iter().flatten()).map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        let defaults = Defaults { requests: of(|limit| &limit.default_request), limits: of(|limit| &limit.default) };
        if !defaults.requests.is_empty() || !defaults.limits.is_empty() {
            merge(Arc::make_mut(pod), &defaults);
        }
    }
    Ok(())
}

/// What a container gets.
struct Defaults {
    requests: BTreeMap<String, Quantity>,
    limits: BTreeMap<String, Quantity>,
}

/// Mirrors `mergePodResourceRequirements`.
fn merge(pod: &mut Pod, defaults: &Defaults) {
    let Some(spec) = &mut pod.spec else { return };
    let mut told = Vec::new();
    for container in &mut spec.containers {
        fill(container, defaults, "container", &mut told);
    }
    for container in spec.init_containers.iter_mut().flatten() {
        fill(container, defaults, "init container", &mut told);
    }
    if !told.is_empty() {
        let text = format!("LimitRanger plugin set: {}", told.join("; "));
        pod.metadata.annotations.get_or_insert_default().insert(ANNOTATION.to_owned(), text);
    }
}

fn fill(container: &mut Container, defaults: &Defaults, what: &str, told: &mut Vec<String>) {
    let resources = container.resources.get_or_insert_default();
    for (word, list, from) in
        [("request", &mut resources.requests, &defaults.requests), ("limit", &mut resources.limits, &defaults.limits)]
    {
        let missing = |name: &&String| list.as_ref().is_none_or(|list| !list.contains_key(*name));
        let set: Vec<String> = from.keys().filter(missing).cloned().collect();
        if !set.is_empty() {
            told.push(format!("{} {word} for {what} {}", set.join(", "), container.name));
        }
        for name in set {
            list.get_or_insert_default().insert(name.clone(), from[&name].clone());
        }
    }
}

/// Refuses what is outside of the limits. Mirrors `ValidateLimit`.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    if !concerns(attributes.request, attributes.old, object.kind()) {
        return Ok(());
    }
    for range in ranges(attributes, object.namespace()) {
        let problems = match object {
            Object::Pod(pod) => of_pod(&range, pod),
            Object::PersistentVolumeClaim(claim) => {
                let requests = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
                of_claim(&range, &amounts(requests))
            }
            _ => Vec::new(),
        };
        if !problems.is_empty() {
            return Err(forbidden(attributes.request, Some(object), &aggregate(&problems)));
        }
    }
    Ok(())
}

/// Where the informer has had no LimitRange lately, and the plugin has asked in case that came too late: until when the
/// answer counts. Mirrors `liveLookupCache`.
#[derive(Clone, Debug, Default)]
pub struct LiveLookups(BTreeMap<String, Instant>);

impl LiveLookups {
    /// Whether to list a namespace's LimitRanges live, because the informer has none.
    pub fn is_due(&mut self, namespace: &str, now: Instant) -> bool {
        let known = self.0.get(namespace).is_some_and(|until| now <= *until);
        if !known {
            self.0.retain(|_, until| now <= *until);
            self.0.insert(namespace.to_owned(), now + LIVE_TTL);
        }
        !known
    }
}

/// How long the answer counts. Mirrors `liveTTL`.
const LIVE_TTL: Duration = Duration::from_secs(30);

/// Whether the request is about what can be limited. Of a Pod that is there only `resize` changes any of it. Mirrors
/// `SupportsAttributes`.
pub fn concerns(request: &Request, old: Option<&Object>, kind: Kind) -> bool {
    let going = old.is_some_and(|old| old.meta().deletion_timestamp.is_some());
    let limited = match request.subresource {
        None => kind == Kind::PersistentVolumeClaim || (kind == Kind::Pod && old.is_none()),
        part => part == Some(Subresource::Resize),
    };
    limited && !going
}

fn ranges(attributes: &Attributes, namespace: &str) -> impl Iterator<Item = Arc<LimitRange>> + use<> {
    let all = attributes.reader.list(Kind::LimitRange, namespace).into_iter();
    all.filter_map(|object| if let Object::LimitRange(range) = object { Some(range) } else { None })
}

fn items<'a>(range: &'a LimitRange, type_: &str) -> Vec<&'a LimitRangeItem> {
    range.spec.iter().flat_map(|spec| &spec.limits).filter(|limit| limit.type_ == type_).collect()
}

/// Mirrors `PodValidateLimitFunc`.
fn of_pod(range: &LimitRange, pod: &Pod) -> Vec<String> {
    let mut problems = Vec::new();
    let spec = pod.spec.clone().unwrap_or_default();
    for limit in items(range, "Container") {
        for container in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
            let resources = container.resources.as_ref();
            let requests = amounts(resources.and_then(|resources| resources.requests.as_ref()));
            let limits = amounts(resources.and_then(|resources| resources.limits.as_ref()));
            check(&mut problems, limit, &requests, &limits);
        }
    }
    for limit in items(range, "Pod") {
        check(&mut problems, limit, &pod_requests(pod), &pod_limits(pod));
    }
    problems
}

/// Mirrors `PersistentVolumeClaimValidateLimitFunc`.
fn of_claim(range: &LimitRange, requests: &ResourceList) -> Vec<String> {
    let mut problems = Vec::new();
    for limit in items(range, "PersistentVolumeClaim") {
        for (name, least) in amounts(limit.min.as_ref()) {
            problems.extend(below(limit, &name, least, requests.get(&name), None));
        }
        for (name, most) in amounts(limit.max.as_ref()) {
            let text = format!("maximum {name} usage per {} is {most}", limit.type_);
            match requests.get(&name) {
                None => problems.push(format!("{text}.  No request is specified")),
                Some(request) if *request > most => problems.push(format!("{text}, but request is {request}")),
                Some(_) => {}
            }
        }
    }
    problems
}

fn check(problems: &mut Vec<String>, limit: &LimitRangeItem, requests: &ResourceList, limits: &ResourceList) {
    for (name, least) in amounts(limit.min.as_ref()) {
        problems.extend(below(limit, &name, least, requests.get(&name), limits.get(&name)));
    }
    for (name, most) in amounts(limit.max.as_ref()) {
        problems.extend(above(limit, &name, most, requests.get(&name), limits.get(&name)));
    }
    for (name, ratio) in amounts(limit.max_limit_request_ratio.as_ref()) {
        problems.extend(too_far_apart(limit, &name, ratio, requests.get(&name), limits.get(&name)));
    }
}

/// Mirrors `minConstraint`.
fn below(
    item: &LimitRangeItem,
    name: &str,
    least: Amount,
    request: Option<&Amount>,
    limit: Option<&Amount>,
) -> Option<String> {
    let text = format!("minimum {name} usage per {} is {least}", item.type_);
    match (request, limit) {
        (None, _) => Some(format!("{text}.  No request is specified")),
        (Some(request), _) if *request < least => Some(format!("{text}, but request is {request}")),
        (_, Some(limit)) if *limit < least => Some(format!("{text}, but limit is {limit}")),
        _ => None,
    }
}

/// Mirrors `maxConstraint`.
fn above(
    item: &LimitRangeItem,
    name: &str,
    most: Amount,
    request: Option<&Amount>,
    limit: Option<&Amount>,
) -> Option<String> {
    let text = format!("maximum {name} usage per {} is {most}", item.type_);
    match (request, limit) {
        (_, None) => Some(format!("{text}.  No limit is specified")),
        (_, Some(limit)) if *limit > most => Some(format!("{text}, but limit is {limit}")),
        (Some(request), _) if *request > most => Some(format!("{text}, but request is {request}")),
        _ => None,
    }
}

/// Mirrors `limitRequestRatioConstraint`.
fn too_far_apart(
    item: &LimitRangeItem,
    name: &str,
    ratio: Amount,
    request: Option<&Amount>,
    limit: Option<&Amount>,
) -> Option<String> {
    let text = format!("{name} max limit to request ratio per {} is {ratio}", item.type_);
    let given = |amount: Option<&Amount>| amount.copied().filter(|amount| !amount.is_zero());
    let Some(request) = given(request) else {
        return Some(format!("{text}, but no request is specified or request is 0"));
    };
    let Some(limit) = given(limit) else {
        return Some(format!("{text}, but no limit is specified or limit is 0"));
    };
    let found = limit.milli_value() as f64 / request.milli_value() as f64;
    (found * 1000.0 > ratio.milli_value() as f64).then(|| format!("{text}, but provided ratio is {found:.6}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create, object, request};
    use super::*;
    use object::random::Random;
    use wire::{User, Verb};

    fn range(limit: Value) -> Objects {
        Objects::parse(&[json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "r", "namespace": "n"},
            "spec": {"limits": [limit]}})])
    }

    fn pod(resources: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"},
            "spec": {"containers": [{"name": "a", "resources": resources}], "initContainers": [{"name": "i"}]}})
    }

    #[test]
    fn containers_get_what_they_do_not_ask_for() {
        let objects = range(json!({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "500m"}}));
        let given = create(admit, &objects, pod(json!({"limits": {"cpu": "2"}}))).expect("admitted").to_json();
        let container = |list: &str| given["spec"][list][0]["resources"].clone();
        assert_eq!(
            container("containers"),
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
        );
        assert_eq!(
            container("initContainers"),
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
        );
        assert_eq!(
            given["metadata"]["annotations"][ANNOTATION],
            "LimitRanger plugin set: cpu request for container a; memory limit for container a; cpu request for init \
             container i; cpu, memory limit for init container i"
        );
        let again = create(admit, &objects, given.clone()).expect("admitted");
        assert_eq!(again.to_json(), given, "a second time nothing is missing");
        let none = create(admit, &Objects::default(), pod(json!({}))).expect("admitted");
        assert_eq!(none, object(pod(json!({}))));
    }

    #[test]
    fn what_is_outside_of_the_limits_is_refused() {
        let single = |resources: Value| {
            let mut pod = pod(resources);
            pod["spec"]["initContainers"] = json!([]);
            pod
        };
        let claim = |size: &str| {
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p", "namespace": "n"},
                "spec": {"resources": {"requests": {"storage": size}}}})
        };
        let of = |type_: &str, field: &str, value: &str| json!({"type": type_, (field): {"cpu": value}});
        for (limit, new, expected) in [
            (of("Container", "max", "1"), single(json!({"limits": {"cpu": "1"}})), ""),
            (
                of("Container", "max", "1"),
                single(json!({"limits": {"cpu": "2"}})),
                "maximum cpu usage per Container is 1, but limit is 2",
            ),
            (
                of("Container", "max", "1"),
                single(json!({})),
                "maximum cpu usage per Container is 1.  No limit is specified",
            ),
            (
                of("Container", "min", "1"),
                single(json!({"requests": {"cpu": "500m"}})),
                "minimum cpu usage per Container is 1, but request is 500m",
            ),
            (of("Pod", "min", "1"), single(json!({})), "minimum cpu usage per Pod is 1.  No request is specified"),
            // Two containers with the same problem.
            (
                of("Container", "max", "1"),
                pod(json!({})),
                "maximum cpu usage per Container is 1.  No limit is specified",
            ),
            (
                of("Container", "maxLimitRequestRatio", "2"),
                single(json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1250m"}})),
                "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
            ),
            (
                json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2", "memory": "1Gi"}}),
                single(json!({"requests": {"cpu": "3"}, "limits": {"cpu": "3"}})),
                "[maximum cpu usage per Container is 2, but limit is 3, maximum memory usage per Container is 1Gi.  No \
                 limit is specified]",
            ),
            (
                json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}),
                claim("2Gi"),
                "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
            ),
            (json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}), claim("2Gi"), ""),
        ] {
            let (objects, new) = (range(limit.clone()), object(new));
            let (request, mut random) = (request(User::admin(), Verb::Create, None, &new), Random::new(1));
            let attributes = Attributes {
                request: &request,
                old: None,
                reader: &objects,
                authorizer: &crate::authorization::Authorizer::new(),
                random: &mut random,
            };
            let got = validate(&attributes, &new).err().map(|status| status.message).unwrap_or_default();
            let why = got.split_once("is forbidden: ").map_or("", |(_, why)| why);
            assert_eq!(why, expected, "{limit}");
        }
    }
}
