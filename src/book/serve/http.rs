//! As much of HTTP/1.1 as a folder of pages and a WebSocket need: one GET or HEAD a connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request's head may be so long.
const HEAD_MAX: usize = 16 * 1024;
/// And take so long to come.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// An answer may take so long to be read by its client.
const WRITE_TIME: Duration = Duration::from_secs(30);
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
    /// Whether the client wants an answer's head alone (HEAD).
    pub only_head: bool,
    cookies: String,
}

impl Head {
    /// A field of the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let fields = self.query.split('&').filter_map(|field| field.split_once('='));
        fields.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
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
    /// Not for this client.
    pub const FORBIDDEN: Status = Status("403 Forbidden");
    /// Not there.
    pub const NOT_FOUND: Status = Status("404 Not Found");
    /// Too many of that already.
    pub const BUSY: Status = Status("503 Service Unavailable");
}

/// Reads a request's head. None if it is no GET or HEAD in HTTP/1, or too long, or does not come.
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
    if !request.parse(bytes).ok()?.is_complete() || !matches!(request.method, Some("GET" | "HEAD")) {
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
        only_head: request.method == Some("HEAD"),
        cookies: field("cookie").unwrap_or_default(),
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

/// An answer: what a client gets to its request.
pub struct Answer<'a> {
    status: Status,
    fields: Vec<String>,
    body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// An answer with this body, of this media type.
    pub fn new(status: Status, kind: &str, body: &'a [u8]) -> Answer<'a> {
        Answer { status, fields: vec![format!("Content-Type: {kind}")], body }
    }

    /// Sends the reader to another address.
    pub fn redirect(to: &str) -> Answer<'a> {
        Answer { status: Status::MOVED, fields: vec![format!("Location: {to}")], body: b"" }
    }

    /// Adds a header field, `Name: value`.
    pub fn with(mut self, field: String) -> Answer<'a> {
        self.fields.push(field);
        self
    }

    /// Sends it and ends the connection. A client that does not read within [`WRITE_TIME`] loses it.
    pub async fn send(self, stream: &mut TcpStream, head: &Head) -> io::Result<()> {
        let (length, fields) = (self.body.len(), self.fields.join("\r\n"));
        let start = format!(
            "HTTP/1.1 {}\r\n{fields}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: SAMEORIGIN\r\nReferrer-Policy: no-referrer\r\n\
             Connection: close\r\n\r\n",
            self.status.0
        );
        let whole = tokio::time::timeout(WRITE_TIME, async {
            stream.write_all(start.as_bytes()).await?;
            if !head.only_head {
                stream.write_all(self.body).await?;
            }
            stream.shutdown().await
        });
        whole.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Says no.
pub async fn refuse(stream: &mut TcpStream, head: &Head, status: Status, why: &str) -> io::Result<()> {
    Answer::new(status, "text/plain; charset=utf-8", format!("{why}\n").as_bytes()).send(stream, head).await
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
        assert_eq!((head.websocket, head.only_head), (None, false));
    }

    #[test]
    fn cookies_are_told_apart() {
        let head = parse(b"HEAD / HTTP/1.1\r\nCookie: a=1; kubestep-1=x=y\r\n\r\n").expect("it is one");
        assert_eq!((head.cookie("kubestep-1"), head.cookie("kubestep"), head.only_head), (Some("x=y"), None, true));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\n\r\n", "\0\0\r\n\r\n", "GET \r\n\r\n"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(decoded("%zz%2"), "%zz%2");
    }
}
