//! Tables and chains: where rules are kept, and how they are changed.
//!
//! A change either happens whole or not at all, as with `iptables-restore --noflush`: a rule may only jump to a chain
//! that is there, and a chain goes only when nothing jumps to it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;

use super::rule::{Rule, Target};

/// A table, in the order in which `iptables-save` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Changes marks before anything else is decided.
    Mangle,
    /// Before conntrack: here packets are exempted from it.
    Raw,
    /// Lets packets through, or not.
    Filter,
    /// Changes addresses; only the first packet of a connection comes here.
    Nat,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 4] = [Table::Mangle, Table::Raw, Table::Filter, Table::Nat];

    /// As `-t` takes it: `nat`.
    pub fn as_str(self) -> &'static str {
        match self {
            Table::Mangle => "mangle",
            Table::Raw => "raw",
            Table::Filter => "filter",
            Table::Nat => "nat",
        }
    }

    /// The hooks at which it has a chain.
    pub fn hooks(self) -> &'static [Hook] {
        match self {
            Table::Mangle => &[Hook::Prerouting, Hook::Input, Hook::Forward, Hook::Output, Hook::Postrouting],
            Table::Raw => &[Hook::Prerouting, Hook::Output],
            Table::Filter => &[Hook::Input, Hook::Forward, Hook::Output],
            Table::Nat => &[Hook::Prerouting, Hook::Input, Hook::Output, Hook::Postrouting],
        }
    }
}

/// A place on a packet's way through the kernel at which tables are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// It came in by an interface; nothing is decided.
    Prerouting,
    /// It is for this host.
    Input,
    /// It is for another.
    Forward,
    /// A process here has sent it.
    Output,
    /// It is about to leave.
    Postrouting,
}

impl Hook {
    /// The name of its chains.
    pub fn chain(self) -> &'static str {
        match self {
            Hook::Prerouting => "PREROUTING",
            Hook::Input => "INPUT",
            Hook::Forward => "FORWARD",
            Hook::Output => "OUTPUT",
            Hook::Postrouting => "POSTROUTING",
        }
    }
}

/// A chain. The end of a hook's lets packets through: there is no other policy here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Its rules, first to last.
    pub rules: Vec<Rule>,
}

/// Why a change was refused. The texts are those of iptables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesetError {
    /// A rule jumps to a chain that is not there.
    #[error("Chain '{target}' does not exist (jumped to from {table} {chain})")]
    NoTarget {
        /// The table.
        table: &'static str,
        /// The chain with the rule.
        chain: String,
        /// The chain that is missing.
        target: String,
    },
    /// The chain is not there.
    #[error("No chain/target/match by that name: {table} {chain}")]
    NoChain {
        /// The table.
        table: &'static str,
        /// The chain.
        chain: String,
    },
    /// Rules still jump to it.
    #[error("CHAIN_DEL failed (Device or resource busy): chain {chain} of {table}")]
    Busy {
        /// The table.
        table: &'static str,
        /// The chain.
        chain: String,
    },
}

/// One table's part of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Chains that are made, or whose rules are replaced.
    pub chains: BTreeMap<String, Vec<Rule>>,
    /// Chains that go, with their rules.
    pub delete: Vec<String>,
}

/// All tables of one network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruleset {
    /// Shared with clones until one of them changes.
    tables: Rc<BTreeMap<Table, Chains>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chains {
    chains: BTreeMap<String, Chain>,
    /// How many rules jump to a chain, so that one can be deleted without a search.
    jumps: BTreeMap<String, usize>,
    /// How many rules send packets on to an address and a port.
    sent_to: BTreeMap<(Ipv4Addr, u16), usize>,
}

impl Default for Ruleset {
    /// Chains of hooks, empty, that accept.
    fn default() -> Ruleset {
        let chains = |table: Table| {
            let named = table.hooks().iter().map(|hook| (hook.chain().to_owned(), Chain::default()));
            Chains { chains: named.collect(), ..Chains::default() }
        };
        Ruleset { tables: Rc::new(Table::ALL.into_iter().map(|table| (table, chains(table))).collect()) }
    }
}

impl Ruleset {
    /// A chain, if it is there.
    pub fn chain(&self, table: Table, chain: &str) -> Option<&Chain> {
        self.tables.get(&table)?.chains.get(chain)
    }

    /// A table's chains by name.
    pub fn chains(&self, table: Table) -> impl Iterator<Item = (&String, &Chain)> {
        self.tables.get(&table).into_iter().flat_map(|chains| &chains.chains)
    }

    /// Whether a rule sends packets of another address on to this one, and this port.
    pub fn sends_to(&self, address: Ipv4Addr, port: u16) -> bool {
        self.tables.get(&Table::Nat).is_some_and(|chains| chains.sent_to.contains_key(&(address, port)))
    }

    /// How many rules there are, in all tables.
    pub fn len(&self) -> usize {
        self.tables.values().flat_map(|table| table.chains.values()).map(|chain| chain.rules.len()).sum()
    }

    /// Whether there is no rule at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes a chain, if it is not there.
    pub fn make_chain(&mut self, table: Table, chain: &str) {
        self.table(table).chains.entry(chain.to_owned()).or_default();
    }

    /// Makes a chain or replaces its rules.
    pub fn set_chain(&mut self, table: Table, chain: &str, rules: Vec<Rule>) -> Result<(), RulesetError> {
        let chains = BTreeMap::from([(chain.to_owned(), rules)]);
        self.restore(table, Change { chains, delete: Vec::new() })
    }

    /// `iptables -I`: puts a rule first, unless the chain has it already.
    pub fn insert(&mut self, table: Table, chain: &str, rule: Rule) -> Result<(), RulesetError> {
        self.put(table, chain, rule, true)
    }

    /// `iptables -A`: puts a rule last, unless the chain has it already.
    pub fn append(&mut self, table: Table, chain: &str, rule: Rule) -> Result<(), RulesetError> {
        self.put(table, chain, rule, false)
    }

    fn put(&mut self, table: Table, chain: &str, rule: Rule, first: bool) -> Result<(), RulesetError> {
        let (name, chains) = (table.as_str(), self.table(table));
        let target = jumps_to(&rule).filter(|target| !chains.chains.contains_key(*target));
        let Some(there) = chains.chains.get_mut(chain) else { return Err(no_chain(table, chain)) };
        if let Some(target) = target {
            return Err(RulesetError::NoTarget { table: name, chain: chain.to_owned(), target: target.to_owned() });
        }
        if !there.rules.contains(&rule) {
            if there.rules.len() < 4 {
                // Each Pod has chains of its own, with a rule or two.
                there.rules.reserve_exact(1);
            }
            there.rules.insert(if first { 0 } else { there.rules.len() }, rule.clone());
            chains.count(&[rule], true);
        }
        Ok(())
    }

    /// `iptables -D`: takes a rule away. False if the chain has no such rule.
    pub fn delete_rule(&mut self, table: Table, chain: &str, rule: &Rule) -> bool {
        let chains = self.table(table);
        let Some(there) = chains.chains.get_mut(chain) else { return false };
        let Some(at) = there.rules.iter().position(|other| other == rule) else { return false };
        let gone = there.rules.remove(at);
        chains.count(&[gone], false);
        true
    }

    /// `iptables -F` and `-X`: takes a chain away with its rules. One that is not there is no error.
    pub fn delete_chain(&mut self, table: Table, chain: &str) -> Result<(), RulesetError> {
        self.restore(table, Change { chains: BTreeMap::new(), delete: vec![chain.to_owned()] })
    }

    /// Changes many chains of one table at once, as `iptables-restore --noflush` does; a refused change leaves
    /// everything as it was. The work is that of the chains named, however many others there are.
    pub fn restore(&mut self, table: Table, change: Change) -> Result<(), RulesetError> {
        let name = table.as_str();
        let chains = self.table(table);
        let stays = |target: &str| {
            let there = chains.chains.contains_key(target) && !change.delete.iter().any(|gone| gone == target);
            there || change.chains.contains_key(target)
        };
        for (chain, rules) in &change.chains {
            if let Some(target) = rules.iter().filter_map(jumps_to).find(|target| !stays(target)) {
                return Err(RulesetError::NoTarget { table: name, chain: chain.clone(), target: target.to_owned() });
            }
        }
        let before: BTreeMap<String, Option<Chain>> = change
            .chains
            .keys()
            .chain(&change.delete)
            .map(|chain| (chain.clone(), chains.chains.get(chain).cloned()))
            .collect();
        for (chain, rules) in change.chains {
            chains.set(&chain, rules);
        }
        for chain in &change.delete {
            chains.set(chain, Vec::new());
        }
        let busy = change.delete.iter().find(|chain| chains.jumps.contains_key(*chain));
        if let Some(chain) = busy.cloned() {
            for (chain, old) in before {
                chains.set(&chain, old.as_ref().map(|old| old.rules.clone()).unwrap_or_default());
                if old.is_none() {
                    chains.chains.remove(&chain);
                }
            }
            return Err(RulesetError::Busy { table: name, chain });
        }
        for chain in &change.delete {
            chains.chains.remove(chain);
        }
        Ok(())
    }

    fn table(&mut self, table: Table) -> &mut Chains {
        Rc::make_mut(&mut self.tables).entry(table).or_default()
    }
}

impl Chains {
    fn set(&mut self, chain: &str, rules: Vec<Rule>) {
        self.count(&rules, true);
        let there = self.chains.entry(chain.to_owned()).or_default();
        let old = std::mem::replace(&mut there.rules, rules);
        self.count(&old, false);
    }

    fn count(&mut self, rules: &[Rule], more: bool) {
        for rule in rules {
            match &rule.target {
                Some(Target::Jump(chain) | Target::Goto(chain)) => tally(&mut self.jumps, chain, more),
                Some(Target::Dnat(address, Some(port))) => tally(&mut self.sent_to, &(*address, *port), more),
                _ => {}
            }
        }
    }
}

/// Counts one more of a key, or one less. What there is none of is not kept.
fn tally<K: Ord + Clone>(counts: &mut BTreeMap<K, usize>, key: &K, more: bool) {
    match counts.get_mut(key) {
        Some(1) if !more => drop(counts.remove(key)),
        Some(count) => *count = if more { *count + 1 } else { *count - 1 },
        None if more => drop(counts.insert(key.clone(), 1)),
        None => {}
    }
}

fn jumps_to(rule: &Rule) -> Option<&str> {
    match &rule.target {
        Some(Target::Jump(chain) | Target::Goto(chain)) => Some(chain),
        _ => None,
    }
}

fn no_chain(table: Table, chain: &str) -> RulesetError {
    RulesetError::NoChain { table: table.as_str(), chain: chain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(chains: &[(&str, &[&str])], delete: &[&str]) -> Change {
        let rules = |targets: &[&str]| targets.iter().map(|target| Rule::jump(*target)).collect();
        Change {
            chains: chains.iter().map(|(chain, targets)| ((*chain).to_owned(), rules(targets))).collect(),
            delete: delete.iter().map(|chain| (*chain).to_owned()).collect(),
        }
    }

    #[test]
    fn a_change_happens_whole_or_not_at_all() {
        let mut ruleset = Ruleset::default();
        ruleset.restore(Table::Nat, change(&[("OUTPUT", &["A"]), ("A", &["B"]), ("B", &[])], &[])).unwrap();
        let before = ruleset.clone();
        for (wrong, says) in [
            (change(&[("C", &["D"])], &[]), "Chain 'D' does not exist (jumped to from nat C)"),
            (change(&[("C", &[])], &["B"]), "CHAIN_DEL failed (Device or resource busy): chain B of nat"),
            (change(&[("A", &["B"])], &["B"]), "Chain 'B' does not exist (jumped to from nat A)"),
        ] {
            assert_eq!(ruleset.restore(Table::Nat, wrong).unwrap_err().to_string(), says);
            assert_eq!(ruleset, before);
        }
        ruleset.restore(Table::Nat, change(&[("OUTPUT", &[])], &["A", "B", "never there"])).unwrap();
        assert_eq!(ruleset, Ruleset::default());
    }

    #[test]
    fn a_rule_is_there_once() {
        let mut ruleset = Ruleset::default();
        ruleset.make_chain(Table::Filter, "A");
        for _ in 0..2 {
            ruleset.append(Table::Filter, "INPUT", Rule::reject()).unwrap();
            ruleset.insert(Table::Filter, "INPUT", Rule::jump("A")).unwrap();
        }
        assert_eq!(ruleset.chain(Table::Filter, "INPUT").unwrap().rules, [Rule::jump("A"), Rule::reject()]);
        assert!(ruleset.delete_rule(Table::Filter, "INPUT", &Rule::jump("A")));
        assert!(!ruleset.delete_rule(Table::Filter, "INPUT", &Rule::jump("A")));
        ruleset.delete_chain(Table::Filter, "A").unwrap();
        assert!(ruleset.append(Table::Filter, "A", Rule::reject()).is_err());
        assert_eq!(ruleset.len(), 1);
    }

    #[test]
    fn where_packets_are_sent_on_to_is_known_without_a_search() {
        let (address, mut ruleset) = (Ipv4Addr::new(10, 0, 0, 1), Ruleset::default());
        let rule = Rule::new(Target::Dnat(address, Some(80)));
        for chain in ["A", "B"] {
            ruleset.set_chain(Table::Nat, chain, vec![rule.clone()]).unwrap();
        }
        ruleset.delete_chain(Table::Nat, "A").unwrap();
        assert!(ruleset.sends_to(address, 80) && !ruleset.sends_to(address, 81));
        ruleset.delete_rule(Table::Nat, "B", &rule);
        assert!(!ruleset.sends_to(address, 80));
    }
}
