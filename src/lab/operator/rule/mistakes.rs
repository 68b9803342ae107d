//! What learners do instead.

use super::*;
use crate::making::has_long_name;
use crate::mistake::mistaken_hosts;
use crate::reconcile::Mistaken;

/// What learners really write, and how to say so.
pub(crate) const MISTAKES: &[Mistaken] = mistaken_hosts! {
    no_owner: "the Deployment has no owner reference to the site"
        => { whole: |_, whole| whole.metadata.owner_references = None };
    not_controller: "the owner reference does not say controller: true"
        => {
            whole: |_, whole| {
                whole.metadata.owner_references.iter_mut().flatten().for_each(|owner| owner.controller = None);
            }
        };
    all_maps: "every ConfigMap is taken for a site" => { is_site: |_| true };
    never_changes: "a Deployment that is there is not changed" => { is_changed: |_, _| false };
    always_changes: "the Deployment is written again, though it is as the site asks" => { is_changed: |_, _| true };
    only_replicas: "the Deployment does not follow the image" => { is_changed: |other_number, _| other_number };
    only_image: "the Deployment does not follow the number of replicas" => { is_changed: |_, other_image| other_image };
    takes_foreign: "a Deployment that the site does not control is taken over" => { foreign: Foreign::Taken };
    guesses_number: "replicas that are no number count as 1" => { number: |text, _| Some(text.parse().unwrap_or(1)) };
    random_name: "the Deployment has another name each time it is made"
        => {
            whole: |_, whole| {
                whole.metadata.generate_name = whole.metadata.name.take().map(|name| format!("{name}-"));
            }
        };
    no_status: "the status is not written" => { is_news: |_, _, _| false };
    same_status: "the status is written again, though it is the same" => { is_news: |_, _, _| true };
    status_asked: "the status says what is asked for, and not what there is" => { pods: |_, asked| asked };
    ignores_deletion: "it makes a Deployment for a site that is being deleted" => { is_left_alone: |_, _| false };
    swallows: "it takes a failed call for done" => { made: |_| Ok(()) };
    in_default: "it works in the namespace default, wherever the site is" => { namespace: |_| "default" };
    any_namespace: "a Deployment of another namespace is taken for that of the site"
        => { is_it: |one, site| one.metadata.name == site.metadata.name };
    owner_by_name: "it knows its Deployment by the name of the controller: others may have that name too"
        => {
            is_its: |site, one| {
                controller_of(&one.metadata).is_some_and(|owner| Some(&owner.name) == site.metadata.name.as_ref())
            }
        };
    fails_at_nonsense: "it fails at what cannot be read, and so tries it again and again"
        => { nonsense: || Err(Error::Other("that cannot be read".to_owned())) };
    looks_again: "what cannot be read is looked at again after a while: that is news only once the site has changed"
        => { nonsense: || Ok(Action::requeue(std::time::Duration::from_secs(60))) };
    truncates: "of replicas that are too many to count, a part is taken for all"
        => { number: |text, _| text.parse().ok().map(|count: i64| count as i32).filter(|count| *count >= 0) };
    one_label: "the Pods of all sites have the same label"
        => {
            whole: |_, whole| {
                let labels = Some([("app".to_owned(), "site".to_owned())].into());
                let spec = whole.spec.get_or_insert_default();
                spec.selector.match_labels.clone_from(&labels);
                spec.template.metadata.get_or_insert_default().labels = labels;
            }
        };
    other_container: "the container has another name than site" => { container: "web" };
    empty_image: "an empty image is taken for one" => { image: |image, _| Some(image.to_owned()) };
    turns_negative: "replicas that are too large become a negative number"
        => { number: |text, _| text.parse().ok().map(|count: u32| count as i32) };
    keeps_number: "if replicas are no number, it still follows the image"
        => { number: |text, known| number(text).or(known) };
    changes_going: "it changes the Deployment of a site that is being deleted"
        => { is_left_alone: |site, is_there| site.metadata.deletion_timestamp.is_some() && !is_there };
    takes_unseen: "if the Deployment is there after all, it changes it, without looking at its controller"
        => { takes_unseen: true };
    foreign_status: "the status counts the Pods of a Deployment that the site does not control" => { foreign: Foreign::Told };
    anew: "it puts a new Deployment in the place of the old one, and what others wrote into that is lost"
        => { change: |_, whole, _| Write::Whole(Box::new(whole.clone())) };
    any_name: "it takes any Deployment that the site controls for its own, even one of another name"
        => { is_it: |one, site| is_its(site, one) };
    first_owner: "of the owners of a Deployment it looks at one only"
        => {
            is_its: |site, one| {
                let first = one.metadata.owner_references.iter().flatten().next();
                first.filter(|owner| owner.controller == Some(true)).map(|owner| &owner.uid) == site.metadata.uid.as_ref()
            }
        };
    like_site: "a kind that only begins like Site is taken for it"
        => { is_site: |map| has_label(map, |key, value| key == "kind" && value.starts_with("Site")) };
    small: "replicas of more than 65535 are taken for no number"
        => { number: |text, _| text.parse().ok().map(|count: u16| i32::from(count)) };
    first_container: "it changes the image of the first container, even if its name is not site"
        => { change: |_, whole, _| at_place(whole, 0) };
    spec_anew: "it puts a new spec in the place of the old one: what others wrote into that is lost"
        => {
            change: |there, whole, _| {
                Write::Whole(Box::new(Deployment { spec: whole.spec.clone(), ..there.clone() }))
            }
        };
    ignores_version: "it writes the Deployment as its cache shows it: what others wrote meanwhile is lost"
        => {
            change: |there, whole, _| {
                let (mut changed, (replicas, image)) = (there.clone(), wanted_by(whole));
                changed.metadata.resource_version = None;
                if let Some(spec) = &mut changed.spec {
                    spec.replicas = replicas;
                    spec.template.spec.iter_mut().for_each(|spec| spec.containers[0].image.clone_from(&image));
                }
                Write::Whole(Box::new(changed))
            }
        };
    unavailable: "the status counts the Pods that are not ready"
        => { pods: |status, _| status.unavailable_replicas.unwrap_or(0) };
    counts_label: "the status counts all Pods with the label, not only those of its Deployment" => { lists_pods: true };
    marks_foreign: "a Deployment that the site does not control gets a label" => { foreign: Foreign::Marked };
    empty_later: "an image that becomes empty is taken for one"
        => { image: |image, known| Some(image.to_owned()).filter(|image| !image.is_empty() || known.is_some()) };
    negative_later: "a number that becomes negative is sent nevertheless"
        => { number: |text, known| text.parse().ok().filter(|count| *count >= 0 || known.is_some()) };
    merges_list: "it puts its own container in the place of all that there are, with what others wrote into it"
        => { change: |_, _, body| Write::Patch(Patch::Merge(body)) };
    needs_tag: "an image without a tag is taken for none"
        => { image: |image, known| right_image(image, known).filter(|image| image.contains(':')) };
    by_place: "it changes the image at the place where its cache shows the container; that may be another's by now"
        => {
            change: |there, whole, _| {
                at_place(whole, containers(there).iter().position(|one| one.name == CONTAINER).unwrap_or(0))
            }
        };
    sends_list: "it sends all containers as its cache shows them, and what others wrote into them meanwhile is lost"
        => {
            change: |there, whole, _| {
                let (mut containers, (replicas, image)) = (containers(there).to_vec(), wanted_by(whole));
                let its = containers.iter_mut().filter(|one| one.name == CONTAINER);
                its.for_each(|one| one.image.clone_from(&image));
                let template = json!({"spec": {"containers": containers}});
                Write::Patch(Patch::Merge(json!({"spec": {"replicas": replicas, "template": template}})))
            }
        };
    remembers_status: "it remembers what status it has written, and does not see that another client has changed it"
        => { is_news: is_not_remembered };
    like_kind: "it takes a label for kind whose name only ends like that"
        => { is_site: |map| has_label(map, |key, value| key.ends_with("kind") && value == "Site") };
    all_annotations:
        "it writes all annotations of the site as it knows them: what others write into them meanwhile is lost"
        => { tell: all_annotations }
        | {
            reads_site: true,
            tell: all_annotations
        };
    missing_is_one: "replicas that are missing count as 1" => { no_number: Some("1") };
    whole_site: "it writes the whole site as it knows it: what others wrote meanwhile is lost"
        => { tell: whole_site }
        | {
            reads_site: true,
            tell: whole_site
        };
    only_annotation: "it puts its own annotation in the place of all that a site has"
        => {
            tell: |_, own| {
                Tell::Patch(Patch::Json(json!([{"op": "add", "path": "/metadata/annotations", "value": own}])))
            }
        };
    counts_ready: "the status counts the Pods that are ready"
        => { pods: |status, _| status.ready_replicas.unwrap_or(0) };
    forty_at_most: "it never asks for more than forty Pods"
        => { number: |text, _| number(text).map(|count| count.min(40)) };
    lists: "it lists the Deployments from the API server, and does not read its cache" => { lists: true };
    tags_only: "of two images it compares the tags only"
        => { same_image: |one, other| one.rsplit(':').next() == other.rsplit(':').next() };
    no_long_name: "it does nothing about a site that has a long name"
        => { is_left_alone: |site, _| site.metadata.deletion_timestamp.is_some() || has_long_name(&site.metadata) };
    no_digest: "the digest of an image is cut off"
        => {
            image: |image, known| {
                right_image(image, known).map(|image| image.split('@').next().unwrap_or_default().to_owned())
            }
        };
};

/// Whether it remembers another status of the site than this. From now on it remembers this.
fn is_not_remembered(site: &ConfigMap, context: &Context, pods: &str) -> bool {
    let mut told: BTreeMap<String, String> = context.remembered();
    let before = told.insert(site.metadata.uid.clone().unwrap_or_default(), pods.to_owned());
    context.remember(&told);
    before.as_deref() != Some(pods)
}

/// The number, and the image of the container at this place.
fn at_place(whole: &Deployment, place: usize) -> Write {
    let (replicas, image) = wanted_by(whole);
    Write::Patch(Patch::Json(json!([
        {"op": "replace", "path": "/spec/replicas", "value": replicas},
        {"op": "replace", "path": format!("/spec/template/spec/containers/{place}/image"), "value": image},
    ])))
}

/// All annotations that are known, with its own.
fn annotations(site: &mut ConfigMap, own: Annotations) -> Annotations {
    let mut all = site.metadata.annotations.take().unwrap_or_default();
    all.extend(own);
    all
}

fn all_annotations(mut site: ConfigMap, own: Annotations) -> Tell {
    let all = annotations(&mut site, own);
    Tell::Patch(Patch::Merge(json!({"metadata": {"annotations": all}})))
}

fn whole_site(mut site: ConfigMap, own: Annotations) -> Tell {
    site.metadata.annotations = Some(annotations(&mut site, own));
    site.metadata.resource_version = None;
    Tell::Whole(Box::new(site))
}
