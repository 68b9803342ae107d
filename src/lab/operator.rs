//! Exercise 21: an operator of one's own, for a kind of one's own. A ConfigMap with a label stands for an object of the kind.
//!
//! Left out: a CustomResourceDefinition. Its status would be a subresource; here it is an annotation.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::json;

use super::reconcile::guest::{Duty, owner};
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use crate::object::Kind;
use crate::object::meta::{controller_of, controller_ref};

/// The name of the container.
const CONTAINER: &str = "site";

/// Where a site's status stands.
const PODS: &str = "example.com/pods";

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "21_operator",
    title: "What does an operator do?",
    outcome: "write a controller for a kind of your own that no order and no crash can break",
    needs: &["deployment", "finalizer"],
    hints: [
        "Write down what there must be in the end for one site, and who may have changed it. Which of it is in your cache, and \
         how will you hear of a change?",
        "Four cases: no site or a site that goes (nothing); no Deployment (create it); somebody else's (nothing); yours (compare \
         both fields, and patch what differs; then compare the status). Everything you write comes back to you as a change.",
        "Find the Deployment by the site's name and namespace in the cache. Not there: create it and be done; if it is \
         there after all, return that error. Its controller's uid is not the site's: be done. Then patch spec.replicas and the \
         image if one differs, and the annotation if it is not status.replicas as text.",
    ],
    minutes: 60,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "site-operator",
        kind: Kind::ConfigMap,
        others: &[Kind::Deployment],
        concerns: owner,
        workers: 1,
        observes: false,
    },
    trials: &[
        scenario!("operator", "new"),
        scenario!("operator", "changes"),
        scenario!("operator", "site-behind"),
        scenario!("operator", "elsewhere"),
        scenario!("operator", "by-hand"),
        scenario!("operator", "deleted-by-hand"),
        scenario!("operator", "no-site"),
        scenario!("operator", "anothers"),
        scenario!("operator", "others-site"),
        scenario!("operator", "not-seen-yet"),
        scenario!("operator", "others-write"),
        scenario!("operator", "again"),
        scenario!("operator", "no-number"),
        scenario!("operator", "negative"),
        scenario!("operator", "none"),
        scenario!("operator", "going"),
        scenario!("operator", "gone"),
        scenario!("operator", "one-call-fails"),
        scenario!("operator", "broken-calls"),
        scenario!("operator", "any-number"),
    ],
    reference: |read| host(read, None),
    mistakes: &[
        slip!("the Deployment has no owner reference to the site", NoOwner),
        slip!("the owner reference does not say controller: true", NotController),
        slip!("every ConfigMap is taken for a site", AllMaps),
        slip!("a Deployment that is there is not changed", NeverChanges),
        slip!("the Deployment does not follow the image", OnlyReplicas),
        slip!("the Deployment does not follow the number of replicas", OnlyImage),
        slip!("a Deployment of somebody else is taken over", TakesForeign),
        slip!("replicas that are no number count as 1", GuessesNumber),
        slip!("the Deployment has another name each time it is made", RandomName),
        slip!("the status is not written", NoStatus),
        slip!("the status says what is asked for, and not what there is", StatusAsked),
        slip!("it makes a Deployment for a site that is being deleted", IgnoresDeletion),
        slip!("it takes a failed call for done", Swallows),
        slip!("it works in the namespace default, wherever the site is", InDefault),
        slip!("a Deployment of another namespace is taken for that of the site", AnyNamespace),
        slip!("it knows its Deployment by the name of the controller: others may have that name too", OwnerByName),
        slip!("it fails at what cannot be read, and so tries it again and again", FailsAtNonsense),
        slip!("of replicas that are too many to count, a part is taken for all", Truncates),
        slip!("the Pods of all sites have the same label", OneLabel),
        slip!("the container has another name than site", OtherContainer),
        slip!("an empty image is taken for one", EmptyImage),
        slip!("replicas that are too large become a negative number", TurnsNegative),
        slip!("if replicas are no number, it still follows the image", KeepsNumber),
        slip!("it changes the Deployment of a site that is being deleted", ChangesGoing),
        slip!("if the Deployment is there after all, it changes it, whoever it belongs to", TakesUnseen),
        slip!("the status counts the Pods of somebody else's Deployment", ForeignStatus),
        slip!("it puts a new Deployment in the place of the old one, and what others wrote into that is lost", Anew),
        slip!("it takes any Deployment that the site controls for its own, whatever its name", AnyName),
        slip!("of the owners of a Deployment it looks at one only", FirstOwner),
        slip!("a kind that only begins like Site is taken for it", LikeSite),
        slip!("replicas of more than 65535 are taken for no number", Small),
        slip!("it changes the image of the first container, whatever its name", FirstContainer),
        slip!("it puts a new spec in the place of the old one: what others wrote into that is lost", SpecAnew),
        slip!("it writes the Deployment as its cache shows it: what others wrote meanwhile is lost", IgnoresVersion),
        slip!("the status counts the Pods that are not ready", Unavailable),
        slip!("the status counts all Pods with the label, whoever made them", CountsLabel),
        slip!("a Deployment of somebody else gets a label", MarksForeign),
        slip!("an image that becomes empty is taken for one", EmptyLater),
        slip!("a number that becomes negative is sent nevertheless", NegativeLater),
        slip!(
            "it puts its own container in the place of all that there are, with what others wrote into it",
            MergesList
        ),
        slip!("an image without a tag is taken for none", NeedsTag),
        slip!(
            "it changes the image at the place where its cache shows the container; that may be another's by now",
            ByPlace
        ),
        slip!(
            "it sends all containers as its cache shows them, and what others wrote into them meanwhile is lost",
            SendsList
        ),
        slip!(
            "it remembers what status it has written, and does not see that somebody has changed it",
            RemembersStatus
        ),
        slip!("it takes a label for kind whose name only ends like that", LikeKind),
        slip!(
            "it writes all annotations of the site as it knows them: what others write into them meanwhile is lost",
            AllAnnotations
        ),
        slip!(
            "it writes all annotations of the site as it knows them: what others write into them meanwhile is lost",
            FreshAnnotations
        ),
        slip!("replicas that are missing count as 1", MissingIsOne),
        slip!("it writes the whole site as it knows it: what others wrote meanwhile is lost", WholeSite),
        slip!("it writes the whole site as it knows it: what others wrote meanwhile is lost", FreshSite),
        slip!("it puts its own annotation in the place of all that a site has", OnlyAnnotation),
        slip!("the status counts the Pods that are ready", CountsReady),
        slip!("it never asks for more than forty Pods", FortyAtMost),
        slip!("it lists the Deployments from the API server, and does not read its cache", Lists),
        slip!("of two images it compares the tags only", TagsOnly),
    ],
};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    NoOwner,
    NotController,
    AllMaps,
    NeverChanges,
    OnlyReplicas,
    OnlyImage,
    TakesForeign,
    GuessesNumber,
    RandomName,
    NoStatus,
    StatusAsked,
    IgnoresDeletion,
    Swallows,
    InDefault,
    AnyNamespace,
    OwnerByName,
    FailsAtNonsense,
    Truncates,
    OneLabel,
    OtherContainer,
    EmptyImage,
    TurnsNegative,
    KeepsNumber,
    ChangesGoing,
    TakesUnseen,
    ForeignStatus,
    Anew,
    AnyName,
    FirstOwner,
    LikeSite,
    Small,
    FirstContainer,
    SpecAnew,
    IgnoresVersion,
    Unavailable,
    CountsLabel,
    MarksForeign,
    EmptyLater,
    NegativeLater,
    MergesList,
    NeedsTag,
    ByPlace,
    SendsList,
    RemembersStatus,
    LikeKind,
    AllAnnotations,
    FreshAnnotations,
    MissingIsOne,
    WholeSite,
    FreshSite,
    OnlyAnnotation,
    CountsReady,
    FortyAtMost,
    Lists,
    TagsOnly,
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |site, context| reconcile(site, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(site: Arc<ConfigMap>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let meta = &site.metadata;
    let labelled = meta.labels.iter().flatten().any(|(key, value)| {
        let is_site = value == "Site" || is(Slip::LikeSite) && value.starts_with("Site");
        is_site && (key == "kind" || is(Slip::LikeKind) && key.ends_with("kind"))
    });
    let all = context.store::<Deployment>().state();
    let is_going = meta.deletion_timestamp.is_some()
        && match slip {
            Some(Slip::IgnoresDeletion) => false,
            Some(Slip::ChangesGoing) => all.iter().all(|one| one.metadata.name != meta.name),
            _ => true,
        };
    if !labelled && !is(Slip::AllMaps) || is_going {
        return Ok(Action::await_change());
    }
    let is_its = |one: &Deployment| is_its(&site, one, slip);
    let known = all.iter().find(|one| one.metadata.name == meta.name && is_its(one));
    let known = known.and_then(|one| one.spec.as_ref()).and_then(|spec| spec.replicas);
    let Some((replicas, image)) = asked(&site, known, slip) else {
        let nonsense = || Err(Error::Other("that cannot be read".to_owned()));
        return if is(Slip::FailsAtNonsense) { nonsense() } else { Ok(Action::await_change()) };
    };
    let namespace = meta.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let name = meta.name.as_deref().unwrap_or_default();
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let all = match is(Slip::Lists) {
        true => deployments.list(&ListParams::default()).await?.into_iter().map(Arc::new).collect(),
        false => all,
    };
    let whole = deployment_for(&site, replicas, &image, slip);
    let is_here = |one: &Deployment| one.metadata.namespace == meta.namespace || is(Slip::AnyNamespace);
    let there = all.iter().find(|one| match slip {
        Some(Slip::AnyName) => is_its(one),
        _ => one.metadata.name == meta.name && is_here(one),
    });
    let Some(there) = there else {
        match deployments.create(&PostParams::default(), &whole).await {
            Err(error) if is(Slip::TakesUnseen) && error.is_already_exists() => {
                change(&deployments, &whole, &whole, slip).await?;
            }
            Err(error) if !is(Slip::Swallows) => return Err(error),
            _ => {}
        }
        return Ok(Action::await_change());
    };
    let is_its = is_its(there);
    if !is_its && is(Slip::MarksForeign) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"example.com/site": name}}}));
        deployments.patch(name, &PatchParams::default(), &patch).await?;
    }
    if !is_its && !is(Slip::TakesForeign) && !is(Slip::ForeignStatus) {
        return Ok(Action::await_change());
    }
    let spec = there.spec.as_ref();
    let other_number = spec.and_then(|spec| spec.replicas) != Some(replicas) && !is(Slip::OnlyImage);
    let container = spec.and_then(|spec| spec.template.spec.as_ref()).and_then(|spec| {
        let mut containers = spec.containers.iter();
        containers.find(|one| one.name == container_name(slip))
    });
    let compared = |image: &String| match is(Slip::TagsOnly) {
        true => image.rsplit(':').next().map(str::to_owned),
        false => Some(image.clone()),
    };
    let its_image = container.and_then(|one| one.image.as_ref()).and_then(compared);
    let other_image = its_image != compared(&image) && !is(Slip::OnlyReplicas);
    let is_kept = is(Slip::NeverChanges) || is(Slip::ForeignStatus) && !is_its;
    if (other_number || other_image) && !is_kept {
        change(&deployments, there, &whole, slip).await?;
    }
    let status = there.status.clone().unwrap_or_default();
    let pods = match slip {
        Some(Slip::StatusAsked) => replicas,
        Some(Slip::Unavailable) => status.unavailable_replicas.unwrap_or(0),
        Some(Slip::CountsReady) => status.ready_replicas.unwrap_or(0),
        Some(Slip::CountsLabel) => {
            let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
            pods.list(&ListParams::default().labels(&format!("app={name}"))).await?.items.len() as i32
        }
        _ => status.replicas.unwrap_or(0),
    };
    let pods = pods.to_string();
    let is_other = match slip {
        Some(Slip::NoStatus) => false,
        Some(Slip::RemembersStatus) => is_news(&site, &context, &pods),
        _ => meta.annotations.as_ref().and_then(|all| all.get(PODS)) != Some(&pods),
    };
    if is_other {
        let sites: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
        write_status(&sites, &site, pods, slip).await?;
    }
    Ok(Action::await_change())
}

/// Writes how many Pods there are into the site.
async fn write_status(sites: &Api<ConfigMap>, site: &ConfigMap, pods: String, slip: Option<Slip>) -> Result<(), Error> {
    let name = site.metadata.name.as_deref().unwrap_or_default();
    let mut known = match slip {
        Some(Slip::FreshAnnotations | Slip::FreshSite) => sites.get(name).await?,
        _ => site.clone(),
    };
    let own: BTreeMap<String, String> = [(PODS.to_owned(), pods)].into();
    let mut all = known.metadata.annotations.take().unwrap_or_default();
    all.extend(own.clone());
    let patch = match slip {
        Some(Slip::WholeSite | Slip::FreshSite) => {
            known.metadata.annotations = Some(all);
            known.metadata.resource_version = None;
            return sites.replace(name, &PostParams::default(), &known).await.map(drop);
        }
        Some(Slip::AllAnnotations | Slip::FreshAnnotations) => Patch::Merge(json!({"metadata": {"annotations": all}})),
        Some(Slip::OnlyAnnotation) => {
            Patch::Json(json!([{"op": "add", "path": "/metadata/annotations", "value": own}]))
        }
        _ => Patch::Merge(json!({"metadata": {"annotations": own}})),
    };
    sites.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

/// Whether it remembers another status of the site than this. From now on it remembers this.
fn is_news(site: &ConfigMap, context: &Context, pods: &str) -> bool {
    let mut told: BTreeMap<String, String> = context.remembered();
    let before = told.insert(site.metadata.uid.clone().unwrap_or_default(), pods.to_owned());
    context.remember(&told);
    before.as_deref() != Some(pods)
}

/// Makes a Deployment that is there ask for the number and the image of the one that the site would get.
async fn change(
    deployments: &Api<Deployment>,
    there: &Deployment,
    whole: &Deployment,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let name = whole.metadata.name.as_deref().unwrap_or_default();
    let spec = whole.spec.as_ref();
    let replicas = spec.and_then(|spec| spec.replicas);
    let image = spec.and_then(|spec| spec.template.spec.as_ref()).and_then(|spec| spec.containers[0].image.clone());
    let template = json!({"spec": {"containers": [{"name": container_name(slip), "image": image}]}});
    let body = json!({"spec": {"replicas": replicas, "template": template}});
    let containers = there.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let containers = containers.map(|spec| &*spec.containers).unwrap_or_default();
    let mut changed = there.clone();
    let patch = match slip {
        Some(Slip::Anew) => {
            return deployments.replace(name, &PostParams::default(), whole).await.map(drop);
        }
        Some(Slip::SpecAnew) => {
            changed.spec.clone_from(&whole.spec);
            return deployments.replace(name, &PostParams::default(), &changed).await.map(drop);
        }
        Some(Slip::IgnoresVersion) => {
            changed.metadata.resource_version = None;
            if let Some(spec) = &mut changed.spec {
                spec.replicas = replicas;
                spec.template.spec.iter_mut().for_each(|spec| spec.containers[0].image.clone_from(&image));
            }
            return deployments.replace(name, &PostParams::default(), &changed).await.map(drop);
        }
        Some(Slip::FirstContainer) => Patch::Json(json!([
            {"op": "replace", "path": "/spec/replicas", "value": replicas},
            {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},
        ])),
        Some(Slip::ByPlace) => {
            let place = containers.iter().position(|one| one.name == CONTAINER).unwrap_or(0);
            Patch::Json(json!([
                {"op": "replace", "path": "/spec/replicas", "value": replicas},
                {"op": "replace", "path": format!("/spec/template/spec/containers/{place}/image"), "value": image},
            ]))
        }
        Some(Slip::SendsList) => {
            let mut containers = containers.to_vec();
            let its = containers.iter_mut().filter(|one| one.name == CONTAINER);
            its.for_each(|one| one.image.clone_from(&image));
            Patch::Merge(json!({"spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}}}))
        }
        Some(Slip::MergesList) => Patch::Merge(body),
        _ => Patch::Strategic(body),
    };
    deployments.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

/// Whether a Deployment is the site's.
fn is_its(site: &ConfigMap, one: &Deployment, slip: Option<Slip>) -> bool {
    let controller = match slip {
        Some(Slip::FirstOwner) => one.metadata.owner_references.as_ref().and_then(|all| all.first()),
        _ => controller_of(&one.metadata),
    };
    controller.filter(|owner| owner.controller == Some(true)).is_some_and(|owner| match slip {
        Some(Slip::OwnerByName) => Some(&owner.name) == site.metadata.name.as_ref(),
        _ => Some(&owner.uid) == site.metadata.uid.as_ref(),
    })
}

/// How many replicas a site asks for, of which image; None if that cannot be read. There are so many that are known.
fn asked(site: &ConfigMap, known: Option<i32>, slip: Option<Slip>) -> Option<(i32, String)> {
    let data = site.data.as_ref()?;
    let one = "1".to_owned();
    let text = data.get("replicas").or((slip == Some(Slip::MissingIsOne)).then_some(&one))?;
    let replicas = match slip {
        Some(Slip::Truncates) => text.parse().ok().map(|count: i64| count as i32),
        Some(Slip::Small) => text.parse().ok().map(|count: u16| i32::from(count)),
        Some(Slip::TurnsNegative) => text.parse().ok().map(|count: u32| count as i32),
        Some(Slip::FortyAtMost) => text.parse().ok().map(|count: i32| count.min(40)),
        _ => text.parse().ok(),
    };
    let is_later = |of: Slip| known.is_some() && slip == Some(of);
    let is_sent = slip == Some(Slip::TurnsNegative) || is_later(Slip::NegativeLater);
    let replicas = replicas.filter(|count| *count >= 0 || is_sent);
    let replicas = replicas.or(match slip {
        Some(Slip::GuessesNumber) => Some(1),
        Some(Slip::KeepsNumber) => known,
        _ => None,
    })?;
    let is_sent = slip == Some(Slip::EmptyImage) || is_later(Slip::EmptyLater);
    let image = data.get("image").filter(|image| !image.is_empty() || is_sent);
    let image = image.filter(|image| image.contains(':') || slip != Some(Slip::NeedsTag));
    Some((replicas, image?.clone()))
}

fn container_name(slip: Option<Slip>) -> &'static str {
    if slip == Some(Slip::OtherContainer) { "web" } else { CONTAINER }
}

fn deployment_for(site: &ConfigMap, replicas: i32, image: &str, slip: Option<Slip>) -> Deployment {
    let is = |one| slip == Some(one);
    let name = site.metadata.name.clone().unwrap_or_default();
    let mut controller = controller_ref(site);
    if is(Slip::NotController) {
        controller.controller = None;
    }
    let label = if is(Slip::OneLabel) { "site" } else { &name };
    let labels = Some([("app".to_owned(), label.to_owned())].into());
    let container =
        Container { name: container_name(slip).to_owned(), image: Some(image.to_owned()), ..Container::default() };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: labels.clone(), ..ObjectMeta::default() }),
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
    };
    let metadata = ObjectMeta {
        generate_name: is(Slip::RandomName).then(|| format!("{name}-")),
        name: (!is(Slip::RandomName)).then_some(name),
        owner_references: (!is(Slip::NoOwner)).then(|| vec![controller]),
        ..ObjectMeta::default()
    };
    let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
    let spec = DeploymentSpec { replicas: Some(replicas), selector, template, ..DeploymentSpec::default() };
    Deployment { metadata, spec: Some(spec), status: None }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("operator", &super::PLAN);
    }
}
