//! The API server's port: programs in Pods ask by the Service `kubernetes`, show the token of their service account, and are
//! told what RBAC says.

use debugger::record::Record;
use kubestep_tests::scenario;

/// A Pod with curl, whose account may list Pods; then these lines. Returns what they printed, and the record.
fn session(lines: &[&str]) -> (String, Record) {
    let head = "title: t
nodes: 1
dns: true
proxy: true
files:
  pod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: box}
    spec:
      containers:
      - name: box
        image: curlimages/curl
        command: [sleep, infinity]
        env:
        - {name: FILES, value: /var/run/secrets/kubernetes.io/serviceaccount}
        - {name: API, value: 'https://kubernetes.default.svc/api/v1'}
  constrained.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: more}
    rules:
    - {apiGroups: [authentication.k8s.io], resources: [users, groups], verbs: ['impersonate:user-info']}
timeline:
  - kubectl create role reader --verb=get,list --resource=pods
  - kubectl create rolebinding box --role=reader --serviceaccount=default:default
  - kubectl apply -f pod.yaml
  - kubectl wait --for=condition=Ready pod/box --timeout=60s
";
    let timeline: String = lines.iter().map(|line| format!("  - {line:?}\n")).collect();
    let mut cluster = scenario::started(&format!("{head}{timeline}"));
    let mut record = Record::new(cluster.engine.now(), "default");
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        record.add(&cluster.engine, &step);
    }
    let printed = cluster.kubectl.printed_since(0);
    let (_, after) = printed.split_once("pod/box condition met\n\n").expect("the Pod comes up");
    (after.to_owned(), record)
}

/// What a line prints, without itself.
fn says(line: &str) -> String {
    let (said, _) = session(&[line]);
    said.split_once('\n').map(|(_, rest)| rest.trim_end().to_owned()).unwrap_or_default()
}

#[test]
fn a_token_says_who_asks() {
    let shows = r#"--cacert $FILES/ca.crt -H "Authorization: Bearer $(cat $FILES/token)""#;
    let code = r#"-o /dev/null -w "%{http_code}\n""#;
    for (what, expected) in [
        (format!("{shows} $API/namespaces/default/pods"), "200"),
        (format!("{shows} $API/namespaces/default/pods/box"), "200"),
        (format!("{shows} $API/namespaces/default/pods/none"), "404"),
        (format!("{shows} $API/namespaces/kube-system/pods"), "403"),
        (format!("{shows} -X DELETE $API/namespaces/default/pods/box"), "403"),
        (format!("{shows} -X PUT $API/namespaces/default"), "403"),
        // A client that may not ask is not told what is wrong with the form of the request.
        (format!("{shows} -d a=b $API/namespaces/default/pods"), "403"),
        ("-k $API/namespaces/default/pods".to_owned(), "403"),
        ("-k https://kubernetes/healthz".to_owned(), "200"),
        ("-k https://kubernetes/nothing/here".to_owned(), "403"),
        (r#"-k -H "Authorization: Bearer abc" https://kubernetes/healthz"#.to_owned(), "401"),
        (r#"-k -H "Authorization: Basic abc" https://kubernetes/healthz"#.to_owned(), "200"),
        (format!("{shows} $API/namespaces/default/pods?watch=true"), "400"),
    ] {
        assert_eq!(says(&format!("kubectl exec box -- sh -c 'curl -s {code} {what}'")), expected, "{what}");
    }
}

/// A user who types gets it laid out, in the order that the server has it.
#[test]
fn an_answer_begins_with_what_it_is() {
    let said = says("kubectl exec box -- curl -sk https://kubernetes/api/v1/namespaces/default/pods");
    let first: Vec<&str> = said.lines().take(4).collect();
    assert_eq!(first, ["{", "  \"kind\": \"Status\",", "  \"apiVersion\": \"v1\",", "  \"metadata\": {},"], "{said}");
}

#[test]
fn whoever_asks_looks_at_the_certificate() {
    let problem = "SSL certificate problem: unable to get local issuer certificate";
    for (what, code, expected) in [
        ("https://kubernetes/livez", 60, problem),
        ("--cacert ca https://10.96.0.1/livez", 0, "ok"),
        ("--cacert ca https://172.18.0.2:6443/livez", 0, "ok"),
        ("--cacert ca https://box/livez", 6, "Could not resolve host: box"),
        ("https://example.com/", 1, "Protocol \"https\" not supported or disabled in libcurl"),
        ("http://10.96.0.1:443/livez", 0, "Client sent an HTTP request to an HTTPS server."),
    ] {
        let said = says(&format!("kubectl exec box -- curl -sS {what}"));
        assert!(said.contains(expected), "{what}: {said}");
        assert_eq!(said.contains(&format!("exit code {code}")), code != 0, "{what}: {said}");
    }
    let wget = says("kubectl exec box -- wget -qO- https://kubernetes/livez");
    assert!(wget.starts_with("ok") && wget.contains("TLS certificate validation not implemented"), "{wget}");
}

#[test]
fn a_server_without_tls_is_no_https_server() {
    let lines = [
        "kubectl run web --image=example/web --port=443 --expose",
        "kubectl wait --for=condition=Ready pod/web --timeout=60s",
        // Until kube-proxy has written its rules.
        "sleep 2",
        "kubectl exec box -- curl -sSk https://web/",
    ];
    let (said, _) = session(&lines);
    assert!(said.contains("curl: (35) error:0A00010B:SSL routines::wrong version number"), "{said}");
}

/// The port is the API server's: it closes with it, and is open again when that runs again.
#[test]
fn a_port_is_open_as_long_as_somebody_listens() {
    let ask = "curl -sSk -o /dev/null https://172.18.0.2:6443/version";
    let (said, _) = session(&[
        &format!(
            "kubectl run c --image=curlimages/curl --restart=Never -- sh -c 'sleep 10; {ask}; sleep 20; {ask} && echo up'"
        ),
        "sleep 5",
        "stop kube-apiserver",
        "sleep 15",
        "start kube-apiserver",
        "sleep 30",
        "kubectl logs c",
    ]);
    let (_, logs) = said.split_once("kubectl logs c\n").expect("the line is printed");
    assert!(logs.starts_with("curl: (7) ") && logs.trim_end().ends_with("\nup"), "{said}");
    assert_eq!(logs.trim_end().lines().count(), 2, "{said}");
}

/// A client that acts as another user needs rules for it; then only that user counts. A refusal uses the words of the
/// first way to be allowed: see `apiserver::impersonation`.
#[test]
fn who_may_ask_as_somebody_else() {
    let ask = |headers: &str| {
        let headers: String = headers.split(',').map(|header| format!(" -H '\\''Impersonate-{header}'\\''")).collect();
        let token = r#"-H "Authorization: Bearer $(cat $FILES/token)""#;
        format!("kubectl exec box -- sh -c 'curl -sk {token}{headers} $API/namespaces/default/pods'")
    };
    let box_cannot = |what: &str, on: &str, verb: &str| {
        let account = "system:serviceaccount:default:default";
        format!("{what} is forbidden: User \\\"{account}\\\" cannot {verb} resource \\\"{on}\\\"")
    };
    let cases = [
        // Nothing is granted yet.
        (ask("User: ada"), box_cannot("pods", "pods", "impersonate-on:user-info:list")),
        (ask("User: system:node:node-1"), box_cannot("pods", "pods", "impersonate-on:arbitrary-node:list")),
        (ask("User: system:serviceaccount:a:b"), box_cannot("pods", "pods", "impersonate-on:serviceaccount:list")),
        (ask("Group: devs"), r#"requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"devs\"}, Extra:map[string][]string(nil)} without impersonating a user name"#.to_owned()),
        // The old way.
        ("kubectl create clusterrole old --verb=impersonate --resource=users".to_owned(), "created".to_owned()),
        ("kubectl create clusterrolebinding old --clusterrole=old --serviceaccount=default:default".to_owned(), "created".to_owned()),
        (ask("User: ada"), r#"User \"ada\" cannot list resource \"pods\""#.to_owned()),
        (ask("User: ada,Group: devs"), box_cannot("pods", "pods", "impersonate-on:user-info:list")),
        ("kubectl create rolebinding ada --role=reader --user=ada".to_owned(), "created".to_owned()),
        (ask("User: ada"), "PodList".to_owned()),
        // The constrained way.
        ("kubectl create role on --verb=impersonate-on:user-info:list --resource=pods".to_owned(), "created".to_owned()),
        ("kubectl create rolebinding on --role=on --serviceaccount=default:default".to_owned(), "created".to_owned()),
        (ask("User: eve,Group: devs"), box_cannot(r#"users.authentication.k8s.io \"eve\""#, "users", "impersonate:user-info")),
        (ask("User: eve,Uid: 7"), box_cannot(r#"users.authentication.k8s.io \"eve\""#, "users", "impersonate:user-info")),
        ("kubectl apply -f constrained.yaml".to_owned(), "created".to_owned()),
        ("kubectl create clusterrolebinding more --clusterrole=more --serviceaccount=default:default".to_owned(), "created".to_owned()),
        (ask("User: ada,Group: devs"), "PodList".to_owned()),
        (ask("User: ada,Group: system:masters"), box_cannot(r#"groups.authentication.k8s.io \"system:masters\""#, "groups", "impersonate:user-info")),
        (ask("User: ada,Uid: 7"), box_cannot(r#"uids.authentication.k8s.io \"7\""#, "uids", "impersonate:user-info")),
        (ask("User: ada,Extra-Scopes: view"), box_cannot(r#"userextras.authentication.k8s.io \"view\""#, "userextras/scopes", "impersonate:user-info")),
    ];
    let lines: Vec<&str> = cases.iter().map(|(line, _)| line.as_str()).collect();
    let (said, _) = session(&lines);
    let mut rest = said.as_str();
    for (line, expected) in &cases {
        let (_, after) = rest.split_once(line.as_str()).unwrap_or_else(|| panic!("{line} is not in {said}"));
        let end = after.find("\n\n$ ").unwrap_or(after.len());
        assert!(after[..end].contains(expected.as_str()), "{line}\n{expected}\n{}", &after[..end]);
        rest = after;
    }
}

#[test]
fn a_token_ends_with_its_pod() {
    let ask = "kubectl exec other -- curl -sk -H \"Authorization: Bearer $TOKEN\" https://kubernetes/api/v1/namespaces/default/pods/x";
    let lines = [
        "TOKEN=$(kubectl exec box -- cat /var/run/secrets/kubernetes.io/serviceaccount/token)",
        "kubectl run other --image=curlimages/curl --command -- sleep infinity",
        "kubectl wait --for=condition=Ready pod/other --timeout=60s",
        ask,
        "kubectl delete pod box --force --grace-period=0",
        "sleep 90",
        ask,
    ];
    let (said, _) = session(&lines);
    let codes: Vec<&str> = said.lines().filter(|line| line.contains("\"code\"")).map(str::trim).collect();
    assert_eq!(codes, ["\"code\": 404", "\"code\": 401"], "{said}");
}

#[test]
fn the_audit_log_names_who_the_token_names() {
    let line = "kubectl exec box -- sh -c 'curl -sk -H \"Authorization: Bearer $(cat $FILES/token)\" $API/namespaces/default/pods'";
    let (_, record) =
        session(&[line, "kubectl exec box -- curl -sk -H 'Authorization: Bearer abc' https://kubernetes/api"]);
    let events: Vec<serde_json::Value> =
        record.audit.iter().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let [asked, refused] = events.iter().filter(|event| event["userAgent"] == "curl/7.81.0").collect::<Vec<_>>()[..]
    else {
        panic!("two requests came by the network");
    };
    assert_eq!(asked["user"]["username"], "system:serviceaccount:default:default");
    // The node's address stands for the Pod's outside of the Pods' network.
    assert_eq!(asked["sourceIPs"][0], "172.18.0.10");
    assert_eq!(
        (&refused["user"], &refused["responseStatus"]["code"]),
        (&serde_json::json!({}), &serde_json::json!(401))
    );
}
