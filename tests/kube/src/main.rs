//! An operator made with kube-rs: a ConfigMap for each Greeting, and a goodbye when that goes. Several may run; the one that holds
//! the Lease works.
//!
//! `kubestep-kube NAME`, at the cluster that `KUBECONFIG` says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::watcher;
use kube::{Client, Error, Resource, ResourceExt};
use serde_json::json;

const LEASE: &str = "greeter";
const FINALIZER: &str = "example.com/goodbye";
/// A Lease that was not renewed for so long is free.
const LEASE_TIME: Duration = Duration::from_secs(3);
const RENEWAL: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let me = std::env::args().nth(1).unwrap_or_else(|| "kube".to_owned());
    let client = Client::try_default().await?;
    let leases = Api::default_namespaced(client.clone());
    take(&leases, &me).await?;
    // Without the Lease the work ends: with the process.
    tokio::select! {
        lost = keep(&leases, &me) => lost,
        () = work(client) => Ok(()),
    }
}

/// Takes the Lease as soon as it is free.
async fn take(leases: &Api<Lease>, me: &str) -> Result<(), Error> {
    let (mut seen, mut since) = (None, Instant::now());
    loop {
        let there = leases.get_opt(LEASE).await?;
        let version = there.as_ref().and_then(ResourceExt::resource_version);
        if version != seen {
            (seen, since) = (version, Instant::now());
        }
        let taken = match there {
            None => leases.create(&PostParams::default(), &held_by(me, ObjectMeta::default())).await,
            Some(lease) if since.elapsed() > LEASE_TIME => write(leases, me, lease).await,
            Some(lease) => Ok(lease),
        };
        match taken {
            Ok(lease) if lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(me) => {
                return Ok(());
            }
            // Another process was faster.
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        tokio::time::sleep(RENEWAL).await;
    }
}

/// Renews the Lease as long as it can be.
async fn keep(leases: &Api<Lease>, me: &str) -> Result<(), Error> {
    loop {
        tokio::time::sleep(RENEWAL).await;
        let lease = leases.get(LEASE).await?;
        write(leases, me, lease).await?;
    }
}

async fn write(leases: &Api<Lease>, me: &str, lease: Lease) -> Result<Lease, Error> {
    leases.replace(LEASE, &PostParams::default(), &held_by(me, lease.metadata)).await
}

fn held_by(me: &str, metadata: ObjectMeta) -> Lease {
    let spec = LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE_TIME.as_secs()).ok(),
        renew_time: Some(MicroTime(Timestamp::now())),
        ..LeaseSpec::default()
    };
    Lease { metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..metadata }, spec: Some(spec) }
}

/// What the reconciler needs.
struct Context {
    client: Client,
    greetings: ApiResource,
}

async fn work(client: Client) {
    let greetings = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Greeting"));
    let all: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &greetings);
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let context = Arc::new(Context { client, greetings: greetings.clone() });
    Controller::new_with(all, watcher::Config::default(), greetings)
        .owns(maps, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), context)
        .for_each(|done| async move {
            if let Err(error) = done {
                eprintln!("{error}");
            }
        })
        .await;
}

async fn reconcile(greeting: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, finalizer::Error<Error>> {
    let all = Api::default_namespaced_with(context.client.clone(), &context.greetings);
    finalizer(&all, FINALIZER, greeting, |event| async {
        match event {
            Event::Apply(greeting) => greet(&greeting, &context).await,
            Event::Cleanup(greeting) => say_goodbye(&greeting, &context).await,
        }
    })
    .await
}

async fn greet(greeting: &DynamicObject, context: &Context) -> Result<Action, Error> {
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let name = format!("greeting-{}", greeting.name_any());
    let owner = greeting.controller_owner_ref(&context.greetings);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [owner]},
        "data": {"text": greeting.data["spec"]["text"]},
    });
    maps.patch(&name, &PatchParams::apply("greeter").force(), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

async fn say_goodbye(greeting: &DynamicObject, context: &Context) -> Result<Action, Error> {
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let name = format!("goodbye-{}", greeting.name_any());
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "goodbye"}});
    maps.patch(&name, &PatchParams::apply("greeter"), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}
