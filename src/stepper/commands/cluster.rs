//! The cluster as its user has it: kubectl.

use super::super::Stepper;
use super::Run::{Says, Stops};
use super::{Answer, Command, Group, Line, Takes, Text};
use ::cluster::timeline;
use debugger::Choice;
use kubectl::{from_verb, goes_on, reads_only, refused};

/// How a command of a node's is written.
const NODE: &str = "write: node NODE COMMAND, as in: node node-1 ip addr; nodes lists them, node start 4 switches one on, \
    help node says what one knows";

/// Commands of a node's.
const ON_NODE: &[&str] = &["cat", "ls", "ip", "bridge", "iptables-save", "conntrack", "nft", "cp", "rm"];

/// What is said where no editor can be opened.
pub(super) const NO_EDITOR: &str = "edit opens an editor, which it can at a terminal only. Here write what is to change: \
    patch deployment web -p '{\"spec\":{\"replicas\":5}}', or scale, set image, label, or apply -f with a changed file";

/// Commands of kubectl's. The word `kubectl` may be left out.
pub const GROUP: Group = Group {
    name: "cluster",
    acts: true,
    commands: &[
        Command {
            names: &["get", "describe", "logs", "events", "top", "auth"],
            usage: "get, describe, logs, events …",
            takes: &[],
            about: "as kubectl prints them; time stands still",
            more: "get pods | grep web                   awk, cut, grep, head, jq, sed, sort, tail, tr, wc go over what is printed\n\
                get pods -w is typed as a command, and goes on as you step: it prints each change, until none has come for\n\
                half a minute, or for as long as --request-timeout=5m says. So does logs -f web: it prints lines as they come,\n\
                until the container ends.\n",
            run: Says(|stepper, line| look(stepper, line.words())),
        },
        Command {
            names: &["cat"],
            usage: "cat FILE…",
            takes: &[&[Takes::File, Takes::Again]],
            about: "a file that lines can name; time stands still",
            more: "Those of the scenario, those that lines have written, and those on your disk.\n",
            run: Says(cat),
        },
        Command {
            names: &["files", "ls"],
            usage: "files [DIR]",
            takes: &[&[Takes::File, Takes::Again]],
            about: "the files that lines can name; time stands still",
            more: "Those of the scenario, those that lines have written, and those on your disk; cat shows one.\n",
            run: Says(files),
        },
        Command {
            names: &["nodes"],
            usage: "nodes",
            takes: &[],
            about: "the nodes: ready or not, and their addresses",
            more: "",
            run: Says(|stepper, line| {
                line.nothing()?;
                Ok(stepper.session.read(&["get", "nodes", "-o", "wide"].map(str::to_owned)))
            }),
        },
        Command {
            names: &[
                "apply",
                "create",
                "scale",
                "set",
                "label",
                "annotate",
                "taint",
                "rollout",
                "patch",
                "replace",
                "cordon",
                "uncordon",
                "expose",
                "autoscale",
            ],
            usage: "apply -f, create, scale, set, label …",
            takes: &[],
            about: "as kubectl does them; step to see it",
            more: "apply -k DIR builds the kustomization of a folder first; kubectl kustomize DIR shows what it comes to.\n",
            run: Says(change),
        },
        Command {
            names: &["edit"],
            usage: "edit KIND NAME",
            takes: &[&[Takes::Object]],
            about: "change it in your editor: $EDITOR, or vi",
            more: "At a terminal, in lines or on the full screen; KUBE_EDITOR comes before EDITOR. What was changed is sent as a\n\
                patch, which is kept among the choices: a session that is repeated opens no editor.\n",
            run: Says(|_, _| Err(NO_EDITOR.to_owned())),
        },
        Command {
            names: &["delete"],
            usage: "delete KIND NAME",
            takes: &[&[Takes::Breakpoint]],
            about: "as kubectl does; with a number: that breakpoint",
            more: "",
            run: Says(|stepper, line| match line.arguments().as_slice() {
                [] => Err("write for example: delete pod web, or for a breakpoint: delete 1".to_owned()),
                words if words.iter().all(|word| word.parse::<u32>().is_ok()) => super::stop::unbreak(stepper, line),
                _ => change(stepper, line),
            }),
        },
        Command {
            names: &["node"],
            usage: "node NODE cat|ls|ip|bridge|iptables-save|conntrack|nft …",
            takes: &[&[Takes::Node, Takes::One(&["start", "stop", "shutdown"])], &[Takes::One(ON_NODE)]],
            about: "an admin on a node",
            more: "node stop 1, node start 4             cut a machine off the power, or switch one on\n\
                node shutdown 1                       switch it off, but let its kubelet end its Pods first\n\
                node node-1 cat /etc/cni/net.d/10-kubestep.conflist\n\
                node node-1 ls /var/lib/cni/networks/kubestep\n\
                node node-1 ip addr, ip route, ip link, ip netns, ip -n NAME addr\n\
                node node-1 bridge link, bridge fdb\n\
                node node-1 iptables-save, iptables-save -t nat\n\
                node node-1 conntrack -L, conntrack -L -p tcp\n\
                node node-1 nft list ruleset  kube-proxy's rules as in nftables mode\n\
                node node-1 cp FILE PATH      a file of the scenario, or one beside it\n\
                node node-1 rm PATH\n",
            run: Stops(|stepper, line| match line.words()[1..].split_first() {
                Some((word, _)) if ["start", "stop", "shutdown"].iter().any(|known| word == known) => {
                    super::decide::step(stepper, line)
                }
                Some((_, command)) if command.first().is_some_and(|word| word == "cp" || word == "rm") => {
                    super::decide::step(stepper, line)
                }
                Some((node, command)) if !command.is_empty() => on_node(stepper, node, command).map(Answer::says),
                _ => Err(NODE.to_owned()),
            }),
        },
        Command {
            names: &["curl", "ping", "nslookup"],
            usage: "curl, ping, nslookup … [--from POD|NODE]",
            takes: &[&[Takes::Service]],
            about: "packets, hop by hop",
            more: "Without --from they come from the first node; from your own machine, if port-forward listens there at the port\n\
                of localhost that is asked.\n",
            run: Says(packets),
        },
        Command {
            names: &["exec", "attach", "cp"],
            usage: "exec POD -- COMMAND, attach, cp",
            takes: &[],
            about: "a command in a Pod: cat, ls, env, curl …",
            more: "attach shows what a container prints from now on, cp copies files: cp web:/etc/hosts hosts\n\
                exec -it web -- sh opens a shell there, and so do run -it, attach -it and debug -it: see help type\n",
            run: Says(change),
        },
        Command {
            names: &["type"],
            usage: "type LINE",
            takes: &[],
            about: "into the shell that exec -it, run -it … opened",
            more: "While a shell waits for a line the prompt is its own, as in / #, and what is typed there goes to it without this\n\
                word. A line that begins with a colon is the stepper's: :step, :get pods, :back. Ctrl-C ends the line that\n\
                runs, exit or Ctrl-D the shell. Programs that use this one write type ls, and ^C and ^D for the keys.\n",
            run: Says(|_, _| Err("write for example: type ls /; kubectl exec -it POD -- sh opens a shell".to_owned())),
        },
        Command {
            names: &["interrupt"],
            usage: "interrupt",
            takes: &[],
            about: "ends the command that runs, as Ctrl-C does",
            more: "The one that was typed last: get pods -w, logs -f, rollout status … At the prompt Ctrl-C is the same. While a shell\n\
                in a container has the terminal, it ends the line that runs there.\n",
            run: Stops(|stepper, line| line.nothing().and_then(|()| super::terminal::interrupt(stepper))),
        },
        Command {
            names: &["port-forward"],
            usage: "port-forward TYPE/NAME PORTS",
            takes: &[],
            about: "a port of your machine becomes one of a Pod",
            more: "  port-forward svc/web 8080:80\n  curl localhost:8080\n\
                It goes on in the background until its Pod is gone, and kubectl notices that at the next connection.\n",
            run: Says(change),
        },
        Command {
            names: &["kubectl", "k"],
            usage: "kubectl …",
            takes: &[],
            about: "any of kubectl's commands",
            more: "!apply -f web.yaml, or apply -f web.yaml !, goes on until the command has ended.\n\
                kubectl --help lists them, kubectl get --help says what flags one has.\n\
                A line may be a shell's: with | and xargs, && and ;, $(…) and variables, for, and a text after <<.\n\
                Like a shell's, a line that is typed while another is at work waits until that has ended.\n\
                kubectl run web --image=nginx --dry-run=client -o yaml > web.yaml\n\
                Later lines find the file, apply -f web.yaml or cat web.yaml; on your disk nothing is written.\n",
            run: Says(|stepper, line| kubectl(stepper, &line.words()[1..])),
        },
    ],
};

/// Any line of kubectl's, without that word.
pub fn kubectl(stepper: &mut Stepper, words: &[String]) -> Text {
    match from_verb(words).first() {
        _ if words.is_empty() => Err("write for example: kubectl get pods".to_owned()),
        Some(verb) if verb == "edit" => Err(NO_EDITOR.to_owned()),
        _ if reads_only(words) => look(stepper, words),
        _ => start(stepper, words),
    }
}

/// A command that changes something becomes events to step through.
pub fn change(stepper: &mut Stepper, line: &Line) -> Text {
    start(stepper, line.words())
}

/// Whether a line of kubectl's is answered at once: it only looks, and what stands behind a `|` works on text.
pub fn is_quick(line: &str) -> bool {
    let Ok(words) = shell_words::split(line) else { return false };
    let mut commands = words.split(|word| word == "|");
    let looks = commands.next().is_some_and(|words| reads_only(words.get(1..).unwrap_or_default()));
    looks && commands.all(is_filter)
}

/// Whether all that stands behind the pipes of a line only works on text.
pub fn goes_through_filters(line: &str) -> bool {
    shell_words::split(line).is_ok_and(|words| words.split(|word| word == "|").skip(1).all(is_filter))
}

fn is_filter(words: &[String]) -> bool {
    words.first().is_none_or(|name| !matches!(name.as_str(), "kubectl" | "xargs" | "tee"))
}

/// A text after programs have gone over it one after another.
pub fn through(stepper: &Stepper, text: &str, programs: &[Vec<String>]) -> String {
    let kubectl = &stepper.session.cluster.kubectl;
    let aside = kubectl.aside(kubectl.client.clone());
    aside.print(text);
    timeline::printed_through(&aside, programs.iter().map(Vec::as_slice))
}

/// What files have in them that lines find: the scenario's, those that lines have written, and one's own.
fn cat(stepper: &mut Stepper, line: &Line) -> Text {
    let kubectl = &stepper.session.cluster.kubectl;
    let aside = kubectl.with_written().aside(kubectl.client.clone());
    line.arguments().iter().map(|name| aside.open_text(name).map_err(|error| format!("cat: {error}"))).collect()
}

/// The names of those files.
fn files(stepper: &mut Stepper, line: &Line) -> Text {
    let kubectl = &stepper.session.cluster.kubectl;
    let aside = kubectl.with_written().aside(kubectl.client.clone());
    let words: Vec<String> = ["ls"].into_iter().chain(line.arguments()).map(str::to_owned).collect();
    Ok(timeline::printed_through(&aside, [words.as_slice()].into_iter()))
}

/// What only looks takes no time, unless it is to go on looking. Typed right behind a line, it comes after that.
fn look(stepper: &mut Stepper, words: &[String]) -> Text {
    let has_pipe = words.iter().any(|word| word == "|");
    if goes_on(words) || (!has_pipe && stepper.session.cluster.line_is_new()) {
        return start(stepper, words);
    }
    if stepper.session.cluster.line_is_new() {
        let commands: Vec<String> = words.split(|word| word == "|").map(shell_words::join).collect();
        return start_shell(stepper, &format!("kubectl {}", commands.join(" | ")));
    }
    let note = idle(stepper, &words.join(" "));
    Ok(stepper.session.read(words) + note)
}

/// A command of the network becomes packets to step through.
fn packets(stepper: &mut Stepper, line: &Line) -> Text {
    Ok(stepper.session.act(&format!("type {}", shell_words::join(line.words())))? + "\n")
}

/// What asks for help only, or for what there is not, or is wrong in itself, is answered at once.
fn start(stepper: &mut Stepper, words: &[String]) -> Text {
    let asks = words.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h");
    if asks || from_verb(words).first().is_none_or(|verb| verb == "help" || refused(verb).is_some()) {
        return Ok(stepper.session.read(words));
    }
    // The user's own configuration is changed by a step, once.
    let changes = ["use-context", "set-context", "rename-context", "delete-context", "set", "unset"];
    if !matches!(from_verb(words), [verb, what, ..] if verb == "config" && changes.contains(&&**what))
        && let Some(said) = stepper.session.wrong_at_once(words)
    {
        return Ok(said);
    }
    let note = idle(stepper, &words.join(" "));
    let shell = if asks_for_shell(words) { "run goes on until there is something to type into\n" } else { "" };
    Ok(stepper.session.choose(Choice::Kubectl(words.to_vec()))? + "\n" + shell + note)
}

/// Whether a line of kubectl's may lead to a shell that the user types into.
fn asks_for_shell(words: &[String]) -> bool {
    let types = |word: &String| matches!(word.as_str(), "-i" | "-it" | "-ti" | "--stdin" | "--stdin=true");
    let verb = from_verb(words).first().map_or("", String::as_str);
    matches!(verb, "exec" | "run" | "attach" | "debug") && words.iter().take_while(|word| *word != "--").any(types)
}

/// Types a line into the user's shell, and says if nothing in this cluster acts on it.
pub(super) fn start_shell(stepper: &mut Stepper, line: &str) -> Text {
    let note = idle(stepper, line);
    Ok(stepper.session.choose(Choice::Line(line.to_owned()))? + "\n" + note)
}

/// What is said of a line that makes an object no component here acts on, or asks for what is not measured: here as
/// there, the API server only keeps a NetworkPolicy.
fn idle(stepper: &Stepper, line: &str) -> &'static str {
    const POLICIES: &str = "nothing here enforces NetworkPolicies; step playground has agents that do, and so has step -f with \
                            one among its manifests\n";
    const METRICS: &str = "nothing here measures what Pods use until you say what it is, such as: busy app=web cpu=100m; step \
                           playground does\n";
    let cluster = &stepper.session.cluster;
    let words: Vec<&str> = line.split_whitespace().collect();
    let is = |verb| words.first() == Some(&verb) || words.windows(2).any(|pair| pair == ["kubectl", verb]);
    let writes = ["apply", "create", "replace"].iter().any(|verb| words.contains(verb));
    let aside = cluster.kubectl.aside(cluster.kubectl.client.clone());
    let named = words.windows(2).filter(|_| writes).filter_map(|pair| match pair {
        ["-f" | "--filename", path] => Some(*path),
        [_, word] => word.strip_prefix("-f=").or_else(|| word.strip_prefix("--filename=")),
        _ => None,
    });
    let files: Vec<String> = named.filter_map(|word| aside.open_text(word).ok()).collect();
    let makes = |kind: &str| writes && (line.contains(kind) || files.iter().any(|text| text.contains(kind)));
    if !cluster.enforces_policies() && makes("kind: NetworkPolicy") {
        return POLICIES;
    }
    let measured = is("top") || is("autoscale") || makes("kind: HorizontalPodAutoscaler");
    if measured && !cluster.engine.server.api.metrics.is_installed() { METRICS } else { "" }
}

/// What a node prints. A file need not end its last line; the prompt comes on one of its own all the same.
fn on_node(stepper: &mut Stepper, node: &str, command: &[String]) -> Text {
    let printed = stepper.session.cluster.on_node(node, command)?;
    Ok(if printed.is_empty() || printed.ends_with('\n') { printed } else { printed + "\n" })
}
