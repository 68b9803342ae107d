use cluster::scenario::Scenario;

use super::*;

fn stepper(scenario: &str) -> Stepper {
    let mut stepper = Stepper::new(Session::of(Scenario::find(scenario).unwrap()), false);
    stepper.answer("run").unwrap();
    stepper
}

/// A line with its last word as it may be, `|` between them; of many only the first.
fn completed(stepper: &Stepper, input: &str) -> String {
    let words: Vec<String> = candidates(stepper, input)
        .iter()
        .map(|line| line.strip_prefix(&input[..start_of_word(input)]).expect("the beginning stays").to_owned())
        .collect();
    words[..words.len().min(4)].join("|")
}

#[test]
fn a_word_is_completed_by_what_may_stand_there() {
    let mut stepper = stepper("deployment");
    for line in ["break pods", "display step", "kubectl create ns shop", "run", "back"] {
        stepper.answer(line).unwrap();
    }
    let store = &stepper.session.cluster.engine.server.api.store;
    let pods: Vec<&str> = store.prefix("/registry/pods/default/").map(|(_, entry)| entry.value.name()).collect();
    let pods = pods.join("|");
    let mut wrong = Vec::new();
    for (input, words) in [
        ("", ""),
        ("pend", "pending"),
        ("br", "branch|branches|break|breakpoints"),
        ("drai", "drain"),
        ("get po", "poddisruptionbudgets|pods|podtemplates"),
        ("get deploy ", "web"),
        ("get deploy w", "web"),
        ("kubectl get deploy/w", "deploy/web"),
        ("get pods -n s", "shop"),
        ("get pods -n shop ", ""),
        ("get pods -o y", "yaml"),
        ("get pods --outp", "--output|--output-watch-events"),
        ("get pods --output=y", "--output=yaml"),
        ("k ro", "rollout"),
        ("rollout st", "status"),
        ("rollout status deploy", "deployments"),
        ("rollout status deployments ", "web"),
        ("logs web", pods.as_str()),
        ("cordon node-", "node-1|node-2|node-3"),
        ("explain deploy.spec.rep", "deploy.spec.replicas"),
        ("create name", "namespace"),
        ("cache kube-s", "kube-scheduler"),
        ("cache kube-scheduler pods", "pods"),
        ("cache kube-scheduler pods ", ""),
        ("why deploy/", "deploy/web"),
        ("why deploy ", "web"),
        ("his", "history"),
        ("history deploy/default/w", "deploy/default/web"),
        ("watch deploy/web", "deploy/web."),
        ("watch deploy/web.status.avail", "deploy/web.status.availableReplicas"),
        ("print deploy/web.status.repl", "deploy/web.status.replicas"),
        ("print new.meta", "new.metadata"),
        ("break sec", "secrets"),
        ("break pod if new.status.ph", "new.status.phase"),
        ("break pod if changed(status.ph", "changed(status.phase"),
        ("break pods if event.co", "event.code"),
        ("break ns=sh", "ns=shop"),
        ("break from=kube-s", "from=kube-scheduler"),
        ("unbreak ", "1"),
        ("undisplay ", "1"),
        ("cut node-", "node-1|node-2|node-3"),
        ("kill web", pods.as_str()),
        ("full node-1 me", "memory"),
        ("help his", "history"),
        ("info thr", "threads"),
        ("get pods | gr", "grep"),
        ("why -n sh", "shop"),
        ("apply -f w", "web.yaml"),
        ("get zzz/é", ""),
        ("explain pod.zzz.", ""),
        ("print 'é", ""),
    ] {
        let found = completed(&stepper, input);
        if found != words {
            wrong.push(format!("{input:?}: {found}, and must be {words}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(stepper.answer("complete get deploy ").unwrap().text, "get deploy web\n");
}

#[test]
fn what_a_command_takes_is_what_its_usage_says() {
    for command in commands::all() {
        for (word, takes) in
            [("COMPONENT", Takes::Component), ("NODE", Takes::Node), ("N…", Takes::Again), ("FILE", Takes::File)]
        {
            let says = command.usage.split([' ', '[', ']', '|', ',']).any(|part| part == word);
            let has = command.takes.iter().any(|place| place.contains(&takes));
            assert!(!says || has || command.usage.contains("--from"), "{}: {word}", command.usage);
        }
        assert!(command.takes.iter().rev().skip(1).all(|place| !place.contains(&Takes::Again)), "{}", command.usage);
    }
}
