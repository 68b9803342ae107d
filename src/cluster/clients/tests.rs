//! Programs outside, without sockets.

use std::time::Duration;

use super::*;
use crate::{Cluster, Config};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn arrival(method: &str, target: &str, body: &str) -> Arrival {
    let headers = [("User-Agent", "kubectl/v1.36.4 (linux/amd64)"), ("Content-Type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let user = Some(Identity { name: "jane".to_owned(), groups: vec!["system:masters".to_owned()] });
    let (method, target) = (method.to_owned(), target.to_owned());
    Arrival { user, method, target, headers, body: body.as_bytes().to_vec().into() }
}

/// What was sent to the client of an exchange.
fn sent_to(sent: &[(ExchangeId, Sent)], exchange: ExchangeId) -> Vec<&Sent> {
    sent.iter().filter(|(of, _)| *of == exchange).map(|(_, sent)| sent).collect()
}

fn cluster() -> Cluster {
    let cluster = Cluster::start(Config { nodes: Vec::new(), ..Config::default() });
    cluster.clients.serve(true);
    cluster
}

#[test]
fn a_program_outside_is_an_actor() {
    let mut cluster = cluster();
    let watch = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=30&fieldSelector=metadata.name%3Dc");
    let watching = cluster.clients.arrive(&mut cluster.engine, arrival("GET", &watch, ""));
    let made =
        cluster.clients.arrive(&mut cluster.engine, arrival("POST", CONFIG_MAPS, r#"{"metadata":{"name":"c"}}"#));
    assert!(cluster.engine.pending().any(|event| cluster.engine.name(event.from) == "wire/kubectl-1"));
    assert_eq!(cluster.clients.exchanges(&cluster.engine).len(), 2);
    while !cluster.clients.exchanges(&cluster.engine).is_empty() && cluster.step().is_some() {}
    let sent = cluster.clients.take_sent(&cluster.engine);
    assert!(matches!(sent_to(&sent, made)[..], [Sent::Answer(answer)] if answer.code == 201), "{sent:?}");
    let lines = sent_to(&sent, watching);
    let [Sent::Begins(_), Sent::Line(line), Sent::Ends] = lines[..] else { panic!("{lines:?}") };
    assert!(line.starts_with("{\"type\":\"ADDED\""), "{line}");
    assert!(cluster.clients.exchanges(&cluster.engine).is_empty());
}

/// Each minute, and two seconds before the end; a client that did not ask hears nothing.
#[test]
fn a_watch_says_how_far_it_has_come() {
    let mut cluster = cluster();
    let watch = |options: &str| {
        let target = format!("{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dc&timeoutSeconds=150{options}");
        arrival("GET", &target, "")
    };
    let asks = cluster.clients.arrive(&mut cluster.engine, watch("&allowWatchBookmarks=true"));
    cluster.clients.arrive(&mut cluster.engine, watch(""));
    let begun = cluster.engine.now();
    let mut told: Vec<(u64, u64)> = Vec::new();
    while cluster.clients.is_under_way(asks) && cluster.step().is_some() {
        for (exchange, sent) in cluster.clients.take_sent(&cluster.engine) {
            let Sent::Line(line) = sent else { continue };
            let event: serde_json::Value = serde_json::from_str(&line).expect("a line is JSON");
            assert!(
                exchange == asks && event["type"] == "BOOKMARK" && event["object"]["kind"] == "ConfigMap",
                "{line}"
            );
            assert!(event["object"]["metadata"]["annotations"].is_null(), "{line}");
            let revision = event["object"]["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
            told.push(((cluster.engine.now() - begun).as_secs(), revision.expect("a bookmark has one")));
            // A change that these watches are not told of.
            let other = arrival("POST", CONFIG_MAPS, r#"{"metadata":{"generateName":"other-"}}"#);
            cluster.clients.arrive(&mut cluster.engine, other);
        }
    }
    let (times, revisions): (Vec<_>, Vec<_>) = told.into_iter().unzip();
    assert_eq!(times, [60, 120, 148]);
    assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");
}

#[test]
fn a_client_that_hangs_up_is_forgotten() {
    let mut cluster = cluster();
    let watching =
        cluster.clients.arrive(&mut cluster.engine, arrival("GET", &format!("{CONFIG_MAPS}?watch=true"), ""));
    cluster.settle(Duration::from_secs(1));
    let asked = cluster.clients.arrive(&mut cluster.engine, arrival("GET", CONFIG_MAPS, ""));
    assert!(
        cluster.clients.hang_up(&mut cluster.engine, watching) && cluster.clients.hang_up(&mut cluster.engine, asked)
    );
    assert!(
        !cluster.clients.hang_up(&mut cluster.engine, watching)
            && cluster.clients.exchanges(&cluster.engine).is_empty()
    );
    cluster.settle(Duration::from_secs(1));
    assert!(sent_to(&cluster.clients.take_sent(&cluster.engine), asked).is_empty());
}

/// What a shell in a container has said to a client: to standard output, to standard error, and how it has ended.
fn said(cluster: &mut Cluster, exchange: ExchangeId) -> [String; 3] {
    cluster.settle(Duration::from_secs(1));
    let mut said = <[String; 3]>::default();
    for (_, sent) in cluster.clients.take_sent(&cluster.engine).into_iter().filter(|(of, _)| *of == exchange) {
        if let Sent::Frame(frame) = sent {
            said[usize::from(frame[0]) - 1] += std::str::from_utf8(&frame[1..]).expect("it is text");
        }
    }
    said
}

/// Without a terminal: line by line as it comes, and each of the two outputs apart.
#[test]
fn a_shell_does_what_comes_by_a_connection() {
    let mut cluster = Cluster::start(Config::default());
    cluster.clients.serve(true);
    let pod = r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"busybox","command":["sleep","1h"]}]}}"#;
    cluster.clients.arrive(&mut cluster.engine, arrival("POST", "/api/v1/namespaces/default/pods", pod));
    cluster.settle(Duration::from_secs(20));
    let begin = |cluster: &mut Cluster, protocol: &str| {
        let target = "/api/v1/namespaces/default/pods/web/exec?command=sh&stdin=true&stdout=true&stderr=true";
        let mut arrival = arrival("GET", target, "");
        let upgrade = [("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", protocol)];
        arrival.headers.extend(upgrade.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let exchange = cluster.clients.arrive(&mut cluster.engine, arrival);
        cluster.settle(Duration::from_secs(1));
        cluster.clients.take_sent(&cluster.engine);
        exchange
    };
    let send = |cluster: &mut Cluster, exchange: ExchangeId, channel: u8, text: &str| {
        assert!(cluster.clients.data(&mut cluster.engine, exchange, &[&[channel], text.as_bytes()].concat()));
        said(cluster, exchange)
    };
    let shell = begin(&mut cluster, "v5.channel.k8s.io");
    for (text, output, errors) in [
        ("echo ä; ls /nope\necho b", "ä\n", "ls: /nope: No such file or directory\n"),
        ("\nfor i in 1 2\n", "b\n", ""),
        ("do echo $i\ndone\n", "1\n2\n", ""),
        ("(exit 4)", "", ""),
    ] {
        assert_eq!(send(&mut cluster, shell, stream::STDIN, text)[..2], [output, errors], "{text}");
    }
    let [_, _, end] = send(&mut cluster, shell, stream::CLOSE, "\0");
    assert!(end.contains("exit status 4"), "{end}");
    assert!(!cluster.clients.is_under_way(shell));

    // More comes than is kept, while a line runs.
    let flooded = begin(&mut cluster, "v5.channel.k8s.io");
    send(&mut cluster, flooded, stream::STDIN, "sleep 20\n");
    let block = "x".repeat(1 << 20);
    for _ in 0..16 {
        assert_eq!(send(&mut cluster, flooded, stream::STDIN, &block)[2], "");
    }
    assert!(send(&mut cluster, flooded, stream::STDIN, &block)[2].contains("bytes of input wait"));
    assert!(!cluster.clients.is_under_way(flooded));
    cluster.settle(Duration::from_secs(100));

    // Its client hangs up, or the container ends.
    let [left, killed] = [(); 2].map(|()| begin(&mut cluster, "v4.channel.k8s.io"));
    assert_eq!(send(&mut cluster, killed, stream::STDIN, "hostname\n")[0], "web\n");
    assert!(cluster.clients.hang_up(&mut cluster.engine, left));
    let processes = send(&mut cluster, killed, stream::STDIN, "ps\n");
    assert_eq!(processes[0].lines().filter(|line| line.ends_with(" sh")).count(), 1, "{processes:?}");
    assert!(cluster.kill_container(&object::Key::new("default", "web"), "", false));
    assert!(said(&mut cluster, killed)[2].contains("exit status 137"));
}

#[test]
fn a_refused_watch_is_an_answer() {
    let mut cluster = cluster();
    let watch = |version: &str| format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}");
    let (wrong, old) = (arrival("GET", &watch("x"), ""), arrival("GET", &watch("1"), ""));
    let (wrong, old) =
        (cluster.clients.arrive(&mut cluster.engine, wrong), cluster.clients.arrive(&mut cluster.engine, old));
    cluster.settle(Duration::from_secs(1));
    let sent = cluster.clients.take_sent(&cluster.engine);
    assert!(matches!(sent_to(&sent, wrong)[..], [Sent::Answer(answer)] if answer.code >= 400), "{sent:?}");
    assert!(matches!(sent_to(&sent, old)[..], [Sent::Begins(_), ..]), "{sent:?}");
}

#[test]
fn programs_have_names_that_can_be_typed() {
    for (agent, program) in [
        ("kubectl/v1.36.4 (linux/amd64)", "kubectl"),
        ("Helm/4.2.3", "Helm"),
        ("python-requests/2.1", "python-requests"),
        ("<b>", "unknown"),
        ("", "unknown"),
    ] {
        let headers = vec![("user-agent".to_owned(), agent.to_owned())];
        assert_eq!(Arrival { headers, ..Arrival::default() }.program(), program);
    }
}
