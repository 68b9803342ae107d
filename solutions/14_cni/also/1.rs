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

/// With a cursor that goes round.
pub fn run(range: &Range, files: &mut Files, call: &Call) -> Result<Option<Ipv4Addr>, String> {
    let owner = [call.container.as_str(), call.ifname.as_str()].join("\r\n");
    let mut held = Vec::new();
    for (name, text) in files.iter() {
        if text == &owner {
            held.push(name.to_string());
        }
    }
    if call.command == Command::Del {
        for name in held {
            files.remove(&name);
        }
        return Ok(None);
    }
    if call.command == Command::Check {
        if held.is_empty() {
            return Err(format!("host-local: Failed to find address added by container {}", call.container));
        }
        return Ok(None);
    }
    let failed = "failed to allocate for range 0";
    let (start, end) = (u32::from(range.start), u32::from(range.end));
    for name in held {
        if let Ok(address) = name.parse::<Ipv4Addr>()
            && u32::from(address) >= start
            && u32::from(address) <= end
        {
            let id = &call.container;
            return Err(format!("{failed}: {name} has been allocated to {id}, duplicate allocation is not allowed"));
        }
    }
    let mut cursor = start;
    if let Some(last) = files.get(LAST).and_then(|text| text.parse::<Ipv4Addr>().ok()) {
        let last = u32::from(last);
        if last >= start && last < end {
            cursor = last + 1;
        }
    }
    for _ in start..=end {
        let address = Ipv4Addr::from(cursor);
        if address != range.gateway && !files.contains_key(&address.to_string()) {
            files.insert(address.to_string(), owner);
            files.insert(LAST.to_string(), address.to_string());
            return Ok(Some(address));
        }
        cursor = if cursor == end { start } else { cursor + 1 };
    }
    Err(format!("{failed}: no IP addresses available in range set: {}-{}", range.start, range.end))
}
