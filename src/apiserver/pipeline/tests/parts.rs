//! Parts that objects of a kind do not have.

use std::rc::Rc;

use serde_json::json;

use crate::{ApiServer, strategy};
use object::time::Instant;
use object::{Kind, Status};
use wire::{Body, Patch, Request, Subresource, User, Verb};

fn ask(server: &mut ApiServer, verb: Verb, kind: Kind, part: Subresource, body: Body) -> Result<(), Status> {
    let mut request = Request::new(Rc::new(User::admin()), verb, kind, "default", "x", body);
    request.subresource = Some(part);
    server
        .handle(&request, None, Instant::default())
        .answer
        .result
        .map(drop)
        .map_err(|why| why.status().unwrap().clone())
}

#[test]
fn a_status_that_a_kind_does_not_have_cannot_be_found() {
    let mut server = ApiServer::new(1);
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.is_kept() && !strategy::has_status(*kind)) {
        let patch = || Body::Patch(Patch::Merge(json!({"status": {}})));
        for (verb, body) in [(Verb::Get, Body::None), (Verb::Patch, patch()), (Verb::Update, Body::Json("{}".into()))] {
            let refused = ask(&mut server, verb, kind, Subresource::Status, body).unwrap_err();
            assert_eq!(refused, Status::not_served(), "{verb:?} {kind}");
        }
    }
}

#[test]
fn parts_of_pods_and_workloads_are_theirs_alone() {
    let mut server = ApiServer::new(1);
    for part in [Subresource::Scale, Subresource::Resize, Subresource::EphemeralContainers, Subresource::Log] {
        let refused = ask(&mut server, Verb::Get, Kind::ConfigMap, part, Body::None).unwrap_err();
        assert_eq!(refused, Status::not_served(), "{part:?}");
    }
    let refused = ask(&mut server, Verb::Get, Kind::Pod, Subresource::Status, Body::None).unwrap_err();
    assert_eq!(refused.message, "pods \"x\" not found");
}
