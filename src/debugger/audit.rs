//! The audit log: who asked the API server for what, and what became of it, one `audit.k8s.io/v1` Event a line.
//!
//! The same format as a real API server writes with `--audit-log-path`, so that a program that reads those reads this. The policy
//! is that of the reference recordings: of writes the objects that were sent and answered (`RequestResponse`), of reads that
//! they were made (`Metadata`); leases of leader election are left out. Only the stage `ResponseComplete`, and of a watch
//! `ResponseStarted`, since it does not end.
//!
//! Mirrors `k8s.io/apiserver/pkg/apis/audit/v1` and `pkg/audit`.
//!
//! Left out: the commit in user agents; the uid and extra of users who show no token; what kubelets send to patch a status, which is never text
//! here; answers that are no objects.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use apiserver::host::Engine;
use engine::{Note, Step, What};
use object::random::Random;
use object::selector::FieldSelector;
use object::well_known::API_SERVER_IP;
use object::{Kind, Object, Status};
use rest::uri;
use wire::{Body, Error, Request, Subresource, User, Verb};

/// Where people sit: the gateway of the nodes' network.
const PERSON_IP: &str = "172.18.0.1";

/// What a step says in the audit log: a request, behind those that the API server made to itself on the way.
pub fn events(engine: &Engine, step: &Step) -> impl Iterator<Item = Value> {
    let lists = step.notes.iter().filter_map(|note| match note {
        Note::Lists { kind, namespace } => Some((*kind, namespace)),
        _ => None,
    });
    let own = lists.enumerate().map(|(n, (kind, namespace))| {
        let own = Request::new(Rc::new(User::loopback()), Verb::List, kind, namespace, "", Body::None);
        let id = Random::new(step.id.0 ^ ((n as u64 + 1) << 48)).uid();
        let decision = json!({"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""});
        let (user, status) = (Some(&*own.user), response_status(200, None));
        let mut event = head(engine, step, &own, id, user, status, decision);
        event["objectRef"] = object_ref(&own, "", None);
        event
    });
    own.chain(event(engine, step))
}

/// What is said of every request.
fn head(
    engine: &Engine,
    step: &Step,
    request: &Request,
    id: String,
    user: Option<&User>,
    status: Value,
    annotations: Value,
) -> Value {
    let received = serde_json::to_value(step.time.micro_time()).unwrap_or_default();
    json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": if request.verb.writes() { "RequestResponse" } else { "Metadata" },
        "auditID": id,
        "stage": if request.verb == Verb::Watch { "ResponseStarted" } else { "ResponseComplete" },
        "requestURI": uri::of(request),
        "verb": request.verb.as_str(),
        "user": user.map_or(json!({}), who),
        "sourceIPs": [source(engine, request)],
        "userAgent": user_agent(request),
        "responseStatus": status,
        "requestReceivedTimestamp": received,
        "stageTimestamp": received,
        "annotations": annotations,
    })
}

/// The request that a step is; nothing, if it was none.
fn event(engine: &Engine, step: &Step) -> Option<Value> {
    let What::Request { request, .. } = &step.event.what else { return None };
    if is_leader_election(request) {
        return None;
    }
    let (code, name, error) = step.notes.iter().find_map(|note| match note {
        Note::Answered { code, name, error, .. } => {
            Some((*code, name, error.as_deref().cloned().map(Error::into_status)))
        }
        _ => None,
    })?;
    let error = error.as_ref();
    let stored = step.notes.iter().rev().find_map(|note| match note {
        Note::Stored { old, new, .. } => new.as_ref().or(old.as_ref()).filter(|object| object.kind() == request.kind),
        _ => None,
    });
    let user = user_of(request, step);
    let (id, status) = (Random::new(step.id.0).uid(), response_status(code, error));
    let mut event = head(engine, step, request, id, user, status, annotations(step, error));
    let impersonated = step.notes.iter().find_map(|note| match note {
        Note::Impersonated(other) => Some(other),
        _ => None,
    });
    if let Some(other) = impersonated {
        event["impersonatedUser"] = who(&other.user);
        if !other.constraint.is_empty() {
            event["authenticationMetadata"] = json!({"impersonationConstraint": other.constraint});
        }
    }
    if request.target().is_none() {
        event["objectRef"] = object_ref(request, name, stored);
    }
    if request.verb.writes() {
        let fields = event.as_object_mut().expect("the literal above is an object");
        fields.extend(sent(&request.body).map(|body| ("requestObject".to_owned(), body)));
        let answered = match (error, request.subresource) {
            (Some(error), _) => Some(error.to_json()),
            (None, Some(Subresource::Binding | Subresource::Eviction)) => Some(success(code)),
            _ => stored.map(Object::to_json),
        };
        fields.extend(answered.map(|body| ("responseObject".to_owned(), body)));
    }
    Some(event)
}

/// The answer of requests that have nothing to show.
fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}

fn is_leader_election(request: &Request) -> bool {
    request.kind == Kind::Lease && request.namespace == "kube-system"
}

/// A user as the log names them.
fn who(user: &User) -> Value {
    serde_json::to_value(user.info()).unwrap_or_default()
}

/// Who asks; None: the token that was shown is no good.
fn user_of<'a>(request: &'a Request, step: &'a Step) -> Option<&'a User> {
    match request.token() {
        None => Some(&request.user),
        Some(_) => step.notes.iter().find_map(|note| match note {
            Note::Authenticated(user) => Some(&**user),
            _ => None,
        }),
    }
}

/// The address that the request came from.
fn source(engine: &Engine, request: &Request) -> String {
    if let Some(connection) = &request.connection {
        return connection.peer.to_string();
    }
    let Some(node) = request.user.name.strip_prefix("system:node:") else {
        return if request.user.agent.starts_with("user/") { PERSON_IP.into() } else { API_SERVER_IP.into() };
    };
    let address = |object: &Object| match object {
        Object::Node(node) => {
            let addresses = node.status.as_ref()?.addresses.as_ref()?;
            Some(addresses.iter().find(|address| address.type_ == "InternalIP")?.address.clone())
        }
        _ => None,
    };
    let stored = engine.server.api.store.get(&kinds::registry::key(Kind::Node, "", node));
    stored.and_then(|entry| address(&entry.value)).unwrap_or_else(|| API_SERVER_IP.into())
}

/// The program that asks: as it says itself, or as client-go names it.
fn user_agent(request: &Request) -> String {
    if let Some(connection) = &request.connection {
        return connection.user_agent.clone();
    }
    let user = &request.user;
    let agent = format!("{}/v1.36.2 (linux/amd64) kubernetes", user.program());
    if user.is_controller() { format!("{agent}/{}", user.name) } else { agent }
}

fn object_ref(request: &Request, answered: &str, stored: Option<&Object>) -> Value {
    let info = request.kind.info();
    let selected = selected_name(request);
    let names = [request.name.as_str(), selected.as_deref().unwrap_or_default(), answered];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    // A Namespace that is named is in itself.
    let namespace = if request.kind == Kind::Namespace { &request.name } else { &request.namespace };
    let sent = match &request.body {
        Body::Object(object) => object.meta().resource_version.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let uid = match (request.verb, stored) {
        (Verb::Create, _) | (_, None) => String::new(),
        (_, Some(object)) => object.meta().uid.clone().unwrap_or_default(),
    };
    let part = request.subresource.map_or("", |part| part.as_str());
    let fields = [
        ("resource", info.plural),
        ("namespace", namespace),
        ("name", name),
        ("uid", &uid),
        ("apiGroup", info.group),
        ("apiVersion", info.version),
        ("resourceVersion", &sent),
        ("subresource", part),
    ];
    let said = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(said.map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// The name that a list or watch is of, if it is of one object. Mirrors `NewRequestInfo`.
fn selected_name(request: &Request) -> Option<String> {
    let fields = FieldSelector::parse(request.kind, &request.options.field_selector).ok()?;
    matches!(request.verb, Verb::List | Verb::Watch).then(|| fields.exact("metadata.name").map(str::to_owned)).flatten()
}

fn response_status(code: u16, error: Option<&Status>) -> Value {
    let mut status = Map::new();
    status.insert("metadata".into(), json!({}));
    if let Some(Value::Object(said)) = error.map(Status::to_json) {
        status.extend(said.into_iter().filter(|(field, _)| field != "kind" && field != "apiVersion"));
    }
    status.insert("code".into(), code.into());
    Value::Object(status)
}

/// What authorization decided, and by which rule; and what policies have noted.
fn annotations(step: &Step, error: Option<&Status>) -> Value {
    let mut annotations = decision(step, error);
    let fields = annotations.as_object_mut().expect("a decision is an object");
    let noted = step.notes.iter().filter_map(|note| match note {
        Note::Audit { key, value } => Some((key.clone(), value.as_str().into())),
        _ => None,
    });
    fields.extend(noted);
    annotations
}

fn decision(step: &Step, error: Option<&Status>) -> Value {
    let reason = step.notes.iter().find_map(|note| match note {
        Note::Stage { name: "authorization", detail } => Some(detail.as_str()),
        _ => None,
    });
    match reason {
        Some(reason) => json!({
            "authorization.k8s.io/decision": "allow",
            // Of those who may everything there is no reason to tell.
            "authorization.k8s.io/reason": if reason.starts_with("allowed:") { "" } else { reason },
        }),
        None if error.is_some_and(|error| error.code == 403) => json!({"authorization.k8s.io/decision": "forbid"}),
        None => json!({}),
    }
}

/// The body, as it came.
fn sent(body: &Body) -> Option<Value> {
    match body {
        Body::Object(object) => Some(object.printed()),
        Body::Json(text) => serde_json::from_str(text).ok(),
        Body::Patch(patch) => patch.document().cloned(),
        Body::Binding(binding) => Some(json!({
            "kind": "Binding", "apiVersion": "v1", "metadata": {},
            "target": {"kind": "Node", "name": binding.node},
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::scenario::Scenario;

    fn log(scenario: &str) -> Vec<Value> {
        of(&Scenario::find(scenario).expect("it is shipped"))
    }

    fn of(scenario: &Scenario) -> Vec<Value> {
        let mut cluster = bugs::cluster(scenario);
        let mut log = Vec::new();
        while !cluster.is_quiet() {
            let Some(step) = cluster.step() else { break };
            log.extend(events(&cluster.engine, &step));
        }
        log
    }

    #[test]
    fn who_asks_as_somebody_else_is_told_with_them() {
        let log = log("access");
        let asked = log.iter().find(|event| event["impersonatedUser"].is_object()).expect("a user acts as another");
        assert_eq!(asked["user"]["username"], "kubernetes-admin");
        assert_eq!(asked["impersonatedUser"]["username"], "system:serviceaccount:default:viewer");
        assert_eq!(asked["authenticationMetadata"]["impersonationConstraint"], "impersonate:serviceaccount");
    }

    #[test]
    fn every_request_is_told_by_whom_it_was_made_and_what_became_of_it() {
        let log = log("deployment");
        let find = |uri: &str, verb: &str| {
            let here =
                |event: &&Value| event["verb"] == verb && event["requestURI"].as_str().is_some_and(|u| u.contains(uri));
            log.iter().find(here).unwrap_or_else(|| panic!("no {verb} {uri}"))
        };
        let missing = find("/apis/apps/v1/namespaces/default/deployments/web", "get");
        assert_eq!(missing["level"], "Metadata");
        assert_eq!(missing["responseStatus"]["reason"], "NotFound");
        assert_eq!(missing["user"]["username"], "kubernetes-admin");

        let created = find("/apis/apps/v1/namespaces/default/replicasets", "create");
        assert_eq!(created["requestObject"]["kind"], "ReplicaSet");
        assert!(created["responseObject"]["metadata"]["uid"].is_string());
        assert_eq!(created["objectRef"]["name"], created["responseObject"]["metadata"]["name"]);
        let why = created["annotations"]["authorization.k8s.io/reason"].as_str().expect("a rule allowed it");
        assert!(why.starts_with("RBAC: allowed by ClusterRoleBinding"), "{why}");
        let agent = created["userAgent"].as_str().expect("a program asked");
        assert!(agent.ends_with("system:serviceaccount:kube-system:deployment-controller"), "{agent}");

        let bound = find("/binding", "create");
        assert_eq!(
            (&bound["objectRef"]["subresource"], &bound["responseObject"]["kind"]),
            (&json!("binding"), &json!("Status"))
        );
        let status = find("/status", "patch");
        assert_eq!(status["sourceIPs"], json!(["172.18.0.10"]), "a kubelet asks from its node");
    }

    #[test]
    fn what_the_server_asks_itself_for_and_what_names_an_object_stands_there() {
        let scenario = Scenario {
            timeline: [
                "kubectl create namespace a",
                "kubectl get namespace a",
                "kubectl run p --image=nginx -n a",
                "kubectl run q --image=nginx -n a",
            ]
            .map(str::to_owned)
            .into(),
            ..Scenario::parse("test", "title: test").expect("that is enough")
        };
        let log = of(&scenario);
        let refs = |resource: &str, verb: &str| {
            let here = |event: &&Value| event["objectRef"]["resource"] == resource && event["verb"] == verb;
            log.iter().filter(here).map(|event| event["objectRef"].clone()).collect::<Vec<_>>()
        };
        let lists = refs("limitranges", "list");
        let in_a = json!({"resource": "limitranges", "namespace": "a", "apiVersion": "v1"});
        assert_eq!(lists, [in_a], "once in half a minute");
        let namespace = |verb: &str| refs("namespaces", verb).remove(0);
        assert_eq!((&namespace("get")["namespace"], namespace("create").get("namespace")), (&json!("a"), None));
        let watched = refs("configmaps", "watch");
        assert!(watched.iter().any(|of| of["name"] == "kube-root-ca.crt"), "{watched:?}");
    }

    #[test]
    fn what_policies_note_stands_there() {
        let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n\
            spec:\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], \
            resources: [configmaps]}\n  validations: [{expression: 'false', message: never}]\n  \
            auditAnnotations: [{key: who, valueExpression: request.userInfo.username}, {key: none, valueExpression: 'null'}]\n\
            ---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n\
            metadata: {name: b}\nspec: {policyName: p, validationActions: [Audit]}\n";
        let scenario = Scenario {
            files: [("policy.yaml".to_owned(), policy.to_owned())].into(),
            timeline: ["kubectl apply -f policy.yaml", "kubectl create configmap a"].map(str::to_owned).into(),
            ..Scenario::parse("test", "title: test").expect("that is enough")
        };
        let log = of(&scenario);
        let created =
            log.iter().rfind(|event| event["objectRef"]["resource"] == "configmaps" && event["verb"] == "create");
        let annotations = &created.expect("it was created")["annotations"];
        assert_eq!(annotations["p/who"], "kubernetes-admin");
        assert_eq!(annotations.get("p/none"), None);
        let failure = "[{\"message\":\"never\",\"policy\":\"p\",\"binding\":\"b\",\"expressionIndex\":0,\
            \"validationActions\":[\"Audit\"]}]";
        assert_eq!(annotations["validation.policy.admission.k8s.io/validation_failure"], failure);
    }

    #[test]
    fn ids_differ() {
        let log = log("pod");
        let ids: std::collections::BTreeSet<_> = log.iter().map(|event| event["auditID"].to_string()).collect();
        assert_eq!(ids.len(), log.len());
    }
}
