//! `wget [-q] [-T SECONDS] [--header TEXT] -O - URL`, as busybox's prints it. The connection is [`curl`]'s.
//!
//! Left out: files (what came goes to standard output or nowhere), and every other option.

use std::rc::Rc;
use std::time::Duration;

use super::curl;
use super::terminal::Terminal;
use network::kernel::System;

#[derive(Debug, Default)]
struct Arguments<'a> {
    quiet: bool,
    spider: bool,
    discard: bool,
    output: Option<&'a str>,
    limit: Option<Duration>,
    headers: Vec<String>,
    url: &'a str,
}

pub(super) async fn run(kernel: &Rc<System>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let arguments = match arguments(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            terminal.complain(&format!("wget: {message}\n"));
            return 1;
        }
    };
    match fetch(kernel, namespace, &arguments, terminal).await {
        Ok(()) => 0,
        Err(why) => {
            terminal.complain(&format!("wget: {why}\n"));
            1
        }
    }
}

/// What it fetches, if it is simulated how.
pub(super) fn url<'a>(words: &[&'a str]) -> Option<&'a str> {
    arguments(words).ok().map(|arguments| arguments.url)
}

async fn fetch(
    kernel: &Rc<System>,
    namespace: &str,
    arguments: &Arguments<'_>,
    terminal: &mut Terminal,
) -> Result<(), String> {
    let mut page = Terminal::new(terminal.resolver.clone());
    let headers = ["User-Agent: Wget".to_owned()].into_iter().chain(arguments.headers.iter().cloned()).collect();
    let got = curl::get(kernel, namespace, arguments.url, headers, arguments.limit, &mut page).await;
    terminal.unknown_host = page.unknown_host.take();
    let (host, port) = curl::host_and_port(arguments.url).map_err(|_| format!("bad address '{}'", arguments.url))?;
    let say = |terminal: &mut Terminal, text: String| {
        if !arguments.quiet {
            terminal.complain(&text);
        }
    };
    let address = page.tried.map_or(host.clone(), |address| address.to_string());
    let resolved = !matches!(got, Err(curl::Failure(curl::UNKNOWN_HOST, _)));
    if resolved {
        say(terminal, format!("Connecting to {host} ({address}:{port})\n"));
        if curl::is_tls(arguments.url) {
            terminal.complain("wget: note: TLS certificate validation not implemented\n");
        }
    }
    let (_, status) = got.map_err(|curl::Failure(code, text)| match code {
        curl::UNKNOWN_HOST => format!("bad address '{host}'"),
        28 => "download timed out".to_owned(),
        // curl's words end with the kernel's.
        _ => format!("can't connect to remote host ({address}): {}", text.rsplit(": ").next().unwrap_or_default()),
    })?;
    let (code, line) = status.split_once(' ').unwrap_or((&status, ""));
    if !code.starts_with(['2', '3']) {
        return Err(format!("server returned error: HTTP/1.1 {code} {line}"));
    }
    if arguments.spider {
        say(terminal, "remote file exists\n".to_owned());
    } else if arguments.discard {
        say(terminal, "saving to '/dev/null'\n'/dev/null' saved\n".to_owned());
    } else {
        say(terminal, "writing to stdout\n".to_owned());
        terminal.print(&page.output);
        say(terminal, "written to stdout\n".to_owned());
    }
    Ok(())
}

fn arguments<'a>(words: &[&'a str]) -> Result<Arguments<'a>, String> {
    let mut found = Arguments::default();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().ok_or(format!("option requires an argument -- '{}'", word.trim_start_matches('-')));
        match word {
            "-q" => found.quiet = true,
            "-O" => found.output = Some(value()?),
            "-qO" => (found.quiet, found.output) = (true, Some(value()?)),
            "-qO-" | "-qO/dev/null" => (found.quiet, found.output) = (true, Some(&word[3..])),
            "-O-" | "-O/dev/null" => found.output = Some(&word[2..]),
            "--spider" => found.spider = true,
            "--header" => found.headers.push(value()?.to_owned()),
            "-T" => found.limit = Some(seconds(value()?)?),
            option if option.starts_with("--header=") => found.headers.push(option[9..].to_owned()),
            option if option.starts_with("--timeout=") => found.limit = Some(seconds(&option[10..])?),
            option if option.starts_with('-') && option.len() > 1 => {
                return Err(format!(
                    "unrecognized option '{option}'; -q, -O -, -T SECONDS, --header and --spider are simulated"
                ));
            }
            url => found.url = url,
        }
    }
    found.discard = found.output == Some("/dev/null");
    match found.output {
        _ if found.url.is_empty() => Err("missing URL".to_owned()),
        Some("-" | "/dev/null") => Ok(found),
        _ if found.spider => Ok(found),
        _ => Err("what comes can only be printed: add -O -".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_secs).map_err(|_| format!("invalid number '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_busybox_reads_them() {
        let found = arguments(&["-qO-", "-T", "3", "web"]).unwrap();
        assert!(found.quiet && found.url == "web" && found.limit == Some(Duration::from_secs(3)));
        assert!(arguments(&["-q", "-O", "/dev/null", "web"]).unwrap().discard);
        for wrong in [&["web"][..], &["-qO", "-"], &["-O", "page", "web"], &["-x", "-O-", "web"], &["-T"], &[]] {
            assert!(arguments(wrong).is_err(), "{wrong:?}");
        }
    }
}
