//! A small client: one request a connection, or a connection of one's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::program::{PATIENCE, Served};

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection that gives up after a while.
pub fn connect(served: &Served) -> TcpStream {
    let stream = TcpStream::connect(&served.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time can be set");
    stream
}

/// A request of the administrator's.
pub fn ask(served: &Served, method: &str, path: &str, body: &str) -> Answer {
    let json = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    raw(served, method, &format!("{}{path}", served.path), &format!("Host: {}\r\n{json}", served.address), body)
}

/// Any request.
pub fn raw(served: &Served, method: &str, target: &str, headers: &str, body: &str) -> Answer {
    let mut stream = connect(served);
    let length = body.len();
    let head =
        format!("{method} {target} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(head.as_bytes()).expect("it reads");
    answer(&mut BufReader::new(stream))
}

/// Reads an answer with its whole body.
pub fn answer(stream: &mut BufReader<TcpStream>) -> Answer {
    let mut answer = head(stream);
    let length = answer.headers.iter().find(|(name, _)| name == "content-length");
    match length.and_then(|(_, length)| length.parse().ok()) {
        Some(length) => {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("the body comes");
            answer.body = String::from_utf8(body).expect("it is text");
        }
        None => {
            while let Some(line) = chunk(stream) {
                answer.body += &line;
            }
        }
    }
    answer
}

/// Reads the head of an answer.
pub fn head(stream: &mut BufReader<TcpStream>) -> Answer {
    let mut lines = stream.by_ref().lines().map(|line| line.expect("it answers"));
    let status = lines.next().expect("it answers");
    let code = status.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{status:?}"));
    let headers = lines.take_while(|line| !line.is_empty());
    let headers = headers.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Answer { code, headers: headers.collect(), body: String::new() }
}

/// The next chunk of a body; none: the last has come, or the connection is closed.
pub fn chunk(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut size = String::new();
    stream.read_line(&mut size).ok().filter(|read| *read > 0)?;
    let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let mut bytes = vec![0; size + 2];
    stream.read_exact(&mut bytes).ok()?;
    bytes.truncate(size);
    String::from_utf8(bytes).ok()
}

/// Opens a watch of the administrator's.
pub fn watch(served: &Served, path: &str) -> BufReader<TcpStream> {
    let mut stream = connect(served);
    let head = format!("GET {}{path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.path, served.address);
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut stream = BufReader::new(stream);
    assert_eq!(self::head(&mut stream).code, 200);
    stream
}
