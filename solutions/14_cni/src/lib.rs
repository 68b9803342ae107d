//! Exercise 14: which address does a Pod get?
//!
//! The kubelet's runtime runs a CNI plugin for each sandbox; this one gives addresses out of a range and remembers them in
//! files. A file named after an address, `10.1.2.3`, says whose it is: `CONTAINER\r\nIFNAME`. The file `LAST` holds the
//! address given last. There are other files that do not matter.
//!
//! ADD gives the next free address after the one in LAST, round the range; from its start if LAST is missing or not in the
//! range. The gateway is not given. Errors: "failed to allocate for range 0: " and then "10.1.2.3 has been allocated to
//! CONTAINER, duplicate allocation is not allowed" if this interface has one of the range, or "no IP addresses available in
//! range set: START-END". Nothing is changed then.
//! DEL takes back what this interface has, out of the range too, and is content if that is nothing.
//! CHECK: "host-local: Failed to find address added by container CONTAINER" if this interface has none.

#![allow(unused_imports)]

use std::net::Ipv4Addr;

use kubestep_exercise::cni::{Call, Command, Files, LAST, Range};

// Yours from here.

/// One run of the plugin: changes the files and gives the address, if the command is ADD.
pub fn run(range: &Range, files: &mut Files, call: &Call) -> Result<Option<Ipv4Addr>, String> {
    let owner = format!("{}\r\n{}", call.container, call.ifname);
    let held: Vec<String> = files.iter().filter(|(_, text)| **text == owner).map(|(name, _)| name.clone()).collect();
    match call.command {
        Command::Add => match add(range, files, &owner, &held, &call.container) {
            Ok(address) => Ok(Some(address)),
            Err(why) => Err(format!("failed to allocate for range 0: {why}")),
        },
        Command::Del => {
            files.retain(|_, text| *text != owner);
            Ok(None)
        }
        Command::Check => match held.first() {
            Some(_) => Ok(None),
            None => Err(format!("host-local: Failed to find address added by container {}", call.container)),
        },
    }
}

fn add(range: &Range, files: &mut Files, owner: &str, held: &[String], container: &str) -> Result<Ipv4Addr, String> {
    let is_there = |name: &&String| name.parse().is_ok_and(|at: Ipv4Addr| at >= range.start && at <= range.end);
    if let Some(held) = held.iter().find(is_there) {
        return Err(format!("{held} has been allocated to {container}, duplicate allocation is not allowed"));
    }
    let all: Vec<Ipv4Addr> = (range.start.into()..=range.end.into()).map(|n: u32| n.into()).collect();
    let last = files.get(LAST).and_then(|last| all.iter().position(|address| address.to_string() == *last));
    let first = last.map_or(0, |last| last + 1);
    let round = all[first..].iter().chain(&all[..first]);
    let free = |address: &&Ipv4Addr| **address != range.gateway && !files.contains_key(&address.to_string());
    let Some(address) = round.copied().find(|address| free(&address)) else {
        return Err(format!("no IP addresses available in range set: {}-{}", range.start, range.end));
    };
    files.insert(address.to_string(), owner.to_owned());
    files.insert(LAST.to_owned(), address.to_string());
    Ok(address)
}
