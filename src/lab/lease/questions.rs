//! What is asked: small worlds of two or three candidates, simple ones first.

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::{Value, json};

use crate::making::{drawn, read};
use exercise::lease::{Act, Case, OTHER, time};

use Act::{Answer, Both, Deletes, Ends, Fails, Hands, Labels, Lost, Restarts, Slow, Try, Wait};

/// So many worlds in which all goes as if by chance.
const BY_CHANCE: usize = 160;

/// What clocks show at first: nearly the same, and one far before the other.
const CLOCKS: [[u64; 2]; 6] = [[100, 100], [100, 97], [100, 104], [100, 3_700], [86_400, 100], [40, 1_000_000]];

type Script = Vec<(u32, Vec<Act>)>;

pub(super) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for (n, clocks) in CLOCKS.iter().enumerate() {
        let case = |lease: Option<Lease>, script| Case { clocks: clocks.to_vec(), lease, script };
        all.extend(alone().into_iter().map(|script| case(None, script)));
        for (m, lease) in left_behind().into_iter().enumerate() {
            all.extend(waiting(n + m).into_iter().map(|script| case(Some(lease.clone()), script)));
        }
        all.extend(
            [free(""), free("none")]
                .into_iter()
                .flat_map(|lease| at_once().into_iter().map(move |script| case(Some(lease.clone()), script))),
        );
    }
    // The usual first, and what is rare at last.
    all.sort_by_key(|case| case.acts().len());
    all.extend((0..BY_CHANCE).map(by_chance));
    all
}

/// Leases of one that is gone.
fn left_behind() -> Vec<Lease> {
    let lease = |holder: &str, duration: u64, written: u64, more: Value| -> Lease {
        let mut lease = json!({"metadata": {"name": "web"}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": duration, "acquireTime": time(written), "renewTime": time(written + 6),
        }});
        lease["metadata"]["labels"] = more["labels"].clone();
        lease["spec"]["leaseTransitions"] = more["transitions"].clone();
        read(lease)
    };
    vec![
        lease(OTHER, 15, 90, json!({"transitions": 0})),
        lease(OTHER, 15, 2_000_000, json!({"transitions": 4})),
        lease(OTHER, 30, 1, json!({"labels": {"example.com/team": "web"}, "transitions": 1})),
        lease(OTHER, 5, 400_000, json!({})),
        lease("web-12", 15, 95, json!({"transitions": 7})),
    ]
}

/// Leases that no candidate has.
fn free(holder: &str) -> Lease {
    let holder = (holder != "none").then_some(holder);
    read(json!({"metadata": {"name": "web", "labels": {"example.com/team": "web"}}, "spec": {
        "holderIdentity": holder, "leaseDurationSeconds": 1, "acquireTime": time(80), "renewTime": time(80), "leaseTransitions": 2,
    }}))
}

/// Candidates wait until another's Lease is over, with this step between two looks.
fn waiting(n: usize) -> Vec<Script> {
    let steps = [1, 2, 3, 7];
    let step = steps[n % steps.len()];
    let looks = u32::try_from(34 / step + 1).unwrap_or(1);
    vec![
        vec![(looks, vec![Try(0), Wait(step)])],
        vec![(looks, vec![Try(0), Try(1), Wait(step)])],
        vec![(looks, vec![Try(0), Labels, Wait(step)])],
        vec![(1, vec![Try(0), Wait(9), Try(1)]), (3, vec![Wait(5), Try(0), Try(1)])],
        vec![(1, vec![Try(0), Wait(14), Try(0), Wait(1), Both(1, 0)]), (9, vec![Wait(2), Try(1), Try(0)])],
        vec![(1, vec![Try(0), Wait(30), Both(0, 1), Try(1)]), (2, vec![Wait(2), Try(0)])],
        vec![(1, vec![Try(0), Wait(40), Ends(0), Try(1)])],
        vec![(1, vec![Try(0), Wait(2), Deletes, Try(1), Try(0)]), (2, vec![Wait(2), Try(1), Try(0)])],
    ]
}

/// Candidates find a Lease that was released.
fn at_once() -> Vec<Script> {
    vec![
        vec![(1, vec![Try(0), Try(1), Wait(2), Try(0)])],
        vec![(1, vec![Both(1, 0), Try(0), Wait(2), Try(1)])],
        vec![(1, vec![Ends(0), Try(1), Wait(3), Ends(1), Try(0)])],
    ]
}

/// From the beginning, without any Lease.
fn alone() -> Vec<Script> {
    let turns = |times: u32, step: u64| (times, vec![Wait(step), Try(0), Try(1)]);
    let mut all = vec![
        vec![(1, vec![Try(0)])],
        vec![(1, vec![Try(0), Try(1)]), turns(2, 2)],
        vec![(1, vec![Both(0, 1), Try(0), Try(1)]), turns(2, 2)],
        vec![(1, vec![Both(1, 0), Wait(1), Try(0), Try(1)])],
        vec![(1, vec![Try(0), Ends(0), Try(1), Wait(2), Try(1)])],
        vec![(1, vec![Try(0), Try(1), Ends(1), Wait(2), Try(0)])],
        vec![(1, vec![Try(0), Wait(12), Ends(0), Try(1)])],
        vec![(1, vec![Try(0), Labels, Wait(2), Try(0), Ends(0), Try(1)])],
        vec![(1, vec![Try(0), Hands, Try(0), Wait(2), Try(0), Ends(0)])],
        vec![(1, vec![Fails(0), Fails(1), Wait(2), Try(1), Try(0)])],
        vec![(1, vec![Lost(0), Wait(2), Fails(0), Wait(2), Try(0), Try(1)])],
        vec![(1, vec![Lost(0), Wait(9), Fails(0)]), (2, vec![Wait(3), Try(1)])],
        vec![(1, vec![Slow(0), Wait(3), Answer(0), Try(1)]), (8, vec![Wait(1)])],
        vec![(1, vec![Slow(0), Try(1), Wait(9), Answer(0)]), (8, vec![Wait(1), Try(1)])],
        vec![(1, vec![Slow(0), Wait(20), Try(1), Answer(0), Try(1)])],
        // The leader crashes.
        vec![(1, vec![Try(0), Try(1), Restarts(0)]), turns(9, 2)],
        vec![(1, vec![Try(0), Wait(4), Try(0), Restarts(0), Try(0)]), (4, vec![Wait(4), Try(0), Try(1)])],
        // It cannot write any more.
        vec![(1, vec![Try(0), Try(1)]), (17, vec![Wait(1), Fails(0), Try(1)]), turns(2, 2)],
        vec![turns(3, 2), (6, vec![Wait(3), Fails(0), Try(1)]), (1, vec![Try(0)])],
        // It renews all the time.
        vec![turns(12, 2)],
        vec![(1, vec![Try(1)]), (9, vec![Wait(3), Labels, Try(1), Try(0)])],
        // It is held up, and wakes.
        vec![(1, vec![Try(0), Try(1)]), (4, vec![Wait(4), Try(1)]), (1, vec![Try(0), Ends(0), Try(1)])],
    ];
    all.extend((8..17).map(|wait| vec![(1, vec![Try(0), Try(1), Wait(wait), Try(1), Try(0), Ends(1), Try(0)])]));
    all
}

/// Three candidates, to which anything may happen.
fn by_chance(n: usize) -> Case {
    let mut draw = drawn(n);
    let clocks = [0; 3].map(|_| [100, 97, 3_700, 86_400, 103, 1_000_000][draw(6)]).to_vec();
    let mut acts = Vec::new();
    for _ in 0..12 + draw(24) {
        let one = draw(3);
        acts.push(match draw(20) {
            0..=6 => Try(one),
            7..=11 => Wait([1, 2, 2, 3, 5, 9, 15][draw(7)]),
            12 => Both(one, (one + 1) % 3),
            13 => Fails(one),
            14 => Lost(one),
            15 => Slow(one),
            16 => Answer(one),
            17 => Labels,
            18 => Restarts(one),
            _ => Ends(one),
        });
    }
    Case { clocks, lease: None, script: vec![(1, acts)] }
}
