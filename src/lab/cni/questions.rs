//! Ranges, what the folder has in it, and the calls that come.

use std::net::Ipv4Addr;

use crate::making::longer;
use exercise::cni::{Call, Case, Command, Files, LAST, Range};

/// All short sequences on folders of all sorts; then what seldom is; then larger ranges.
pub(super) fn all() -> Vec<Case> {
    let seldom = [after_a_change(), small_ranges(), nearly_full(), two_of_one_owner(), elsewhere()];
    let mut all = short_sequences();
    all.extend(seldom.into_iter().flatten());
    all.extend(in_larger_ranges());
    all
}

fn short_sequences() -> Vec<Case> {
    let (mut all, mut longest) = (Vec::new(), vec![Vec::new()]);
    for length in 1..=4 {
        longest = longer(&longest, &usual_calls());
        if length == 4 {
            longest.retain(|calls| calls[0].command == Command::Add && calls[0].ifname == "eth0");
            longest.retain(|calls| calls[0].container == "c1");
        }
        for (range, files, most) in starts() {
            let case = |calls: &Vec<Call>| Case { range, files: files.clone(), calls: calls.clone() };
            all.extend(longest.iter().filter(|_| length <= most).map(case));
        }
    }
    all
}

/// A range that is not that of the folder's other files, and begins with the gateway.
fn changed_range() -> Range {
    range([10, 1, 2, 8], [10, 1, 2, 12], [10, 1, 2, 8])
}

/// Calls for the one interface.
fn for_one(commands: &[Command]) -> Vec<Call> {
    commands.iter().map(|command| call(*command, "c1", "eth0")).collect()
}

/// So many containers ask for an address.
fn adds(count: usize) -> Vec<Call> {
    (0..count).map(|n| call(Command::Add, &format!("n{n}"), "eth0")).collect()
}

/// After a change of the range.
fn after_a_change() -> Vec<Case> {
    let (range, taken) = (changed_range(), [("10.1.2.200", "c1\r\neth0")]);
    let both = [("10.1.2.11", "c1\r\neth0"), taken[0]];
    let mut all = Vec::new();
    for calls in [
        &[Command::Del][..],
        &[Command::Check],
        &[Command::Add],
        &[Command::Del, Command::Check],
        &[Command::Del, Command::Add],
        &[Command::Add, Command::Add],
        &[Command::Add, Command::Del],
    ] {
        all.push(Case { range, files: files(&taken), calls: for_one(calls) });
        all.push(Case { range, files: files(&both), calls: for_one(calls) });
    }
    all
}

/// One address and none, a gateway at the end, and a range that goes on in the next network.
fn small_ranges() -> Vec<Case> {
    let ranges = [
        range([10, 1, 2, 5], [10, 1, 2, 5], [10, 1, 2, 1]),
        range([10, 1, 2, 5], [10, 1, 2, 5], [10, 1, 2, 5]),
        range([10, 1, 2, 8], [10, 1, 2, 9], [10, 1, 2, 9]),
        range([10, 1, 255, 254], [10, 2, 0, 1], [10, 1, 0, 1]),
    ];
    let case = |range, count| Case { range, files: files(&[]), calls: adds(count) };
    ranges.into_iter().flat_map(|range| (1..=5).map(move |count| case(range, count))).collect()
}

/// Nearly all of many are taken.
fn nearly_full() -> Vec<Case> {
    let calls = ["c1", "c2"].map(|container| call(Command::Add, container, "eth0")).to_vec();
    let range = range([10, 1, 0, 1], [10, 1, 3, 254], [10, 1, 0, 1]);
    let address = |n: u32| Ipv4Addr::from(u32::from(range.start) + n).to_string();
    let case = |(last, free): (u32, u32)| {
        let taken = (1..1022).filter(|n| *n != free).map(|n| (address(n), format!("p{n}\r\neth0")));
        let files = taken.chain([(LAST.to_owned(), address(last))]).collect();
        Case { range, files, calls: calls.clone() }
    };
    [(10, 9), (1000, 5), (700, 699)].map(case).into()
}

/// A crash has left it two: DEL takes back both.
fn two_of_one_owner() -> Vec<Case> {
    let two = files(&[("10.1.2.9", "c1\r\neth0"), ("10.1.2.11", "c1\r\neth0"), (LAST, "10.1.2.11")]);
    let calls =
        [&[Command::Del][..], &[Command::Check], &[Command::Del, Command::Check], &[Command::Del, Command::Add]];
    calls.map(|calls| Case { range: changed_range(), files: two.clone(), calls: for_one(calls) }).into()
}

/// A network of other numbers, whose addresses are as long as any.
fn elsewhere() -> Vec<Case> {
    let range = range([192, 168, 100, 253], [192, 168, 101, 1], [192, 168, 100, 1]);
    let calls = [
        &[Command::Add][..],
        &[Command::Add, Command::Add],
        &[Command::Add, Command::Check],
        &[Command::Add, Command::Del],
        &[Command::Add, Command::Del, Command::Check],
        &[Command::Add, Command::Del, Command::Add],
    ];
    calls.map(|calls| Case { range, files: files(&[]), calls: for_one(calls) }).into()
}

fn in_larger_ranges() -> Vec<Case> {
    let (names, mut all) = (similar_calls(), Vec::new());
    for (range, files) in others() {
        let case = |calls: &[Call]| Case { range, files: files.clone(), calls: calls.to_vec() };
        let mut longest = vec![Vec::new()];
        for _ in 1..=2 {
            longest = longer(&longest, &names);
            all.extend(longest.iter().map(|calls| case(calls)));
        }
        // As many as there is room for, and one more.
        let adds = adds(9);
        all.extend((3..=8).map(|count| case(&adds[..count])));
    }
    all
}

fn range(start: [u8; 4], end: [u8; 4], gateway: [u8; 4]) -> Range {
    Range { start: start.into(), end: end.into(), gateway: gateway.into() }
}

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// Ranges, folders and the longest sequence that is tried with them.
fn starts() -> Vec<(Range, Files, usize)> {
    let usual = range([10, 1, 2, 1], [10, 1, 2, 3], [10, 1, 2, 1]);
    vec![
        (usual, files(&[]), 4),
        (usual, files(&[(LAST, "10.1.2.2")]), 2),
        (usual, files(&[(LAST, "10.1.2.3")]), 2),
        (usual, files(&[(LAST, "10.1.2.1")]), 2),
        (usual, files(&[(LAST, "10.9.9.9")]), 2),
        // The range was another one when it was given.
        (range([10, 1, 2, 5], [10, 1, 2, 9], [10, 1, 2, 1]), files(&[(LAST, "10.1.2.10")]), 2),
        (range([10, 1, 2, 5], [10, 1, 2, 9], [10, 1, 2, 1]), files(&[(LAST, "10.1.2.2")]), 2),
        (usual, files(&[("10.1.2.2", "gone\r\neth0"), (LAST, "10.1.2.2")]), 3),
        (usual, files(&[("10.1.2.3", "gone\r\neth0"), (LAST, "10.1.2.2")]), 2),
        (usual, files(&[("10.1.2.2", "c1\r\neth0"), ("10.1.2.3", "gone\r\neth0"), (LAST, "10.1.2.3")]), 3),
        (range([10, 1, 2, 5], [10, 1, 2, 7], [10, 1, 2, 6]), files(&[]), 3),
        (range([10, 1, 2, 5], [10, 1, 2, 7], [10, 1, 2, 6]), files(&[(LAST, "10.1.2.6")]), 2),
        (usual, files(&[("10.1.2.200", "c3\r\neth0"), ("10.1.2.201", "c4\r\neth0")]), 1),
        (range([10, 1, 2, 8], [10, 1, 2, 9], [10, 1, 2, 1]), files(&[("10.1.2.8", "gone\r\neth0")]), 1),
        // A crash has left it empty.
        (usual, files(&[("10.1.2.2", "")]), 1),
        (range([10, 1, 2, 5], [10, 1, 2, 9], [10, 1, 2, 1]), files(&[("10.1.2.7", "gone\r\neth0")]), 1),
        (range([10, 1, 2, 254], [10, 1, 3, 1], [10, 1, 2, 1]), files(&[]), 3),
        (range([10, 1, 2, 254], [10, 1, 3, 1], [10, 1, 2, 1]), files(&[(LAST, "10.1.2.255")]), 2),
        (range([10, 1, 2, 1], [10, 1, 3, 254], [10, 1, 2, 1]), files(&[(LAST, "10.1.3.10")]), 1),
        (usual, files(&[("note-1", ""), ("note-2", ""), ("note-3", "")]), 1),
    ]
}

/// Larger ranges, in which addresses are not in the order of their text, and folders with files of others, whose names begin
/// or end alike, and with what does not matter.
fn others() -> Vec<(Range, Files)> {
    let address = |last: u8| Ipv4Addr::new(10, 1, 2, last);
    let range = |start, end, gateway| Range { start: address(start), end: address(end), gateway: address(gateway) };
    let files = |last: Option<&str>, taken: &[(u8, &str)]| -> Files {
        let taken = taken.iter().map(|(at, owner)| (address(*at).to_string(), owner.replace(' ', "\r\n")));
        // Who cleans up by hand has left a note.
        let more = [("README".to_owned(), "ask bob".to_owned())];
        let last = last.map(|last| (LAST.to_owned(), last.to_owned()));
        taken.chain(more).chain(last).collect()
    };
    let (small, large) = (range(8, 12, 8), range(1, 254, 1));
    vec![
        (small, files(None, &[])),
        (small, files(Some("10.1.2.9"), &[(10, "c10 eth0")])),
        (small, files(Some("10.1.2.12"), &[(9, "c1 eth01"), (11, "c2 eth0")])),
        (small, files(Some("10.1.2.10"), &[(9, "xc1 eth0"), (200, "gone eth0")])),
        (small, files(Some("10.1.2.12"), &[(10, "c1 veth0"), (12, "c10 eth0")])),
        (range(8, 12, 1), files(None, &[])),
        // A crash has left it empty.
        (small, files(Some(""), &[(9, "c10 eth01")])),
        (large, files(Some("10.1.2.99"), &[(100, "gone eth0"), (101, "c10 eth0"), (103, "c1 eth01")])),
        (large, files(Some("10.1.2.250"), &[])),
        (large, files(Some("10.1.2.253"), &[(2, "gone eth0"), (254, "xc1 eth0")])),
    ]
}

fn call(command: Command, container: &str, ifname: &str) -> Call {
    Call { command, container: container.to_owned(), ifname: ifname.to_owned() }
}

fn usual_calls() -> Vec<Call> {
    vec![
        call(Command::Add, "c1", "eth0"),
        call(Command::Add, "c2", "eth0"),
        call(Command::Add, "c1", "net1"),
        call(Command::Del, "c1", "eth0"),
        call(Command::Del, "c2", "eth0"),
        call(Command::Check, "c1", "eth0"),
    ]
}

/// Of containers and interfaces whose names begin or end alike.
fn similar_calls() -> Vec<Call> {
    let owners = [("c1", "eth0"), ("c10", "eth0"), ("c1", "eth01")];
    let of = |command| owners.map(|(container, ifname)| call(command, container, ifname));
    [Command::Add, Command::Del, Command::Check].into_iter().flat_map(of).collect()
}
