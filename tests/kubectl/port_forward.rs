//! `kubectl port-forward`: to whom it goes, past what, and when it ends.

use crate::bench::Bench;

const SCENE: &str = include_str!("../scenes/forward.yaml");

fn pod_in(said: &str) -> String {
    let page = said.lines().find(|line| line.contains(" answers ")).unwrap_or_else(|| panic!("no page in {said:?}"));
    page.split(' ').next().unwrap_or_default().to_owned()
}

/// One Pod of the Service is chosen, once. No NetworkPolicy is on the way, and the server sees a client of its own Pod.
#[test]
fn a_service_means_one_pod_and_nothing_is_on_the_way() {
    let mut bench = Bench::new(SCENE);
    let through_service = bench.line("kubectl exec client -- curl -m 2 10.96.0.80:8000");
    assert!(through_service.contains("timed out"), "the policy lets nobody in: {through_service}");
    assert_eq!(bench.line("kubectl port-forward svc/web 8080:page"), "Forwarding from 127.0.0.1:8080 -> 80");
    let said: Vec<String> = (0..6).map(|_| bench.line("curl http://localhost:8080/")).collect();
    for said in &said {
        assert!(said.starts_with("Handling connection for 8080\n"), "{said}");
        assert!(said.ends_with("answers GET /\nserver 127.0.0.1:80, client 127.0.0.1"), "{said}");
    }
    let pods: std::collections::BTreeSet<String> = said.iter().map(|said| pod_in(said)).collect();
    assert_eq!(pods.len(), 1, "nothing is balanced: {pods:?}");
    assert!(bench.0.save().is_some(), "nothing is in flight while it only listens");
}

/// The connection belongs to a sandbox. That this is gone is not noticed until a client wants to use the connection.
#[test]
fn it_ends_with_its_pod() {
    let mut bench = Bench::new(SCENE);
    bench.line("kubectl port-forward deploy/web 8080:http 8081:80");
    let first = pod_in(&bench.line("curl localhost:8081"));
    let name = first.trim_start_matches("default/");
    assert_eq!(
        bench.line(&format!("kubectl delete pod {name}")),
        format!("pod \"{name}\" deleted from default namespace")
    );
    let said = bench.line("curl localhost:8080");
    for part in [
        "Handling connection for 8080\n\"An error occurred forwarding\" err=\"error forwarding port 80 to pod ",
        "in store: not found\" logger=\"UnhandledError\" localPort=8080 remotePort=80\nerror: lost connection to pod\n",
        "curl: (52) Empty reply from server",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
    for port in [8080, 8081] {
        let said = bench.line(&format!("curl localhost:{port}"));
        assert!(said.starts_with(&format!("curl: (7) Failed to connect to localhost port {port}")), "{said}");
    }
    assert_eq!(bench.line("kubectl port-forward deploy/web 8080:80"), "Forwarding from 127.0.0.1:8080 -> 80");
    assert_ne!(pod_in(&bench.line("curl localhost:8080")), first);
}

/// What does not answer in the Pod is an end, too; and so is a kubelet that has started anew.
#[test]
fn it_ends_when_nobody_answers() {
    let mut bench = Bench::new(SCENE);
    bench.line("kubectl port-forward deploy/web 8080:81");
    let said = bench.line("curl localhost:8080");
    let refused = "IPv4: dial tcp4 127.0.0.1:81: connect: connection refused IPv6 dial tcp6: address localhost: no \
                   suitable address";
    assert!(said.contains(refused) && said.contains("error: lost connection to pod"), "{said}");
    bench.line("kubectl port-forward deploy/web 8080:80");
    let said = bench.line("curl localhost:8080");
    let node = said.split(" on ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{said}"));
    bench.line(&format!("crash kubelet/{node}"));
    let said = bench.line("curl localhost:8080");
    assert!(said.starts_with("Handling connection for 8080\nerror: lost connection to pod\n"), "{said}");
}

/// By default it listens for its own machine only.
#[test]
fn it_listens_where_it_is_told_to() {
    let mut bench = Bench::new(SCENE);
    bench.line("kubectl port-forward deploy/web 8080:80");
    let said = bench.line("kubectl exec client -- curl -m 3 172.18.0.1:8080");
    assert!(said.contains("Connection refused"), "{said}");
    let open = bench.line("kubectl port-forward --address 0.0.0.0 deploy/web 9090:80");
    assert_eq!(open, "Forwarding from 0.0.0.0:9090 -> 80");
    let said = bench.line("kubectl exec client -- curl -s -m 3 172.18.0.1:9090");
    assert!(said.contains("answers GET /\nserver 127.0.0.1:80, client 127.0.0.1"), "{said}");
    let free = bench.line("kubectl port-forward deploy/web :80");
    let port = free.strip_prefix("Forwarding from 127.0.0.1:").and_then(|rest| rest.strip_suffix(" -> 80"));
    let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{free}"));
    assert!(port >= 32768 && bench.line(&format!("curl localhost:{port}")).contains("answers GET /"));
}

#[test]
fn it_fails_as_a_real_one_does() {
    let mut bench = Bench::new(SCENE);
    bench.line("kubectl port-forward deploy/web 8080:80");
    for (line, expected) in [
        (
            "web",
            "error: TYPE/NAME and list of ports are required for port-forward\nSee 'kubectl port-forward -h' for help \
             and examples",
        ),
        ("nobody 80", "Error from server (NotFound): pods \"nobody\" not found"),
        ("homeless 8081:80", "error: unable to forward port because pod is not running. Current status=Pending"),
        ("svc/web 80", "error: Service web does not have a service port 80"),
        ("svc/web 8081:http", "error: Service 'web' does not have a named port 'http'"),
        ("deploy/web 8081:page", "does not have a named port 'page'"),
        ("deploy/web 8081:80 --address nowhere", "error: nowhere is not a valid IP"),
        (
            "deploy/web 8080:80",
            "Unable to listen on port 8080: Listeners failed to create with the following errors: [unable to create \
             listener: Error listen tcp4 127.0.0.1:8080: bind: address already in use]\nerror: unable to listen on any of \
             the requested ports: [{8080 80}]",
        ),
        ("deploy/web 80", "bind: permission denied"),
        ("deploy/web 8081:80 --address 10.1.2.3", "bind: cannot assign requested address"),
    ] {
        let said = bench.line(&format!("kubectl port-forward {line}"));
        assert!(said.contains(expected), "{line}: {expected:?} is not in {said:?}");
    }
}

/// A WebSocket is a GET; but a user who may only read may not connect.
#[test]
fn it_needs_get_and_create() {
    let mut bench = Bench::new(SCENE);
    let refused = "error: error upgrading connection: pods \"web\" is forbidden: User \"jane\" cannot create resource \
                   \"pods/portforward\" in API group \"\" in the namespace \"default\"";
    bench.line("kubectl run web --image=nginx");
    assert_eq!(bench.line("kubectl port-forward web 8080:80 --as=jane"), refused);
    assert_eq!(bench.line("kubectl auth can-i create pods --subresource=portforward --as=jane"), "no");
    bench.line("kubectl create rolebinding forwarder --role=forwarder --user=jane");
    let said = bench.line("kubectl port-forward web 8080:80 --as=jane");
    assert_eq!(said, "Forwarding from 127.0.0.1:8080 -> 80");
}

/// The API server is asked once, in the beginning; a connection then goes to the kubelet and its runtime.
#[test]
fn each_hand_is_seen() {
    let mut bench = Bench::new(SCENE);
    let asked = bench.asked("kubectl port-forward client 8080:80");
    let expected = [
        "get pods default/client",
        "get pods default/client",
        "get pods/portforward default/client",
        "portForward/default/client",
        "ListPodSandbox",
        "listen 127.0.0.1:8080",
    ];
    assert_eq!(asked, expected);
    bench.line("kubectl port-forward deploy/web 8081:80");
    let asked = bench.asked("curl localhost:8081");
    let expected =
        ["exec curl localhost:8081", "accept at port 8081", "forwarded to port 80", "PortForward", "dial localhost:80"];
    assert_eq!(asked, expected);
}
