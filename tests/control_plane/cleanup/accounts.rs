//! Service accounts: each namespace has one, and a Secret can hold an account's token.

use object::token::{self, Bounds};
use object::{Kind, Object};
use serde_json::json;
use wire::{Body, DeleteOptions, Verb};

use super::harness::World;

const CONTROLLER: &str = "tokens-controller";

fn make_secret(world: &mut World, account: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "key", "annotations": {"kubernetes.io/service-account.name": account}},
    });
    let answer = world.ask(Verb::Create, Kind::Secret, "default/", Body::Json(secret.to_string()));
    assert_eq!(answer.code, 201, "{:?}", answer.result);
}

#[test]
fn the_default_account_comes_back() {
    let mut world = World::new(0);
    let before = world.get(Kind::ServiceAccount, "default/default").expect("every namespace has one");
    world.delete(Kind::ServiceAccount, "default/default", DeleteOptions::default());
    world.run(1);
    let after = world.get(Kind::ServiceAccount, "default/default").expect("it was made anew");
    assert_ne!(before.meta().uid, after.meta().uid);
}

#[test]
fn a_secret_is_filled_with_the_accounts_token_and_goes_with_the_account() {
    let mut world = World::new(0);
    assert_eq!(world.kubectl("create serviceaccount robot"), "serviceaccount/robot created\n");
    make_secret(&mut world, "robot");
    world.run(1);
    assert_eq!(world.take_writes(CONTROLLER), ["update secrets key 200"]);

    let account = world.get(Kind::ServiceAccount, "default/robot").unwrap().meta().uid.clone().unwrap();
    let Some(Object::Secret(secret)) = world.get(Kind::Secret, "default/key") else { panic!("it is there") };
    let annotations = secret.metadata.annotations.clone().unwrap();
    assert_eq!(annotations["kubernetes.io/service-account.uid"], account);
    let data = secret.data.clone().unwrap();
    let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
    assert_eq!(text("namespace"), "default");
    assert!(text("ca.crt").starts_with("-----BEGIN CERTIFICATE-----\n"));
    let claims = token::read(&text("token")).expect("it was signed here");
    assert_eq!(
        (claims.account, claims.account_uid, claims.bounds),
        ("robot".into(), account, Bounds::Secret("key".into()))
    );

    assert!(world.kubectl("describe secret key").contains(&format!("token:      {}\n", text("token"))));

    assert_eq!(world.kubectl("delete sa robot"), "serviceaccount \"robot\" deleted from default namespace\n");
    world.run(1);
    assert_eq!(world.take_writes(CONTROLLER), ["delete secrets key 200"]);
    assert!(world.get(Kind::Secret, "default/key").is_none());
}

#[test]
fn a_secret_of_no_account_goes() {
    let mut world = World::new(0);
    make_secret(&mut world, "ghost");
    world.run(1);
    assert_eq!(world.take_writes(CONTROLLER), ["delete secrets key 200"]);
    assert!(world.get(Kind::Secret, "default/key").is_none());
}

#[test]
fn what_was_taken_out_is_put_back() {
    let mut world = World::new(0);
    make_secret(&mut world, "default");
    world.run(1);
    world.take_writes(CONTROLLER);
    world.kubectl("patch secret key -p {\"data\":{\"token\":null,\"ca.crt\":\"eA==\"}}");
    world.run(1);
    assert_eq!(world.take_writes(CONTROLLER), ["update secrets key 200"]);
    let Some(Object::Secret(secret)) = world.get(Kind::Secret, "default/key") else { panic!("it is there") };
    assert_eq!(secret.data.as_ref().unwrap().keys().collect::<Vec<_>>(), ["ca.crt", "namespace", "token"]);
}

#[test]
fn tokens_are_made_for_whoever_asks() {
    let mut world = World::new(1);
    world.kubectl("create sa robot");
    let printed = world.kubectl("create token robot --duration=20m --audience=vault");
    let claims = token::read(printed.trim_end()).expect("it was signed here");
    assert_eq!((claims.namespace.as_str(), claims.account.as_str()), ("default", "robot"));
    let Bounds::Time { audiences, issued, expires, pod, .. } = claims.bounds else { panic!("it ends") };
    assert_eq!((audiences, (expires - issued).as_secs(), pod), (vec!["vault".to_owned()], 1200, None));

    world.kubectl("run web --image=nginx:1.27");
    let printed = world.kubectl("create token default --bound-object-kind=Pod --bound-object-name=web");
    let pod = world.get(Kind::Pod, "default/web").unwrap().meta().uid.clone().unwrap();
    let Some(Bounds::Time { pod: bound, .. }) = token::read(printed.trim_end()).map(|claims| claims.bounds) else {
        panic!("it ends")
    };
    assert_eq!(bound, Some(("web".to_owned(), pod)));
    for (line, error) in [
        ("create token ghost", "error: failed to create token: serviceaccounts \"ghost\" not found\n"),
        (
            "create token robot --duration=5s",
            "error: failed to create token: TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: \
             Invalid value: 5: may not specify a duration less than 10 minutes\n",
        ),
        (
            "create token robot --bound-object-kind=Pod --bound-object-name=web",
            "error: failed to create token: cannot bind token for serviceaccount \"robot\" to pod running with \
             different serviceaccount name.\n",
        ),
        (
            "create token robot --bound-object-kind=Pod --bound-object-name=gone",
            "error: failed to create token: pods \"gone\" not found\n",
        ),
    ] {
        assert_eq!(world.kubectl(line), error, "{line}");
    }
}

/// What a container finds in its token's file says who it is.
#[test]
fn a_pods_token_names_the_pod() {
    let mut world = World::new(1);
    world.kubectl("run web --image=nginx:1.27");
    world.run(5);
    let Some(Object::Pod(pod)) = world.get(Kind::Pod, "default/web") else { panic!("it is there") };
    let uid = pod.metadata.uid.clone().unwrap();
    let volume = pod.spec.as_ref().and_then(|spec| spec.volumes().next()).expect("it has the token's volume").name;
    let path = format!("/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~projected/{volume}/token");
    let file = world.cluster.host("node-1").unwrap().disk.read(&path).expect("the kubelet wrote it");
    let claims = token::read(&file).expect("it was signed here");
    let Bounds::Time { issued, expires, pod: bound, .. } = claims.bounds else { panic!("it ends") };
    assert_eq!(
        (claims.account.as_str(), bound, (expires - issued).as_secs()),
        ("default", Some(("web".into(), uid)), 3607)
    );
}

/// Each token of a volume is made for the audience that it names.
#[test]
fn a_volume_has_tokens_for_several_audiences() {
    let mut world = World::new(1);
    let source = |path: &str, audience: Option<&str>, seconds: i64| json!({"serviceAccountToken": {"path": path, "audience": audience, "expirationSeconds": seconds}});
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {
        "containers": [{"name": "c", "image": "nginx:1.27", "volumeMounts": [{"name": "tokens", "mountPath": "/tokens"}]}],
        "volumes": [{"name": "tokens", "projected": {"sources": [
            source("api", None, 3600), source("vault", Some("vault"), 900)]}}]}}));
    world.run(5);
    for (file, audience, seconds) in [("api", token::ISSUER, 3600), ("vault", "vault", 900)] {
        let text = world.kubectl(&format!("exec web -- cat /tokens/{file}"));
        let bounds = token::read(text.trim_end()).expect("it was signed here").bounds;
        let Bounds::Time { audiences, issued, expires, .. } = bounds else { panic!("it ends") };
        assert_eq!((audiences, (expires - issued).as_secs()), (vec![audience.to_owned()], seconds), "{file}");
    }
}

/// When four fifths of its time are over, the kubelet asks for another token and exchanges the file.
#[test]
fn a_token_is_exchanged_before_it_expires() {
    let mut world = World::new(1);
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {
        "containers": [{"name": "c", "image": "nginx:1.27", "volumeMounts": [{"name": "tokens", "mountPath": "/tokens"}]}],
        "volumes": [{"name": "tokens", "projected": {"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}]}}]}}));
    world.run(5);
    let read = |world: &mut World| world.kubectl("exec web -- cat /tokens/token");
    let first = read(&mut world);
    world.run(450);
    assert_eq!(read(&mut world), first);
    world.run(140);
    let second = read(&mut world);
    let issued = |text: &str| match token::read(text.trim_end()).expect("it was signed here").bounds {
        Bounds::Time { issued, .. } => issued,
        Bounds::Secret(_) => panic!("it ends"),
    };
    assert!((480..600).contains(&(issued(&second) - issued(&first)).as_secs()), "{second}");
}

/// An account does not name a Secret that is gone.
#[test]
fn a_secret_that_goes_is_not_named_any_more() {
    let mut world = World::new(1);
    world.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
        "secrets": [{"name": "key"}, {"name": "other"}]}));
    world.apply(json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "key", "annotations": {"kubernetes.io/service-account.name": "robot"}}}));
    world.run(2);
    world.kubectl("delete secret key");
    world.run(2);
    assert_eq!(world.kubectl("get sa robot -o jsonpath={.secrets[*].name}"), "other");
}

/// An account that goes takes its Secret along, and then there is no account to ask about the Secret.
#[test]
fn an_account_that_is_gone_is_not_asked_for() {
    let mut world = World::new(1);
    world.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}));
    make_secret(&mut world, "robot");
    world.run(2);
    let asked = |world: &mut World| {
        let reads = std::mem::take(&mut world.seen.reads);
        reads.iter().filter(|read| *read == "tokens-controller get serviceaccounts robot").count()
    };
    asked(&mut world);
    world.kubectl("delete serviceaccount robot");
    world.run(2);
    assert_eq!(world.kubectl("get secrets -o name"), "");
    assert_eq!(asked(&mut world), 0);
}

/// An annotation alone is nothing that a Secret lacks.
#[test]
fn a_secret_that_is_full_is_left_alone() {
    let mut world = World::new(1);
    world.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}));
    make_secret(&mut world, "robot");
    world.run(2);
    world.take_writes(CONTROLLER);
    world.kubectl("annotate secret key kubernetes.io/service-account.uid-");
    world.run(2);
    assert_eq!(world.take_writes(CONTROLLER), [] as [String; 0]);
}
