//! What the operator does with a site.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStatus};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};

use crate::making::all;
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use object::Accessor;
use object::meta::{controller_of, controller_ref};

/// The name of the container.
const CONTAINER: &str = "site";

/// Where a site's status stands.
const PODS: &str = "example.com/pods";

/// What comes of a Deployment that has the site's name and another owner.
#[derive(Clone, Copy)]
enum Foreign {
    Nothing,
    /// It is changed as if it were the site's.
    Taken,
    /// The site says how many Pods it has.
    Told,
    /// It gets a label.
    Marked,
}

/// How a Deployment is changed.
enum Write {
    Patch(Patch<Value>),
    Whole(Box<Deployment>),
}

/// How a site is told.
enum Tell {
    Patch(Patch<Value>),
    Whole(Box<ConfigMap>),
}

type Annotations = BTreeMap<String, String>;

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Whether a ConfigMap stands for a site.
    is_site: fn(&ConfigMap) -> bool,
    /// Whether nothing is done about one, when there is a Deployment of its name or not.
    is_left_alone: fn(&ConfigMap, bool) -> bool,
    /// What is read where no number is said.
    no_number: Option<&'static str>,
    /// The number in a text, where so many are known.
    number: fn(&str, Option<i32>) -> Option<i32>,
    /// The image that is asked for, where so many are known.
    image: fn(&str, Option<i32>) -> Option<String>,
    /// What comes of what cannot be read.
    nonsense: fn() -> Result<Action, Error>,
    /// The namespace that is worked in.
    namespace: fn(&ObjectMeta) -> &str,
    /// Whether the API server is asked for a list of Deployments.
    lists: bool,
    /// Whether a Deployment is the one for the site, whosever it is.
    is_it: fn(&Deployment, &ConfigMap) -> bool,
    /// Whether it is the site's.
    is_its: fn(&ConfigMap, &Deployment) -> bool,
    /// What comes of one that is not.
    foreign: Foreign,
    /// What is otherwise in the one that the site gets.
    whole: fn(&ConfigMap, &mut Deployment),
    /// The name of its container.
    container: &'static str,
    /// Whether one that the cache does not show is changed.
    takes_unseen: bool,
    /// What is made of a creation that fails.
    made: fn(Error) -> Result<(), Error>,
    /// Whether two images are the same.
    same_image: fn(&str, &str) -> bool,
    /// Whether a Deployment is changed that has another number, or another image.
    is_changed: fn(bool, bool) -> bool,
    /// How: by what is there, what it would be, and a patch.
    change: fn(&Deployment, &Deployment, Value) -> Write,
    /// How many Pods there are, by the Deployment's status and what is asked for.
    pods: fn(&DeploymentStatus, i32) -> i32,
    /// Whether they are counted by their label.
    lists_pods: bool,
    /// Whether that is news.
    is_news: fn(&ConfigMap, &Context, &str) -> bool,
    /// Whether the site is read again.
    reads_site: bool,
    /// How it is told: by the site, and its own annotation.
    tell: fn(ConfigMap, Annotations) -> Tell,
}

pub(super) const RULE: Rule = Rule {
    is_site: |map| has_label(map, |key, value| key == "kind" && value == "Site"),
    is_left_alone: |site, _| site.metadata.deletion_timestamp.is_some(),
    no_number: None,
    number: |text, _| number(text),
    image: right_image,
    nonsense: || Ok(Action::await_change()),
    namespace: |meta| meta.namespace.as_deref().unwrap_or("default"),
    lists: false,
    is_it: |one, site| one.metadata.name == site.metadata.name && one.metadata.namespace == site.metadata.namespace,
    is_its,
    foreign: Foreign::Nothing,
    whole: |_, _| {},
    container: CONTAINER,
    takes_unseen: false,
    made: Err,
    same_image: |one, other| one == other,
    is_changed: |other_number, other_image| other_number || other_image,
    change: |_, _, body| Write::Patch(Patch::Strategic(body)),
    pods: |status, _| status.replicas.unwrap_or(0),
    lists_pods: false,
    is_news: |site, _, pods| {
        site.metadata.annotations.as_ref().and_then(|all| all.get(PODS)).map(String::as_str) != Some(pods)
    },
    reads_site: false,
    tell: |_, own| Tell::Patch(Patch::Merge(json!({"metadata": {"annotations": own}}))),
};

pub(super) fn host(read: Read, rule: Rule) -> Host {
    Host::new(read, move |site, context| reconcile(site, context, rule))
}

async fn reconcile(site: Arc<ConfigMap>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    let cached = context.store::<Deployment>().state();
    let mut named = cached.iter().filter(|one| one.metadata.name == site.metadata.name).peekable();
    if !(rule.is_site)(&site) || (rule.is_left_alone)(&site, named.peek().is_some()) {
        return Ok(Action::await_change());
    }
    let known = named.find(|one| (rule.is_its)(&site, one)).and_then(|one| one.spec.as_ref()?.replicas);
    let Some((replicas, image)) = asked(&site, known, rule) else { return (rule.nonsense)() };
    let namespace = (rule.namespace)(&site.metadata);
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let all = all(&deployments, &context, rule.lists).await?;
    let whole = deployment_for(&site, replicas, &image, rule);
    let Some(there) = all.iter().find(|one| (rule.is_it)(one, &site)) else {
        make(&deployments, &whole, rule).await?;
        return Ok(Action::await_change());
    };
    let comes = if (rule.is_its)(&site, there) { Foreign::Taken } else { rule.foreign };
    match comes {
        Foreign::Nothing => {}
        Foreign::Taken => {
            if differs(there, replicas, &image, rule) {
                change(&deployments, there, &whole, rule).await?;
            }
            tell(&site, there, &context, namespace, replicas, rule).await?;
        }
        Foreign::Told => tell(&site, there, &context, namespace, replicas, rule).await?,
        Foreign::Marked => {
            let name = site.metadata.name();
            let patch = Patch::Merge(json!({"metadata": {"labels": {"example.com/site": name}}}));
            deployments.patch(name, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(Action::await_change())
}

fn has_label(map: &ConfigMap, is: fn(&str, &str) -> bool) -> bool {
    map.metadata.labels.iter().flatten().any(|(key, value)| is(key, value))
}

/// Whether a Deployment is the site's.
fn is_its(site: &ConfigMap, one: &Deployment) -> bool {
    controller_of(&one.metadata).is_some_and(|owner| Some(&owner.uid) == site.metadata.uid.as_ref())
}

/// How many replicas a site asks for, and their image; None if that cannot be read. There are so many that are known.
fn asked(site: &ConfigMap, known: Option<i32>, rule: Rule) -> Option<(i32, String)> {
    let data = site.data.as_ref()?;
    let text = data.get("replicas").map(String::as_str).or(rule.no_number)?;
    Some(((rule.number)(text, known)?, (rule.image)(data.get("image")?, known)?))
}

fn number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|count| *count >= 0)
}

fn right_image(image: &str, _: Option<i32>) -> Option<String> {
    Some(image.to_owned()).filter(|image| !image.is_empty())
}

/// Creates the Deployment.
async fn make(deployments: &Api<Deployment>, whole: &Deployment, rule: Rule) -> Result<(), Error> {
    match deployments.create(&PostParams::default(), whole).await {
        Err(error) if rule.takes_unseen && error.is_already_exists() => change(deployments, whole, whole, rule).await,
        made => made.map(drop).or_else(rule.made),
    }
}

fn containers(deployment: &Deployment) -> &[Container] {
    let spec = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    spec.map(|spec| &*spec.containers).unwrap_or_default()
}

/// Whether a Deployment that is there asks for another number, or another image.
fn differs(there: &Deployment, replicas: i32, image: &str, rule: Rule) -> bool {
    let other_number = there.spec.as_ref().and_then(|spec| spec.replicas) != Some(replicas);
    let its = containers(there).iter().find(|one| one.name == rule.container).and_then(|one| one.image.as_deref());
    (rule.is_changed)(other_number, !its.is_some_and(|its| (rule.same_image)(its, image)))
}

/// The number and the image that a Deployment asks for.
fn wanted_by(whole: &Deployment) -> (Option<i32>, Option<String>) {
    let image = containers(whole).first().and_then(|one| one.image.clone());
    (whole.spec.as_ref().and_then(|spec| spec.replicas), image)
}

/// Makes a Deployment that is there ask for the number and the image of the one that the site would get.
async fn change(
    deployments: &Api<Deployment>,
    there: &Deployment,
    whole: &Deployment,
    rule: Rule,
) -> Result<(), Error> {
    let name = whole.metadata.name();
    let (replicas, image) = wanted_by(whole);
    let template = json!({"spec": {"containers": [{"name": rule.container, "image": image}]}});
    let body = json!({"spec": {"replicas": replicas, "template": template}});
    match (rule.change)(there, whole, body) {
        Write::Patch(patch) => deployments.patch(name, &PatchParams::default(), &patch).await.map(drop),
        Write::Whole(whole) => deployments.replace(name, &PostParams::default(), &whole).await.map(drop),
    }
}

/// Writes how many Pods the Deployment has into the site, if that is news.
async fn tell(
    site: &ConfigMap,
    there: &Deployment,
    context: &Context,
    namespace: &str,
    replicas: i32,
    rule: Rule,
) -> Result<(), Error> {
    let name = site.metadata.name();
    let mut count = (rule.pods)(&there.status.clone().unwrap_or_default(), replicas);
    if rule.lists_pods {
        let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
        count = pods.list(&ListParams::default().labels(&format!("app={name}"))).await?.items.len() as i32;
    }
    let pods = count.to_string();
    if !(rule.is_news)(site, context, &pods) {
        return Ok(());
    }
    let sites: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let known = if rule.reads_site { sites.get(name).await? } else { site.clone() };
    match (rule.tell)(known, [(PODS.to_owned(), pods)].into()) {
        Tell::Patch(patch) => sites.patch(name, &PatchParams::default(), &patch).await.map(drop),
        Tell::Whole(whole) => sites.replace(name, &PostParams::default(), &whole).await.map(drop),
    }
}

fn deployment_for(site: &ConfigMap, replicas: i32, image: &str, rule: Rule) -> Deployment {
    let name = site.metadata.name.clone().unwrap_or_default();
    let labels = Some([("app".to_owned(), name.clone())].into());
    let container =
        Container { name: rule.container.to_owned(), image: Some(image.to_owned()), ..Container::default() };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: labels.clone(), ..ObjectMeta::default() }),
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
    };
    let metadata =
        ObjectMeta { name: Some(name), owner_references: Some(vec![controller_ref(site)]), ..ObjectMeta::default() };
    let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
    let spec = DeploymentSpec { replicas: Some(replicas), selector, template, ..DeploymentSpec::default() };
    let mut whole = Deployment { metadata, spec: Some(spec), status: None };
    (rule.whole)(site, &mut whole);
    whole
}

mod mistakes;
pub(super) use mistakes::MISTAKES;
