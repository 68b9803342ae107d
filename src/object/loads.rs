//! What the processes of containers use: the one place that says so. metrics-server's answers come from it, and a kernel's
//! verdict that a process takes more memory than its container may have.
//!
//! In a real cluster the cgroup of a container counts it. Here nothing runs that could use a CPU: a scenario says what its
//! Pods use ([`Load`]), and `stress` takes what its own words say.

use std::fmt;

use super::quantity::Amount;
use super::selector::{Labels, Selector};
use super::time::Instant;

/// What a scenario has some Pods use from some moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Where the Pods are.
    pub namespace: String,
    /// Which: `app=web`.
    pub selector: String,
    /// Which of their containers; empty: the first.
    pub container: String,
    /// Thousandths of a core; none: as before.
    pub cpu_millis: Option<i64>,
    /// Bytes; none: as before.
    pub memory_bytes: Option<i64>,
    /// Whether that is for all of them together, and the ready ones share it evenly.
    pub shared: bool,
}

impl Load {
    /// Reads `app=web cpu=900m memory=200Mi container=nginx shared`.
    pub fn parse(words: &[&str], namespace: &str) -> Result<Load, String> {
        let Some((selector, rest)) = words.split_first() else { return Err("it is not said on which Pods".to_owned()) };
        Selector::parse(selector)?;
        let mut load = Load {
            namespace: namespace.to_owned(),
            selector: (*selector).to_owned(),
            container: String::new(),
            cpu_millis: None,
            memory_bytes: None,
            shared: false,
        };
        for word in rest {
            match word.split_once('=') {
                Some(("cpu", value)) => load.cpu_millis = Some(amount(value)?.milli_value()),
                Some(("memory", value)) => load.memory_bytes = Some(amount(value)?.value()),
                Some(("container", name)) => load.container = name.to_owned(),
                Some(("namespace", name)) => load.namespace = name.to_owned(),
                None if *word == "shared" => load.shared = true,
                _ => return Err(format!("{word:?} is not understood")),
            }
        }
        if load.cpu_millis.is_none() && load.memory_bytes.is_none() {
            return Err("neither cpu nor memory is given".to_owned());
        }
        Ok(load)
    }
}

fn amount(text: &str) -> Result<Amount, String> {
    let amount = Amount::parse(text).map_err(|why| format!("{text:?}: {why}"))?;
    if amount.is_negative() { Err(format!("{text:?} is less than nothing")) } else { Ok(amount) }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} namespace={}", self.selector, self.namespace)?;
        if !self.container.is_empty() {
            write!(f, " container={}", self.container)?;
        }
        if let Some(cpu) = self.cpu_millis {
            write!(f, " cpu={}", Amount::millis(cpu))?;
        }
        if let Some(memory) = self.memory_bytes {
            write!(f, " memory={}", Amount::bytes(memory))?;
        }
        f.write_str(if self.shared { " shared" } else { "" })
    }
}

/// The process of a container.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// Its Pod's namespace.
    pub namespace: &'a str,
    /// Its Pod's labels.
    pub labels: Option<&'a Labels>,
    /// Its container's name.
    pub container: &'a str,
    /// Whether that is the Pod's first one, which loads are about that name none.
    pub is_first: bool,
    /// The program and its arguments, as far as the Pod's spec says them.
    pub words: &'a [String],
    /// How many bytes of memory it may take; 0: as many as there are.
    pub memory_limit: i64,
}

/// All loads, in the order in which they came: of several that are about a container the last counts.
#[derive(Clone, Debug, Default)]
pub struct Loads(Vec<(Instant, Load, Selector)>);

/// What a load says of one resource.
type Given = fn(&Load) -> Option<i64>;

impl Loads {
    /// From now on these Pods use so much. It is an error if the load selects in a way that is not understood.
    pub fn put_on(&mut self, load: Load, now: Instant) -> Result<(), String> {
        let selector = Selector::parse(&load.selector)?;
        self.0.push((now, load, selector));
        Ok(())
    }

    /// A load by its place, and what it selects.
    pub fn at(&self, place: usize) -> Option<(&Load, &Selector)> {
        self.0.get(place).map(|(_, load, selector)| (load, selector))
    }

    /// How many thousandths of a core a process uses at a time. `share` says how much of a load, in which place, falls to it
    /// where Pods share one.
    pub fn cpu_millis(&self, process: &Process, then: Instant, share: impl FnOnce(usize, i64) -> i64) -> i64 {
        match self.find(process, then, |load| load.cpu_millis) {
            Some((place, load, amount)) if load.shared => share(place, amount),
            Some((_, _, amount)) => amount,
            None => 0,
        }
    }

    /// How many bytes of memory, likewise. Those who share a load keep to what each may take.
    pub fn memory_bytes(&self, process: &Process, then: Instant, share: impl FnOnce(usize, i64) -> i64) -> i64 {
        match self.find(process, then, |load| load.memory_bytes) {
            Some((place, load, amount)) if load.shared => match process.memory_limit {
                0 => share(place, amount),
                limit => share(place, amount).min(limit),
            },
            Some((_, _, amount)) => amount,
            None => memory_of_stress(process.words).unwrap_or_default(),
        }
    }

    /// Whether a process takes more memory than it may, for which the kernel kills it.
    pub fn is_too_greedy(&self, process: &Process, now: Instant) -> bool {
        let shares_nothing = |_, _| 0;
        process.memory_limit > 0 && self.memory_bytes(process, now, shares_nothing) > process.memory_limit
    }

    /// The last load that says something of this resource of a process, its place, and the amount.
    fn find(&self, process: &Process, then: Instant, given: Given) -> Option<(usize, &Load, i64)> {
        let about = |(_, (since, load, selector)): &(usize, &(Instant, Load, Selector))| {
            *since <= then
                && load.namespace == process.namespace
                && given(load).is_some()
                && if load.container.is_empty() { process.is_first } else { load.container == process.container }
                && selector.matches(process.labels)
        };
        let (place, (_, load, _)) = self.0.iter().enumerate().rev().find(about)?;
        Some((place, load, given(load)?))
    }
}

/// What `stress` is told to take; None: it is another program, or is told of no memory.
fn memory_of_stress(words: &[String]) -> Option<i64> {
    let program = words.first()?.rsplit('/').next()?;
    if !matches!(program, "stress" | "stress-ng") {
        return None;
    }
    let value = |flag: &str| {
        let joined = words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        joined.or_else(|| words.iter().skip_while(|word| *word != flag).nth(1).map(String::as_str))
    };
    let bytes = |text: &str| {
        let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
        let scale: i64 = match unit.to_ascii_lowercase().as_str() {
            "k" => 1 << 10,
            "m" => 1 << 20,
            "g" => 1 << 30,
            _ => 1,
        };
        number.parse::<i64>().ok()?.checked_mul(scale)
    };
    let workers = value("--vm").or_else(|| value("-m"))?.parse::<i64>().ok()?;
    Some(workers.saturating_mul(value("--vm-bytes").and_then(bytes)?).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for (line, written) in [
            ("app=web cpu=900m", "app=web namespace=default cpu=900m"),
            ("app=web cpu=1.5 memory=200Mi shared", "app=web namespace=default cpu=1500m memory=200Mi shared"),
            ("app=web,tier!=db memory=1Gi container=c", "app=web,tier!=db namespace=default container=c memory=1Gi"),
            ("app=web namespace=shop cpu=0", "app=web namespace=shop cpu=0"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let load = Load::parse(&words, "default").unwrap();
            assert_eq!(load.to_string(), written, "{line}");
            let again: Vec<&str> = written.split(' ').collect();
            assert_eq!(Load::parse(&again, "elsewhere"), Ok(load), "{line}");
        }
        for wrong in ["", "app=web", "app=web cpu=much", "app=web cpu=-1", "app=web disk=1", "app in cpu=1"] {
            let words: Vec<&str> = wrong.split_whitespace().collect();
            assert!(Load::parse(&words, "default").is_err(), "{wrong}");
        }
    }

    /// What a process takes and whether that is too much are told by one fact.
    #[test]
    fn who_takes_too_much_is_killed_and_who_shares_is_not() {
        let (now, labels) = (Instant(1), Labels::from([("app".to_owned(), "web".to_owned())]));
        for (words, line, limit, takes, killed) in [
            ("stress --vm 1 --vm-bytes 250M --vm-hang 1", "", 100 << 20, 250 << 20, true),
            ("stress --vm 1 --vm-bytes 150M --vm-hang 1", "", 200 << 20, 150 << 20, false),
            ("/usr/bin/stress -m 2 --vm-bytes=60M", "", 100 << 20, 120 << 20, true),
            ("stress --vm 1 --vm-bytes 250M", "", 0, 250 << 20, false),
            ("stress -cpus 2", "", 100 << 20, 0, false),
            ("nginx", "app=web memory=101Mi", 100 << 20, 101 << 20, true),
            ("nginx", "app=web memory=100Mi", 100 << 20, 100 << 20, false),
            ("nginx", "app=db memory=101Mi", 100 << 20, 0, false),
            ("nginx", "app=web memory=101Mi container=other", 100 << 20, 0, false),
            ("nginx", "app=web memory=400Mi shared", 100 << 20, 100 << 20, false),
            ("nginx", "app=web memory=400Mi shared", 0, 200 << 20, false),
            ("stress -m 1 --vm-bytes 250M", "app=web memory=1Mi", 100 << 20, 1 << 20, false),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let mut loads = Loads::default();
            if !line.is_empty() {
                let load = Load::parse(&line.split(' ').collect::<Vec<_>>(), "default").unwrap();
                loads.put_on(load, now).unwrap();
            }
            let process = Process {
                namespace: "default",
                labels: Some(&labels),
                container: "c",
                is_first: true,
                words: &words,
                memory_limit: limit,
            };
            let found = (loads.memory_bytes(&process, now, |_, all| all / 2), loads.is_too_greedy(&process, now));
            assert_eq!(found, (takes, killed), "{words:?}, {line:?}, {limit}");
        }
    }
}
