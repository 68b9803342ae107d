//! Runs a command line.

use std::time::Duration;

use crate::args::{Args, verb_place};
use crate::command::{Command, Run};
use crate::config::USER;
use crate::failure::Failure;
use crate::flags::wants_value;
use crate::kubectl::Kubectl;
use crate::print::tabs;
use crate::verbs::{LEFT_OUT, TABLE, raw};
use rest::path::split_proxy;
use wire::Impersonation;

/// How long a kubectl process takes from its start to its first request.
const STARTUP: Duration = Duration::from_millis(100);

/// Runs one command line, without the word `kubectl`. Returns the exit code; what it printed is in the terminal.
pub async fn run(line: &[String], cx: &Kubectl) -> u8 {
    cx.sleep(STARTUP).await;
    let cx = &cx.afresh();
    cx.exit_code(dispatch(line, cx).await)
}

/// Whether a word is one of the verbs that are done here.
pub fn does(verb: &str) -> bool {
    row(verb).is_some()
}

/// Whether a word is one of the real kubectl's verbs, done here or refused.
pub fn knows(verb: &str) -> bool {
    does(verb) || refused(verb).is_some()
}

/// Why a verb of the real kubectl does nothing here. The user who types it gets this answer at once.
pub fn refused(verb: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(verbs, _)| verbs.contains(&verb)).map(|(_, why)| *why)
}

/// Whether a line changes nothing, in the cluster or in the user's own configuration, and needs nothing of the network.
pub fn reads_only(line: &[String]) -> bool {
    let is_proxied = |word: &String| {
        let path = word.strip_prefix("--raw=").unwrap_or(word).split('?').next().unwrap_or_default();
        split_proxy(path).is_some()
    };
    match from_verb(line) {
        [verb, rest @ ..] if verb == "get" && rest.iter().any(is_proxied) => false,
        [verb, rest @ ..] => row(verb).is_some_and(|row| (row.reads_only)(rest.first().map(String::as_str))),
        [] => false,
    }
}

/// Whether a line goes on until it is ended: it follows what changes, or what is printed.
pub fn goes_on(line: &[String]) -> bool {
    let words = || line.iter().map(String::as_str).take_while(|word| *word != "--");
    let has = |flags: &[&str]| words().any(|word| flags.contains(&word.strip_suffix("=true").unwrap_or(word)));
    match from_verb(line).first().map_or("", String::as_str) {
        "get" | "events" => has(&["-w", "--watch", "--watch-only"]),
        "logs" => has(&["-f", "--follow"]),
        "attach" | "port-forward" => true,
        _ => false,
    }
}

/// The words of a line from its verb on; none if it has only flags.
pub fn from_verb(line: &[String]) -> &[String] {
    verb_place(line).map_or(&[], |place| &line[place..])
}

/// The verbs that are done here, by name.
pub fn verbs() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.usage.name)
}

/// What is known of a verb that is done here.
pub fn row(verb: &str) -> Option<&'static Command> {
    TABLE.iter().copied().find(|row| row.usage.name == verb)
}

async fn dispatch(line: &[String], cx: &Kubectl) -> Result<(), Failure> {
    let line = match line.split_first() {
        Some((word, [command, ..])) if word == "help" => &[command.clone(), "--help".to_owned()],
        _ => line,
    };
    if let [flag] = line
        && wants_value(flag)
    {
        return Err(Failure::text(format!("flag needs an argument: {flag}\nSee 'kubectl --help' for usage.")));
    }
    let Some(place) = verb_place(line).filter(|place| line[*place] != "help") else {
        cx.print(&help());
        return Ok(());
    };
    let name = line[place].as_str();
    if let Some(why) = refused(name) {
        return Err(Failure::text(format!("{name} is not part of this cluster: {why}")));
    }
    let Some(verb) = row(name) else {
        return Err(Failure::text(format!("unknown command \"{name}\" for \"kubectl\"{}", meant(name))));
    };
    if line.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        cx.print(&verb.usage.help());
        return Ok(());
    }
    let rest: Vec<String> = line[..place].iter().chain(&line[place + 1..]).cloned().collect();
    perform(verb, &Args::parse(&verb.usage, &rest)?, cx).await
}

/// The commands that are much like a word that is none. Mirrors cobra's `findSuggestions`.
fn meant(word: &str) -> String {
    /// So many letters may be other ones. Mirrors `SuggestionsMinimumDistance`.
    const FAR: usize = 2;
    // No typing mistake is longer.
    if word.len() > 100 {
        return String::new();
    }
    let word = word.to_ascii_lowercase();
    let is_like = |name: &&&str| name.starts_with(&*word) || strsim::levenshtein(&word, name) <= FAR;
    let lines: String = COMMANDS.iter().filter(is_like).map(|name| format!("\n\t{name}")).collect();
    if lines.is_empty() { lines } else { format!("\n\nDid you mean this?{lines}") }
}

/// All commands of the real kubectl, in the order in which it puts them together. Mirrors `NewKubectlCommand`.
const COMMANDS: &[&str] = &[
    "create",
    "expose",
    "run",
    "set",
    "explain",
    "get",
    "edit",
    "delete",
    "rollout",
    "scale",
    "autoscale",
    "certificate",
    "cluster-info",
    "top",
    "cordon",
    "uncordon",
    "drain",
    "taint",
    "describe",
    "logs",
    "attach",
    "exec",
    "port-forward",
    "proxy",
    "cp",
    "auth",
    "debug",
    "events",
    "diff",
    "apply",
    "patch",
    "replace",
    "wait",
    "kustomize",
    "label",
    "annotate",
    "completion",
    "alpha",
    "config",
    "plugin",
    "version",
    "api-versions",
    "api-resources",
    "options",
];

/// What `kubectl --help` prints.
fn help() -> String {
    let row = |verb: &&Command| format!("  {}\t{}\n", verb.usage.name, verb.usage.in_short());
    let commands = tabs::table(&TABLE.iter().map(row).collect::<String>());
    format!("Commands:\n{commands}\nMore of one: kubectl COMMAND --help\n")
}

/// Does what a verb is for, as whom and in which context the flags say.
async fn perform(verb: &Command, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if verb.names_objects && args.gives_manifests() && !args.words.is_empty() {
        let why =
            "when paths, URLs, or stdin is provided as resource input, you may not specify resource arguments as well";
        return Err(Failure::text(why));
    }
    if args.has("record") {
        cx.complain("Flag --record has been deprecated, --record will be removed in the future");
    }
    let run = match verb.run {
        Run::Here(run) => return run(args, cx),
        Run::There(run) => run,
    };
    let cx = &cx.showing(&cx.config.get().credentials(args.value("context"), args.value("token"))?);
    let somebody = impersonation(args, cx)?.map(|other| {
        let user = (**cx.client.user()).clone().acting_as(other);
        cx.with_client(cx.client.clone().acting_as(user))
    });
    let cx = somebody.as_ref().unwrap_or(cx);
    let cx = &cx.in_context(args.value("context"))?.with_managed_fields(args.is_on("show-managed-fields"));
    let cx = &cx.logging(args.number("v")?.unwrap_or_default());
    cx.log_config();
    match verb.raw.filter(|_| args.has("raw")) {
        Some(method) => raw::raw(method, args, cx).await,
        None => run(args, cx).await,
    }
}

/// As whom the flags say that requests are sent. Mirrors `ConfigFlags.toRawKubeConfigLoader` and `validateAuthInfo` of
/// clientcmd.
fn impersonation(args: &Args, cx: &Kubectl) -> Result<Option<Impersonation>, Failure> {
    let [user, uid] = ["as", "as-uid"].map(|flag| args.value(flag).to_owned());
    let mut wanted = Impersonation { user, uid, groups: args.values("as-group").to_vec(), ..Impersonation::default() };
    // What is no pair is passed over.
    for (key, value) in args.values("as-user-extra").iter().filter_map(|pair| pair.split_once('=')) {
        // It becomes the name of a header, which the server reads in lower case.
        wanted.extra.entry(key.to_ascii_lowercase()).or_default().push(value.to_owned());
    }
    match (wanted.user.is_empty(), wanted.is_more_than_a_name()) {
        (false, _) => Ok(Some(wanted)),
        (true, false) => Ok(None),
        (true, true) => {
            let why = "requesting uid, groups or user-extra for";
            cx.complain(format!("Error in configuration: {why} {} without impersonating a user", USER));
            Err(Failure::Told)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{FLAGS, GLOBAL};

    #[test]
    fn each_flag_that_a_command_names_is_there() {
        for Command { usage, .. } in TABLE {
            for name in usage.flags.iter().copied().flatten().chain(GLOBAL) {
                assert!(usage.flag(name).is_some(), "{}: {name}", usage.name);
            }
            let mut letters: Vec<char> = usage.flags().filter_map(|flag| usage.letter_of(flag)).collect();
            letters.sort_unstable();
            let all = letters.len();
            letters.dedup();
            assert_eq!(letters.len(), all, "{}: one letter means two things", usage.name);
        }
        assert!(FLAGS.is_sorted_by_key(|flag| flag.name), "help lists flags by name");
        for known in FLAGS {
            assert!(TABLE.iter().any(|verb| verb.usage.flag(known.name).is_some()), "{}", known.name);
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        for text in TABLE.iter().map(|verb| verb.usage.help()).chain([help()]) {
            let long = text.lines().find(|line| line.chars().count() > 110);
            assert!(long.is_none(), "{long:?}");
        }
    }

    #[test]
    fn a_flag_is_left_out_only_where_it_is_not_known() {
        for Command { usage, .. } in TABLE {
            assert_eq!(usage.left_out.iter().find(|name| usage.flag(name).is_some()), None, "{}", usage.name);
            assert_eq!(usage.letterless.iter().find(|name| usage.flag(name).is_none()), None, "{}", usage.name);
        }
    }

    #[test]
    fn what_only_looks_is_known() {
        let looks = |line: &str| reads_only(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in [
            "get pods",
            "get pods/proxy",
            "get --raw /api/v1/pods",
            "-n a get pods",
            "auth can-i get pods",
            "config view",
            "config get-contexts",
            "options",
        ] {
            assert!(looks(line), "{line}");
        }
        for line in [
            "get --raw=/api/v1/nodes/n:80/proxy/x?y",
            "apply -f x",
            "auth reconcile -f x",
            "config",
            "config set-context x",
            "edit pod",
            "nonsense",
            "-n",
        ] {
            assert!(!looks(line), "{line}");
        }
    }
}
