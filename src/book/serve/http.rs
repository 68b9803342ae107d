//! As much of HTTP/1.1 as a folder of pages and a WebSocket need: one GET a connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request's head may be so long.
const HEAD_MAX: usize = 16 * 1024;
/// And take so long to come.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// So many header fields are read.
const FIELDS_MAX: usize = 64;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `/00-tour.html`, decoded, without the query.
    pub path: String,
    query: String,
    /// The host that the request names.
    pub host: String,
    /// The page from which it comes.
    pub origin: Option<String>,
    /// The key of a WebSocket that it wants to become.
    pub websocket: Option<String>,
}

impl Head {
    /// A field of the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let fields = self.query.split('&').filter_map(|field| field.split_once('='));
        fields.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
    }
}

/// How it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(&'static str);

impl Status {
    /// There it is.
    pub const OK: Status = Status("200 OK");
    /// It is elsewhere.
    pub const MOVED: Status = Status("302 Found");
    /// Not understood.
    pub const BAD: Status = Status("400 Bad Request");
    /// Not for whoever asked.
    pub const FORBIDDEN: Status = Status("403 Forbidden");
    /// Not there.
    pub const NOT_FOUND: Status = Status("404 Not Found");
    /// Too many of that already.
    pub const BUSY: Status = Status("503 Service Unavailable");
}

/// Reads a request's head. None if it is no GET in HTTP/1, or too long, or does not come.
pub async fn read(stream: &mut TcpStream) -> io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    let ended = |bytes: &[u8]| bytes.windows(4).any(|four| four == b"\r\n\r\n");
    let whole = tokio::time::timeout(HEAD_TIME, async {
        while !ended(&bytes) && bytes.len() < HEAD_MAX {
            if stream.read_buf(&mut bytes).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    });
    match whole.await {
        Ok(read) => read?,
        Err(_) => return Ok(None),
    }
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Option<Head> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    if !request.parse(bytes).ok()?.is_complete() || request.method != Some("GET") {
        return None;
    }
    let target = request.path?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let field = |name: &str| {
        let found = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::to_owned)
    };
    let upgrade = field("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
    Some(Head {
        path: decoded(path),
        query: query.to_owned(),
        host: field("host").unwrap_or_default(),
        origin: field("origin"),
        websocket: field("sec-websocket-key").filter(|_| upgrade),
    })
}

/// Text with its `%20`s as what they stand for. What is not well written stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends an answer and ends the connection.
pub async fn send(stream: &mut TcpStream, status: Status, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: SAMEORIGIN\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        status.0
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}

/// Sends the reader to another page.
pub async fn redirect(stream: &mut TcpStream, to: &str) -> io::Result<()> {
    let head =
        format!("HTTP/1.1 {}\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", Status::MOVED.0);
    stream.write_all(head.as_bytes()).await?;
    stream.shutdown().await
}

/// Says no.
pub async fn refuse(stream: &mut TcpStream, status: Status, why: &str) -> io::Result<()> {
    send(stream, status, "text/plain; charset=utf-8", format!("{why}\n").as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let text =
            b"GET /a%20b.html?token=x%3Dy&n=1 HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n\r\n";
        let head = parse(text).expect("it is one");
        assert_eq!((head.path.as_str(), head.host.as_str()), ("/a b.html", "localhost:1"));
        assert_eq!((head.query("token").as_deref(), head.query("m")), (Some("x=y"), None));
        assert_eq!(head.websocket, None);
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\n\r\n", "\0\0\r\n\r\n", "GET \r\n\r\n"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(decoded("%zz%2"), "%zz%2");
    }
}
