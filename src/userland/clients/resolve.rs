//! The resolver of the C library: a name's tries, one after another, each a question to a server.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use network::kernel::System;
use network::kernel::dns::{self, Answer, Code, Question, RecordType};
use network::kernel::sockets::Resolver;
use network::netfilter::{Payload, Protocol};

/// How long a resolver waits for an answer.
#[derive(Clone, Copy)]
pub(super) struct ResolverOptions {
    /// For one.
    pub(super) timeout: Duration,
    /// So often the question is sent.
    pub(super) attempts: usize,
}

/// `options timeout:5 attempts:2`.
const OF_THE_LIBRARY: ResolverOptions = ResolverOptions { timeout: Duration::from_secs(5), attempts: 2 };

/// What became of one question.
pub(super) enum Heard {
    /// A server answered.
    Answer(Answer),
    /// No server listens there.
    Refused,
    /// No answer came.
    Silence,
}

/// Finds a name's addresses: an address, `localhost`, or what DNS says.
pub(super) async fn addresses(
    kernel: &Rc<System>,
    namespace: &str,
    resolver: &Resolver,
    name: &str,
) -> Option<Vec<Ipv4Addr>> {
    if let Ok(address) = name.parse() {
        return Some(vec![address]);
    }
    if name == "localhost" {
        return Some(vec![Ipv4Addr::LOCALHOST]);
    }
    addresses_by(kernel, namespace, resolver, name).await
}

/// What DNS says, if it is asked so.
pub(super) async fn addresses_by(
    kernel: &Rc<System>,
    namespace: &str,
    resolver: &Resolver,
    name: &str,
) -> Option<Vec<Ipv4Addr>> {
    for full in resolver.tries(name) {
        let question = Question { name: full, kind: RecordType::A };
        for server in &resolver.servers {
            match ask(kernel, namespace, *server, &question).await {
                Heard::Answer(answer) if !answer.addresses().is_empty() => return Some(answer.addresses()),
                // The name exists, or it does not: the next one is tried, and no other server is asked.
                Heard::Answer(Answer { code: Code::NoError | Code::NxDomain, .. }) => break,
                Heard::Silence => return None,
                Heard::Answer(_) | Heard::Refused => {}
            }
        }
    }
    None
}

/// Asks one server one question.
pub(super) async fn ask(kernel: &Rc<System>, namespace: &str, server: Ipv4Addr, question: &Question) -> Heard {
    ask_patiently(kernel, namespace, server, question, OF_THE_LIBRARY).await
}

/// The same, waiting so long.
pub(super) async fn ask_patiently(
    kernel: &Rc<System>,
    namespace: &str,
    server: Ipv4Addr,
    question: &Question,
    options: ResolverOptions,
) -> Heard {
    let Some(socket) = kernel.open(namespace, Protocol::Udp, server, dns::PORT) else { return Heard::Refused };
    for _ in 0..options.attempts {
        if !socket.send(Payload::Data(question.to_string())) {
            return Heard::Refused;
        }
        match socket.hear(options.timeout).await.map(|packet| packet.payload) {
            Some(Payload::Data(text)) => {
                let failed = Answer { code: Code::ServFail, records: Vec::new() };
                return Heard::Answer(Answer::decode(&text).unwrap_or(failed));
            }
            Some(_) => return Heard::Refused,
            None => {}
        }
    }
    Heard::Silence
}

/// Whether a name looks like one of the internet: it has a top-level domain that many names have, or a country's.
pub fn is_public(host: &str) -> bool {
    const TOP: &[&str] = &["com", "org", "net", "io", "dev", "edu", "gov", "info"];
    host.trim_end_matches('.')
        .rsplit_once('.')
        .is_some_and(|(_, top)| TOP.contains(&top) || (top.len() == 2 && top.bytes().all(|c| c.is_ascii_lowercase())))
}
