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

/// With `?` and small functions.
pub fn run(range: &Range, files: &mut Files, call: &Call) -> Result<Option<Ipv4Addr>, String> {
    match call.command {
        Command::Add => {
            allocate(range, files, call).map(Some).map_err(|error| format!("failed to allocate for range 0: {error}"))
        }
        Command::Del => Ok(release(files, call)),
        Command::Check => check(files, call).map(|_| None),
    }
}

fn is_owned(text: &str, call: &Call) -> bool {
    text.split_once("\r\n") == Some((call.container.as_str(), call.ifname.as_str()))
}

fn check(files: &Files, call: &Call) -> Result<String, String> {
    let found = files.iter().find(|(_, text)| is_owned(text, call));
    found
        .map(|(name, _)| name.clone())
        .ok_or(format!("host-local: Failed to find address added by container {}", call.container))
}

fn release(files: &mut Files, call: &Call) -> Option<Ipv4Addr> {
    while let Ok(name) = check(files, call) {
        files.remove(&name);
    }
    None
}

fn allocate(range: &Range, files: &mut Files, call: &Call) -> Result<Ipv4Addr, String> {
    let ours = files.iter().filter(|(_, text)| is_owned(text, call)).map(|(name, _)| name);
    let mut there = ours.filter(|name| name.parse().is_ok_and(|ip: Ipv4Addr| (range.start..=range.end).contains(&ip)));
    if let Some(held) = there.next() {
        let id = call.container.clone();
        return Err(held.clone() + " has been allocated to " + &id + ", duplicate allocation is not allowed");
    }
    let after = |address: Ipv4Addr| {
        let next = Ipv4Addr::from(u32::from(address) + 1);
        if next > range.end { range.start } else { next }
    };
    let last = files.get(LAST).and_then(|text| text.parse().ok()).filter(|ip| (range.start..=range.end).contains(ip));
    let begin = last.map(after).unwrap_or(range.start);
    let mut at = begin;
    loop {
        if at != range.gateway && files.get(&at.to_string()).is_none() {
            let text = call.container.clone() + "\r\n" + &call.ifname;
            files.insert(at.to_string(), text);
            files.insert(LAST.into(), at.to_string());
            return Ok(at);
        }
        at = after(at);
        if at == begin {
            return Err(format!("no IP addresses available in range set: {}-{}", range.start, range.end));
        }
    }
}
