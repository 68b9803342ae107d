//! `nslookup [-type=A] [-debug] NAME [SERVER]`, as BIND's prints it; [`busybox`] has its own. With `-debug` it shows each name that it tries.
//!
//! Left out: the question for an AAAA record that follows the one for an A record; here each cluster has IPv4 only.

use std::net::Ipv4Addr;
use std::rc::Rc;

use super::resolve::{Heard, ask};
use super::terminal::Terminal;
use network::kernel::System;
use network::kernel::dns::{Answer, Code, Question, RecordType};

pub(super) mod busybox;

struct Arguments<'a> {
    /// None: the address of a name, or the name of an address.
    kind: Option<RecordType>,
    debug: bool,
    name: &'a str,
    server: Option<Ipv4Addr>,
}

pub(super) async fn run(kernel: &Rc<System>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let arguments = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            terminal.complain(&format!("{message}\n"));
            return 1;
        }
    };
    let resolver = terminal.resolver.clone();
    let Some(server) = arguments.server.or_else(|| resolver.servers.first().copied()) else {
        terminal.complain(&format!("nslookup: /etc/resolv.conf of {} names no server\n", kernel.label(namespace)));
        return 1;
    };
    let asked = arguments.kind.unwrap_or(RecordType::A);
    let (name, kind) =
        reverse(arguments.name).map_or((arguments.name.to_owned(), asked), |name| (name, RecordType::Ptr));
    // Of the name of an address it does not tell who knows it, unless it was asked for that type.
    let head = match arguments.kind {
        None if kind == RecordType::Ptr => String::new(),
        _ => format!("Server:\t\t{server}\nAddress:\t{server}#53\n\n"),
    };
    let tries = if kind == RecordType::Ptr { vec![name.clone()] } else { resolver.tries(&name) };
    let mut last = name;
    let mut code = Code::NxDomain;
    for full in tries {
        let question = Question { name: full.clone(), kind };
        let answer = match ask(kernel, namespace, server, &question).await {
            Heard::Answer(answer) => answer,
            Heard::Refused | Heard::Silence => {
                terminal.print(";; connection timed out; no servers could be reached\n\n");
                return 1;
            }
        };
        if arguments.debug {
            terminal.print(&shown(&question, &answer));
        }
        (last, code) = (full, answer.code);
        if !answer.records.is_empty() {
            terminal.print(&format!("{head}{}\n", found(&question, &answer)));
            return 0;
        }
        if code != Code::NxDomain {
            break;
        }
    }
    // That there is nothing of a type is an answer.
    let (trouble, exit) = match code {
        Code::NoError => (format!("*** Can't find {}: No answer\n", arguments.name), 0),
        code => (format!("** server can't find {last}: {}\n", code.as_str()), 1),
    };
    terminal.print(&format!("{head}{trouble}\n"));
    exit
}

fn arguments<'a>(words: &[&'a str]) -> Result<Arguments<'a>, String> {
    let (mut kind, mut debug, mut rest) = (None, false, Vec::new());
    for word in words {
        match word.strip_prefix('-') {
            Some("debug") => debug = true,
            Some(option) => {
                let value = option.strip_prefix("type=").or_else(|| option.strip_prefix("q="));
                let known = value.and_then(RecordType::parse);
                kind = Some(known.ok_or_else(|| format!("*** Invalid option: {option}"))?);
            }
            None => rest.push(*word),
        }
    }
    match rest.as_slice() {
        [name] => Ok(Arguments { kind, debug, name, server: None }),
        [name, server] => {
            let server =
                server.parse().map_err(|_| format!("nslookup: couldn't get address for '{server}': not found"))?;
            Ok(Arguments { kind, debug, name, server: Some(server) })
        }
        _ => Err("Usage: nslookup [-type=A|AAAA|SRV|CNAME|PTR|TXT] [-debug] NAME [SERVER]".to_owned()),
    }
}

/// The name under which an address's name is kept.
fn reverse(name: &str) -> Option<String> {
    let [a, b, c, d] = name.parse::<Ipv4Addr>().ok()?.octets();
    Some(format!("{d}.{c}.{b}.{a}.in-addr.arpa"))
}

/// The records, in nslookup's words.
fn found(question: &Question, answer: &Answer) -> String {
    let mut out = String::new();
    for record in &answer.records {
        let (name, value) = (&record.name, &record.value);
        out += &match record.kind {
            RecordType::A | RecordType::Aaaa => format!("Name:\t{name}\nAddress: {value}\n"),
            RecordType::Cname => format!("{name}\tcanonical name = {value}.\n"),
            RecordType::Srv => format!("{name}\tservice = {value}.\n"),
            RecordType::Ptr => format!("{}\tname = {value}.\n", question.name),
            RecordType::Txt => format!("{name}\ttext = \"{value}\"\n"),
        };
    }
    out
}

/// A try, as `-debug` shows it.
fn shown(question: &Question, answer: &Answer) -> String {
    let mut out = format!(
        "------------\n    QUESTIONS:\n\t{}, type = {}, class = IN\n    ANSWERS:\n",
        question.name,
        question.kind.as_str()
    );
    for record in &answer.records {
        out += &format!(
            "    ->  {}\n\t{} = {}\n\tttl = {}\n",
            record.name,
            record.kind.as_str(),
            record.value,
            record.ttl
        );
    }
    if answer.records.is_empty() {
        out += &format!("\t{}\n", answer.code.as_str());
    }
    out + "------------\n"
}
