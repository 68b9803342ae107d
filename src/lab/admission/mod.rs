//! Exercise 05: what a new Pod becomes before it is stored. Mirrors `pkg/apis/core/v1/defaults.go` and the plugins
//! ServiceAccount, Priority and DefaultTolerationSeconds of `plugin/pkg/admission`.
//!
//! Every combination of an account, tolerations and a priority is asked, against clusters that have what is named and
//! clusters that lack it; and every sort of image name.
//!
//! Left out: all other defaults, the volume with the account's token, preemption policies, names that are generated.

use k8s_openapi::api::core::v1::{Container, Pod, Toleration};

use super::function::Function;
use super::words::Part;
use super::{Exercise, Judging, admitting};
use crate::exercise::admission::{Admitted, Case, Cluster, admitted};
use crate::object::well_known::{NOT_READY, UNREACHABLE};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "05_admission",
    title: "What becomes of a Pod before it is stored?",
    outcome: "say what the API server adds to a Pod that nobody wrote, and what it refuses and why",
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

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    NoTagIsOld,
    OverwritesPolicy,
    LatestSomewhere,
    PortIsTag,
    DigestIgnored,
    NoInit,
    NeverLooksUp,
    DefaultIsThere,
    AnyNamespace,
    AccountOverwritten,
    UnknownClassIsZero,
    NoGlobalDefault,
    ClassUnnamed,
    GivenNumberWins,
    ClassFirst,
    Replaces,
    AlwaysAdds,
    KeyIsEnough,
    NeedsKey,
    NeedsEffect,
    ForEver,
    FirstInit,
    FirstTaintOnly,
    ChangesMore,
    EndsWithLatest,
    AccountBeginsAlike,
    DefaultUnnamed,
    AnyCase,
    BeginningOfName,
    GoingIsGone,
    NamespaceAlike,
    SystemIsThere,
    DaemonSpared,
    SidecarSpared,
    FewClasses,
}

impl Function for Admission {
    type Question = Case;
    type Answer = Result<Admitted, String>;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("an image without a tag is not pulled each time; no tag means latest", Slip::NoTagIsOld),
        ("a pull policy that the Pod has is overwritten", Slip::OverwritesPolicy),
        ("`latest` anywhere in the image's name is taken for the tag", Slip::LatestSomewhere),
        ("the port of a registry is taken for a tag", Slip::PortIsTag),
        ("an image with a digest and no tag is taken for latest", Slip::DigestIgnored),
        ("init containers get no pull policy", Slip::NoInit),
        ("nobody looks whether the account is there", Slip::NeverLooksUp),
        ("only an account that the Pod names is looked up; `default` may be absent too", Slip::DefaultIsThere),
        ("an account of another namespace is taken", Slip::AnyNamespace),
        ("every Pod gets the account `default`", Slip::AccountOverwritten),
        ("an unknown class counts as none; it is refused", Slip::UnknownClassIsZero),
        ("the class that is the global default is not used", Slip::NoGlobalDefault),
        ("the name of the global default is not written into the Pod", Slip::ClassUnnamed),
        ("a number that does not fit the class is accepted", Slip::GivenNumberWins),
        ("the class is checked before the account, so that the wrong reason is given", Slip::ClassFirst),
        ("the Pod's own tolerations are lost", Slip::Replaces),
        ("tolerations are added although the Pod has its own for that taint", Slip::AlwaysAdds),
        ("a toleration of the same key but another effect is taken for enough", Slip::KeyIsEnough),
        ("a toleration without a key is not recognised; it covers every taint", Slip::NeedsKey),
        ("a toleration without an effect is not recognised; it covers every effect", Slip::NeedsEffect),
        ("the tolerations that are added last for ever; they last 300 seconds", Slip::ForEver),
        ("only the first of the init containers gets a pull policy", Slip::FirstInit),
        ("the effect of a toleration is compared for one of the two taints only", Slip::FirstTaintOnly),
        ("other defaults are written into the Pod too; that is done elsewhere", Slip::ChangesMore),
        ("a tag that ends with latest is taken for latest", Slip::EndsWithLatest),
        ("an account whose name only begins so is taken", Slip::AccountBeginsAlike),
        ("a Pod that names the class that is the global default is refused", Slip::DefaultUnnamed),
        ("capitals in a tag are not looked at; Latest is another tag than latest", Slip::AnyCase),
        ("the reason calls the Pod by its generateName, though it has a name by now", Slip::BeginningOfName),
        ("an account that is being deleted is taken for absent; it is there until it is gone", Slip::GoingIsGone),
        ("an account of a namespace whose name only begins alike is taken", Slip::NamespaceAlike),
        ("a class whose name begins with system- is not looked for", Slip::SystemIsThere),
        (
            "the Pods of a DaemonSet get no tolerations; its controller may give them some, this does not ask",
            Slip::DaemonSpared,
        ),
        ("an init container that stays, with restartPolicy Always, gets no pull policy", Slip::SidecarSpared),
        ("only the first few classes are looked at", Slip::FewClasses),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Result<Admitted, String> {
        let mut pod = case.pod.clone();
        let meta = pod.metadata.clone();
        let beginning = meta.generate_name.filter(|_| slip == Some(Slip::BeginningOfName));
        let name = beginning.or(meta.name).unwrap_or_default();
        let refused = |why: String| format!("pods \"{name}\" is forbidden: {why}");
        admit(&mut pod, &case.cluster, slip).map_err(refused)?;
        Ok(admitted(&case.pod, &pod))
    }

    fn property(case: &Case, given: Option<&Self::Answer>) -> &'static str {
        match (Admission::rule(case, None), given) {
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

fn admit(pod: &mut Pod, cluster: &Cluster, slip: Option<Slip>) -> Result<(), String> {
    let is = |one| slip == Some(one);
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let spec = pod.spec.get_or_insert_default();
    let most = match slip {
        Some(Slip::NoInit) => 0,
        Some(Slip::FirstInit) => 1,
        _ => usize::MAX,
    };
    let init = spec.init_containers.iter_mut().flatten().take(most);
    init.chain(&mut spec.containers).for_each(|container| set_pull_policy(container, slip));
    let named = spec.service_account_name.clone().filter(|_| !is(Slip::AccountOverwritten));
    let account = named.clone().unwrap_or_else(|| "default".to_owned());
    spec.service_account_name = Some(account.clone());
    let mut accounts = cluster.accounts.iter().map(|one| &one.metadata);
    let there = is(Slip::NeverLooksUp)
        || (named.is_none() && is(Slip::DefaultIsThere))
        || accounts.any(|one| {
            let same = |name: &String| *name == account || is(Slip::AccountBeginsAlike) && name.starts_with(&account);
            one.name.as_ref().is_some_and(same)
                && one.namespace.as_ref().is_some_and(|its| {
                    *its == namespace
                        || is(Slip::AnyNamespace)
                        || is(Slip::NamespaceAlike) && namespace.starts_with(its.as_str())
                })
                && !(one.deletion_timestamp.is_some() && is(Slip::GoingIsGone))
        });
    let looked_up = match there {
        true => Ok(()),
        false => Err(format!(
            "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        )),
    };
    if is(Slip::ClassFirst) {
        set_priority(pod, cluster, slip)?;
        looked_up?;
    } else {
        looked_up?;
        set_priority(pod, cluster, slip)?;
    }
    add_tolerations(pod, slip);
    if is(Slip::ChangesMore) {
        pod.spec.get_or_insert_default().restart_policy = Some("Always".to_owned());
    }
    Ok(())
}

fn set_pull_policy(container: &mut Container, slip: Option<Slip>) {
    let image = container.image.as_deref().unwrap_or_default();
    let policy = if is_latest(image, slip) { "Always" } else { "IfNotPresent" };
    if container.restart_policy.is_some() && slip == Some(Slip::SidecarSpared) {
        return;
    }
    if container.image_pull_policy.is_none() || slip == Some(Slip::OverwritesPolicy) {
        container.image_pull_policy = Some(policy.to_owned());
    }
}

fn is_latest(image: &str, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = if is(Slip::PortIsTag) { name } else { name.rsplit('/').next().unwrap_or(name) };
    match last.split_once(':') {
        _ if is(Slip::LatestSomewhere) && image.contains("latest") => true,
        Some((_, tag)) if is(Slip::AnyCase) => tag.eq_ignore_ascii_case("latest"),
        Some((_, tag)) => tag == "latest" || is(Slip::EndsWithLatest) && tag.ends_with("latest"),
        None => (digest.is_none() || is(Slip::DigestIgnored)) && !is(Slip::NoTagIsOld),
    }
}

fn set_priority(pod: &mut Pod, cluster: &Cluster, slip: Option<Slip>) -> Result<(), String> {
    let is = |one| slip == Some(one);
    let spec = pod.spec.get_or_insert_default();
    let most = if is(Slip::FewClasses) { 4 } else { usize::MAX };
    let mut classes = cluster.classes.iter().take(most);
    let class = match &spec.priority_class_name {
        None => classes.find(|one| one.global_default == Some(true) && !is(Slip::NoGlobalDefault)),
        Some(name) => match classes.find(|one| {
            let hidden = is(Slip::DefaultUnnamed) && one.global_default == Some(true);
            one.metadata.name.as_ref() == Some(name) && !hidden
        }) {
            None if !(is(Slip::UnknownClassIsZero) || is(Slip::SystemIsThere) && name.starts_with("system-")) => {
                return Err(format!("no PriorityClass with name {name} was found"));
            }
            found => found,
        },
    };
    let computed = class.and_then(|class| class.value).unwrap_or(0);
    if let Some(given) = spec.priority.filter(|given| *given != computed && !is(Slip::GivenNumberWins)) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        ));
    }
    if !is(Slip::ClassUnnamed) {
        spec.priority_class_name = class.and_then(|class| class.metadata.name.clone());
    }
    spec.priority = Some(if is(Slip::GivenNumberWins) { spec.priority.unwrap_or(computed) } else { computed });
    Ok(())
}

fn add_tolerations(pod: &mut Pod, slip: Option<Slip>) {
    let is = |one| slip == Some(one);
    if is(Slip::DaemonSpared) && pod.metadata.owner_references.is_some() {
        return;
    }
    let all = pod.spec.get_or_insert_default().tolerations.get_or_insert_default();
    let covers = |one: &Toleration, taint: &str| {
        let key = one.key.as_deref().map_or(!is(Slip::NeedsKey), |key| key == taint);
        let effect = one.effect.as_deref().map_or(!is(Slip::NeedsEffect), |effect| effect == "NoExecute");
        let enough = is(Slip::KeyIsEnough) || is(Slip::FirstTaintOnly) && taint == TAINTS[1];
        key && (effect || enough) && !is(Slip::AlwaysAdds)
    };
    let missing: Vec<&str> = TAINTS.into_iter().filter(|taint| !all.iter().any(|one| covers(one, taint))).collect();
    if is(Slip::Replaces) {
        all.clear();
    }
    all.extend(missing.into_iter().map(|taint| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: (!is(Slip::ForEver)).then_some(300),
        ..Toleration::default()
    }));
}

mod questions;
mod shown;
#[cfg(test)]
mod tests;
