//! `nslookup [-type=A] [-debug] HOST [DNS_SERVER]`, as busybox's prints it.
//!
//! Mirrors `networking/nslookup.c`, which has two variants. The one since 1.29 asks for a name without a dot under every search
//! domain, for A and for AAAA records, and fails if one of these questions does: so it does not succeed for the short name of
//! an existing Service. The one up to 1.28 asks the C library, and prints the names of the addresses too.
//!
//! Simplified: questions follow one another, where the newer one sends all at once. Left out: its `-port`, `-retry` and
//! `-timeout`, and records of types that no server here has.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use super::super::resolve::{self, Heard, ResolverOptions};
use super::super::terminal::Terminal;
use super::reverse;
use network::kernel::System;
use network::kernel::dns::{Answer, Code, Question, RecordType};

/// All questions are given up after five seconds; halfway they are asked once more.
const OPTIONS: ResolverOptions = ResolverOptions { timeout: Duration::from_millis(2_500), attempts: 2 };

const USAGE: &str = "\
Usage: nslookup [-type=QUERY_TYPE] [-debug] HOST [DNS_SERVER]\n\n\
Query DNS about HOST\n\n\
QUERY_TYPE: soa,ns,a,aaaa,cname,mx,txt,ptr,srv,any\n";
const OLD_USAGE: &str = "Usage: nslookup [HOST] [SERVER]\n\nQuery the nameserver for the IP address of the given HOST\n\
optionally using a specified DNS server\n";
const NOBODY: &str = ";; connection timed out; no servers could be reached\n\n";

/// The one since 1.29.
pub(in super::super) async fn run(kernel: &Rc<System>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let (options, rest) = words.split_at(words.iter().take_while(|word| word.starts_with('-')).count());
    let (&[name] | &[name, _]) = rest else {
        terminal.complain(USAGE);
        return 1;
    };
    let (mut kinds, mut debug) = (Vec::new(), false);
    for option in options {
        let (option, value) = option[1..].split_once('=').unwrap_or((&option[1..], ""));
        match ["type", "querytype"].iter().any(|known| !option.is_empty() && known.starts_with(option)) {
            true => match RecordType::parse(value) {
                Some(kind) => kinds.push(kind),
                None => {
                    terminal.complain(&format!("nslookup: invalid query type \"{value}\"\n"));
                    return 1;
                }
            },
            false if !option.is_empty() && "debug".starts_with(option) => debug = true,
            false => {
                terminal.complain(USAGE);
                return 1;
            }
        }
    }
    // If the command names a server, no search domains apply: they are in the file with the servers, which is not read then.
    let resolver = terminal.resolver.clone();
    let (servers, searches) = match rest.get(1) {
        Some(server) => match address_of(kernel, namespace, server, terminal).await {
            Some(server) => (vec![server], Vec::new()),
            None => return 1,
        },
        None if resolver.servers.is_empty() => (vec![Ipv4Addr::LOCALHOST], resolver.searches),
        None => (resolver.servers, resolver.searches),
    };
    let questions = questions(name, kinds, &searches);
    for server in servers {
        if let Some(code) = put(kernel, namespace, server, &questions, debug, terminal).await {
            return code;
        }
    }
    terminal.print(NOBODY);
    1
}

/// What is asked: of a name in which there is a dot, that name alone.
fn questions(name: &str, kinds: Vec<RecordType>, searches: &[String]) -> Vec<Question> {
    let question = |name: String, kind| Question { name, kind };
    if let (true, Some(name)) = (kinds.is_empty(), reverse(name)) {
        return vec![question(name, RecordType::Ptr)];
    }
    let kinds = if kinds.is_empty() { vec![RecordType::A, RecordType::Aaaa] } else { kinds };
    let names = |kind| match kind == RecordType::Ptr || searches.is_empty() || name.contains('.') {
        true => vec![name.to_owned()],
        false => searches.iter().map(|domain| format!("{name}.{domain}")).collect(),
    };
    let all = kinds.into_iter().flat_map(|kind| names(kind).into_iter().map(move |name| (name, kind)));
    all.map(|(name, kind)| question(name.trim_end_matches('.').to_owned(), kind)).collect()
}

/// Puts all questions to a server. None: it does not answer.
async fn put(
    kernel: &Rc<System>,
    namespace: &str,
    server: Ipv4Addr,
    questions: &[Question],
    debug: bool,
    terminal: &mut Terminal,
) -> Option<u8> {
    let (mut exit, mut unanswered, begin) = (0, String::new(), kernel.now());
    for (n, question) in questions.iter().enumerate() {
        let answer = match resolve::ask_patiently(kernel, namespace, server, question, OPTIONS).await {
            Heard::Answer(answer) => answer,
            Heard::Refused => {
                terminal.complain(&format!("nslookup: write to '{server}': Connection refused\n"));
                return None;
            }
            Heard::Silence if n == 0 => return None,
            Heard::Silence => {
                unanswered += &format!("*** Can't find {}: No answer\n", question.name);
                continue;
            }
        };
        if n == 0 {
            terminal.print(&format!("Server:\t\t{server}\nAddress:\t{server}:53\n\n"));
        }
        if debug {
            let took = (kernel.now() - begin).as_millis();
            terminal.print(&format!("Query #{n} completed in {took}ms:\n"));
        }
        match answer.code {
            Code::NoError => terminal.print(&shown(&answer, debug)),
            code => {
                terminal.print(&format!("** server can't find {}: {}\n", question.name, code.as_str()));
                exit = 1;
            }
        }
        terminal.print("\n");
    }
    if !unanswered.is_empty() {
        terminal.print(&(unanswered + "\n"));
    }
    Some(exit)
}

/// An answer's records. Servers here answer as if all were theirs, as CoreDNS does with what its cache knows.
fn shown(answer: &Answer, debug: bool) -> String {
    let mut out = if debug { "authoritative answer:\n".to_owned() } else { String::new() };
    for record in &answer.records {
        let (name, value) = (&record.name, &record.value);
        out += &match record.kind {
            RecordType::A | RecordType::Aaaa => format!("Name:\t{name}\nAddress: {value}\n"),
            RecordType::Cname => format!("{name}\tcanonical name = {value}\n"),
            RecordType::Srv => format!("{name}\tservice = {value}\n"),
            RecordType::Ptr => format!("{name}\tname = {value}\n"),
            RecordType::Txt => format!("{name}\ttext = \"{value}\"\n"),
        };
    }
    out
}

/// The one up to 1.28.
pub(in super::super) async fn run_old(
    kernel: &Rc<System>,
    namespace: &str,
    words: &[&str],
    terminal: &mut Terminal,
) -> u8 {
    let (&[name] | &[name, _]) = words else {
        terminal.complain(OLD_USAGE);
        return 1;
    };
    if name.starts_with('-') {
        terminal.complain(OLD_USAGE);
        return 1;
    }
    let mut resolver = terminal.resolver.clone();
    if let Some(server) = words.get(1) {
        let Some(server) = address_of(kernel, namespace, server, terminal).await else { return 1 };
        resolver.servers = vec![server];
    }
    let server = *resolver.servers.first().unwrap_or(&Ipv4Addr::LOCALHOST);
    resolver.servers = vec![server];
    let named = with_name(kernel, namespace, server, server).await;
    terminal.print(&format!("{:<10} {server}\nAddress 1: {named}\n\n", "Server:"));
    let Some(addresses) = resolve::addresses_by(kernel, namespace, &resolver, name).await else {
        terminal.complain(&format!("nslookup: can't resolve '{name}'\n"));
        return 1;
    };
    terminal.print(&format!("{:<10} {name}\n", "Name:"));
    for (n, address) in addresses.into_iter().enumerate() {
        let named = with_name(kernel, namespace, server, address).await;
        terminal.print(&format!("Address {}: {named}\n", n + 1));
    }
    0
}

/// An address, and its name if the server knows one.
async fn with_name(kernel: &Rc<System>, namespace: &str, server: Ipv4Addr, address: Ipv4Addr) -> String {
    let text = address.to_string();
    let question = Question { name: reverse(&text).unwrap_or_default(), kind: RecordType::Ptr };
    match resolve::ask(kernel, namespace, server, &question).await {
        Heard::Answer(Answer { records, .. }) if !records.is_empty() => format!("{text} {}", records[0].value),
        _ => text,
    }
}

/// The address of the server that the command names.
async fn address_of(kernel: &Rc<System>, namespace: &str, server: &str, terminal: &mut Terminal) -> Option<Ipv4Addr> {
    let found =
        resolve::addresses(kernel, namespace, &terminal.resolver, server).await.and_then(|all| all.first().copied());
    if found.is_none() {
        terminal.complain(&format!("nslookup: bad address '{server}'\n"));
    }
    found
}
