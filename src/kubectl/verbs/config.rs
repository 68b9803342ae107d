//! `config`: the kubeconfig, seen and changed. Mirrors `k8s.io/kubectl/pkg/cmd/config`. Nothing is asked of the cluster.
//!
//! Left out: other clusters, and users that show anything else than a token.

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::config::{CLUSTER, Config, Context, Credentials, FILE, USER};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::output::{Output, print};
use crate::print::tabs;
use crate::usage::Usage;

/// `kubectl config`.
pub const CONFIG: Command = Command {
    usage: Usage {
        name: "config",
        words: "view|get-contexts|current-context|use-context NAME|set-context NAME|--current",
        about: "Which cluster, as whom, in which namespace.\n\
                get-clusters, get-users, rename-context OLD NEW, delete-context NAME,\n\
                set-credentials NAME --token=TOKEN, delete-user NAME,\n\
                set PROPERTY VALUE, unset PROPERTY: contexts.NAME.namespace, current-context.",
        flags: &[&["cluster", "current", "minify", "no-headers", "output", "user"]],
        ..Usage::EMPTY
    },
    reads_only: |what| what.is_some_and(|what| matches!(what, "view" | "current-context") || what.starts_with("get-")),
    takes: Takes::first(
        &[
            "current-context",
            "delete-context",
            "delete-user",
            "get-contexts",
            "rename-context",
            "set-context",
            "set-credentials",
            "use-context",
            "view",
        ],
        Named::Nothing,
    ),
    run: Run::Here(config),
    ..Command::EMPTY
};

/// `kubectl config …`.
fn config(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["view"] => view(args, cx),
        ["current-context"] => current(cx),
        ["get-contexts", names @ ..] => contexts(names, args, cx),
        ["get-clusters"] => names([CLUSTER], cx),
        ["get-users"] => names(cx.config.get().users.keys().map(String::as_str), cx),
        ["use-context" | "use", name] => use_context(name, cx),
        ["set-context", names @ ..] => set_context(names, args, cx),
        ["rename-context", old, new] => rename(old, new, cx),
        ["delete-context", name] => delete(name, cx),
        ["set", property, value] => set(property, value, cx),
        ["unset", property] => unset(property, cx),
        ["set-credentials", name] => set_credentials(name, args, cx),
        ["delete-user", name] => delete_user(name, cx),
        ["set-cluster" | "delete-cluster", ..] => {
            Err(Failure::text(format!("{}: there is one cluster here, and it stays as it is", words[0])))
        }
        [
            "use-context" | "use" | "rename-context" | "delete-context" | "set" | "unset" | "set-credentials"
            | "delete-user",
            ..,
        ] => Err(Failure::text(format!("unexpected args: [{}]", words[1..].join(" ")))),
        _ => Err(Failure::text(
            "write: kubectl config view, current-context, get-contexts, get-clusters, get-users, use-context NAME, \
             set-context --current --namespace=NAME, set PROPERTY VALUE, or unset PROPERTY",
        )),
    }
}

fn view(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = match args.value("output") {
        "" => Output::Yaml,
        text => Output::parse(text).map_err(Failure::text)?,
    };
    let shown = cx.config.get().view(args.is_on("minify"));
    cx.print(&print(&output, &[shown], true, cx.now()).map_err(Failure::text)?);
    Ok(())
}

fn current(cx: &Kubectl) -> Result<(), Failure> {
    match cx.config.get().current.as_str() {
        "" => Err(Failure::text("current-context is not set")),
        name => {
            cx.line(name);
            Ok(())
        }
    }
}

/// All contexts, or those that are named.
fn contexts(wanted: &[&str], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let config = cx.config.get();
    let by_name = args.value("output") == "name";
    let mut rows = Vec::new();
    if !by_name && !args.is_on("no-headers") {
        rows.push("CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE".to_owned());
    }
    for (name, of) in config.contexts.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(&name.as_str())) {
        let mark = if *name == config.current { "*" } else { "" };
        match by_name {
            true => rows.push(name.clone()),
            false => rows.push(format!("{mark}\t{name}\t{}\t{}\t{}", of.cluster, of.user, of.namespace)),
        }
    }
    let text = rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    cx.print(&if by_name { text } else { tabs::table(&text) });
    match wanted.iter().find(|name| !config.contexts.contains_key(**name)) {
        Some(name) => Err(Failure::text(format!("context {name} not found"))),
        None => Ok(()),
    }
}

fn names<'a>(all: impl IntoIterator<Item = &'a str>, cx: &Kubectl) -> Result<(), Failure> {
    cx.line("NAME");
    all.into_iter().for_each(|name| cx.line(name));
    Ok(())
}

/// Notes what a user shows: a token, or nothing if none is given and there was none before.
fn set_credentials(name: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    let token = args.value("token");
    let shown = config.users.entry(name.to_owned()).or_default();
    if !token.is_empty() && *shown != Credentials::Certificate {
        *shown = Credentials::Token(token.to_owned());
    }
    cx.config.set(config);
    cx.line(format!("User \"{name}\" set."));
    Ok(())
}

fn delete_user(name: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    if config.users.remove(name).is_none() {
        return Err(Failure::text(format!("cannot delete user {name}, not in {FILE}")));
    }
    cx.config.set(config);
    cx.line(format!("deleted user {name} from {FILE}"));
    Ok(())
}

fn use_context(name: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    if !config.contexts.contains_key(name) {
        return Err(Failure::text(format!("no context exists with the name: \"{name}\"")));
    }
    config.current = name.to_owned();
    cx.config.set(config);
    cx.line(format!("Switched to context \"{name}\"."));
    Ok(())
}

/// Changes the current context, or the one of that name, which it makes if need be.
fn set_context(names: &[&str], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    let name = match (names, args.is_on("current")) {
        ([], true) if config.current.is_empty() => return Err(Failure::text("no current context is set")),
        ([], true) => config.current.clone(),
        ([_], true) => return Err(Failure::text("you cannot specify both a context name and --current")),
        ([name], false) if !name.is_empty() => (*name).to_owned(),
        ([] | [""], false) => return Err(Failure::text("you must specify a non-empty context name or --current")),
        _ => return Err(Failure::text(format!("unexpected args: [{}]", names.join(" ")))),
    };
    let done = if config.contexts.contains_key(&name) { "modified" } else { "created" };
    change(config.contexts.entry(name.clone()).or_default(), args)?;
    cx.config.set(config);
    cx.line(format!("Context \"{name}\" {done}."));
    Ok(())
}

fn change(context: &mut Context, args: &Args) -> Result<(), Failure> {
    // The real one takes a context without a cluster or a user, and fails when it is used.
    for (usual, field) in [(CLUSTER, &mut context.cluster), (USER, &mut context.user)] {
        if field.is_empty() {
            usual.clone_into(field);
        }
    }
    if args.has("cluster") && args.value("cluster") != CLUSTER {
        let why = format!("there is no cluster {:?} here, only {CLUSTER:?}", args.value("cluster"));
        return Err(Failure::text(why));
    }
    if args.has("user") {
        args.value("user").clone_into(&mut context.user);
    }
    if args.has("namespace") {
        args.value("namespace").clone_into(&mut context.namespace);
    }
    Ok(())
}

fn rename(old: &str, new: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    if config.contexts.contains_key(new) {
        let why = format!("cannot rename the context \"{old}\", the context \"{new}\" already exists in {FILE}");
        return Err(Failure::text(why));
    }
    let missing = || Failure::text(format!("cannot rename the context \"{old}\", it's not in {FILE}"));
    let context = config.contexts.remove(old).ok_or_else(missing)?;
    config.contexts.insert(new.to_owned(), context);
    if config.current == old {
        config.current = new.to_owned();
    }
    cx.config.set(config);
    cx.line(format!("Context \"{old}\" renamed to \"{new}\"."));
    Ok(())
}

fn delete(name: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config: Config = cx.config.get();
    if config.contexts.remove(name).is_none() {
        return Err(Failure::text(format!("cannot delete context {name}, not in {FILE}")));
    }
    if config.current == name {
        cx.complain(
            "warning: this removed your active context, use \"kubectl config use-context\" to select a different one",
        );
    }
    cx.config.set(config);
    cx.line(format!("deleted context {name} from {FILE}"));
    Ok(())
}

/// A property by its path: `current-context`, `contexts.NAME` or a field of that.
enum Property<'a> {
    Current,
    Context(&'a str),
    Field(&'a str, &'a str),
}

fn property(path: &str) -> Result<Property<'_>, Failure> {
    const FIELDS: [&str; 3] = ["cluster", "user", "namespace"];
    let beyond = || {
        let known = "current-context, contexts.NAME.namespace, contexts.NAME.cluster and contexts.NAME.user";
        Failure::text(format!("{path}: of the properties of a kubeconfig these are here: {known}"))
    };
    match path.strip_prefix("contexts.") {
        _ if path == "current-context" => Ok(Property::Current),
        None | Some("") => Err(beyond()),
        Some(rest) => match rest.rsplit_once('.').filter(|(_, field)| FIELDS.contains(field)) {
            Some((name, field)) => Ok(Property::Field(name, field)),
            None => Ok(Property::Context(rest)),
        },
    }
}

fn set(path: &str, value: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    match property(path)? {
        Property::Current => value.clone_into(&mut config.current),
        Property::Context(name) => {
            return Err(Failure::text(format!(
                "a context is no value; set contexts.{name}.namespace, cluster or user"
            )));
        }
        Property::Field(name, "namespace") => {
            value.clone_into(&mut config.contexts.entry(name.to_owned()).or_insert_with(Context::usual).namespace);
        }
        Property::Field(name, "user") => {
            value.clone_into(&mut config.contexts.entry(name.to_owned()).or_insert_with(Context::usual).user);
        }
        Property::Field(name, field) => {
            if value != CLUSTER {
                return Err(Failure::text(format!("there is no {field} {value:?} here, only {CLUSTER:?}")));
            }
            config.contexts.entry(name.to_owned()).or_insert_with(Context::usual);
        }
    }
    cx.config.set(config);
    cx.line(format!("Property \"{path}\" set."));
    Ok(())
}

fn unset(path: &str, cx: &Kubectl) -> Result<(), Failure> {
    let mut config = cx.config.get();
    let unknown = |name: &str| Failure::text(format!("current map key `{name}` is invalid"));
    match property(path)? {
        Property::Current => config.current.clear(),
        Property::Context(name) => drop(config.contexts.remove(name).ok_or_else(|| unknown(name))?),
        Property::Field(name, field) => {
            let context = config.contexts.get_mut(name).ok_or_else(|| unknown(name))?;
            match field {
                "namespace" => context.namespace.clear(),
                _ => {
                    return Err(Failure::text(format!("{path}: there is one {field} here, and no context without it")));
                }
            }
        }
    }
    cx.config.set(config);
    cx.line(format!("Property \"{path}\" unset."));
    Ok(())
}
