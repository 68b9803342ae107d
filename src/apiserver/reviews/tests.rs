use serde_json::{Value, json};

use super::*;
use kinds::printers::View;
use object::token::{Bounds, Claims, sign};
use object::{Discovery, Kind};
use rest::HttpRequest;
use wire::{Body, Request, Verb};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";

fn send(server: &mut ApiServer, user: User, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let known = Discovery::default();
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let http = HttpRequest { method, target, body: text.as_bytes(), user: Some(user.into()), ..HttpRequest::default() };
    let told = match rest::call(&http, &known) {
        Ok(call) => {
            let handled = server.handle(&call.request, None, Instant(5_000_000_000));
            assert!(handled.fanout.is_empty() || call.request.kind.is_kept(), "{target}");
            rest::respond(&call, &handled.answer, View { now: Instant::default().timestamp(), known: &known })
        }
        Err(answer) => answer,
    };
    (told.code, serde_json::from_str(&told.body).unwrap_or_default())
}

fn ada() -> User {
    User::component("ada", "kubectl")
}

/// A server with a rule for all users, who may ask about themselves, and one for ada alone, who may ask about others in the
/// namespace `n`, and read Pods there.
fn server() -> ApiServer {
    let mut server = ApiServer::new(1);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let create =
        |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["create"]});
    let own = json!([
        create("authorization.k8s.io", &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
        create("authentication.k8s.io", &["selfsubjectreviews"]),
    ]);
    let adas = json!([
        create("authorization.k8s.io", &["localsubjectaccessreviews"]),
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    ]);
    let reference =
        |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    let namespace = json!({"metadata": {"name": "n"}});
    let role = json!({"metadata": {"name": "basic"}, "rules": own});
    let binding = json!({"metadata": {"name": "basic"}, "roleRef": reference("ClusterRole", "basic"),
        "subjects": [reference("Group", "system:authenticated")]});
    let adas_role = json!({"metadata": {"name": "adas"}, "rules": adas});
    let adas_binding = json!({"metadata": {"name": "adas"}, "roleRef": reference("Role", "adas"),
        "subjects": [reference("User", "ada")]});
    let astray = json!({"metadata": {"name": "astray"}, "roleRef": reference("Role", "gone"),
        "subjects": [reference("User", "ada")]});
    for (path, object) in [
        ("/api/v1/namespaces".to_owned(), namespace),
        (format!("{rbac}/clusterroles"), role),
        (format!("{rbac}/clusterrolebindings"), binding),
        (format!("{rbac}/namespaces/n/roles"), adas_role),
        (format!("{rbac}/namespaces/n/rolebindings"), adas_binding),
        (format!("{rbac}/namespaces/n/rolebindings"), astray),
    ] {
        let (code, told) = send(&mut server, User::admin(), "POST", &path, &object);
        assert_eq!(code, 201, "{told}");
    }
    server
}

fn about_pods(verb: &str) -> Value {
    json!({"namespace": "n", "verb": verb, "resource": "pods"})
}

#[test]
fn one_asks_whether_one_may() {
    let mut server = server();
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let before = server.store.revision();
    let mut ask = |user: User, spec: Value| {
        let (code, told) = send(&mut server, user, "POST", &path, &json!({"spec": spec}));
        assert_eq!((code, &told["kind"], &told["spec"]), (201, &json!("SelfSubjectAccessReview"), &spec));
        told["status"].clone()
    };
    let why = "RBAC: allowed by RoleBinding \"adas/n\" of Role \"adas\" to User \"ada\"";
    let missing = "RBAC: role.rbac.authorization.k8s.io \"gone\" not found";
    #[rustfmt::skip]
    let cases = [
        (ada(), json!({"resourceAttributes": about_pods("get")}), json!({"allowed": true, "reason": why})),
        (ada(), json!({"resourceAttributes": about_pods("delete")}), json!({"allowed": false, "reason": missing})),
        (ada(), json!({"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}), json!({"allowed": false})),
        (User::admin(), json!({"resourceAttributes": about_pods("dance")}), json!({"allowed": true})),
        (User::node("n1"), json!({"resourceAttributes": {"verb": "get", "resource": "nodes", "name": "n1"}}), json!({"allowed": true})),
        (User::node("n1"), json!({"resourceAttributes": {"verb": "get", "resource": "nodes", "name": "n2"}}),
            json!({"allowed": false, "reason": "node 'n1' cannot read 'n2', only its own Node object"})),
        (User::node("n1"), json!({"resourceAttributes": {"verb": "list", "resource": "pods",
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]}}}), json!({"allowed": true})),
        (User::node("n1"), json!({"resourceAttributes": {"verb": "list", "resource": "pods", "fieldSelector": {"rawSelector": "a in b"}}}),
            json!({"allowed": false, "reason": "can only list/watch pods with spec.nodeName field selector",
                "evaluationError": "spec.resourceAttributes.fieldSelector ignored due to parse error"})),
    ];
    for (user, spec, status) in cases {
        let who = user.name.clone();
        assert_eq!(ask(user, spec.clone()), status, "{who}: {spec}");
    }
    assert_eq!(server.store.revision(), before, "nothing is stored");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut server = server();
    let resource = json!({"verb": "get", "resource": "pods"});
    let url = json!({"path": "/a", "verb": "get"});
    let selector = |selector: Value| json!({"spec": {"resourceAttributes": {"fieldSelector": selector}}});
    const ONE: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const BOTH: &str = "cannot be specified in combination with resourceAttributes";
    let group = ".authorization.k8s.io \"\" is invalid";
    #[rustfmt::skip]
    let cases = [
        ("selfsubjectaccessreviews", json!({}), 422, format!("{group}: spec.resourceAttributes: Invalid value: null: {ONE}")),
        ("selfsubjectaccessreviews", json!({"spec": {"resourceAttributes": resource, "nonResourceAttributes": url}}), 422,
            format!("{group}: spec.nonResourceAttributes: Invalid value: {{\"Path\":\"/a\",\"Verb\":\"get\"}}: {BOTH}")),
        ("subjectaccessreviews", json!({"spec": {"resourceAttributes": resource}}), 422,
            format!("{group}: spec.user: Invalid value: \"\": at least one of user or group must be specified")),
        ("selfsubjectaccessreviews", selector(json!({})), 422,
            format!("{group}: spec.resourceAttributes.fieldSelector.requirements: Required value: when \
                spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required")),
        ("selfsubjectaccessreviews", selector(json!({"rawSelector": "a=b", "requirements": [{"key": "", "operator": "In"}]})), 422,
            format!("{group}: [spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: \"a=b\": may not specified at the \
                same time as requirements, spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be \
                specified, spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when \
                `operator` is 'In' or 'NotIn']")),
        ("namespaces/n/localsubjectaccessreviews", json!({"spec": {"user": "ada", "resourceAttributes": {"namespace": "m"}}}), 422,
            format!("{group}: spec.resourceAttributes.namespace: Invalid value: \"m\": must match metadata.namespace")),
        ("namespaces/n/localsubjectaccessreviews", json!({"spec": {"user": "ada", "nonResourceAttributes": url}}), 422,
            format!("{group}: spec.nonResourceAttributes: Invalid value: {{\"Path\":\"/a\",\"Verb\":\"get\"}}: disallowed on this kind of request")),
        ("namespaces/n/localsubjectaccessreviews", json!({"metadata": {"namespace": "m"}}), 400,
            "the namespace of the provided object does not match the namespace sent on the request".to_owned()),
        ("selfsubjectrulesreviews", json!({}), 400, "no namespace on request".to_owned()),
        ("selfsubjectaccessreviews", json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}), 400,
            "SubjectAccessReview in version \"v1\" cannot be handled as a SelfSubjectAccessReview: converting \
                (v1.SubjectAccessReview) to (authorization.SelfSubjectAccessReview): unknown conversion".to_owned()),
    ];
    for (path, body, code, message) in cases {
        let (got, told) = send(&mut server, User::admin(), "POST", &format!("{AUTHORIZATION}/{path}"), &body);
        assert_eq!((got, told["message"].as_str()), (code, Some(message.as_str())), "{body}");
    }
    let (code, told) = send(&mut server, User::admin(), "POST", &format!("{AUTHENTICATION}/tokenreviews"), &json!({}));
    assert_eq!((code, &told["message"]), (400, &json!("token is required for TokenReview in authentication")));
}

/// A question has no name; the error shows all that the server has put beside it.
#[test]
fn a_question_has_no_metadata() {
    let mut server = server();
    let review = json!({"metadata": {"name": "mine"}, "spec": {"resourceAttributes": about_pods("get")}});
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let (code, told) = send(&mut server, ada(), "POST", &path, &review);
    let cause = &told["details"]["causes"][0];
    let shown = "Invalid value: {\"name\":\"mine\",\"managedFields\":[{\"manager\":\"kubectl\",\"operation\":\"Update\",\
        \"apiVersion\":\"authorization.k8s.io/v1\",\"time\":\"";
    assert_eq!((code, &cause["field"]), (422, &json!("metadata")), "{told}");
    let message = cause["message"].as_str().unwrap_or_default();
    assert!(message.starts_with(shown) && message.ends_with("}]}: must be empty"), "{message}");
    assert_eq!(told["details"]["kind"], Value::Null, "the server's own struct does not know its kind");

    let local = json!({"metadata": {"namespace": "n", "labels": {"a": "b"}}, "spec": {"user": "bo",
        "resourceAttributes": about_pods("get")}});
    let path = format!("{AUTHORIZATION}/namespaces/n/localsubjectaccessreviews");
    let (_, told) = send(&mut server, ada(), "POST", &path, &local);
    let message = told["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("must be empty except for namespace"), "{message}");
}

#[test]
fn whoever_asks_about_others_needs_leave() {
    let mut server = server();
    let spec = json!({"user": "ada", "resourceAttributes": about_pods("list")});
    let everywhere = format!("{AUTHORIZATION}/subjectaccessreviews");
    let local = |namespace: &str| format!("{AUTHORIZATION}/namespaces/{namespace}/localsubjectaccessreviews");
    let (code, told) = send(&mut server, ada(), "POST", &everywhere, &json!({"spec": spec}));
    let why = "subjectaccessreviews.authorization.k8s.io is forbidden: User \"ada\" cannot create resource \
        \"subjectaccessreviews\" in API group \"authorization.k8s.io\" at the cluster scope";
    assert_eq!((code, told["message"].as_str()), (403, Some(why)));
    for (user, path) in [(ada(), local("n")), (User::node("n1"), everywhere), (User::node("n1"), local("n"))] {
        let (code, told) = send(&mut server, user, "POST", &path, &json!({"spec": spec}));
        assert_eq!((code, &told["status"]["allowed"]), (201, &json!(true)), "{path}: {told}");
    }
    assert_eq!(send(&mut server, ada(), "POST", &local("m"), &json!({"spec": spec})).0, 403);
    // One may ask about a namespace that is not there yet.
    let spec = json!({"groups": ["system:masters"], "resourceAttributes": {"namespace": "later", "verb": "get", "resource": "pods"}});
    let (code, told) = send(&mut server, User::admin(), "POST", &local("later"), &json!({"spec": spec}));
    assert_eq!(
        (code, &told["status"], &told["metadata"]["namespace"]),
        (201, &json!({"allowed": true}), &json!("later"))
    );
}

#[test]
fn reviews_can_only_be_created() {
    let mut server = server();
    for (path, code) in [
        (format!("{AUTHORIZATION}/selfsubjectaccessreviews"), 405),
        (format!("{AUTHORIZATION}/namespaces/n/localsubjectaccessreviews"), 405),
        (format!("{AUTHORIZATION}/localsubjectaccessreviews"), 404),
        (format!("{AUTHORIZATION}/subjectaccessreviews/mine"), 404),
        (format!("{AUTHENTICATION}/tokenreviews"), 405),
        (format!("{AUTHENTICATION}/selfsubjectreviews"), 405),
    ] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            assert_eq!(send(&mut server, User::admin(), method, &path, &json!({})).0, code, "{method} {path}");
        }
    }
    let list = Request::new(Rc::new(User::admin()), Verb::List, Kind::TokenReview, "", "", Body::None);
    assert_eq!(server.handle(&list, None, Instant::default()).answer.code, 405);
}

#[test]
fn one_asks_for_all_that_one_may() {
    let mut server = server();
    let path = format!("{AUTHORIZATION}/selfsubjectrulesreviews");
    let (code, told) = send(&mut server, ada(), "POST", &path, &json!({"spec": {"namespace": "n"}}));
    assert_eq!((code, &told["spec"], &told["metadata"]), (201, &json!({}), &json!({})), "it is a new one");
    let status = &told["status"];
    let resources: Vec<&Value> =
        status["resourceRules"].as_array().unwrap().iter().map(|rule| &rule["resources"]).collect();
    let selves = json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"]);
    let want = [&selves, &json!(["selfsubjectreviews"]), &json!(["localsubjectaccessreviews"]), &json!(["pods"])];
    assert_eq!(resources, want);
    assert_eq!((&status["incomplete"], &status["nonResourceRules"]), (&json!(false), &json!([])));
    assert_eq!(status["evaluationError"], json!("role.rbac.authorization.k8s.io \"gone\" not found"));

    let (_, told) = send(&mut server, User::node("n1"), "POST", &path, &json!({"spec": {"namespace": "n"}}));
    assert_eq!(told["status"]["incomplete"], json!(true));
    assert_eq!(told["status"]["evaluationError"], json!("node authorizer does not support user rule resolution"));
}

#[test]
fn one_asks_who_one_is() {
    let mut server = server();
    let (code, told) = send(&mut server, ada(), "POST", &format!("{AUTHENTICATION}/selfsubjectreviews"), &json!({}));
    let user = json!({"username": "ada", "groups": ["system:authenticated"]});
    assert_eq!((code, &told["status"]["userInfo"]), (201, &user));
    assert!(told["metadata"]["creationTimestamp"].is_string(), "{told}");
}

#[test]
fn a_token_says_whose_it_is() {
    let mut server = server();
    let account = json!({"metadata": {"name": "web"}});
    let (_, account) = send(&mut server, User::admin(), "POST", "/api/v1/namespaces/n/serviceaccounts", &account);
    let uid = account["metadata"]["uid"].as_str().unwrap_or_default();
    let token = |audience: &str, name: &str, expires: u64| {
        let (issued, expires) = (Instant(1_000_000_000), Instant(expires));
        let (audiences, id) = (vec![audience.to_owned()], "7".to_owned());
        let bounds = Bounds::Time { audiences, issued, expires, pod: None, secret: None, node: None, id };
        sign(&Claims { namespace: "n".into(), account: name.into(), account_uid: uid.to_owned(), bounds })
    };
    let late = 600_000_000_000;
    let mut ask = |token: String, audiences: &[&str]| {
        let spec = json!({"token": token, "audiences": audiences});
        let (code, told) =
            send(&mut server, User::admin(), "POST", &format!("{AUTHENTICATION}/tokenreviews"), &json!({"spec": spec}));
        assert_eq!(code, 201, "{told}");
        told["status"].clone()
    };
    let groups = ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"];
    let extra = json!({"authentication.kubernetes.io/credential-id": ["JTI=7"]});
    let user = json!({"username": "system:serviceaccount:n:web", "uid": uid, "groups": groups, "extra": extra});
    let good = json!({"authenticated": true, "user": user, "audiences": [ISSUER]});
    assert_eq!(ask(token(ISSUER, "web", late), &[]), good);
    assert_eq!(ask(token("vault", "web", late), &["vault", "others"])["audiences"], json!(["vault"]));
    let whole = token(ISSUER, "web", late);
    for (token, audiences, why) in [
        ("nonsense".to_owned(), [].as_slice(), "invalid bearer token".to_owned()),
        (
            format!("{}x", &whole[..whole.len() - 1]),
            &[],
            "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]".to_owned(),
        ),
        (token(ISSUER, "web", 1_000_000_000), &[], String::new()),
        (token(ISSUER, "none", late), &[], "[invalid bearer token, serviceaccounts \"none\" not found]".to_owned()),
        (
            whole.clone(),
            &["vault"],
            format!(
                "[invalid bearer token, token audiences [{ISSUER:?}] is invalid for the target audiences [\"vault\"]]"
            ),
        ),
    ] {
        let status = ask(token, audiences);
        match why.as_str() {
            // Clocks may go a minute apart.
            "" => assert_eq!(status["authenticated"], json!(true), "{status}"),
            why => assert_eq!(status, json!({"error": why, "user": {}})),
        }
    }
}

#[test]
fn what_is_sent_back_says_who_wrote_it() {
    let mut server = server();
    let spec = json!({"resourceAttributes": about_pods("get")});
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews?fieldManager=me");
    let (_, told) = send(&mut server, ada(), "POST", &path, &json!({"spec": spec}));
    let entry = &told["metadata"]["managedFields"][0];
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("me"), &json!("Update")));
    assert_eq!(entry["fieldsV1"]["f:spec"]["f:resourceAttributes"]["f:verb"], json!({}));
    assert_eq!(entry["fieldsV1"]["f:status"], Value::Null);
}
