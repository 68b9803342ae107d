//! What is: nothing here changes anything.

use std::collections::BTreeMap;

use debugger::breakpoint::parse::without_namespace;
use debugger::expression::matches_glob;
use debugger::inspect::owner_graph;
use debugger::{Session, Stop, describe, source, target};
use kinds::registry;
use object::Object;

use super::Run::{Says, Stops};
use super::{Answer, Command, Group, Line, Takes, Text, held, print};

/// Commands that only look.
pub const GROUP: Group = Group {
    name: "look",
    acts: false,
    commands: &[
        Command {
            names: &["show"],
            usage: "show [STEP]",
            takes: &[],
            about: "this stop again, or an earlier one, whole",
            more: "A stop that is longer than the terminal is high is shown with fewer details; this shows them all.\n",
            run: Stops(|stepper, line| match line.step()? {
                None => Ok(Answer { whole: true, ..stepper.shown() }),
                Some(number) => {
                    let step = super::ask::step(&stepper.session, Some(number))?;
                    let stop = Some(Box::new(Stop::of(&stepper.session, step)));
                    Ok(Answer { stop, whole: true, ..Answer::default() })
                }
            }),
        },
        Command {
            names: &["print"],
            usage: "print EXPR|OBJECT[.path]",
            takes: &[&[Takes::Value, Takes::Again]],
            about: "a value of this step, or of an object",
            more: print::VALUES,
            run: Says(|stepper, line| print::print(stepper, line)),
        },
        Command {
            names: &["pending", "p"],
            usage: "pending [--all]",
            takes: &[&[Takes::One(&["--all"])]],
            about: "what is in flight",
            more: "",
            run: Says(|stepper, line| match line.name() == "p" && !line.rest().is_empty() && line.rest() != "--all" {
                // gdb's short word for print.
                true => print::print(stepper, line),
                false => Ok(stepper.view().pending(&stepper.session, line.flag("--all")?)),
            }),
        },
        Command {
            names: &["stack"],
            usage: "stack",
            takes: &[],
            about: "what every reconcile and pod worker waits for",
            more: "",
            run: Says(|stepper, line| line.nothing().map(|()| stack(&stepper.session))),
        },
        Command {
            names: &["cache"],
            usage: "cache COMPONENT [KIND]",
            takes: &[&[Takes::Component], &[Takes::Kind]],
            about: "what a component believes",
            more: "Twenty objects of each kind; with a kind, all of that one: cache kube-scheduler pods\n\
                   Part of a name will do: cache scheduler. Controllers have those of the manager that they run in.\n",
            run: Says(held::cache),
        },
        Command {
            names: &["queue"],
            usage: "queue COMPONENT",
            takes: &[&[Takes::Component]],
            about: "what it still has to work on",
            more: "Or of one controller in it; part of a name will do: queue replicaset\n",
            run: Says(held::queue),
        },
        Command {
            names: &["graph"],
            usage: "graph [NAME]",
            takes: &[&[Takes::Object]],
            about: "who owns whom, as the garbage collector sees it",
            more: "With a name, only the trees in which it occurs; stars stand for anything, as in: graph web-*\n\
                   An owner that no informer has told of yet is a virtual node: the collector asks the API server for it.\n",
            run: Says(|stepper, line| graph(&stepper.session, line)),
        },
        Command {
            names: &["etcd"],
            usage: "etcd get [--prefix] KEY",
            takes: &[&[Takes::One(&["get"])], &[Takes::One(&["--prefix"]), Takes::Object]],
            about: "what is stored",
            more: "Without a key, how many there are of each kind.\n",
            run: Says(|stepper, line| etcd(&stepper.session, line)),
        },
    ],
};

fn stack(session: &Session) -> String {
    let mut out = String::new();
    for task in session.cluster.engine.tasks() {
        for wait in &task.waits {
            let at = source::excerpt(&wait.at, 0);
            let since = session.time(wait.since);
            out += &format!("{}\n  waits for {} since {since}\n  {}:{}\n", task.label, wait.about, at.file, at.line);
            out += &at.lines.iter().map(|(n, line)| format!("  ▶{n:>5} {line}\n")).collect::<String>();
        }
    }
    if out.is_empty() { "no reconcile or pod worker is under way\n".to_owned() } else { out }
}

fn etcd(session: &Session, line: &Line) -> Text {
    let words: Vec<&str> = line.arguments().into_iter().filter(|word| *word != "get").collect();
    let prefix = words.contains(&"--prefix");
    let keys: Vec<&str> = words.into_iter().filter(|word| *word != "--prefix").collect();
    let key = match keys.as_slice() {
        [key] => *key,
        [] => return Ok(key_space(session)),
        _ => return Err("write: etcd get /registry/pods/default/web, or: etcd get --prefix /registry/pods/".to_owned()),
    };
    // An object is as good as its key.
    let object = target::find(session, &[key]).ok().filter(|_| !prefix && !key.starts_with('/'));
    let key = &object.map_or_else(|| key.to_owned(), |target| target.etcd_key());
    let store = &session.cluster.engine.server.api.store;
    let entries: Vec<_> = match prefix {
        true => store.prefix(key).collect(),
        false => store.get(key).map(|entry| (key.as_str(), entry)).into_iter().collect(),
    };
    if entries.is_empty() {
        return Err(format!("etcd has no key {key:?}; etcd get --prefix /registry/ lists all"));
    }
    let mut out = String::new();
    for (key, entry) in &entries {
        let (created, changed) = (entry.create_revision, entry.mod_revision);
        out += &format!("{key}  create revision {created}, mod revision {changed}, version {}\n", entry.version);
    }
    if let [(_, entry)] = entries.as_slice() {
        out += &yaml(&entry.value);
    }
    Ok(out)
}

/// How many keys there are of each kind, and under what they stand.
fn key_space(session: &Session) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, entry) in session.cluster.engine.server.api.store.prefix("/registry/") {
        *counts.entry(registry::prefix(entry.value.kind())).or_default() += 1;
    }
    let widest = counts.keys().map(|prefix| prefix.len()).max().unwrap_or(0);
    let row = |(prefix, count): (&&str, &usize)| {
        format!("{prefix:<widest$}  {count} key{}\n", if *count == 1 { "" } else { "s" })
    };
    let rows: String = counts.iter().map(row).collect();
    let example = counts.keys().next().copied().unwrap_or("/registry/");
    format!("{rows}all of one: etcd get --prefix {example}\n")
}

fn yaml(object: &Object) -> String {
    serde_yaml::to_string(&object.printed()).unwrap_or_else(|error| format!("{}: {error}\n", describe::name(object)))
}

fn graph(session: &Session, line: &Line) -> Text {
    let words = line.arguments();
    let wanted = match without_namespace(&words)?.1.as_slice() {
        [] => "*",
        [one] => one,
        _ => return Err("write for example: graph web-*".to_owned()),
    };
    let wanted = wanted.rsplit('/').next().unwrap_or_default();
    let trees = owner_graph(session).ok_or("kube-controller-manager does not run, and the collector is in it")?;
    let is_wanted = |line: &String| {
        let name = line.split_whitespace().nth(1).unwrap_or_default();
        matches_glob(wanted, name.rsplit('/').next().unwrap_or_default())
    };
    let shown: Vec<String> = trees.into_iter().filter(|tree| tree.iter().any(is_wanted)).flatten().collect();
    match shown.as_slice() {
        [] if wanted == "*" => Ok("nothing owns anything\n".to_owned()),
        [] => Err(format!("nothing of the name {wanted:?} owns or is owned; graph shows all")),
        lines => Ok(lines.iter().map(|line| format!("{line}\n")).collect()),
    }
}
