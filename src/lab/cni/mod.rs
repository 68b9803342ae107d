//! Exercise 14: a CNI plugin that gives addresses. Mirrors `plugins/ipam/host-local` of containernetworking/plugins.
//!
//! Every sequence of three calls on a range of two addresses is asked, those of four that begin with a container that
//! gets one, and shorter ones on folders that a crash, a leak or another configuration has left behind. Others are on larger
//! ranges, with containers and interfaces whose names are alike.
//!
//! Left out: several ranges, addresses that a Pod asks for, files of older versions, the configuration's own errors.

use std::net::Ipv4Addr;

use serde_json::json;

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, placing, words};
use exercise::cni::{Call, Case, Command, Files, LAST, Outcome, Range};

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

impl Function for Cni {
    type Question = Case;
    type Answer = Outcome;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Outcome {
        let mut files = case.files.clone();
        let said = case.calls.iter().map(|call| run(rule, &case.range, &mut files, call)).collect();
        Outcome { said, files }
    }

    fn property(case: &Case, given: Option<&Outcome>) -> &'static str {
        let right = Cni::right(case);
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

/// What a second ADD of an interface gets.
pub(super) enum Again {
    /// It is a duplicate.
    Refused,
    /// The address that the interface has.
    Same,
    Another,
    /// It is told that no address is left.
    Full,
}

/// Whether what a file says, and what is written into one for a call, are of the same interface.
type IsOf = fn(&str, &str, &Call) -> bool;

/// What decides.
pub(super) struct Rule {
    /// What is written into the file of an address.
    text: fn(&Call) -> String,
    /// Whether a file is of the interface to which ADD gives an address.
    adds: IsOf,
    /// Whether DEL takes it back.
    frees: IsOf,
    /// Whether CHECK is content with it.
    checks: IsOf,
    /// Whether CHECK looks at all.
    looks: bool,
    /// What an ADD that fails does to the files, and to those of its interface.
    failed: fn(&mut Files, &[String]),
    /// Which of an interface's files DEL removes.
    freed: fn(&Range, Vec<String>) -> Vec<String>,
    /// Whether DEL of what is not there is right.
    del_of_none: bool,
    /// What else DEL removes.
    tidies: fn(&mut Files),
    /// Whether an address is free that has this file, or none.
    is_free: fn(Option<&String>) -> bool,
    /// Whether no address is left, without a search.
    is_full: fn(&Range, &Files) -> bool,
    /// Whether an interface that has this address gets no other.
    is_duplicate: fn(&Range, &str) -> bool,
    /// What it gets then, where no address is left or one is.
    again: fn(bool) -> Again,
    /// The address that was given last.
    last: fn(&Files) -> Option<&String>,
    /// The addresses of a range.
    addresses: fn(&Range) -> Vec<Ipv4Addr>,
    /// The same in the order in which they are tried, where this one was given last.
    turned: fn(&Range, Vec<Ipv4Addr>, Option<Ipv4Addr>) -> Vec<Ipv4Addr>,
    /// Whether one may be given.
    may_give: fn(&Range, &Ipv4Addr) -> bool,
    /// So many are tried.
    tries: usize,
}

const RULE: Rule = Rule {
    text: |call| format!("{}\r\n{}", call.container, call.ifname),
    adds: is_same,
    frees: is_same,
    checks: is_same,
    looks: true,
    failed: |_, _| {},
    freed: |_, held| held,
    del_of_none: true,
    tidies: |_| {},
    is_free: |file| file.is_none(),
    is_full: |_, _| false,
    is_duplicate: is_in,
    again: |_| Again::Refused,
    last: |files| files.get(LAST),
    addresses: |range| addresses(range).collect(),
    turned,
    may_give: |range, address| *address != range.gateway,
    tries: usize::MAX,
};

fn is_same(has: &str, text: &str, _: &Call) -> bool {
    has == text
}

fn is_of_container(has: &str, _: &str, call: &Call) -> bool {
    has.split("\r\n").next() == Some(&*call.container)
}

fn begins_alike(has: &str, text: &str, call: &Call) -> bool {
    has == text || has.starts_with(&call.container) && has.ends_with(&call.ifname)
}

/// Whether a file is named after an address of the range.
fn is_in(range: &Range, name: &str) -> bool {
    name.parse().is_ok_and(|at: Ipv4Addr| (range.start..=range.end).contains(&at))
}

fn addresses(range: &Range) -> impl Iterator<Item = Ipv4Addr> {
    (range.start.into()..=range.end.into()).map(Ipv4Addr::from_bits)
}

/// How many addresses there are beside the gateway's.
fn places(range: &Range) -> usize {
    (u32::from(range.end) - u32::from(range.start)) as usize
}

fn taken(files: &Files) -> impl Iterator<Item = Ipv4Addr> {
    files.keys().filter_map(|name| name.parse().ok())
}

/// Where one of the addresses is.
fn place(all: &[Ipv4Addr], one: Option<Ipv4Addr>) -> Option<usize> {
    all.iter().position(|address| Some(*address) == one)
}

/// Beginning with the one after that which was given last.
fn turned(_: &Range, mut all: Vec<Ipv4Addr>, given: Option<Ipv4Addr>) -> Vec<Ipv4Addr> {
    let begin = place(&all, given).map_or(0, |at| at + 1);
    all.rotate_left(begin);
    all
}

fn run(rule: &Rule, range: &Range, files: &mut Files, call: &Call) -> Result<Option<Ipv4Addr>, String> {
    let text = (rule.text)(call);
    let of = |files: &Files, is_of: IsOf| -> Vec<String> {
        files.iter().filter(|(_, has)| is_of(has, &text, call)).map(|(name, _)| name.clone()).collect()
    };
    let not_found = || format!("host-local: Failed to find address added by container {}", call.container);
    match call.command {
        Command::Add => {
            let held = of(files, rule.adds);
            let added = add(rule, range, files, (&call.container, &text), &held);
            if added.is_err() {
                (rule.failed)(files, &held);
            }
            added.map(Some).map_err(|why| format!("failed to allocate for range 0: {why}"))
        }
        Command::Del => {
            let held = (rule.freed)(range, of(files, rule.frees));
            if held.is_empty() && !rule.del_of_none {
                return Err(not_found());
            }
            held.iter().for_each(|name| drop(files.remove(name)));
            (rule.tidies)(files);
            Ok(None)
        }
        Command::Check if rule.looks && of(files, rule.checks).is_empty() => Err(not_found()),
        Command::Check => Ok(None),
    }
}

fn add(
    rule: &Rule,
    range: &Range,
    files: &mut Files,
    (container, text): (&str, &str),
    held: &[String],
) -> Result<Ipv4Addr, String> {
    let given = (rule.last)(files).and_then(|last| last.parse().ok());
    let mut tried = (rule.turned)(range, (rule.addresses)(range), given);
    tried.retain(|address| (rule.may_give)(range, address));
    let is_full = (rule.is_full)(range, files);
    let is_free = |address: &Ipv4Addr| !is_full && (rule.is_free)(files.get(&address.to_string()));
    let free = tried.into_iter().take(rule.tries).find(is_free);
    let none = || format!("no IP addresses available in range set: {}-{}", range.start, range.end);
    if let Some(held) = held.iter().find(|name| (rule.is_duplicate)(range, name)) {
        match (rule.again)(free.is_none()) {
            Again::Another => {}
            Again::Same => return held.parse().map_err(|_| none()),
            Again::Full => return Err(none()),
            Again::Refused => {
                return Err(format!("{held} has been allocated to {container}, duplicate allocation is not allowed"));
            }
        }
    }
    let address = free.ok_or_else(none)?;
    files.insert(address.to_string(), text.to_owned());
    files.insert(LAST.to_owned(), address.to_string());
    Ok(address)
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    from_start: "the search begins at the start of the range; it goes on after the address given last"
        => { turned: |_, all, _| all };
    no_round: "the search ends at the end of the range; it goes round"
        => {
            turned: |_, all, given| match place(&all, given) {
                Some(at) => all[at + 1..].to_vec(),
                None => all,
            }
        };
    not_last: "the address given last is never tried again"
        => {
            turned: |_, all, given| match place(&all, given) {
                Some(at) => [&all[at + 1..], &all[..at]].concat(),
                None => all,
            }
        };
    takes_gateway: "the gateway's address is given away" => { may_give: |_, _| true };
    end_is_out: "the last address of the range is never given"
        => { addresses: |range| addresses(range).filter(|address| *address != range.end).collect() };
    same_again: "a second ADD gives the same address again; it is an error" => { again: |_| Again::Same };
    another_one: "a second ADD gives another address; it is an error" => { again: |_| Again::Another };
    full_first: "a second ADD is told that no address is left; it is a duplicate first of all"
        => { again: |is_full| if is_full { Again::Full } else { Again::Refused } };
    foreign_is_duplicate:
        "an address outside the range is taken for a duplicate; the interface gets one of the range beside it"
        => { is_duplicate: |_, _| true };
    failure_frees: "an ADD that fails frees the address that the interface has"
        => { failed: |files, held| held.iter().for_each(|name| drop(files.remove(name))) };
    only_container: "the file does not say which interface has the address" => { text: |call| call.container.clone() };
    del_fails: "DEL of what is not there is an error; it must be safe to repeat" => { del_of_none: false };
    del_takes_all: "DEL of one interface frees the addresses of all interfaces of the container"
        => { frees: is_of_container };
    del_forgets_last: "DEL forgets which address was given last" => { tidies: |files| drop(files.remove(LAST)) };
    check_trusts: "CHECK never fails" => { looks: false };
    check_any_interface: "CHECK is content with an address of another interface" => { checks: is_of_container };
    begins_alike: "an owner is recognised by how its name begins; c10 is not c1"
        => {
            adds: begins_alike,
            frees: begins_alike,
            checks: begins_alike
        };
    sorted_as_text: "addresses are taken in the order of their text, in which 10.1.2.10 comes before 10.1.2.9"
        => {
            addresses: |range| {
                let mut all: Vec<Ipv4Addr> = addresses(range).collect();
                all.sort_by_key(Ipv4Addr::to_string);
                all
            }
        };
    del_cleans: "DEL removes files that do not matter"
        => { tidies: |files| files.retain(|name, _| name == LAST || name.parse::<Ipv4Addr>().is_ok()) };
    skips_gateway_first:
        "where the address given last is the gateway's by now, the search begins at the start of the range"
        => { addresses: |range| addresses(range).filter(|address| *address != range.gateway).collect() };
    counts_files: "addresses outside the range are counted as taken ones of it"
        => { is_full: |range, files| taken(files).count() >= places(range) };
    counts_gateway: "the gateway is taken for one of the range, wherever it is, and an address stays free"
        => {
            is_full: |range, files| {
                let within = taken(files).filter(|at| (range.start..=range.end).contains(at));
                within.count() >= places(range)
            }
        };
    keeps_foreign: "DEL keeps an address that is not in the range any more"
        => { freed: |range, held| held.into_iter().filter(|name| is_in(range, name)).collect() };
    empty_is_free: "an address whose file is empty is given away; the ADD that made the file has it"
        => { is_free: |file| file.is_none_or(String::is_empty) };
    after_highest:
        "where no address was given last the search begins after the highest that is taken; it begins at the start"
        => {
            last: |files| files.get(LAST).or_else(|| files.keys().filter(|name| name.parse::<Ipv4Addr>().is_ok()).max())
        };
    del_takes_one: "DEL takes back one address only; it is all that the interface has"
        => { freed: |_, held| held.into_iter().take(1).collect() };
    counts_notes: "files that do not matter are counted as taken addresses"
        => { is_full: |range, files| files.len() > places(range) };
    keeps_long: "DEL does not know an address of more than twelve characters"
        => { freed: |_, held| held.into_iter().filter(|name| name.len() <= 12).collect() };
    first_few: "only the first few hundred addresses of a range are tried; it can be larger"
        => { addresses: |range| addresses(range).take(254).collect() }
        | { addresses: |range| addresses(range).take(256).collect() }
        | { tries: 256 };
    counts_on: "where the address given last is not in the range, it is taken for one of it"
        => {
            turned: |range, mut all, given| {
                if let Some(given) = given.filter(|_| place(&all, given).is_none()) {
                    let ahead = i64::from(given.to_bits()) + 1 - i64::from(range.start.to_bits());
                    let places = all.len() as i64;
                    all.rotate_left(ahead.rem_euclid(places) as usize);
                    return all;
                }
                turned(range, all, given)
            }
        };
    follows_last: "the address after the one given last is given, though it is not in the range"
        => {
            turned: |range, all, given| match given.filter(|given| *given < range.start) {
                Some(given) => {
                    let before = (given.to_bits() + 1..range.start.to_bits()).map(Ipv4Addr::from_bits);
                    before.chain(all).collect()
                }
                None => turned(range, all, given),
            }
        };
};

mod questions;
#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use network::cni::exec;
    use network::cni::plugins::testing::{Bench, environment, network};

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Cni>("cni");
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
            assert_eq!(Outcome { said, files }, Cni::right(&case), "{}", Cni::show(&case));
        }
    }
}
