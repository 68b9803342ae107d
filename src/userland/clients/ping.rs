//! `ping [-c COUNT] [-i SECONDS] [-w SECONDS] [-W SECONDS] [-q] HOST`, as iputils prints it, or busybox. With neither `-c` nor
//! `-w` it stops after three, since no user presses Ctrl-C.

use std::rc::Rc;
use std::time::Duration;

use super::resolve;
use super::terminal::Terminal;
use network::kernel::System;
use network::kernel::messages::Userland;
use network::kernel::socket::Socket;
use network::netfilter::{Packet, Payload, Protocol, Unreachable};
use object::time::Instant;

/// How long it waits for an answer, and between two requests.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long it waits for the answer to the last one.
const LINGER: Duration = Duration::from_secs(10);
/// So many requests, unless it is told otherwise.
const COUNT: u16 = 3;

#[derive(Debug, PartialEq, Eq)]
struct Arguments<'a> {
    count: u16,
    interval: Duration,
    linger: Duration,
    deadline: Option<Duration>,
    quiet: bool,
    host: &'a str,
}

pub(super) async fn run(
    kernel: &Rc<System>,
    namespace: &str,
    words: &[&str],
    userland: Userland,
    terminal: &mut Terminal,
) -> u8 {
    let is_busybox = userland != Userland::Usual;
    let unusable = if is_busybox { 1 } else { 2 };
    let arguments = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            terminal.complain(&format!("ping: {message}\n"));
            return unusable;
        }
    };
    let Arguments { count, host, .. } = arguments;
    let addresses = resolve::addresses(kernel, namespace, &terminal.resolver, host).await;
    let Some(address) = addresses.and_then(|all| all.first().copied()) else {
        terminal.complain(&match is_busybox {
            true => format!("ping: bad address '{host}'\n"),
            false => format!("ping: {host}: Name or service not known\n"),
        });
        return unusable;
    };
    let Some(socket) = kernel.open(namespace, Protocol::Icmp, address, 0) else {
        let call = if is_busybox { "sendto: Network unreachable" } else { "connect: Network is unreachable" };
        terminal.complain(&format!("ping: {call}\n"));
        return unusable;
    };
    let size = if is_busybox { ": 56 data bytes" } else { " 56(84) bytes of data." };
    terminal.print(&format!("PING {host} ({address}){size}\n"));
    let start = kernel.now();
    let until = arguments.deadline.map(|deadline| start + deadline);
    let mut tally = Tally { is_busybox, quiet: arguments.quiet, ..Tally::default() };
    for sequence in 1..=count {
        let sent = kernel.now();
        if until.is_some_and(|until| sent >= until) {
            break;
        }
        tally.sent += 1;
        if !socket.send(Payload::Echo(sequence)) {
            tally.errors += 1;
            continue;
        }
        let limit = if sequence == count { arguments.linger } else { arguments.interval };
        let limit = until.map_or(limit, |until| limit.min(until - sent));
        let answer = answer_to(kernel, &socket, sequence, sent + limit, is_busybox).await;
        let took = kernel.now() - sent;
        tally.note(answer.as_ref(), sequence, took, terminal);
        if sequence < count {
            kernel.sleep(arguments.interval.saturating_sub(took)).await;
        }
    }
    let total = (kernel.now() - start).as_millis();
    terminal.print(&tally.summary(host, total));
    u8::from(tally.times.is_empty())
}

/// What comes for this request; answers to earlier ones that come late count too, but are not waited for. Busybox takes
/// what says that something is wrong for nothing of its own, and waits on.
async fn answer_to(
    kernel: &Rc<System>,
    socket: &Socket,
    sequence: u16,
    until: Instant,
    is_busybox: bool,
) -> Option<Packet> {
    loop {
        let packet = socket.hear(until - kernel.now()).await?;
        match packet.payload {
            Payload::EchoReply(other) if other != sequence => {}
            Payload::EchoReply(_) => return Some(packet),
            _ if is_busybox => {}
            _ => return Some(packet),
        }
    }
}

fn arguments<'a>(words: &[&'a str]) -> Result<Arguments<'a>, String> {
    let (mut count, mut host, mut quiet) = (None, None, false);
    let (mut interval, mut linger, mut deadline) = (INTERVAL, LINGER, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
            host = Some(*word);
            continue;
        };
        let (flag, attached) = flags.split_at(flags.chars().next().map_or(0, char::len_utf8));
        let mut value = || match attached {
            "" => words.next().copied().unwrap_or_default(),
            attached => attached,
        };
        let seconds = |value: &str| {
            let seconds = value.parse().ok().filter(|seconds| (0.002..=3600.0).contains(seconds));
            seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("invalid argument: '{value}'"))
        };
        match flag {
            "c" => {
                let given = value();
                let number = given.parse().ok().filter(|n| (1..=1000).contains(n));
                let wrong = || format!("invalid argument: '{given}': out of range: 1 <= value <= 1000");
                count = Some(number.ok_or_else(wrong)?);
            }
            "i" => interval = seconds(value())?,
            "W" => linger = seconds(value())?,
            "w" => deadline = Some(seconds(value())?),
            "q" | "n" | "4" if attached.is_empty() => quiet |= flag == "q",
            _ => return Err(format!("invalid option -- '{flag}'")),
        }
    }
    let in_time = |deadline: Duration| (deadline.as_secs_f64() / interval.as_secs_f64()).ceil().min(1000.0) as u16;
    let count = count.or(deadline.map(in_time)).unwrap_or(COUNT);
    let host = host.ok_or("usage error: Destination address required")?;
    Ok(Arguments { count, interval, linger, deadline, quiet, host })
}

#[derive(Default)]
struct Tally {
    is_busybox: bool,
    quiet: bool,
    sent: u16,
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
                if self.quiet {
                    return;
                }
                let (ttl, time) = (packet.ttl, milliseconds(took));
                let numbered = match self.is_busybox {
                    true => format!("seq={}", sequence - 1),
                    false => format!("icmp_seq={sequence}"),
                };
                terminal.print(&format!("64 bytes from {from}: {numbered} ttl={ttl} time={time} ms\n"));
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

    fn summary(&self, host: &str, total: u128) -> String {
        let (sent, received) = (self.sent, self.times.len());
        let loss = 100 * (usize::from(sent) - received) / usize::from(sent.max(1));
        let mut out = format!("\n--- {host} ping statistics ---\n{sent} packets transmitted, {received} ");
        out += &match (self.is_busybox, self.errors) {
            (true, _) => format!("packets received, {loss}% packet loss\n"),
            (false, 0) => format!("received, {loss}% packet loss, time {total}ms\n"),
            (false, errors) => format!("received, +{errors} errors, {loss}% packet loss, time {total}ms\n"),
        };
        if let (Some(least), Some(most)) = (self.times.iter().min(), self.times.iter().max()) {
            let average = self.times.iter().sum::<Duration>() / u32::try_from(received).unwrap_or(1);
            let deviations = self.times.iter().map(|time| time.abs_diff(average)).sum::<Duration>();
            let deviation = deviations / u32::try_from(received).unwrap_or(1);
            let [least, average, most, deviation] = [*least, average, *most, deviation].map(milliseconds);
            out += &match self.is_busybox {
                true => format!("round-trip min/avg/max = {least}/{average}/{most} ms\n"),
                false => format!("rtt min/avg/max/mdev = {least}/{average}/{most}/{deviation} ms\n"),
            };
        }
        out
    }
}

fn milliseconds(time: Duration) -> String {
    let micros = time.as_micros();
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_may_have_their_values_attached() {
        let usual =
            Arguments { count: 3, interval: INTERVAL, linger: LINGER, deadline: None, quiet: false, host: "web" };
        assert_eq!(arguments(&["web"]), Ok(Arguments { ..usual }));
        let linger = Duration::from_secs(2);
        let wanted = Arguments { count: 1, linger, quiet: true, host: "web", ..usual };
        assert_eq!(arguments(&["-c1", "-W", "2", "-q", "web"]), Ok(wanted));
        let deadline = Some(Duration::from_secs(5));
        assert_eq!(
            arguments(&["-w5", "web"]).map(|arguments| (arguments.count, arguments.deadline)),
            Ok((5, deadline))
        );
        for words in
            [&["-c", "0", "web"][..], &["-c"], &["-W", "x", "web"], &["-é", "web"], &["-q1", "web"], &["-c", "1"]]
        {
            assert!(arguments(words).is_err(), "{words:?}");
        }
    }
}
