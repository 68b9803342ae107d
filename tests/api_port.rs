//! The API server's port: programs in Pods ask by the Service `kubernetes`, show the token of their service account, and are
//! told what RBAC says.

use kubestep::debugger::record::Record;

mod scenario;

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
        (format!("{shows} -d a=b $API/namespaces/default/pods"), "415"),
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

/// Who types gets it laid out, in the order that the server has it.
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
    assert_eq!(codes, ["\"code\": 404,", "\"code\": 401,"], "{said}");
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
