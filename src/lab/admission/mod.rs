//! Exercise 03: what a new Pod becomes before it is stored. Mirrors `pkg/apis/core/v1/defaults.go` and the plugins
//! ServiceAccount, Priority and DefaultTolerationSeconds of `plugin/pkg/admission`.
//!
//! Every combination of an account, tolerations and a priority is asked, against clusters that have what is named and
//! clusters that lack it; and every sort of image name.
//!
//! Left out: all other defaults, the volume with the account's token, preemption policies, names that are generated.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Toleration};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::Part;
use super::{Exercise, Judging, admitting};
use exercise::admission::{Admitted, Case, Cluster, admitted};
use object::well_known::{NOT_READY, UNREACHABLE};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "03_admission",
    title: "What becomes of a Pod before it is stored?",
    outcome: "say which fields the API server adds to a Pod, and what it refuses and why",
    needs: &[],
    hints: [
        "Four things are done, in this order: pull policies, the account, the priority, the tolerations. Which of them can \
         refuse the Pod? What may the Pod have said already?",
        "An image without a tag is `latest`, but one with a digest is not; the colon of a registry's port is no tag. The \
         account must be in the Pod's namespace, also if it is `default`. A toleration without key or effect covers all.",
        "Policy: Always if the tag is latest, or if there is neither tag nor digest; else IfNotPresent. Priority: that of the \
         class; without a class that of the global default, whose name is then written too; else 0. Toleration: key, operator \
         Exists, effect NoExecute, 300 seconds, unless one of the Pod's covers that taint with that effect.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Admission>(admitting::with_admission),
};

pub(super) struct Admission;

impl Function for Admission {
    type Question = Case;
    type Answer = Result<Admitted, String>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Result<Admitted, String> {
        let mut pod = case.pod.clone();
        let name = (rule.name)(&pod.metadata).unwrap_or_default();
        let refused = |why: String| format!("pods \"{name}\" is forbidden: {why}");
        admit(rule, &mut pod, &case.cluster).map_err(refused)?;
        Ok(admitted(&case.pod, &pod))
    }

    fn property(case: &Case, given: Option<&Self::Answer>) -> &'static str {
        match (Admission::right(case), given) {
            (_, None) => "every Pod gets an answer",
            (Err(_), Some(Ok(_))) => "a Pod that names what is not there, or a number that does not fit, is refused",
            (Ok(_), Some(Err(_))) => "a Pod with nothing wrong is not refused",
            (Err(_), Some(Err(_))) => "the first thing that is wrong is the reason, in Kubernetes' words",
            (Ok(right), Some(Ok(given))) if right.pull_policies != given.pull_policies => {
                "what is latest is pulled each time, all else if it is not there, unless the Pod says otherwise"
            }
            (Ok(right), Some(Ok(given))) if right.account != given.account => "a Pod without an account gets `default`",
            (Ok(right), Some(Ok(given))) if right.tolerations != given.tolerations => {
                "a Pod stays 300 seconds on a node that is not ready or not reachable, unless it says otherwise"
            }
            (Ok(right), Some(Ok(given))) if right.changed != given.changed => "nothing else of the Pod changes",
            _ => "a Pod's priority is that of its class, or of the global default, or 0",
        }
    }

    fn show(case: &Case) -> String {
        shown::case(case)
    }

    fn say(case: &Case, answer: &Self::Answer) -> Vec<Part> {
        shown::answer(case, answer)
    }
}

/// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds` are for these.
const TAINTS: [&str; 2] = [NOT_READY, UNREACHABLE];

/// What decides.
pub(super) struct Rule {
    /// What a Pod is called.
    name: fn(&ObjectMeta) -> Option<String>,
    /// So many init containers get a pull policy.
    init: usize,
    /// Whether a container gets one.
    gets_policy: fn(&Container) -> bool,
    /// Whether an image is the latest of its name.
    is_latest: fn(&str) -> bool,
    /// The account that a Pod names.
    account: fn(&PodSpec) -> Option<String>,
    /// Whether an account is that of this namespace and name.
    is_account: fn(&ObjectMeta, &str, &str) -> bool,
    /// Whether it is there: whether the Pod names it, and whether it was found.
    is_there: fn(bool, bool) -> bool,
    /// Whether the class is looked at before the account.
    class_first: bool,
    /// So many classes are looked at.
    classes: usize,
    /// Whether a class is for Pods that name none.
    is_default: fn(&PriorityClass) -> bool,
    /// Whether a class has this name.
    is_class: fn(&PriorityClass, &str) -> bool,
    /// Whether a Pod is refused that names such a class, which is not there.
    is_unknown: fn(&str) -> bool,
    /// The priority, by what the Pod says and what its class does; none: the Pod is refused.
    priority: fn(Option<i32>, i32) -> Option<i32>,
    /// The name of the class, by what the Pod says, and that of the class that was found.
    class_name: fn(Option<String>, Option<String>) -> Option<String>,
    /// Whether a Pod gets no tolerations.
    is_spared: fn(&ObjectMeta) -> bool,
    /// Whether a toleration of its own covers a taint.
    covers: fn(&Toleration, &str) -> bool,
    /// What becomes of those of its own.
    kept: fn(&mut Vec<Toleration>),
    /// For how long it tolerates.
    seconds: Option<i64>,
    /// What else becomes of it.
    besides: fn(&mut PodSpec),
}

const RULE: Rule = Rule {
    name: |meta| meta.name.clone(),
    init: usize::MAX,
    gets_policy: |container| container.image_pull_policy.is_none(),
    is_latest,
    account: |spec| spec.service_account_name.clone(),
    is_account,
    is_there: |_, is_found| is_found,
    class_first: false,
    classes: usize::MAX,
    is_default: |class| class.global_default == Some(true),
    is_class: |class, name| class.metadata.name.as_deref() == Some(name),
    is_unknown: |_| true,
    priority: |given, computed| given.is_none_or(|given| given == computed).then_some(computed),
    class_name: |_, found| found,
    is_spared: |_| false,
    covers,
    kept: |_| {},
    seconds: Some(300),
    besides: |_| {},
};

fn is_latest(image: &str) -> bool {
    tag(image).map_or(!has_digest(image), |tag| tag == "latest")
}

fn has_digest(image: &str) -> bool {
    image.contains('@')
}

fn tag(image: &str) -> Option<&str> {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    Some(name.rsplit('/').next()?.split_once(':')?.1)
}

fn is_account(meta: &ObjectMeta, namespace: &str, account: &str) -> bool {
    meta.namespace.as_deref() == Some(namespace) && meta.name.as_deref() == Some(account)
}

fn covers(one: &Toleration, taint: &str) -> bool {
    has_key(one, taint) && one.effect.as_deref().is_none_or(|effect| effect == "NoExecute")
}

fn has_key(one: &Toleration, taint: &str) -> bool {
    one.key.as_deref().is_none_or(|key| key == taint)
}

/// A plugin: it completes a Pod or says why not.
type Check = fn(&Rule, &mut Pod, &Cluster) -> Result<(), String>;

fn admit(rule: &Rule, pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let spec = pod.spec.get_or_insert_default();
    let init = spec.init_containers.iter_mut().flatten().take(rule.init);
    init.chain(&mut spec.containers).for_each(|container| set_pull_policy(rule, container));
    let checks: [Check; 2] = match rule.class_first {
        true => [set_priority, set_account],
        false => [set_account, set_priority],
    };
    checks.iter().try_for_each(|check| check(rule, pod, cluster))?;
    add_tolerations(rule, pod);
    (rule.besides)(pod.spec.get_or_insert_default());
    Ok(())
}

fn set_pull_policy(rule: &Rule, container: &mut Container) {
    let is_latest = (rule.is_latest)(container.image.as_deref().unwrap_or_default());
    if (rule.gets_policy)(container) {
        container.image_pull_policy = Some(if is_latest { "Always" } else { "IfNotPresent" }.to_owned());
    }
}

fn set_account(rule: &Rule, pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let spec = pod.spec.get_or_insert_default();
    let named = (rule.account)(spec);
    let account = named.clone().unwrap_or_else(|| "default".to_owned());
    spec.service_account_name = Some(account.clone());
    let is_found = cluster.accounts.iter().any(|one| (rule.is_account)(&one.metadata, &namespace, &account));
    match (rule.is_there)(named.is_some(), is_found) {
        true => Ok(()),
        false => Err(format!(
            "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        )),
    }
}

fn set_priority(rule: &Rule, pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let spec = pod.spec.get_or_insert_default();
    let mut classes = cluster.classes.iter().take(rule.classes);
    let class = match &spec.priority_class_name {
        None => classes.find(|one| (rule.is_default)(one)),
        Some(name) => match classes.find(|one| (rule.is_class)(one, name)) {
            None if (rule.is_unknown)(name) => return Err(format!("no PriorityClass with name {name} was found")),
            found => found,
        },
    };
    let computed = class.and_then(|class| class.value).unwrap_or(0);
    let Some(priority) = (rule.priority)(spec.priority, computed) else {
        let given = spec.priority.unwrap_or_default();
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        ));
    };
    let found = class.and_then(|class| class.metadata.name.clone());
    spec.priority_class_name = (rule.class_name)(spec.priority_class_name.take(), found);
    spec.priority = Some(priority);
    Ok(())
}

fn add_tolerations(rule: &Rule, pod: &mut Pod) {
    if (rule.is_spared)(&pod.metadata) {
        return;
    }
    let all = pod.spec.get_or_insert_default().tolerations.get_or_insert_default();
    let is_missing = |taint: &&str| !all.iter().any(|one| (rule.covers)(one, taint));
    let missing: Vec<&str> = TAINTS.into_iter().filter(is_missing).collect();
    (rule.kept)(all);
    all.extend(missing.into_iter().map(|taint| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: rule.seconds,
        ..Toleration::default()
    }));
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    no_tag_is_old: "an image without a tag is not pulled each time; no tag means latest"
        => { is_latest: |image| tag(image) == Some("latest") };
    overwrites_policy: "a pull policy that the Pod has is overwritten" => { gets_policy: |_| true };
    latest_somewhere: "`latest` anywhere in the image's name is taken for the tag"
        => { is_latest: |image| image.contains("latest") || is_latest(image) };
    port_is_tag: "the port of a registry is taken for a tag"
        => {
            is_latest: |image| match image.split_once('@').map_or(image, |(name, _)| name).split_once(':') {
                Some((_, tag)) => tag == "latest",
                None => !has_digest(image),
            }
        };
    digest_ignored: "an image with a digest and no tag is taken for latest"
        => { is_latest: |image| tag(image).is_none_or(|tag| tag == "latest") };
    no_init: "init containers get no pull policy" => { init: 0 };
    never_looks_up: "the account is not looked up; it may be absent" => { is_there: |_, _| true };
    default_is_there: "only an account that the Pod names is looked up; `default` may be absent too"
        => { is_there: |is_named, is_found| !is_named || is_found };
    any_namespace: "an account of another namespace is taken"
        => { is_account: |meta, _, account| meta.name.as_deref() == Some(account) };
    account_overwritten: "every Pod gets the account `default`" => { account: |_| None };
    unknown_class_is_zero: "an unknown class counts as none; it is refused" => { is_unknown: |_| false };
    no_global_default: "the class that is the global default is not used" => { is_default: |_| false };
    class_unnamed: "the name of the global default is not written into the Pod" => { class_name: |named, _| named };
    given_number_wins: "a number that does not fit the class is accepted"
        => { priority: |given, computed| Some(given.unwrap_or(computed)) };
    class_first: "the class is checked before the account, so that the wrong reason is given" => { class_first: true };
    replaces: "the Pod's own tolerations are lost" => { kept: |tolerations| tolerations.clear() };
    always_adds: "tolerations are added although the Pod has its own for that taint" => { covers: |_, _| false };
    key_is_enough: "a toleration of the same key but another effect is taken for enough" => { covers: has_key };
    needs_key: "a toleration without a key is not recognised; it covers every taint"
        => { covers: |one, taint| one.key.is_some() && covers(one, taint) };
    needs_effect: "a toleration without an effect is not recognised; it covers every effect"
        => { covers: |one, taint| one.effect.is_some() && covers(one, taint) };
    for_ever: "the tolerations that are added last for ever; they last 300 seconds" => { seconds: None };
    first_init: "only the first of the init containers gets a pull policy" => { init: 1 };
    first_taint_only: "the effect of a toleration is compared for one of the two taints only"
        => { covers: |one, taint| covers(one, taint) || taint == TAINTS[1] && has_key(one, taint) };
    changes_more: "other defaults are written into the Pod too; that is done elsewhere"
        => { besides: |spec| spec.restart_policy = Some("Always".to_owned()) };
    ends_with_latest: "a tag that ends with latest is taken for latest"
        => { is_latest: |image| is_latest(image) || tag(image).is_some_and(|tag| tag.ends_with("latest")) };
    account_begins_alike: "an account whose name only begins so is taken"
        => {
            is_account: |meta, namespace, account| {
                meta.namespace.as_deref() == Some(namespace)
                    && meta.name.as_ref().is_some_and(|name| name.starts_with(account))
            }
        };
    default_unnamed: "a Pod that names the class that is the global default is refused"
        => {
            is_class: |class, name| class.metadata.name.as_deref() == Some(name) && class.global_default != Some(true)
        };
    any_case: "capitals in a tag are not looked at; Latest is another tag than latest"
        => { is_latest: |image| is_latest(image) || tag(image).is_some_and(|tag| tag.eq_ignore_ascii_case("latest")) };
    beginning_of_name: "the reason calls the Pod by its generateName, though it has a name by now"
        => { name: |meta| meta.generate_name.clone().or(meta.name.clone()) };
    going_is_gone: "an account that is being deleted is taken for absent; it is there until it is gone"
        => {
            is_account: |meta, namespace, account| {
                meta.deletion_timestamp.is_none() && is_account(meta, namespace, account)
            }
        };
    namespace_alike: "an account of a namespace whose name only begins alike is taken"
        => {
            is_account: |meta, namespace, account| {
                meta.name.as_deref() == Some(account)
                    && meta.namespace.as_ref().is_some_and(|its| namespace.starts_with(its))
            }
        };
    system_is_there: "a class whose name begins with system- is not looked for"
        => { is_unknown: |name| !name.starts_with("system-") };
    daemon_spared: "the Pods of a DaemonSet get no tolerations; its controller may give them some, this does not ask"
        => { is_spared: |meta| meta.owner_references.is_some() };
    sidecar_spared: "an init container that stays, with restartPolicy Always, gets no pull policy"
        => { gets_policy: |container| container.image_pull_policy.is_none() && container.restart_policy.is_none() };
    few_classes: "only the first few classes are looked at" => { classes: 4 };
};

mod questions;
mod shown;
#[cfg(test)]
mod tests;
