//! Exercise 14: a CNI plugin that gives addresses. Mirrors `plugins/ipam/host-local` of containernetworking/plugins.
//!
//! Every sequence of three calls on a range of two addresses is asked, those of four that begin with a container that
//! gets one, and shorter ones on folders that a crash, a leak or another configuration has left behind. Others are on larger
//! ranges, with containers and interfaces whose names are alike.
//!
//! Left out: several ranges, addresses that somebody asks for, files of older versions, the configuration's own errors.

use std::net::Ipv4Addr;

use serde_json::json;

use super::function::Function;
use super::words::{Part, part};
use super::{Exercise, Judging, placing, words};
use crate::exercise::cni::{Call, Case, Command, Files, LAST, Outcome, Range};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "14_cni",
    title: "Which address does a Pod get?",
    outcome: "say what ADD, DEL and CHECK do to the files of a node, and why an address that was freed rests for a while",
    needs: &[],
    hints: [
        "The files are all that a plugin remembers. Which one says where to begin the search, and which say what is taken?",
        "ADD looks first whether this interface has an address of the range already, which is an error. Then it goes once round the \
         range, from the one after the last given to that one itself, and leaves out the gateway. DEL never fails.",
        "ADD: a file with the text `container\\r\\nifname`, named after an address of the range, means a duplicate. Else the \
         first address without a file, from the one after LAST (the range's start if LAST is missing or out of range), \
         round to LAST; write both files. DEL: remove the files with that text. CHECK: an error if there is none.",
    ],
    minutes: 35,
    judging: Judging::of_part::<Cni>(placing::with_cni),
};

pub(super) struct Cni;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    FromStart,
    NoRound,
    NotLast,
    TakesGateway,
    EndIsOut,
    SameAgain,
    AnotherOne,
    FullFirst,
    ForeignIsDuplicate,
    FailureFrees,
    OnlyContainer,
    DelFails,
    DelTakesAll,
    DelForgetsLast,
    CheckTrusts,
    CheckAnyInterface,
    BeginsAlike,
    SortedAsText,
    DelCleans,
    SkipsGatewayFirst,
    CountsFiles,
    CountsGateway,
    KeepsForeign,
    EmptyIsFree,
    AfterHighest,
    DelTakesOne,
    CountsNotes,
    KeepsLong,
    FirstFew(usize),
    TriesFew(usize),
    CountsOn,
    FollowsLast,
}

impl Function for Cni {
    type Question = Case;
    type Answer = Outcome;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("the search begins at the start of the range; it goes on after the address given last", Slip::FromStart),
        ("the search ends at the end of the range; it goes round", Slip::NoRound),
        ("the address given last is never tried again", Slip::NotLast),
        ("the gateway's address is given away", Slip::TakesGateway),
        ("the last address of the range is never given", Slip::EndIsOut),
        ("a second ADD gives the same address again; it is an error", Slip::SameAgain),
        ("a second ADD gives another address; it is an error", Slip::AnotherOne),
        ("a second ADD is told that no address is left; it is a duplicate first of all", Slip::FullFirst),
        (
            "an address outside the range is taken for a duplicate; the interface gets one of the range beside it",
            Slip::ForeignIsDuplicate,
        ),
        ("an ADD that fails frees the address that the interface has", Slip::FailureFrees),
        ("the file does not say which interface has the address", Slip::OnlyContainer),
        ("DEL of what is not there is an error; it must be safe to repeat", Slip::DelFails),
        ("DEL of one interface frees the addresses of all interfaces of the container", Slip::DelTakesAll),
        ("DEL forgets which address was given last", Slip::DelForgetsLast),
        ("CHECK never fails", Slip::CheckTrusts),
        ("CHECK is content with an address of another interface", Slip::CheckAnyInterface),
        ("an owner is recognised by how its name begins; c10 is not c1", Slip::BeginsAlike),
        (
            "addresses are taken in the order of their text, in which 10.1.2.10 comes before 10.1.2.9",
            Slip::SortedAsText,
        ),
        ("DEL removes files that do not matter", Slip::DelCleans),
        (
            "where the address given last is the gateway's by now, the search begins at the start of the range",
            Slip::SkipsGatewayFirst,
        ),
        ("addresses outside the range are counted as taken ones of it", Slip::CountsFiles),
        ("the gateway is taken for one of the range, wherever it is, and an address stays free", Slip::CountsGateway),
        ("DEL keeps an address that is not in the range any more", Slip::KeepsForeign),
        ("an address whose file is empty is given away; whoever made the file has it", Slip::EmptyIsFree),
        (
            "where no address was given last the search begins after the highest that is taken; it begins at the start",
            Slip::AfterHighest,
        ),
        ("DEL takes back one address only; it is all that the interface has", Slip::DelTakesOne),
        ("files that do not matter are counted as taken addresses", Slip::CountsNotes),
        ("DEL does not know an address of more than twelve characters", Slip::KeepsLong),
        ("only the first few hundred addresses of a range are tried; it can be larger", Slip::FirstFew(254)),
        ("only the first few hundred addresses of a range are tried; it can be larger", Slip::FirstFew(256)),
        ("only the first few hundred addresses of a range are tried; it can be larger", Slip::TriesFew(256)),
        ("where the address given last is not in the range, it is taken for one of it", Slip::CountsOn),
        ("the address after the one given last is given, though it is not in the range", Slip::FollowsLast),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Outcome {
        let mut files = case.files.clone();
        let said = case.calls.iter().map(|call| run(&case.range, &mut files, call, slip)).collect();
        Outcome { said, files }
    }

    fn property(case: &Case, given: Option<&Outcome>) -> &'static str {
        let right = Cni::rule(case, None);
        let Some(given) = given.filter(|given| given.said.len() == case.calls.len()) else {
            return "every call gets an answer";
        };
        let Some(n) = (0..right.said.len()).find(|n| given.said[*n] != right.said[*n]) else {
            return "the files say what is taken, by whom, and which address was given last";
        };
        match (case.calls[n].command, &right.said[n], &given.said[n]) {
            (Command::Del, ..) => "DEL succeeds, however often it is called",
            (Command::Check, ..) => "CHECK says whether this interface has an address",
            (Command::Add, _, Ok(Some(address))) if *address == case.range.gateway => {
                "the gateway's address is not given"
            }
            (Command::Add, Ok(_), Ok(_)) => "the address is the next free one after the one given last",
            (Command::Add, Ok(_), Err(_)) => "while an address is free ADD gives one",
            (Command::Add, Err(_), _) => "an ADD that cannot give an address says why",
        }
    }

    fn show(case: &Case) -> String {
        let Range { start, end, gateway } = case.range;
        let few = case.files.iter().filter(|(name, _)| case.files.len() <= MANY || *name == LAST);
        let files: std::collections::BTreeMap<_, _> = few.collect();
        let more = case.files.len() - files.len();
        let files = words::field("files", &json!(files))
            + &(if more > 0 { format!("\nand {more} of addresses, all but one of them") } else { String::new() });
        let calls = words::numbered(case.calls.iter().map(ToString::to_string));
        format!("range: {start} to {end}, gateway {gateway}\n{files}\n{calls}")
    }

    fn say(case: &Case, Outcome { said, files }: &Outcome) -> Vec<Part> {
        let said = said.iter().map(|said| match said {
            Ok(Some(address)) => format!("Ok(Some({address}))"),
            Ok(None) => "Ok(None)".to_owned(),
            Err(why) => format!("Err: {why}"),
        });
        let said = (1..).zip(&case.calls).zip(said);
        let said = said.map(|((n, call), said)| part(format!("gave at {n}. {call}"), said));
        let is_new =
            |(name, text): &(&String, &String)| case.files.len() <= MANY || case.files.get(*name) != Some(*text);
        let mut left: std::collections::BTreeMap<_, _> = files.iter().filter(is_new).collect();
        let gone = "gone".to_owned();
        left.extend(
            case.files
                .keys()
                .filter(|name| case.files.len() > MANY && !files.contains_key(*name))
                .map(|name| (name, &gone)),
        );
        said.chain([part("left as files", json!(left))]).collect()
    }
}

/// More files are only counted.
const MANY: usize = 20;

fn run(range: &Range, files: &mut Files, call: &Call, slip: Option<Slip>) -> Result<Option<Ipv4Addr>, String> {
    let is = |one| slip == Some(one);
    let Call { command, container, ifname } = call;
    let text = if is(Slip::OnlyContainer) { container.clone() } else { format!("{container}\r\n{ifname}") };
    let of = |files: &Files, any: bool| -> Vec<String> {
        let alike = |has: &str| is(Slip::BeginsAlike) && has.starts_with(container) && has.ends_with(ifname);
        let ours = |has: &str| has == text || alike(has) || (any && has.split("\r\n").next() == Some(container));
        files.iter().filter(|(_, has)| ours(has)).map(|(name, _)| name.clone()).collect()
    };
    match command {
        Command::Add => {
            let held = of(files, false);
            let added = add(range, files, (container, &text), &held, slip);
            if added.is_err() && is(Slip::FailureFrees) {
                held.iter().for_each(|name| drop(files.remove(name)));
            }
            added.map(Some).map_err(|why| format!("failed to allocate for range 0: {why}"))
        }
        Command::Del => {
            let mut held = of(files, is(Slip::DelTakesAll));
            held.truncate(if is(Slip::DelTakesOne) { 1 } else { usize::MAX });
            held.retain(|name| !is(Slip::KeepsForeign) || is_in(range, name));
            held.retain(|name| !is(Slip::KeepsLong) || name.len() <= 12);
            if held.is_empty() && is(Slip::DelFails) {
                return Err(format!("host-local: Failed to find address added by container {container}"));
            }
            if is(Slip::DelForgetsLast) {
                files.remove(LAST);
            }
            held.iter().for_each(|name| drop(files.remove(name)));
            files.retain(|name, _| !is(Slip::DelCleans) || name == LAST || name.parse::<Ipv4Addr>().is_ok());
            Ok(None)
        }
        Command::Check if of(files, is(Slip::CheckAnyInterface)).is_empty() && !is(Slip::CheckTrusts) => {
            Err(format!("host-local: Failed to find address added by container {container}"))
        }
        Command::Check => Ok(None),
    }
}

/// Whether a file is named after an address of the range.
fn is_in(range: &Range, name: &str) -> bool {
    name.parse().is_ok_and(|at: Ipv4Addr| (range.start..=range.end).contains(&at))
}

fn add(
    range: &Range,
    files: &mut Files,
    (container, text): (&str, &str),
    held: &[String],
    slip: Option<Slip>,
) -> Result<Ipv4Addr, String> {
    let is = |one| slip == Some(one);
    let is_free = |address: &Ipv4Addr| match files.get(&address.to_string()) {
        Some(text) => is(Slip::EmptyIsFree) && text.is_empty(),
        None => true,
    };
    let addresses = files.keys().filter_map(|name| name.parse::<Ipv4Addr>().ok());
    let most = (u32::from(range.end) - u32::from(range.start)) as usize;
    let is_full = match slip {
        Some(Slip::CountsFiles) => addresses.count() >= most,
        Some(Slip::CountsNotes) => files.len() > most,
        Some(Slip::CountsGateway) => addresses.filter(|at| (range.start..=range.end).contains(at)).count() >= most,
        _ => false,
    };
    let highest = files.keys().filter(|name| is(Slip::AfterHighest) && name.parse::<Ipv4Addr>().is_ok()).max();
    let free = round(range, files.get(LAST).or(highest), slip).into_iter().find(is_free).filter(|_| !is_full);
    let none = || format!("no IP addresses available in range set: {}-{}", range.start, range.end);
    let mut held = held.iter().filter(|name| is(Slip::ForeignIsDuplicate) || is_in(range, name));
    if let Some(held) = held.next().filter(|_| !is(Slip::AnotherOne)) {
        if is(Slip::SameAgain) {
            return held.parse().map_err(|_| none());
        }
        if is(Slip::FullFirst) && free.is_none() {
            return Err(none());
        }
        return Err(format!("{held} has been allocated to {container}, duplicate allocation is not allowed"));
    }
    let address = free.ok_or_else(none)?;
    files.insert(address.to_string(), text.to_owned());
    files.insert(LAST.to_owned(), address.to_string());
    Ok(address)
}

/// The addresses to give, in the order in which they are tried.
fn round(range: &Range, last: Option<&String>, slip: Option<Slip>) -> Vec<Ipv4Addr> {
    let is = |one| slip == Some(one);
    let end = u32::from(range.end) - u32::from(is(Slip::EndIsOut));
    let mut all: Vec<Ipv4Addr> = (range.start.into()..=end).map(Ipv4Addr::from).collect();
    if let Some(Slip::FirstFew(most)) = slip {
        all.truncate(most);
    }
    if is(Slip::SortedAsText) {
        all.sort_by_key(Ipv4Addr::to_string);
    }
    if is(Slip::SkipsGatewayFirst) {
        all.retain(|address| *address != range.gateway);
    }
    let given = last.and_then(|last| last.parse::<Ipv4Addr>().ok());
    let last = last.and_then(|last| all.iter().position(|address| address.to_string() == *last));
    if let Some(given) = given.filter(|_| last.is_none() && is(Slip::CountsOn)) {
        let ahead = i64::from(given.to_bits()) + 1 - i64::from(range.start.to_bits());
        let places = all.len() as i64;
        all.rotate_left(ahead.rem_euclid(places) as usize);
    }
    if let Some(given) = given.filter(|given| *given < range.start && is(Slip::FollowsLast)) {
        let before = given.to_bits() + 1..range.start.to_bits();
        all = before.map(Ipv4Addr::from_bits).chain(all).collect();
    }
    if let Some(last) = last.filter(|_| !is(Slip::FromStart)) {
        let before: Vec<Ipv4Addr> = all.drain(..=last).collect();
        let again = if is(Slip::NoRound) { 0 } else { before.len() - usize::from(is(Slip::NotLast)) };
        all.extend(&before[..again]);
    }
    all.retain(|address| *address != range.gateway || is(Slip::TakesGateway));
    if let Some(Slip::TriesFew(most)) = slip {
        all.truncate(most);
    }
    all
}

mod questions;
#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::network::cni::exec;
    use crate::network::cni::plugins::testing::{Bench, environment, network};

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Cni>("cni");
    }

    #[test]
    fn the_rule_is_that_of_our_plugin() {
        const FOLDER: &str = "/var/lib/cni/networks/net";
        for case in Cni::questions() {
            let mut bench = Bench::new();
            case.files.iter().for_each(|(name, text)| bench.disk.put(&format!("{FOLDER}/{name}"), text).unwrap());
            let Range { start, end, gateway } = case.range;
            let subnet = match [start, end].map(|address| address.octets()[2]) {
                [255, _] => "10.0.0.0/14",
                [0, _] => "10.1.0.0/22",
                [_, 3] => "10.1.2.0/23",
                [100, _] => "192.168.100.0/23",
                _ => "10.1.2.0/24",
            };
            let ipam = json!({"subnet": subnet, "rangeStart": start, "rangeEnd": end, "gateway": gateway});
            let said = case.calls.iter().map(|call| {
                let command = match call.command {
                    Command::Add => exec::Command::Add,
                    Command::Del => exec::Command::Del,
                    Command::Check => exec::Command::Check,
                };
                let mut environment = environment(command, &call.container, "/var/run/netns/x");
                environment.ifname.clone_from(&call.ifname);
                let printed = bench.run_with("host-local", &environment, &network(json!({"ipam": ipam})));
                let address = |printed: Value| {
                    let net = printed.pointer("/ips/0/address").and_then(Value::as_str)?.split('/').next()?.to_owned();
                    net.parse().ok()
                };
                printed.map(address).map_err(|error| error.to_string())
            });
            let said = said.collect();
            let names = bench.disk.visit(FOLDER, |name, text| Some((name.to_owned(), text.to_owned())));
            let files = names.into_iter().filter(|(name, _)| name != "lock").collect();
            assert_eq!(Outcome { said, files }, Cni::rule(&case, None), "{}", Cni::show(&case));
        }
    }
}
