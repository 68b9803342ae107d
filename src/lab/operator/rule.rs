//! What the operator does with a site, and what learners do instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::json;

use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use crate::lab::making::{all, has_long_name};
use crate::object::Accessor;
use crate::object::meta::{controller_of, controller_ref};

/// The name of the container.
const CONTAINER: &str = "site";

/// Where a site's status stands.
const PODS: &str = "example.com/pods";

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    NoOwner,
    NotController,
    AllMaps,
    NeverChanges,
    AlwaysChanges,
    OnlyReplicas,
    OnlyImage,
    TakesForeign,
    GuessesNumber,
    RandomName,
    NoStatus,
    SameStatus,
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
    NoLongName,
    NoDigest,
}

pub(super) fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |site, context| reconcile(site, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(site: Arc<ConfigMap>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let cached = context.store::<Deployment>().state();
    let is_passed_over = is(Slip::NoLongName) && has_long_name(&site.metadata);
    if is_passed_over || !is_site(&site, slip) || is_going(&site, &cached, slip) {
        return Ok(Action::await_change());
    }
    let known = cached.iter().find(|one| one.metadata.name == site.metadata.name && is_its(&site, one, slip));
    let known = known.and_then(|one| one.spec.as_ref()).and_then(|spec| spec.replicas);
    let Some((replicas, image)) = asked(&site, known, slip) else {
        let nonsense = || Err(Error::Other("that cannot be read".to_owned()));
        return if is(Slip::FailsAtNonsense) { nonsense() } else { Ok(Action::await_change()) };
    };
    let namespace = site.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let all = all(&deployments, &context, is(Slip::Lists)).await?;
    let whole = deployment_for(&site, replicas, &image, slip);
    match find(&site, &all, slip) {
        None => make(&deployments, &whole, slip).await?,
        Some(there) if is_its(&site, there, slip) || is(Slip::TakesForeign) => {
            if differs(there, replicas, &image, slip) {
                change(&deployments, there, &whole, slip).await?;
            }
            tell(&site, there, &context, namespace, replicas, slip).await?;
        }
        Some(there) if is(Slip::ForeignStatus) => tell(&site, there, &context, namespace, replicas, slip).await?,
        Some(_) if is(Slip::MarksForeign) => {
            let name = site.metadata.name();
            let patch = Patch::Merge(json!({"metadata": {"labels": {"example.com/site": name}}}));
            deployments.patch(name, &PatchParams::default(), &patch).await?;
        }
        Some(_) => {}
    }
    Ok(Action::await_change())
}

/// Whether a ConfigMap stands for a site.
fn is_site(map: &ConfigMap, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let is_labelled = map.metadata.labels.iter().flatten().any(|(key, value)| {
        let is_site = value == "Site" || is(Slip::LikeSite) && value.starts_with("Site");
        is_site && (key == "kind" || is(Slip::LikeKind) && key.ends_with("kind"))
    });
    is_labelled || is(Slip::AllMaps)
}

/// Whether a site is left alone because it is being deleted.
fn is_going(site: &ConfigMap, cached: &[Arc<Deployment>], slip: Option<Slip>) -> bool {
    let is_left = match slip {
        Some(Slip::IgnoresDeletion) => false,
        Some(Slip::ChangesGoing) => cached.iter().all(|one| one.metadata.name != site.metadata.name),
        _ => true,
    };
    site.metadata.deletion_timestamp.is_some() && is_left
}

/// The Deployment that has the site's name, whosever it is.
fn find<'a>(site: &ConfigMap, all: &'a [Arc<Deployment>], slip: Option<Slip>) -> Option<&'a Arc<Deployment>> {
    all.iter().find(|one| {
        let is_here = one.metadata.namespace == site.metadata.namespace || slip == Some(Slip::AnyNamespace);
        match slip {
            Some(Slip::AnyName) => is_its(site, one, slip),
            _ => one.metadata.name == site.metadata.name && is_here,
        }
    })
}

/// Creates the Deployment.
async fn make(deployments: &Api<Deployment>, whole: &Deployment, slip: Option<Slip>) -> Result<(), Error> {
    match deployments.create(&PostParams::default(), whole).await {
        Err(error) if slip == Some(Slip::TakesUnseen) && error.is_already_exists() => {
            change(deployments, whole, whole, slip).await
        }
        Err(error) if slip != Some(Slip::Swallows) => Err(error),
        _ => Ok(()),
    }
}

/// Whether a Deployment that is there asks for another number, or another image.
fn differs(there: &Deployment, replicas: i32, image: &str, slip: Option<Slip>) -> bool {
    let spec = there.spec.as_ref();
    let other_number = spec.and_then(|spec| spec.replicas) != Some(replicas);
    let containers = spec.and_then(|spec| spec.template.spec.as_ref()).map(|spec| &*spec.containers);
    let container = containers.and_then(|all| all.iter().find(|one| one.name == container_name(slip)));
    let compared = |image: &str| match slip {
        Some(Slip::TagsOnly) => image.rsplit(':').next().map(str::to_owned),
        _ => Some(image.to_owned()),
    };
    let its_image = container.and_then(|one| one.image.as_deref()).and_then(compared);
    let other_image = its_image != compared(image);
    match slip {
        Some(Slip::NeverChanges) => false,
        Some(Slip::AlwaysChanges) => true,
        Some(Slip::OnlyImage) => other_image,
        Some(Slip::OnlyReplicas) => other_number,
        _ => other_number || other_image,
    }
}

/// Writes how many Pods the Deployment has into the site, if that is news.
async fn tell(
    site: &ConfigMap,
    there: &Deployment,
    context: &Context,
    namespace: &str,
    replicas: i32,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let status = there.status.clone().unwrap_or_default();
    let pods = match slip {
        Some(Slip::StatusAsked) => replicas,
        Some(Slip::Unavailable) => status.unavailable_replicas.unwrap_or(0),
        Some(Slip::CountsReady) => status.ready_replicas.unwrap_or(0),
        Some(Slip::CountsLabel) => {
            let name = site.metadata.name();
            let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
            pods.list(&ListParams::default().labels(&format!("app={name}"))).await?.items.len() as i32
        }
        _ => status.replicas.unwrap_or(0),
    };
    let pods = pods.to_string();
    let is_other = match slip {
        Some(Slip::NoStatus) => false,
        Some(Slip::SameStatus) => true,
        Some(Slip::RemembersStatus) => is_news(site, context, &pods),
        _ => site.metadata.annotations.as_ref().and_then(|all| all.get(PODS)) != Some(&pods),
    };
    if is_other {
        write_status(&Api::namespaced(context.client.clone(), namespace), site, pods, slip).await?;
    }
    Ok(())
}

/// Writes how many Pods there are into the site.
async fn write_status(sites: &Api<ConfigMap>, site: &ConfigMap, pods: String, slip: Option<Slip>) -> Result<(), Error> {
    let name = site.metadata.name();
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
    let name = whole.metadata.name();
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
    let cut = image.and_then(|image| image.split('@').next()).filter(|_| slip == Some(Slip::NoDigest));
    Some((replicas, cut.map_or_else(|| image.cloned(), |cut| Some(cut.to_owned()))?))
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
