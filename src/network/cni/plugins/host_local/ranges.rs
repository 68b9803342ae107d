//! Which addresses there are to give. Mirrors `backend/allocator/range.go` and `range_set.go`.

use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;

use crate::cni::ipnet::{IpNet, before, next};

/// Addresses of one subnet. What is None is filled in by [`RangeSet::complete`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    /// The subnet.
    pub subnet: Option<IpNet>,
    /// The first address to give.
    #[serde(default)]
    pub range_start: Option<IpAddr>,
    /// The last.
    #[serde(default)]
    pub range_end: Option<IpAddr>,
    /// The router's address, which is not given to anyone.
    #[serde(default)]
    pub gateway: Option<IpAddr>,
}

/// Ranges from which one address is taken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct RangeSet(pub Vec<Range>);

impl Range {
    /// Fills in what was left out, and looks whether the rest makes sense (`Canonicalize`).
    fn complete(&mut self) -> Result<(), String> {
        let subnet = self.subnet.ok_or("IP <nil> not v4 nor v6")?;
        if subnet.prefix + 2 > subnet.bits() {
            return Err(format!("Network {subnet} too small to allocate from"));
        }
        if subnet.network() != subnet.address {
            let (length, network) = (subnet.prefix, subnet.network());
            return Err(format!(
                "Network has host bits set. For a subnet mask of length {length} the network address is {network}"
            ));
        }
        let first = next(subnet.address);
        let last = if subnet.address.is_ipv4() { before(subnet.last()) } else { subnet.last() };
        let start = self.range_start.unwrap_or(first);
        if !subnet.contains(start) {
            return Err(format!("RangeStart {start} not in network {subnet}"));
        }
        if let Some(end) = self.range_end.filter(|end| *end < start || !subnet.contains(*end)) {
            return Err(format!("RangeEnd {end} not in network {subnet}"));
        }
        self.gateway.get_or_insert(first);
        self.range_start.get_or_insert(first);
        self.range_end.get_or_insert(last);
        Ok(())
    }

    /// The first and last address to give.
    pub fn ends(&self) -> Option<(IpAddr, IpAddr)> {
        self.range_start.zip(self.range_end)
    }

    /// Whether an address is one to give, or the gateway in its midst.
    pub fn contains(&self, address: IpAddr) -> bool {
        let within = self.ends().is_some_and(|(start, end)| start <= address && address <= end);
        within && self.subnet.is_some_and(|subnet| subnet.contains(address))
    }

    fn overlaps(&self, other: &Range) -> bool {
        let touches =
            |one: &Range, two: &Range| two.ends().is_some_and(|(start, end)| one.contains(start) || one.contains(end));
        touches(self, other) || touches(other, self)
    }
}

impl RangeSet {
    /// Fills in and checks every range, and that they go together.
    pub fn complete(&mut self) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("empty range set".into());
        }
        self.0.iter_mut().try_for_each(Range::complete)?;
        if self.0.iter().any(|range| is_v4(range) != self.is_v4()) {
            return Err("mixed address families".into());
        }
        for (at, range) in self.0.iter().enumerate() {
            if let Some(other) = self.0[at + 1..].iter().find(|other| range.overlaps(other)) {
                return Err(format!("subnets {range} and {other} overlap"));
            }
        }
        Ok(())
    }

    /// Whether it holds addresses of IPv4.
    pub fn is_v4(&self) -> bool {
        self.0.first().is_some_and(is_v4)
    }

    /// The range that an address belongs to.
    pub fn range_for(&self, address: IpAddr) -> Option<&Range> {
        self.0.iter().find(|range| range.contains(address))
    }

    /// Whether any address belongs to both.
    pub fn overlaps(&self, other: &RangeSet) -> bool {
        self.0.iter().any(|range| other.0.iter().any(|there| range.overlaps(there)))
    }

    /// Every address to give, each once: from the one after `last` round to `last` itself, or from the first one.
    pub fn after(&self, last: Option<IpAddr>) -> impl Iterator<Item = (IpAddr, &Range)> {
        let start = last.and_then(|last| self.0.iter().position(|range| range.contains(last)));
        let (first, from) = (start.unwrap_or(0), start.and(last));
        let rounds = (0..=self.0.len()).filter_map(move |round| {
            let range = self.0.get((first + round) % self.0.len())?;
            let (start, end) = range.ends()?;
            // The range in which the search starts is looked at twice: first its end, and at last its beginning.
            let (start, end) = match (from, round) {
                (Some(last), 0) => (next(last), (last < end).then_some(end)?),
                (Some(last), round) if round == self.0.len() => (start, last),
                (None, round) if round == self.0.len() => return None,
                _ => (start, end),
            };
            Some(
                std::iter::successors(Some(start), move |at| (*at < end).then(|| next(*at))).map(move |at| (at, range)),
            )
        });
        rounds.flatten().filter(|(address, range)| range.gateway != Some(*address))
    }
}

fn is_v4(range: &Range) -> bool {
    range.subnet.is_some_and(|subnet| subnet.address.is_ipv4())
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ends() {
            Some((start, end)) => write!(f, "{start}-{end}"),
            None => f.write_str("<nil>-<nil>"),
        }
    }
}

impl fmt::Display for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<String> = self.0.iter().map(Range::to_string).collect();
        f.write_str(&ranges.join(","))
    }
}
