//! `curl [-s] [-S] [-v] [-i] [-I] [-f] [-X METHOD] [-H HEADER] [-w FORMAT] [-m SECONDS] [--connect-timeout SECONDS] URL`,
//! as curl 7.81 prints it.
//!
//! Left out: TLS, redirects (there are none to follow), uploads, keep-alive, of `-w` all but the status, and every other
//! option.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use crate::node::netfilter::{Packet, Payload, Protocol, Unreachable};
use crate::object::time::Instant;

use super::super::kernel::{Inner, Socket};
use super::{Terminal, resolve};

/// Linux sends a SYN again after 1, 3, 7, 15, 31 and 63 seconds, and gives up after 127 (`tcp_syn_retries = 6`).
const SYN_TRIES: u32 = 7;
/// Bytes are sent again after this long, doubled each time.
const RESEND: Duration = Duration::from_millis(200);
/// So often.
const RESEND_TRIES: u32 = 15;

#[derive(Debug, Default)]
struct Arguments {
    silent: bool,
    show_errors: bool,
    verbose: bool,
    include: bool,
    head: bool,
    discard: bool,
    fail: bool,
    method: String,
    headers: Vec<String>,
    write_out: String,
    limit: Option<Duration>,
    connect_limit: Option<Duration>,
    url: String,
}

struct Url {
    host: String,
    port: u16,
    path: String,
}

/// `CURLE_COULDNT_RESOLVE_HOST`.
pub(super) const UNKNOWN_HOST: u8 = 6;

/// curl's exit code, and what it says.
pub(super) struct Failure(pub u8, pub String);

pub(super) async fn run(kernel: &Rc<Inner>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let arguments = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            terminal.complain(&format!(
                "curl: {message}\ncurl: try 'curl --help' or 'curl --manual' for more information\n"
            ));
            return 2;
        }
    };
    match fetch(kernel, namespace, &arguments, terminal).await {
        Ok(_) => 0,
        Err(Failure(code, message)) => {
            if !arguments.silent || arguments.show_errors {
                terminal.complain(&format!("curl: ({code}) {message}\n"));
            }
            code
        }
    }
}

/// What it fetches, if it is simulated how.
pub(super) fn url<'a>(words: &[&'a str]) -> Option<&'a str> {
    let arguments = arguments(words).ok()?;
    let into_file = words.iter().any(|word| matches!(*word, "-o" | "--output")) && !arguments.discard;
    words.iter().copied().find(|word| *word == arguments.url && !into_file)
}

/// A page, printed to `terminal`, for somebody else than curl. Gives who answered, and the status: `200 OK`.
pub(super) async fn get(
    kernel: &Rc<Inner>,
    namespace: &str,
    url: &str,
    limit: Option<Duration>,
    terminal: &mut Terminal,
) -> Result<(Ipv4Addr, String), Failure> {
    fetch(kernel, namespace, &Arguments { limit, url: url.to_owned(), ..Arguments::default() }, terminal).await
}

/// A connection and nothing more, for somebody else than curl. Gives who took it.
pub(super) async fn reach(
    kernel: &Rc<Inner>,
    namespace: &str,
    host: &str,
    port: u16,
    connect_limit: Option<Duration>,
    terminal: &mut Terminal,
) -> Result<Ipv4Addr, Failure> {
    let (start, url) = (kernel.hub.now(), Url { host: host.to_owned(), port, path: String::new() });
    let arguments = Arguments { connect_limit, ..Arguments::default() };
    let Some(addresses) = resolve::addresses(kernel, namespace, host).await else {
        terminal.unknown_host = Some(host.to_owned());
        return Err(Failure(UNKNOWN_HOST, String::new()));
    };
    let mut refused = Failure(7, String::new());
    for address in addresses {
        match connect(kernel, namespace, &url, address, &arguments, start, terminal).await {
            Ok(socket) => {
                socket.send(Payload::Fin);
                return Ok(address);
            }
            Err(failure) => refused = failure,
        }
    }
    Err(refused)
}

/// Whether it is a URL that is understood here.
pub(super) fn is_url(url: &str) -> bool {
    parse(url).is_ok()
}

/// Whom a URL names.
pub(super) fn host_and_port(url: &str) -> Result<(String, u16), Failure> {
    parse(url).map(|url| (url.host, url.port))
}

async fn fetch(
    kernel: &Rc<Inner>,
    namespace: &str,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> Result<(Ipv4Addr, String), Failure> {
    let start = kernel.hub.now();
    let url = parse(&arguments.url)?;
    let addresses = resolve::addresses(kernel, namespace, &url.host).await;
    let Some(addresses) = addresses else {
        terminal.unknown_host = Some(url.host.clone());
        return Err(Failure(UNKNOWN_HOST, format!("Could not resolve host: {}", url.host)));
    };
    let mut refused = Failure(7, String::new());
    for address in addresses {
        terminal.tried = Some(address);
        match connect(kernel, namespace, &url, address, arguments, start, terminal).await {
            Ok(socket) => {
                let status = exchange(kernel, &socket, &url, arguments, start, terminal).await?;
                return Ok((address, status));
            }
            Err(failure @ Failure(28, _)) => return Err(failure),
            Err(failure) => refused = failure,
        }
    }
    Err(refused)
}

/// The handshake.
async fn connect(
    kernel: &Rc<Inner>,
    namespace: &str,
    url: &Url,
    address: Ipv4Addr,
    arguments: &Arguments,
    start: Instant,
    terminal: &mut Terminal,
) -> Result<Socket, Failure> {
    let failed = |why: &str| {
        let (host, port, ms) = (&url.host, url.port, (kernel.hub.now() - start).as_millis());
        Failure(7, format!("Failed to connect to {host} port {port} after {ms} ms: {why}"))
    };
    if arguments.verbose {
        terminal.complain(&format!("*   Trying {address}:{}...\n", url.port));
    }
    let socket =
        kernel.open(namespace, Protocol::Tcp, address, url.port).ok_or_else(|| failed("Network is unreachable"))?;
    for attempt in 0..SYN_TRIES {
        // What was dropped on the way out is sent again, as what was dropped on the way.
        socket.send(Payload::Syn);
        let patience = Duration::from_secs(1 << attempt);
        let left = arguments.connect_deadline(start).map(|deadline| deadline - kernel.hub.now());
        match socket.hear(left.map_or(patience, |left| patience.min(left))).await.map(|packet| packet.payload) {
            Some(Payload::SynAck) => {
                if arguments.verbose {
                    terminal.complain(&format!("* Connected to {} ({address}) port {} (#0)\n", url.host, url.port));
                }
                return Ok(socket);
            }
            Some(answer) => return Err(failed(refusal(&answer))),
            None if arguments.connect_deadline(start).is_some_and(|deadline| kernel.hub.now() >= deadline) => {
                let ms = (kernel.hub.now() - start).as_millis();
                return Err(Failure(28, format!("Connection timed out after {ms} milliseconds")));
            }
            None => {}
        }
    }
    let Failure(_, text) = failed("Connection timed out");
    Err(Failure(28, text))
}

/// What the socket's owner is told.
fn refusal(answer: &Payload) -> &'static str {
    match answer {
        Payload::Unreachable { code: Unreachable::Net, .. } => "Network is unreachable",
        Payload::Unreachable { code: Unreachable::Port, .. } | Payload::Rst => "Connection refused",
        _ => "No route to host",
    }
}

/// Request and answer. Gives the answer's status.
async fn exchange(
    kernel: &Rc<Inner>,
    socket: &Socket,
    url: &Url,
    arguments: &Arguments,
    start: Instant,
    terminal: &mut Terminal,
) -> Result<String, Failure> {
    let method = match arguments.method.as_str() {
        "" if arguments.head => "HEAD",
        "" => "GET",
        method => method,
    };
    let host = if url.port == 80 { url.host.clone() } else { format!("{}:{}", url.host, url.port) };
    let headers: String = arguments.headers.iter().map(|header| format!("{header}\r\n")).collect();
    let request = format!(
        "{method} {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: curl/7.81.0\r\nAccept: */*\r\n{headers}\r\n",
        url.path
    );
    if arguments.verbose {
        request.lines().for_each(|line| terminal.complain(&format!("> {line}\n")));
    }
    let packet = ask(kernel, socket, &request, arguments, start).await?;
    let Payload::Data(text) = packet.payload else {
        return Err(match packet.payload {
            Payload::Rst => Failure(56, "Recv failure: Connection reset by peer".into()),
            _ => Failure(52, "Empty reply from server".into()),
        });
    };
    socket.send(Payload::Fin);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    if arguments.verbose {
        head.lines().for_each(|line| terminal.complain(&format!("< {line}\n")));
        terminal.complain("< \n");
    }
    if (arguments.include || arguments.head) && !arguments.discard {
        terminal.print(&format!("{head}\r\n\r\n").replace('\r', ""));
    }
    if !arguments.discard {
        terminal.print(body);
    }
    if arguments.verbose {
        terminal.complain(&format!("* Connection #0 to host {} left intact\n", url.host));
    }
    let status = head.lines().next().and_then(|line| line.split_once(' ')).map_or("", |(_, status)| status);
    let code: u16 = status.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(0);
    if !arguments.write_out.is_empty() {
        let told = arguments.write_out.replace("\\n", "\n").replace("%{http_code}", &format!("{code:03}"));
        terminal.print(&told.replace("%{response_code}", &format!("{code:03}")));
    }
    if arguments.fail && code >= 400 {
        return Err(Failure(22, format!("The requested URL returned error: {code}")));
    }
    Ok(status.to_owned())
}

/// Sends until something comes back.
async fn ask(
    kernel: &Rc<Inner>,
    socket: &Socket,
    request: &str,
    arguments: &Arguments,
    start: Instant,
) -> Result<Packet, Failure> {
    for attempt in 0..RESEND_TRIES {
        socket.send(Payload::Data(request.to_owned()));
        let patience = RESEND * 2_u32.saturating_pow(attempt).min(600);
        let left = arguments.limit.map(|limit| (start + limit) - kernel.hub.now());
        if let Some(packet) = socket.hear(left.map_or(patience, |left| patience.min(left))).await {
            return Ok(packet);
        }
        if arguments.limit.is_some_and(|limit| kernel.hub.now() >= start + limit) {
            let ms = (kernel.hub.now() - start).as_millis();
            return Err(Failure(28, format!("Operation timed out after {ms} milliseconds with 0 bytes received")));
        }
    }
    Err(Failure(56, "Recv failure: Connection timed out".into()))
}

impl Arguments {
    /// When it gives up connecting.
    fn connect_deadline(&self, start: Instant) -> Option<Instant> {
        [self.connect_limit, self.limit].into_iter().flatten().min().map(|limit| start + limit)
    }
}

fn arguments(words: &[&str]) -> Result<Arguments, String> {
    let mut found = Arguments::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("option {word}: requires parameter"));
        match *word {
            "-m" | "--max-time" => found.limit = Some(seconds(word, value()?)?),
            "--connect-timeout" => found.connect_limit = Some(seconds(word, value()?)?),
            "-o" | "--output" => found.discard = value()? == "/dev/null",
            "-X" | "--request" => value()?.clone_into(&mut found.method),
            "-H" | "--header" => found.headers.push(value()?.to_owned()),
            "-w" | "--write-out" => value()?.clone_into(&mut found.write_out),
            "-A" | "--user-agent" | "--retry" | "--retry-delay" => drop(value()?),
            "--location" | "--insecure" | "--no-progress-meter" => {}
            "--silent" => found.silent = true,
            "--show-error" => found.show_errors = true,
            "--verbose" => found.verbose = true,
            "--include" => found.include = true,
            "--head" => found.head = true,
            "--fail" => found.fail = true,
            letters if letters.starts_with('-') && !letters.starts_with("--") && letters.len() > 1 => {
                letters.chars().skip(1).try_for_each(|letter| found.letter(letter))?;
            }
            flag if flag.starts_with("--") => return Err(format!("option {flag}: is unknown")),
            url => found.url = url.to_owned(),
        }
    }
    if found.url.is_empty() { Err("no URL specified!".to_owned()) } else { Ok(found) }
}

impl Arguments {
    fn letter(&mut self, letter: char) -> Result<(), String> {
        match letter {
            's' => self.silent = true,
            'S' => self.show_errors = true,
            'v' => self.verbose = true,
            'i' => self.include = true,
            'I' => self.head = true,
            'f' => self.fail = true,
            // There is nowhere else to go, and nothing that TLS could complain of.
            'L' | 'k' => {}
            other => return Err(format!("option -{other}: is unknown")),
        }
        Ok(())
    }
}

fn seconds(flag: &str, value: &str) -> Result<Duration, String> {
    let time = value.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
    time.ok_or_else(|| format!("option {flag}: expected a proper numerical parameter"))
}

fn parse(url: &str) -> Result<Url, Failure> {
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        Some((scheme, _)) => {
            return Err(Failure(1, format!("Protocol \"{scheme}\" not supported or disabled in libcurl")));
        }
        None => url,
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    let wrong = |what: &str| Failure(3, format!("URL using bad/illegal format or missing URL: {what}"));
    let port = port.parse().map_err(|_| wrong("port number"))?;
    if host.is_empty() {
        return Err(wrong("no host"));
    }
    Ok(Url { host: host.to_owned(), port, path: format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_defaults() {
        for (text, host, port, path) in [
            ("web", "web", 80, "/"),
            ("10.96.0.10:8080/healthz", "10.96.0.10", 8080, "/healthz"),
            ("http://web.default.svc.cluster.local/a/b?c=d", "web.default.svc.cluster.local", 80, "/a/b?c=d"),
        ] {
            let url = parse(text).unwrap_or_else(|failure| panic!("{}", failure.1));
            assert_eq!((url.host.as_str(), url.port, url.path.as_str()), (host, port, path));
        }
        for wrong in ["http://", "web:port", "https://web", ":80"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_are_read_as_curl_reads_them() {
        let found = arguments(&["-sSv", "-m", "2.5", "web"]).unwrap();
        assert!(found.silent && found.show_errors && found.verbose && !found.include);
        assert_eq!(found.limit, Some(Duration::from_millis(2500)));
        let found = arguments(&["-sLo", "/dev/null", "-w", "%{http_code}", "-H", "Host: a", "web"]);
        assert!(found.is_err(), "letters that want a value stand alone");
        let found = arguments(&["-sL", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: a", "web"]).unwrap();
        assert_eq!((found.write_out.as_str(), found.headers.len(), found.discard), ("%{http_code}", 1, true));
        for wrong in [&["-Z", "web"][..], &["--http2", "web"], &["-m"], &["-m", "soon", "web"], &[]] {
            assert!(arguments(wrong).is_err(), "{wrong:?}");
        }
    }
}
