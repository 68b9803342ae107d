//! `nc -z [-v] [-w SECONDS] HOST PORT`, as busybox's prints it: whether a server listens there. The connection is [`curl`]'s.
//!
//! Left out: data, UDP and listening. What is not `-z` connects as well, sends nothing, and ends.

use std::rc::Rc;
use std::time::Duration;

use super::curl;
use super::terminal::Terminal;
use network::kernel::System;

pub(super) async fn run(kernel: &Rc<System>, namespace: &str, words: &[&str], terminal: &mut Terminal) -> u8 {
    let (mut verbose, mut limit, mut operands) = (false, None, Vec::new());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            Some(letters) => {
                // -w takes what stands behind it, or the next word.
                let (letters, time) = letters.split_once('w').map_or((letters, None), |(l, time)| (l, Some(time)));
                let time = time.map(|time| if time.is_empty() { words.next().unwrap_or_default() } else { time });
                limit = time.and_then(|time| time.parse().ok()).map(Duration::from_secs).or(limit);
                verbose |= letters.contains('v');
            }
            None => operands.push(word),
        }
    }
    let [host, port] = operands[..] else {
        terminal.complain("nc: write nc -z [-v] [-w SECONDS] HOST PORT\n");
        return 1;
    };
    let Ok(port) = port.parse() else {
        terminal.complain(&format!("nc: bad port '{port}'\n"));
        return 1;
    };
    match curl::reach(kernel, namespace, host, port, limit, terminal).await {
        Ok(address) if verbose => {
            terminal.complain(&format!("{host} ({address}:{port}) open\n"));
            0
        }
        Ok(_) => 0,
        Err(curl::Failure(curl::UNKNOWN_HOST, _)) => {
            terminal.complain(&format!("nc: bad address '{host}'\n"));
            1
        }
        Err(curl::Failure(28, _)) if limit.is_some() => {
            terminal.complain("nc: timed out\n");
            1
        }
        // curl's words end with the kernel's.
        Err(curl::Failure(_, text)) => {
            let why = text.rsplit(": ").next().unwrap_or_default();
            terminal.complain(&format!("nc: {host}:{port}: {why}\n"));
            1
        }
    }
}
