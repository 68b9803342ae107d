//! `ping [-c COUNT] HOST`, as iputils prints it. Without `-c` it stops after three, since nobody presses Ctrl-C.

use std::rc::Rc;
use std::time::Duration;

use crate::node::netfilter::{Packet, Payload, Protocol, Unreachable};

use super::super::kernel::{Inner, Socket};
use super::{Terminal, resolve};

/// How long it waits for an answer, and between two requests.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long it waits for the answer to the last one.
const LINGER: Duration = Duration::from_secs(10);

pub(super) async fn run(kernel: &Rc<Inner>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let (count, host) = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            terminal.complain(&format!("ping: {message}\n"));
            return 2;
        }
    };
    let addresses = resolve::addresses(kernel, namespace, host).await;
    let Some(address) = addresses.and_then(|all| all.first().copied()) else {
        terminal.complain(&format!("ping: {host}: Name or service not known\n"));
        return 2;
    };
    let Some(socket) = kernel.open(namespace, Protocol::Icmp, address, 0) else {
        terminal.complain("ping: connect: Network is unreachable\n");
        return 2;
    };
    terminal.print(&format!("PING {host} ({address}) 56(84) bytes of data.\n"));
    let start = kernel.hub.now();
    let mut tally = Tally::default();
    for sequence in 1..=count {
        let sent = kernel.hub.now();
        if !socket.send(Payload::Echo(sequence)) {
            tally.errors += 1;
            continue;
        }
        let limit = if sequence == count { LINGER } else { INTERVAL };
        let answer = answer_to(&socket, sequence, limit).await;
        let took = kernel.hub.now() - sent;
        tally.note(answer.as_ref(), sequence, took, terminal);
        if sequence < count {
            kernel.hub.sleep(INTERVAL.saturating_sub(took)).await;
        }
    }
    let total = (kernel.hub.now() - start).as_millis();
    terminal.print(&tally.summary(host, count, total));
    u8::from(tally.times.is_empty())
}

/// What comes for this request; answers to earlier ones that come late count too, but are not waited for.
async fn answer_to(socket: &Socket, sequence: u16, limit: Duration) -> Option<Packet> {
    loop {
        let packet = socket.hear(limit).await?;
        match packet.payload {
            Payload::EchoReply(other) if other != sequence => {}
            _ => return Some(packet),
        }
    }
}

fn arguments<'a>(words: &[&'a str]) -> Result<(u16, &'a str), String> {
    let (mut count, mut host) = (3, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-c" => {
                let given = words.next().copied().unwrap_or_default();
                let number = given.parse().ok().filter(|n| (1..=1000).contains(n));
                count =
                    number.ok_or_else(|| format!("invalid argument: '{given}': out of range: 1 <= value <= 1000"))?;
            }
            flag if flag.starts_with('-') => {
                return Err(format!("invalid option -- '{}'", flag.trim_start_matches('-')));
            }
            name => host = Some(name),
        }
    }
    Ok((count, host.ok_or("usage error: Destination address required")?))
}

#[derive(Default)]
struct Tally {
    times: Vec<Duration>,
    errors: u16,
}

impl Tally {
    fn note(&mut self, answer: Option<&Packet>, sequence: u16, took: Duration, terminal: &mut Terminal) {
        let Some(packet) = answer else { return };
        let from = packet.tuple.source;
        match &packet.payload {
            Payload::EchoReply(_) => {
                self.times.push(took);
                let (ttl, time) = (packet.ttl, milliseconds(took));
                terminal.print(&format!("64 bytes from {from}: icmp_seq={sequence} ttl={ttl} time={time} ms\n"));
            }
            other => {
                self.errors += 1;
                let says = match other {
                    Payload::Unreachable { code: Unreachable::Net, .. } => "Destination Net Unreachable",
                    Payload::Unreachable { code: Unreachable::Host, .. } => "Destination Host Unreachable",
                    Payload::Unreachable { code: Unreachable::Port, .. } => "Destination Port Unreachable",
                    Payload::Unreachable { .. } => "Packet filtered",
                    _ => "Time to live exceeded",
                };
                terminal.print(&format!("From {from} icmp_seq={sequence} {says}\n"));
            }
        }
    }

    fn summary(&self, host: &str, sent: u16, total: u128) -> String {
        let received = self.times.len();
        let errors = if self.errors > 0 { format!("+{} errors, ", self.errors) } else { String::new() };
        let loss = 100 * (usize::from(sent) - received) / usize::from(sent.max(1));
        let mut out = format!(
            "\n--- {host} ping statistics ---\n\
             {sent} packets transmitted, {received} received, {errors}{loss}% packet loss, time {total}ms\n"
        );
        if let (Some(least), Some(most)) = (self.times.iter().min(), self.times.iter().max()) {
            let average = self.times.iter().sum::<Duration>() / u32::try_from(received).unwrap_or(1);
            let deviations = self.times.iter().map(|time| time.abs_diff(average)).sum::<Duration>();
            let deviation = deviations / u32::try_from(received).unwrap_or(1);
            let [least, average, most, deviation] = [*least, average, *most, deviation].map(milliseconds);
            out += &format!("rtt min/avg/max/mdev = {least}/{average}/{most}/{deviation} ms\n");
        }
        out
    }
}

fn milliseconds(time: Duration) -> String {
    let micros = time.as_micros();
    format!("{}.{:03}", micros / 1000, micros % 1000)
}
