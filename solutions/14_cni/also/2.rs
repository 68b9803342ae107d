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

/// By sorting the free addresses by their distance from the last one.
pub fn run(range: &Range, files: &mut Files, call: &Call) -> Result<Option<Ipv4Addr>, String> {
    let Call { command, container, ifname } = call;
    let owner = format!("{container}\r\n{ifname}");
    let is_there = |name: &str| name.parse().is_ok_and(|at: Ipv4Addr| range.start <= at && at <= range.end);
    let counts = |name: &str| *command != Command::Add || is_there(name);
    let held = files.iter().find_map(|(name, text)| (*text == owner && counts(name)).then(|| name.clone()));
    match (command, held) {
        (Command::Add, Some(held)) => Err(format!(
            "failed to allocate for range 0: {held} has been allocated to {container}, duplicate allocation is not allowed"
        )),
        (Command::Add, None) => {
            let (start, end) = (range.start.to_bits(), range.end.to_bits());
            let last = files.get(LAST).and_then(|last| last.parse::<Ipv4Addr>().ok()).map(Ipv4Addr::to_bits);
            let last = last.filter(|last| (start..=end).contains(last)).unwrap_or(end);
            let distance = |n: &u32| if *n > last { *n - last } else { *n + (end - start + 1) - last };
            let taken = |n: &u32| files.contains_key(&Ipv4Addr::from_bits(*n).to_string());
            let free = (start..=end).filter(|n| Ipv4Addr::from_bits(*n) != range.gateway && !taken(n));
            let next = free.min_by_key(distance).map(Ipv4Addr::from_bits);
            let none = || {
                format!(
                    "failed to allocate for range 0: no IP addresses available in range set: {}-{}",
                    range.start, range.end
                )
            };
            let next = next.ok_or_else(none)?;
            files.extend([(next.to_string(), owner), (LAST.to_owned(), next.to_string())]);
            Ok(Some(next))
        }
        (Command::Del, _) => {
            files.retain(|_, text| *text != owner);
            Ok(None)
        }
        (Command::Check, Some(_)) => Ok(None),
        (Command::Check, None) => Err(format!("host-local: Failed to find address added by container {container}")),
    }
}
