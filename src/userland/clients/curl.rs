//! `curl [-s] [-S] [-v] [-i] [-I] [-f] [-k] [--cacert FILE] [-X METHOD] [-H HEADER] [-d TEXT] [-w FORMAT] [-m SECONDS]
//! [--connect-timeout SECONDS] URL`, as curl 7.81 prints it.
//!
//! Left out: TLS with what is outside the cluster, redirects (there are none to follow), files that are uploaded, keep-alive,
//! of `-w` all but the status, and every other option. A file with certificates is taken for the cluster's own: programs
//! have only their words here, and see no files.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use super::resolve::{self, is_public};
use super::terminal::Terminal;
use network::kernel::System;
use network::kernel::socket::{SYN_TRIES, Socket};
use network::kernel::tls::{self, Broken};
use network::netfilter::{Payload, Protocol, Unreachable};
use object::time::Instant;

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
    /// Any server certificate is accepted.
    insecure: bool,
    /// The cluster's authority is trusted.
    trusts: bool,
    method: String,
    headers: Vec<String>,
    body: Option<String>,
    write_out: String,
    limit: Option<Duration>,
    connect_limit: Option<Duration>,
    url: String,
}

struct Url {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
}

/// `CURLE_COULDNT_RESOLVE_HOST`.
pub(super) const UNKNOWN_HOST: u8 = 6;

/// curl's exit code, and what it says.
pub(super) struct Failure(pub u8, pub String);

pub(super) async fn run(kernel: &Rc<System>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
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

/// A page, printed to `terminal`, for a client other than curl, which accepts any server certificate. Returns the server's
/// address and the status: `200 OK`.
pub(super) async fn get(
    kernel: &Rc<System>,
    namespace: &str,
    url: &str,
    headers: Vec<String>,
    limit: Option<Duration>,
    terminal: &mut Terminal,
) -> Result<(Ipv4Addr, String), Failure> {
    let arguments = Arguments { limit, headers, url: url.to_owned(), insecure: true, ..Arguments::default() };
    fetch(kernel, namespace, &arguments, terminal).await
}

/// A connection and nothing more, for a client other than curl. Returns the server's address.
pub(super) async fn reach(
    kernel: &Rc<System>,
    namespace: &str,
    host: &str,
    port: u16,
    connect_limit: Option<Duration>,
    terminal: &mut Terminal,
) -> Result<Ipv4Addr, Failure> {
    let url = Url { is_tls: false, host: host.to_owned(), port, path: String::new() };
    let start = kernel.now();
    let arguments = Arguments { connect_limit, ..Arguments::default() };
    let Some(addresses) = resolve::addresses(kernel, namespace, &terminal.resolver, host).await else {
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

/// Whether it is one that is asked for over TLS.
pub(super) fn is_tls(url: &str) -> bool {
    parse(url).is_ok_and(|url| url.is_tls)
}

/// Whom a URL names.
pub(super) fn host_and_port(url: &str) -> Result<(String, u16), Failure> {
    parse(url).map(|url| (url.host, url.port))
}

async fn fetch(
    kernel: &Rc<System>,
    namespace: &str,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> Result<(Ipv4Addr, String), Failure> {
    let start = kernel.now();
    let url = parse(&arguments.url)?;
    let addresses = resolve::addresses(kernel, namespace, &terminal.resolver, &url.host).await;
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
    kernel: &Rc<System>,
    namespace: &str,
    url: &Url,
    address: Ipv4Addr,
    arguments: &Arguments,
    start: Instant,
    terminal: &mut Terminal,
) -> Result<Socket, Failure> {
    let failed = |why: &str| {
        let (host, port, ms) = (&url.host, url.port, (kernel.now() - start).as_millis());
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
        let left = arguments.connect_deadline(start).map(|deadline| deadline - kernel.now());
        match socket.hear(left.map_or(patience, |left| patience.min(left))).await.map(|packet| packet.payload) {
            Some(Payload::SynAck) => {
                if arguments.verbose {
                    terminal.complain(&format!("* Connected to {} ({address}) port {} (#0)\n", url.host, url.port));
                }
                return Ok(socket);
            }
            Some(answer) => return Err(failed(refusal(&answer))),
            None if arguments.connect_deadline(start).is_some_and(|deadline| kernel.now() >= deadline) => {
                let ms = (kernel.now() - start).as_millis();
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
    kernel: &Rc<System>,
    socket: &Socket,
    url: &Url,
    arguments: &Arguments,
    start: Instant,
    terminal: &mut Terminal,
) -> Result<String, Failure> {
    if url.is_tls {
        let answer = ask(kernel, socket, &tls::hello(&url.host), arguments, start).await?;
        let checked = match arguments.insecure {
            true => tls::accept(&answer),
            false => tls::check(&answer, &url.host, arguments.trusts),
        };
        if let Err(why) = checked {
            socket.send(Payload::Fin);
            return Err(broken(why, &url.host));
        }
    }
    let request = arguments.request(url);
    if arguments.verbose {
        let (head, _) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
        head.lines().chain([""]).for_each(|line| terminal.complain(&format!("> {line}\n")));
    }
    let sent = if url.is_tls { tls::seal(&request) } else { request };
    let text = ask(kernel, socket, &sent, arguments, start).await?;
    let text = tls::open(&text).unwrap_or(&text);
    socket.send(Payload::Fin);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
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

/// Why nothing is asked of a server that is not the right one.
fn broken(why: Broken, host: &str) -> Failure {
    const MORE: &str = "\nMore details here: https://curl.se/docs/sslcerts.html\n\ncurl failed to verify the legitimacy of the \
                        server and therefore could not\nestablish a secure connection to it. To learn more about this \
                        situation and\nhow to fix it, please visit the web page mentioned above.";
    match why {
        Broken::NotTls => Failure(35, "error:0A00010B:SSL routines::wrong version number".into()),
        Broken::Untrusted => {
            Failure(60, format!("SSL certificate problem: unable to get local issuer certificate{MORE}"))
        }
        Broken::OtherName => {
            let why = format!("SSL: no alternative certificate subject name matches target host name '{host}'");
            Failure(60, why + MORE)
        }
    }
}

/// Sends until something comes back.
async fn ask(
    kernel: &Rc<System>,
    socket: &Socket,
    request: &str,
    arguments: &Arguments,
    start: Instant,
) -> Result<String, Failure> {
    for attempt in 0..RESEND_TRIES {
        socket.send(Payload::Data(request.to_owned()));
        let patience = RESEND * 2_u32.saturating_pow(attempt).min(600);
        let left = arguments.limit.map(|limit| (start + limit) - kernel.now());
        if let Some(packet) = socket.hear(left.map_or(patience, |left| patience.min(left))).await {
            return match packet.payload {
                Payload::Data(text) => Ok(text),
                Payload::Rst => Err(Failure(56, "Recv failure: Connection reset by peer".into())),
                _ => Err(Failure(52, "Empty reply from server".into())),
            };
        }
        if arguments.limit.is_some_and(|limit| kernel.now() >= start + limit) {
            let ms = (kernel.now() - start).as_millis();
            return Err(Failure(28, format!("Operation timed out after {ms} milliseconds with 0 bytes received")));
        }
    }
    Err(Failure(56, "Recv failure: Connection timed out".into()))
}

impl Arguments {
    /// What is sent.
    fn request(&self, url: &Url) -> String {
        let method = match (self.method.as_str(), &self.body) {
            ("", _) if self.head => "HEAD",
            ("", Some(_)) => "POST",
            ("", None) => "GET",
            (method, _) => method,
        };
        let usual = if url.is_tls { 443 } else { 80 };
        let host = if url.port == usual { url.host.clone() } else { format!("{}:{}", url.host, url.port) };
        let own = |name: &str| self.headers.iter().any(|header| header.to_ascii_lowercase().starts_with(name));
        let mut headers = vec![format!("Host: {host}")];
        headers.extend((!own("user-agent:")).then(|| "User-Agent: curl/7.81.0".to_owned()));
        headers.extend((!own("accept:")).then(|| "Accept: */*".to_owned()));
        headers.extend(self.headers.iter().cloned());
        if let Some(body) = &self.body {
            headers.push(format!("Content-Length: {}", body.len()));
            let form = "Content-Type: application/x-www-form-urlencoded";
            headers.extend((!own("content-type:")).then(|| form.to_owned()));
        }
        let body = self.body.as_deref().unwrap_or_default();
        format!("{method} {} HTTP/1.1\r\n{}\r\n\r\n{body}", url.path, headers.join("\r\n"))
    }

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
            "-d" | "--data" | "--data-raw" => found.body = Some(value()?.to_owned()),
            "--cacert" => found.trusts = !value()?.is_empty(),
            "-w" | "--write-out" => value()?.clone_into(&mut found.write_out),
            "-A" | "--user-agent" | "--retry" | "--retry-delay" => drop(value()?),
            "--location" | "--no-progress-meter" => {}
            "--insecure" => found.insecure = true,
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
            'k' => self.insecure = true,
            // There is nowhere else to go.
            'L' => {}
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
    let (is_tls, rest) = match url.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) if !is_public(host_of(rest)) => (true, rest),
        Some((scheme, _)) => {
            return Err(Failure(1, format!("Protocol \"{scheme}\" not supported or disabled in libcurl")));
        }
        None => (false, url),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = authority.split_once(':').unwrap_or((authority, if is_tls { "443" } else { "80" }));
    let wrong = |what: &str| Failure(3, format!("URL using bad/illegal format or missing URL: {what}"));
    let port = port.parse().map_err(|_| wrong("port number"))?;
    if host.is_empty() {
        return Err(wrong("no host"));
    }
    Ok(Url { is_tls, host: host.to_owned(), port, path: format!("/{path}") })
}

/// The host that a URL without its scheme begins with.
fn host_of(rest: &str) -> &str {
    rest.split(['/', ':']).next().unwrap_or_default()
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
            ("https://kubernetes.default.svc/version", "kubernetes.default.svc", 443, "/version"),
        ] {
            let url = parse(text).unwrap_or_else(|failure| panic!("{}", failure.1));
            assert_eq!((url.host.as_str(), url.port, url.path.as_str()), (host, port, path));
        }
        for wrong in ["http://", "web:port", "https://example.com", ":80"] {
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
