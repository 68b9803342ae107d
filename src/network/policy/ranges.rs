//! Ranges of addresses with holes: `ipBlock` with `except`.

use std::net::Ipv4Addr;

use crate::netfilter::Cidr;

/// The ranges that make up `range` without `holes`, in order. A range that overlaps a hole is halved until each half lies
/// in it or beside it.
pub fn without(range: Cidr, holes: &[Cidr]) -> Vec<Cidr> {
    let range = range.network();
    if holes.iter().any(|hole| hole.prefix <= range.prefix && hole.contains(range.address)) {
        return Vec::new();
    }
    if !holes.iter().any(|hole| hole.prefix > range.prefix && range.contains(hole.address)) {
        return vec![range];
    }
    let prefix = range.prefix + 1;
    let upper = Ipv4Addr::from(u32::from(range.address) | 1 << (32 - u32::from(prefix)));
    let halves = [Cidr::new(range.address, prefix), Cidr::new(upper, prefix)];
    halves.into_iter().flat_map(|half| without(half, holes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_left_out() {
        for (range, holes, left) in [
            ("10.0.0.0/8", vec![], "10.0.0.0/8"),
            ("10.0.0.0/8", vec!["11.0.0.0/8"], "10.0.0.0/8"),
            ("10.0.0.0/30", vec!["10.0.0.1/32"], "10.0.0.0/32 10.0.0.2/31"),
            ("10.0.0.0/24", vec!["10.0.0.0/25"], "10.0.0.128/25"),
            ("10.0.0.0/24", vec!["10.0.0.0/25", "10.0.0.192/26"], "10.0.0.128/26"),
            ("10.0.0.0/24", vec!["10.0.0.0/24"], ""),
            ("10.0.0.0/24", vec!["10.0.0.0/16"], ""),
            ("0.0.0.0/0", vec!["128.0.0.0/1"], "0.0.0.0/1"),
            ("10.0.0.7/24", vec!["10.0.0.0/25"], "10.0.0.128/25"),
        ] {
            let holes: Vec<Cidr> = holes.iter().map(|hole| hole.parse().expect("a range")).collect();
            let ranges = without(range.parse().expect("a range"), &holes);
            let text: Vec<String> = ranges.iter().map(Cidr::to_string).collect();
            assert_eq!(text.join(" "), left, "{range} without {holes:?}");
        }
    }
}
