//! What a real API server of this version answered to a thousand raw requests, and what this one answers to the same.
//!
//! The recording has three blocks, each made on a fresh cluster: an API server alone, one with controllers and scheduler, one
//! asked by several users. They are sent in order, since many build on what came before. What cannot be alike is masked:
//! uids, times, versions, generated names ([`alike`]). What needs a connection that stays open, or is answered in another encoding, is not
//! counted, and neither is what differs because it builds on a case of the half of the recording that is kept back. How many agree in each block may only grow ([`AGREE`]).
//!
//! The recording lies beside the project: `KUBESTEP_RECORDINGS` says where, if it is not `../shared`.

mod alike;
pub mod recorded;

use std::collections::BTreeMap;
use std::rc::Rc;

use cluster::{Cluster, Config, Parts};
use controllers::ControllerManager;
use engine::Step;
use object::Discovery;
use rest::HttpRequest;
use rest::exchange::{Caller, RawAnswer, RawRequest, Told, exchange};
use serde_json::json;
use wire::{Body, FieldValidation, User};

use crate::world::{Observer, World};
use alike::Differences;
use recorded::{Block, Case, Known};

/// How many answers of each block must agree with the recorded ones at least.
const AGREE: [(Block, usize); 3] = [(Block::Alone, 818), (Block::Controllers, 71), (Block::Users, 70)];

struct Blind;

impl Observer for Blind {
    fn observe(&mut self, _: &apiserver::host::Engine, _: &Step) {}
}

#[test]
fn raw_requests_are_answered_as_a_real_server_answered_them() {
    let Some(cases) = recorded::cases() else { return };
    let mut too_few = Vec::new();
    for (block, least) in AGREE {
        let mut world = World { cluster: cluster_for(block), seen: Blind };
        world.run(5);
        if block == Block::Controllers {
            add_nodes(&mut world);
        }
        let mut known = Known::of(&cases);
        let (mut agree, mut counted, mut elsewhere) = (0, 0, 0);
        let mut groups = BTreeMap::<String, Vec<String>>::new();
        for case in cases.iter().filter(|case| case.block == block) {
            let Some(answer) = send(&mut world, case, &mut known) else { continue };
            let Differences(differences) = alike::compare(case, &answer);
            let depends = !differences.is_empty() && known.lacks(case, &answer, &differences);
            known.learn(case, &answer);
            if depends {
                elsewhere += 1;
                continue;
            }
            counted += 1;
            agree += usize::from(differences.is_empty());
            for (kind, detail) in differences {
                groups.entry(kind).or_default().push(format!("{} {}: {detail}", case.seq, case.name));
            }
        }
        println!("{block:?}: {agree} of {counted} agree, {elsewhere} build on cases that are not here");
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
        for (kind, cases) in groups {
            println!("  {} {kind}", cases.len());
            cases.iter().for_each(|case| println!("      {case}"));
        }
        if agree < least {
            too_few.push(format!("{block:?}: {agree} agree, {least} did"));
        }
    }
    assert!(too_few.is_empty(), "{too_few:?}");
}

/// Their bodies are protobuf: each comes to a request, and what it carries has no field that its kind has not.
#[test]
fn bodies_that_kubectl_and_helm_sent_are_read() {
    for (program, least) in [("kubectl", 24), ("helm", 48)] {
        let Some(bodies) = recorded::binary_bodies(program) else { continue };
        assert!(bodies.len() >= least, "{program} sent {}", bodies.len());
        for (method, target, body) in bodies {
            let http = HttpRequest {
                method: &method,
                target: &target,
                content_type: "application/vnd.kubernetes.protobuf",
                accept: "application/json",
                body: &body,
                user: Some(Rc::new(User::admin())),
                connection: None,
            };
            let call = rest::call(&http, &Discovery::default()).expect("the user is known");
            match call.request.body {
                Body::Json(text) => {
                    let read = rest::decode::decode(call.request.kind, None, &text, FieldValidation::Strict);
                    assert!(read.is_ok(), "{method} {target}: {:?}\n{text}", read.err());
                }
                Body::Delete(_) | Body::Token { .. } => {}
                other => panic!("{method} {target}: {other:?}"),
            }
        }
    }
}

/// A fresh cluster without nodes.
fn cluster_for(block: Block) -> Cluster {
    let parts = match block {
        Block::Alone => Parts {
            controllers: &[],
            scheduler: &|hub, id, _, _| Rc::new(ControllerManager::operator(hub, id, "nobody", &[])),
            ..Parts::default()
        },
        Block::Controllers | Block::Users => Parts::default(),
    };
    Cluster::start(Config { nodes: Vec::new(), parts, ..Config::default() })
}

/// The answer to a case; none, if it is not counted.
fn send(world: &mut World<Blind>, case: &Case, known: &mut Known) -> Option<RawAnswer> {
    if case.is_left_out() {
        return None;
    }
    if case.needs_token() && known.token().is_empty() {
        let path = "/api/v1/namespaces/w/serviceaccounts/sa/token";
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        let told =
            ask(world, "POST".to_owned(), path.to_owned(), headers, b"{\"spec\":{}}".to_vec(), Caller::Known(admin()));
        if let Told::Answer(answer) = told {
            known.learn_token(&answer);
        }
    }
    let target = known.translate(&case.target);
    let body = case.binary().unwrap_or_else(|| known.translate(&case.body).into_bytes());
    let token = known.token();
    let said = case.headers(&token).into_iter();
    let headers: Vec<(String, String)> = said.map(|(name, value)| (name, known.translate(&value))).collect();
    let user = match case.user.as_str() {
        "" => Some(Rc::unwrap_or_clone(admin())),
        "alice" => Some(User { groups: vec!["dev".into(), "system:authenticated".into()], ..named("alice") }),
        "viewer" => Some(User { groups: vec!["system:authenticated".into()], ..named("viewer") }),
        "node" => Some(User { agent: "unknown".into(), ..User::node("n1") }),
        _ => None,
    };
    let caller = match user {
        Some(user) => Caller::Known(Rc::new(User { agent: "unknown".into(), ..user })),
        None => Caller::At { peer: [192, 0, 2, 1].into(), agent: "raw/192.0.2.1".into() },
    };
    let told = ask(world, case.method.clone(), target, headers, body, caller);
    world.run(if case.block == Block::Alone { 0 } else { 2 });
    match told {
        Told::Answer(answer) => Some(answer),
        Told::Watch(..) | Told::PassedOn(..) | Told::Closed => None,
    }
}

fn ask(
    world: &mut World<Blind>,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    caller: Caller,
) -> Told {
    let told = world.start("raw", |client| async move {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let raw = RawRequest { method: &method, target: &target, headers: &headers, body: &body };
        let ask = async |request| client.request(request).await.ok();
        exchange(&raw, &caller, || client.now(), &ask).await
    });
    world.finish(&told)
}

/// The nodes that were there when the second block began: a script had made them by hand.
fn add_nodes(world: &mut World<Blind>) {
    for name in ["n1", "n2"] {
        let labels =
            json!({"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
        let info = json!({"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1", "osImage": "Linux",
            "containerRuntimeVersion": "containerd://2.0.0", "kubeletVersion": "v1.36.2", "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": "amd64"});
        let status = json!({"status": {"nodeInfo": info}});
        let all = [
            ("POST", "/api/v1/nodes".to_owned(), "application/json", node),
            ("PATCH", format!("/api/v1/nodes/{name}/status"), "application/strategic-merge-patch+json", status),
        ];
        for (method, target, kind, body) in all {
            let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
            ask(world, method.to_owned(), target, headers, body.to_string().into_bytes(), Caller::Known(admin()));
        }
    }
}

/// Each has a token that the server has been given, with a name and a uid.
fn admin() -> Rc<User> {
    Rc::new(User { name: "admin".into(), uid: "uid-admin".into(), agent: "unknown".into(), ..User::admin() })
}

fn named(name: &str) -> User {
    User { name: name.to_owned(), uid: format!("uid-{name}"), ..User::default() }
}
