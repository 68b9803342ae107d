//! The explorer finds what a wrong part does in rare orders and after rare faults only, and finds nothing where nothing is
//! wrong.

use cluster::scenario::Scenario;
use debugger::explore::fault::{FaultKind, Where};
use debugger::explore::{Bound, Mode, Report, Search, Subject, explore, explore_here, plan, resume};
use debugger::file;
use debugger::properties::own::Stated;

fn scenario(name: &str) -> Scenario {
    Scenario::find(name).expect("it is shipped")
}

fn mended(name: &str) -> Scenario {
    scenario(name).mended().expect("it shows a bug")
}

/// How far the scenario says.
fn usual(scenario: &Scenario) -> Bound {
    plan::bound(&scenario.explore.clone().unwrap_or_default()).expect("its bound is well formed")
}

fn with_subject<T>(scenario: &Scenario, run: impl FnOnce(&Subject) -> T) -> T {
    let stated: Vec<Stated> = plan::properties(scenario, &[]).expect("its properties are well formed");
    run(&Subject { cluster: &|| bugs::cluster(scenario), properties: &|| stated.iter().map(Stated::begin).collect() })
}

fn searched(scenario: &Scenario, bound: &Bound) -> Report {
    with_subject(scenario, |subject| explore_here(subject, bound))
}

/// The bug is found, its replay leads to the step, and the mended part is clean.
fn finds(name: &str, property: &str) {
    let wrong = scenario(name);
    let found = searched(&wrong, &usual(&wrong));
    let violation = found.violation.unwrap_or_else(|| panic!("{name} is not found in {} schedules", found.schedules));
    assert!(violation.property.contains(property), "{violation:?}");
    let session = file::of_run(wrong, violation.choices.clone(), violation.step);
    assert_eq!(session.history().len() as u64, violation.step, "the run can be repeated");
    let opened = file::open(&file::save(&session), Some(violation.step)).expect("what is saved can be opened");
    assert_eq!(opened.choices().len(), violation.choices.len());

    let right = mended(name);
    for scenario in [&scenario(name), &right] {
        assert_eq!(plan::unknown(&usual(scenario), bugs::cluster(scenario)), None, "{name}: as the command line asks");
    }
    let clean = searched(&right, &usual(&right));
    assert_eq!(clean.violation, None, "{name}, mended");
    assert!(clean.exhausted, "{name}, mended: {clean:?}");
}

macro_rules! bugs {
    ($($test:ident: $name:literal, $property:literal;)*) => {
        $(#[test] fn $test() { finds($name, $property); })*

        #[test]
        fn every_shipped_bug_is_tested() {
            let shipped: Vec<String> = Scenario::bugs().into_iter().map(|scenario| scenario.name).collect();
            assert_eq!(shipped, [$($name),*]);
        }
    };
}

bugs! {
    stale_cache: "stale-cache", "more Pods than it asks for";
    expectations_expire: "expectations-expire", "more Pods than it asks for";
    count_then_check: "count-then-check", "more Pods than it asks for";
    stale_restart: "stale-restart", "more Pods than it asks for";
    pod_on_two_nodes: "pod-on-two-nodes", "one node at a time";
    half_done: "half-done", "the size that is asked for";
    ghost_node: "ghost-node", "only to a node that is there";
    delta_queue: "delta-queue", "agree with the store";
    duplicate_slices: "duplicate-slices", "two EndpointSlices";
    live_children: "live-children", "no owner any more";
    orphans_at_start: "orphans-at-start", "no orphan is left";
    dying_pod: "dying-pod", "sent to a Pod that has ended";
    two_managers: "two-managers", "no client scales down";
    early_finalizer: "early-finalizer", "no bucket is left over";
    lost_update: "lost-update", "counted once";
}

#[test]
fn the_shipped_replicaset_controller_is_right_with_two_messages_late() {
    let right = mended("stale-cache");
    let found = searched(&right, &Bound { late: 2, window: std::time::Duration::from_millis(1), ..usual(&right) });
    assert_eq!(found.violation, None);
    assert!(found.exhausted && found.schedules > 100, "{found:?}");
}

#[test]
fn threads_change_nothing() {
    let right = mended("live-children");
    let bound = Bound { schedules: 30, ..usual(&right) };
    let with = |threads| with_subject(&right, |subject| explore(subject, &bound, Mode::Search, threads, |_| true));
    let one = with(1);
    assert_eq!(one.schedules, 30);
    assert_eq!(one, with(2));
    assert_eq!(one, searched(&right, &bound));
}

/// Orders that differ only in steps that do not depend on each other are run once: as many different ones are left.
#[test]
fn reduction_leaves_out_only_what_is_alike() {
    let right = mended("half-done");
    let bound = Bound { faults: 0, kinds: Vec::new(), ..usual(&right) };
    let (reduced, all) = (searched(&right, &bound), searched(&right, &Bound { reduce: false, ..bound.clone() }));
    assert_eq!((reduced.orders, reduced.exhausted, all.exhausted), (all.orders, true, true));
    assert!(reduced.schedules * 5 < all.schedules, "{} of {}", reduced.schedules, all.schedules);
}

#[test]
fn a_search_can_be_gone_on_with() {
    let right = mended("lost-update");
    let bound = usual(&right);
    let whole = searched(&right, &bound);
    with_subject(&right, |subject| {
        let mut search = Search::new();
        search.go(subject, &Bound { schedules: 30, ..bound.clone() }, 1, |_| true);
        assert!(!search.report.exhausted);
        let text = resume::save(&search, "orders", &bound);
        let mut again = resume::open(&text, "orders", &bound).expect("it is the same search");
        again.go(subject, &bound, 2, |_| true);
        assert_eq!(again.report, whole);
        assert!(resume::open(&text, "something else", &bound).is_err());
        assert!(resume::open(&text, "orders", &Bound { late: 2, ..bound.clone() }).is_err());
        assert!(resume::open("{}", "orders", &bound).is_err());
    });
}

#[test]
fn chance_finds_it_too_and_repeats_itself() {
    let wrong = scenario("lost-update");
    for depth in [None, Some(2)] {
        let mode = Mode::Random { runs: 500, seed: 7, depth };
        let run = |threads| with_subject(&wrong, |subject| explore(subject, &usual(&wrong), mode, threads, |_| true));
        let found = run(2);
        assert_eq!(found, run(1));
        let violation = found.violation.unwrap_or_else(|| panic!("{depth:?}: not in {} runs", found.schedules));
        let session = file::of_run(wrong.clone(), violation.choices, violation.step);
        assert_eq!(session.history().len() as u64, violation.step);
    }
}

/// Each kind of fault is tried somewhere, and a run with it comes to rest.
#[test]
fn every_kind_of_fault_is_tried() {
    let right = Scenario { parts: Some("stale-lists".into()), ..scenario("orphans-at-start") };
    for (name, kind) in FaultKind::all() {
        let kinds = if name == "stale" { vec![FaultKind::Disconnect, kind] } else { vec![kind] };
        let faults = kinds.len();
        let places = ["kube-controller-manager pods", "*-controller pods", "*-controller replicasets"];
        let places = places.map(|place| Where::parse(place).unwrap()).into();
        let bound = Bound { late: 0, faults, kinds, places, schedules: 12, ..Bound::default() };
        let stated = plan::properties(&right, &["revisions-grow".to_owned()]).unwrap();
        let subject =
            Subject { cluster: &|| bugs::cluster(&right), properties: &|| stated.iter().map(Stated::begin).collect() };
        let found = explore_here(&subject, &bound);
        assert!(found.schedules > 1, "{name} is tried nowhere");
        assert_eq!(found.violation, None, "{name}");
    }
}

#[test]
fn wrong_bounds_say_how_to_write_them() {
    for (result, says) in [
        (FaultKind::parse("explode").map(|_| ()), "there are hold, drop"),
        (Where::parse("").map(|_| ()), "say whose"),
        (Where::parse("kubelet/* pots").map(|_| ()), "there is no kind \"pots\""),
        (plan::properties(&scenario("lost-update"), &["x".into()]).map(|_| ()), "every order is counted once"),
        (
            bugs::parts_of(&Scenario { parts: Some("x".into()), ..Scenario::default() }).map(|_| ()),
            "there are no parts",
        ),
    ] {
        let error = result.expect_err(says);
        assert!(error.contains(says), "{error}");
    }
}
