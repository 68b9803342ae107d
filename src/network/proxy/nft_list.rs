//! A script for `nft -f` as `nft list ruleset` shows what it has made: sets and maps with their elements, then chains with
//! their rules, in the words that nft itself uses for them.
//!
//! Left out: of the language, what [`super::nftables`] does not write.

use std::fmt::Write as _;

/// Elements of a set of addresses that share a line.
const ADDRESSES_A_LINE: usize = 2;

/// A set, a map or a chain.
struct Part {
    /// `set`, `map` or `chain`.
    what: String,
    name: String,
    /// The lines before elements or rules.
    head: Vec<String>,
    elements: Vec<String>,
    rules: Vec<String>,
}

/// The table that a script makes, as nft prints it.
pub fn listing(script: &str) -> String {
    let (mut table, mut comment, mut parts) = (String::new(), String::new(), Vec::<Part>::new());
    for line in script.lines() {
        let (command, body) = line.split_once(" {").unwrap_or((line, ""));
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["add", "table", family, name] => {
                table = format!("table {family} {name}");
                comment = clauses(body).join("\n\t");
            }
            ["add", what @ ("set" | "map" | "chain"), _, _, name] => {
                let (what, name) = ((*what).to_owned(), (*name).to_owned());
                parts.push(Part { head: head(body), what, name, elements: Vec::new(), rules: Vec::new() });
            }
            ["add", "element", _, _, name] => {
                let element = body.trim().trim_end_matches('}').trim().to_owned();
                named(&mut parts, name).into_iter().for_each(|part| part.elements.push(element.clone()));
            }
            ["add", "rule", _, _, name, ..] => {
                let rest = line.splitn(6, ' ').nth(5).unwrap_or_default();
                named(&mut parts, name).into_iter().for_each(|part| part.rules.push(rule(rest)));
            }
            _ => {}
        }
    }
    if table.is_empty() {
        return String::new();
    }
    let (chains, sets): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.what == "chain");
    let shown: Vec<String> = sets.into_iter().chain(chains).map(Part::shown).collect();
    format!("{table} {{\n\t{comment}\n{}}}\n", shown.join("\n"))
}

fn named<'a>(parts: &'a mut [Part], name: &str) -> Option<&'a mut Part> {
    parts.iter_mut().find(|part| part.name == name)
}

/// `type ipv4_addr ; comment "x" ; }` in pieces.
fn clauses(body: &str) -> Vec<String> {
    let pieces = body.trim().trim_end_matches('}').split(';').map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// What stands first in a set or chain. A chain's comment comes before its hook, a set's after its type.
fn head(body: &str) -> Vec<String> {
    clauses(body).iter().map(|clause| clause_text(clause)).collect()
}

fn clause_text(clause: &str) -> String {
    let words: Vec<&str> = clause.split(' ').collect();
    match words.as_slice() {
        ["type", kind, "hook", hook, "priority", number] => {
            format!("type {kind} hook {hook} priority {}; policy accept;", priority(hook, number))
        }
        ["flags", flags] => format!("size 65535\n\t\tflags {flags}"),
        ["timeout", seconds] => format!("timeout {}", period(seconds)),
        _ => clause.to_owned(),
    }
}

/// Priorities have names, at the hooks where they mean something.
fn priority(hook: &str, number: &str) -> String {
    match (hook, number) {
        ("prerouting", "-110") => "dstnat - 10".to_owned(),
        ("prerouting", "-100") => "dstnat".to_owned(),
        ("postrouting", "100") => "srcnat".to_owned(),
        (_, "0") => "filter".to_owned(),
        _ => number.to_owned(),
    }
}

/// `10800s` is shown as `3h`.
fn period(seconds: &str) -> String {
    let Ok(all) = seconds.trim_end_matches('s').parse::<u64>() else { return seconds.to_owned() };
    let parts = [(all / 86_400, "d"), (all / 3600 % 24, "h"), (all / 60 % 60, "m"), (all % 60, "s")];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}

/// The same rule in nft's own words: marks are written out, numbers padded.
fn rule(text: &str) -> String {
    let hex = |word: &str| match word.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        Some(number) => format!("{number:#010x}"),
        None => word.to_owned(),
    };
    let text: Vec<String> = text.split(' ').map(hex).collect();
    let text = text.join(" ").replace(" , ", ", ").replace(" addr . port to ", " to ");
    let text = text.replace("mark set mark or ", "meta mark set meta mark | ");
    let text = address_set(text.replace("mark set mark xor ", "meta mark set meta mark ^ "));
    match text.strip_prefix("mark and ") {
        Some(rest) => format!("meta mark & {}", rest.replace("!= 0 ", "!= 0x00000000 ")),
        None => text,
    }
}

/// Addresses in braces stand in their order. One alone is no set to nft.
fn address_set(text: String) -> String {
    let Some((before, rest)) = text.split_once("{ ") else { return text };
    let compares = before.ends_with("addr ") || before.ends_with("!= ");
    let Some((list, after)) = rest.split_once(" }").filter(|_| compares) else { return text };
    let mut addresses: Vec<&str> = list.split(", ").collect();
    addresses.sort_by_key(|address| order(address));
    match addresses.as_slice() {
        [one] => format!("{before}{one}{after}"),
        several => format!("{before}{{ {} }}{after}", several.join(", ")),
    }
}

/// Numbers of an element in order, so that 10.96.0.9 comes before 10.96.0.10.
fn order(element: &str) -> Vec<u64> {
    let key = element.split(" : ").next().unwrap_or_default();
    key.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

impl Part {
    fn shown(mut self) -> String {
        let mut out = format!("\t{} {} {{\n", self.what, self.name);
        for line in &self.head {
            let _ = writeln!(out, "\t\t{line}");
        }
        self.elements.sort_by_cached_key(|element| (order(element), element.clone()));
        let a_line = if self.head.iter().any(|line| line == "type ipv4_addr") { ADDRESSES_A_LINE } else { 1 };
        let lines: Vec<String> = self.elements.chunks(a_line).map(|line| line.join(", ")).collect();
        if !lines.is_empty() {
            let _ = writeln!(out, "\t\telements = {{ {} }}", lines.join(",\n\t\t\t     "));
        }
        for rule in &self.rules {
            let _ = writeln!(out, "\t\t{rule}");
        }
        out + "\t}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_shown_as_nft_shows_it() {
        let script = "\
add table ip kube-proxy { comment \"rules\" ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; comment \"Active ClusterIPs\" ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add set ip kube-proxy affinity-x { type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }
add chain ip kube-proxy masquerading
add rule ip kube-proxy masquerading mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random
add rule ip kube-proxy masquerading ip daddr { 10.96.0.0/16 } drop comment \"all\"
add rule ip kube-proxy masquerading ip saddr != { 10.96.0.9 , 10.0.0.0/8 } drop
add chain ip kube-proxy nat-prerouting { type nat hook prerouting priority -100 ; }
add rule ip kube-proxy nat-prerouting numgen random mod 2 vmap { 0 : goto a , 1 : goto b }
add element ip kube-proxy cluster-ips { 10.96.0.10 }
add element ip kube-proxy cluster-ips { 10.96.0.9 }
add element ip kube-proxy cluster-ips { 10.96.1.1 }
add element ip kube-proxy service-ips { 10.96.0.10 . tcp . 80 : goto masquerading }
";
        let shown = "\
table ip kube-proxy {
\tcomment \"rules\"
\tset cluster-ips {
\t\ttype ipv4_addr
\t\tcomment \"Active ClusterIPs\"
\t\telements = { 10.96.0.9, 10.96.0.10,
\t\t\t     10.96.1.1 }
\t}

\tmap service-ips {
\t\ttype ipv4_addr . inet_proto . inet_service : verdict
\t\telements = { 10.96.0.10 . tcp . 80 : goto masquerading }
\t}

\tset affinity-x {
\t\ttype ipv4_addr
\t\tsize 65535
\t\tflags dynamic,timeout
\t\ttimeout 3h
\t}

\tchain masquerading {
\t\tmeta mark & 0x00004000 != 0x00000000 meta mark set meta mark ^ 0x00004000 masquerade fully-random
\t\tip daddr 10.96.0.0/16 drop comment \"all\"
\t\tip saddr != { 10.0.0.0/8, 10.96.0.9 } drop
\t}

\tchain nat-prerouting {
\t\ttype nat hook prerouting priority dstnat; policy accept;
\t\tnumgen random mod 2 vmap { 0 : goto a, 1 : goto b }
\t}
}
";
        assert_eq!(listing(script), shown);
        assert_eq!((listing(""), period("90s"), period("10800s")), (String::new(), "1m30s".into(), "3h".into()));
    }
}
