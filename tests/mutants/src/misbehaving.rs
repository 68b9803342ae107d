//! Controllers that do to the grader what a learner's code may do: `mutants misbehaving NAME`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubestep_exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use kubestep_exercise::ownership::Claim;
use kubestep_exercise::{endpointslice, expectations, operator, ownership, replicaset};
use serde_json::json;

#[path = "../../../solutions/01_ownership/src/lib.rs"]
mod claims;
#[path = "../../../solutions/06_replicaset/src/lib.rs"]
mod right;
#[path = "../../../solutions/22_operator/src/lib.rs"]
mod sites;
#[path = "../../../solutions/15_endpointslice/src/lib.rs"]
mod slices;

type Result = std::result::Result<Action, Error>;

/// Answers the grader so.
pub fn run(name: &str) {
    match name {
        "panics" => replicaset::answer(panics),
        "panics-in-observe" => expectations::answer(|_, _, _| panic!("nobody asked me"), creates),
        "exits" => replicaset::answer(exits),
        "loops" => replicaset::answer(loops),
        "loops-in-observe" => expectations::answer(|_, _, _| spin(), creates),
        "reads-without-end" => replicaset::answer(reads_without_end),
        "calls-itself" => replicaset::answer(calls_itself),
        "waits" => replicaset::answer(|_, _| std::future::pending()),
        "sleeps" => replicaset::answer(sleeps),
        "two-at-once" => replicaset::answer(two_at_once),
        "restless" => replicaset::answer(restless),
        "floods" => replicaset::answer(floods),
        "allocates" => replicaset::answer(allocates),
        "prints" => replicaset::answer(prints),
        "prints-and-fails" => replicaset::answer(prints_and_fails),
        "prints-much-and-fails" => replicaset::answer(prints_much_and_fails),
        "prints-without-end" => replicaset::answer(prints_without_end),
        "function-prints" => ownership::answer(function_prints),
        "function-prints-much" => ownership::answer(function_prints_much),
        "function-slow" => ownership::answer(function_slow),
        "function-prints-long" => ownership::answer(function_prints_long),
        "panics-early" => operator::answer(panics_early),
        "asks-again" => endpointslice::answer(asks_again),
        "remembers" => replicaset::answer(remembers),
        "knows-the-numbers" => replicaset::answer(knows_the_numbers),
        "function-remembers" => ownership::answer(function_remembers),
        "function-talks-of-panics" => ownership::answer(function_talks_of_panics),
        _ => panic!("no such one"),
    }
}

/// Its words are those of a process that ends badly, and it does not.
fn function_talks_of_panics(set: &ReplicaSet, pod: &Pod) -> Claim {
    eprintln!("nothing has panicked at all, and no memory allocation of ours has failed");
    println!("answer: \"Release\"");
    claims::claim(set, pod)
}

async fn creates(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), set.metadata.namespace.as_deref().unwrap_or_default());
    let spec = set.spec.as_ref().and_then(|spec| spec.template.clone()?.spec);
    let metadata = ObjectMeta { generate_name: Some("web-".to_owned()), ..ObjectMeta::default() };
    pods.create(&PostParams::default(), &Pod { metadata, spec, status: None }).await?;
    Ok(Action::await_change())
}

async fn panics(set: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    let labels = set.metadata.annotations.clone().expect("it has annotations");
    Err(Error::Other(format!("{labels:?}")))
}

async fn exits(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    std::process::exit(0)
}

fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

async fn loops(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    spin();
    Ok(Action::await_change())
}

async fn reads_without_end(_: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    while context.store::<Pod>().state().len() < 1_000 {}
    Ok(Action::await_change())
}

async fn calls_itself(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    fn deeper(n: u64) -> u64 {
        std::hint::black_box(if n == u64::MAX { n } else { deeper(n + 1) + 1 })
    }
    Ok(Action::requeue(Duration::from_secs(deeper(0))))
}

async fn sleeps(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    std::thread::sleep(Duration::from_millis(1_500));
    Ok(Action::await_change())
}

async fn two_at_once(_: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    let pods: Api<Pod> = Api::all(context.client.clone());
    let (mut first, mut second) = (Box::pin(pods.list(&ListParams::default())), Box::pin(pods.get("web")));
    let both = std::future::poll_fn(|context| {
        let done = first.as_mut().poll(context).is_ready() & second.as_mut().poll(context).is_ready();
        if done { Poll::Ready(()) } else { Poll::Pending }
    });
    both.await;
    Ok(Action::await_change())
}

/// Writes something else into the status each time, and so is called for ever.
async fn restless(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    note(&set, &context, &set.metadata.resource_version.clone().unwrap_or_default()).await?;
    Ok(Action::await_change())
}

/// Writes without end in one reconcile.
async fn floods(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    for n in 0_u64.. {
        note(&set, &context, &n.to_string()).await?;
    }
    Ok(Action::await_change())
}

async fn note(set: &ReplicaSet, context: &Context, what: &str) -> std::result::Result<(), Error> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let condition = json!({"type": "Noted", "status": "True", "message": what});
    let patch = Patch::Merge(json!({"status": {"replicas": 0, "conditions": [condition]}}));
    sets.patch_status(set.metadata.name.as_deref().unwrap_or_default(), &PatchParams::default(), &patch).await.map(drop)
}

async fn allocates(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    let much = vec![1_u8; 1 << 40];
    Ok(Action::requeue(Duration::from_secs(u64::from(much[1 << 30]))))
}

/// A right one that prints, also what looks like the end of a line of the grader's.
async fn prints(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    println!("I am called with {:?}", set.metadata.name);
    eprintln!("thread 'main' has nothing to say");
    print!("and this is no line");
    right::reconcile(set, context).await
}

/// Does nothing, and says so on both streams; also what looks like an answer on the one where answers do not count.
async fn prints_and_fails(set: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    println!("out: {:?}", set.metadata.name);
    let replicas = set.spec.as_ref().and_then(|spec| spec.replicas);
    dbg!(replicas);
    eprint!("err, and this is no line: answer: null");
    Ok(Action::await_change())
}

async fn prints_much_and_fails(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    (0..100).for_each(|n| eprintln!("{n} {}", "much ".repeat(40)));
    Ok(Action::await_change())
}

async fn prints_without_end(_: Arc<ReplicaSet>, _: Arc<Context>) -> Result {
    loop {
        println!("again and again");
    }
}

/// Works on each version of a ReplicaSet once in the life of its process.
async fn remembers(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let version = set.metadata.uid.clone().zip(set.metadata.resource_version.clone());
    let version = version.map(|(uid, version)| format!("{uid} {version}")).unwrap_or_default();
    if !SEEN.lock().expect("nobody panics here").insert(version) {
        return Ok(Action::await_change());
    }
    right::reconcile(set, context).await
}

/// Is right about the numbers that its author has read in the trials, and about no others.
async fn knows_the_numbers(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result {
    match set.spec.as_ref().and_then(|spec| spec.replicas) {
        Some(0..=9 | 11..=14 | 17 | 18 | 20) => right::reconcile(set, context).await,
        _ => Ok(Action::await_change()),
    }
}

/// A right one that prints: little each time, and much in all.
fn function_prints_much(set: &ReplicaSet, pod: &Pod) -> Claim {
    (0..40).for_each(|n| println!("{n} {}", "much ".repeat(20)));
    (0..40).for_each(|n| eprintln!("{n} {}", "much ".repeat(20)));
    claims::claim(set, pod)
}

/// A right one that takes its time for each answer.
fn function_slow(set: &ReplicaSet, pod: &Pod) -> Claim {
    std::thread::sleep(Duration::from_millis(20));
    claims::claim(set, pod)
}

/// A right one that prints for 18 seconds before it answers.
fn function_prints_long(set: &ReplicaSet, pod: &Pod) -> Claim {
    for n in 0..1_800 {
        println!("{n}");
        std::thread::sleep(Duration::from_millis(10));
    }
    claims::claim(set, pod)
}

fn function_prints(_: &ReplicaSet, pod: &Pod) -> Claim {
    println!("asked of {:?}", pod.metadata.name);
    eprintln!("and said so");
    Claim::Keep
}

/// A right one, but for some answers that depend on how many there were before.
fn function_remembers(set: &ReplicaSet, pod: &Pod) -> Claim {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    match ASKED.fetch_add(1, Ordering::Relaxed) % 97 {
        96 => Claim::Leave,
        _ => claims::claim(set, pod),
    }
}

/// What is there already it tries to make again soon, and always as soon.
async fn asks_again(service: Arc<Service>, context: Arc<Context>) -> Result {
    match slices::reconcile(service, context).await {
        Err(error) if error.is_already_exists() => Ok(Action::requeue(Duration::from_millis(50))),
        other => other,
    }
}

/// A right one, if every ConfigMap had labels. There is one from the beginning that has none.
async fn panics_early(site: Arc<ConfigMap>, context: Arc<Context>) -> Result {
    assert!(site.metadata.labels.is_some(), "it has labels");
    sites::reconcile(site, context).await
}
