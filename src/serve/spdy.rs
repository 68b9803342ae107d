//! As much of SPDY/3.1 as kubectl's `port-forward` speaks inside a WebSocket: streams, their headers, pings. What a session sees of
//! it are frames of channels, as [`cluster::clients::forward`] has them.
//!
//! For each connection a client opens two streams, for data and for what went wrong, which name the port and share a request id.
//! Mirrors `portforward/tunneling_dialer.go` of client-go and its counterpart in the API server. Left out: flow control, which
//! client-go has not; priorities.

use std::collections::BTreeMap;

use cluster::clients::forward::{CONNECTIONS_MAX, OPEN};
use cluster::clients::stream::CLOSE;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// A control frame begins with this bit and the version.
const CONTROL: u16 = 0x8003;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
/// The flag of a sender's last frame in a stream.
const FIN: u8 = 1;
/// Why a stream was reset.
const PROTOCOL_ERROR: u32 = 1;
const REFUSED_STREAM: u32 = 3;
/// A frame's head.
const HEAD: usize = 8;
/// A frame and its headers may be so long.
const FRAME_MAX: usize = 1 << 20;

/// The words that both sides know before they compress the first header; each follows its length.
const WORDS: &[&str] = &[
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];
/// And what follows them.
const MORE_WORDS: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 \
    Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not \
    Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec \
    00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, \
    GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,\
    publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

fn dictionary() -> Vec<u8> {
    let word = |word: &&str| [&(word.len() as u32).to_be_bytes(), word.as_bytes()].concat();
    WORDS.iter().flat_map(word).chain(MORE_WORDS.bytes()).collect()
}

/// What a client sends is no SPDY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// One client's side of a connection.
pub(super) struct Tunnel {
    inflate: Decompress,
    deflate: Compress,
    /// What has come of a frame that is not whole.
    heard: Vec<u8>,
    /// Open streams by their number.
    streams: BTreeMap<u32, Stream>,
    /// Streams for data and for errors, by the channel of the data.
    connections: BTreeMap<u8, Pair>,
}

#[derive(Clone, Copy)]
struct Stream {
    channel: u8,
    is_data: bool,
}

#[derive(Clone, Default)]
struct Pair {
    request: String,
    data: Option<u32>,
    error: Option<u32>,
}

/// What comes of bytes of a client's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// For the session.
    pub frames: Vec<Vec<u8>>,
    /// Back to the client.
    pub back: Vec<u8>,
}

impl Tunnel {
    pub(super) fn new() -> Tunnel {
        let mut deflate = Compress::new(Compression::fast(), true);
        // Before the first byte there is nothing that could be wrong with it.
        let _ = deflate.set_dictionary(&dictionary());
        Tunnel {
            inflate: Decompress::new(true),
            deflate,
            heard: Vec::new(),
            streams: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Takes bytes of a client's.
    ///
    /// # Errors
    /// They are no SPDY, or too long.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<Heard, Broken> {
        self.heard.extend_from_slice(bytes);
        let mut heard = Heard::default();
        while let Some(head) = self.heard.first_chunk::<HEAD>() {
            let [a, b, c, d, flags, x, y, z] = *head;
            let length = u32::from_be_bytes([0, x, y, z]) as usize;
            if length > FRAME_MAX {
                return Err(Broken);
            }
            if self.heard.len() < HEAD + length {
                break;
            }
            let frame: Vec<u8> = self.heard.drain(..HEAD + length).skip(HEAD).collect();
            match (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])) {
                (CONTROL, kind) => self.control(kind, flags, &frame, &mut heard)?,
                (first, _) if first >> 15 == 0 => {
                    self.data(u32::from_be_bytes([a, b, c, d]), flags, &frame, &mut heard);
                }
                _ => return Err(Broken),
            }
        }
        Ok(heard)
    }

    fn control(&mut self, kind: u16, flags: u8, frame: &[u8], heard: &mut Heard) -> Result<(), Broken> {
        let number = |at: usize| frame.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        match kind {
            SYN_STREAM => {
                let id = number(0).ok_or(Broken)?;
                let headers = self.headers(frame.get(10..).ok_or(Broken)?)?;
                self.open(id, &headers, heard)?;
                if flags & FIN != 0 {
                    self.data(id, FIN, &[], heard);
                }
            }
            RST_STREAM => self.data(number(0).ok_or(Broken)?, FIN, &[], heard),
            // A client's are odd; the others answer ours, and we send none.
            PING if number(0).ok_or(Broken)? % 2 == 1 => heard.back.extend(control(PING, 0, frame)),
            // Settings, windows and a farewell ask for nothing.
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, id: u32, headers: &BTreeMap<String, String>, heard: &mut Heard) -> Result<(), Broken> {
        let value = |name: &str| headers.get(name).map(String::as_str).unwrap_or_default();
        let request = value("requestid");
        let port = value("port").parse::<u16>().ok();
        let is_data = value("streamtype") == "data";
        let known = self.connections.iter().find(|(_, pair)| pair.request == request).map(|(channel, _)| *channel);
        let is_free = |channel: &u8| !self.connections.contains_key(channel);
        let channel = known.or_else(|| (0..CONNECTIONS_MAX).map(|pair| pair * 2).find(is_free));
        let (Some(channel), Some(port)) = (channel, port) else {
            let why = if port.is_none() { PROTOCOL_ERROR } else { REFUSED_STREAM };
            heard.back.extend(control(RST_STREAM, 0, &[id.to_be_bytes(), why.to_be_bytes()].concat()));
            return Ok(());
        };
        self.streams.insert(id, Stream { channel, is_data });
        let pair = self.connections.entry(channel).or_default();
        request.clone_into(&mut pair.request);
        match is_data {
            true => pair.data = Some(id),
            false => pair.error = Some(id),
        }
        if is_data {
            let [low, high] = port.to_le_bytes();
            heard.frames.push(vec![OPEN, channel, low, high]);
        }
        // No header is sent back: their number is 0.
        let block = self.compressed(&[0; 4])?;
        heard.back.extend(control(SYN_REPLY, 0, &[&id.to_be_bytes()[..], &block].concat()));
        Ok(())
    }

    fn data(&mut self, id: u32, flags: u8, bytes: &[u8], heard: &mut Heard) {
        // Nothing is read from the stream for errors, and what comes late by one that is over is of no use.
        let Some(Stream { channel, is_data: true }) = self.streams.get(&id).copied() else { return };
        if !bytes.is_empty() {
            heard.frames.push([&[channel], bytes].concat());
        }
        if flags & FIN != 0 {
            heard.frames.push(vec![CLOSE, channel]);
        }
    }

    /// What is written to the client for a frame of the session's.
    pub(super) fn say(&mut self, frame: &[u8]) -> Vec<u8> {
        let (channel, is_end, bytes) = match frame {
            [CLOSE, channel] => (*channel, true, &[][..]),
            [channel, bytes @ ..] => (*channel, false, bytes),
            [] => return Vec::new(),
        };
        let Some(pair) = self.connections.get(&(channel & !1)).cloned() else { return Vec::new() };
        if !is_end {
            let stream = if channel % 2 == 0 { pair.data } else { pair.error };
            return stream.map_or_else(Vec::new, |stream| data(stream, 0, bytes));
        }
        self.connections.remove(&channel);
        let ends = [pair.error, pair.data].into_iter().flatten();
        ends.flat_map(|stream| {
            self.streams.remove(&stream);
            data(stream, FIN, &[])
        })
        .collect()
    }

    /// Names and values of a compressed block.
    fn headers(&mut self, block: &[u8]) -> Result<BTreeMap<String, String>, Broken> {
        let mut text = Vec::new();
        let mut rest = block;
        loop {
            text.reserve(1 << 12);
            let (before_in, before_out) = (self.inflate.total_in(), text.len());
            match self.inflate.decompress_vec(rest, &mut text, FlushDecompress::Sync) {
                Ok(Status::StreamEnd) => break,
                Ok(_) => {}
                // The first block is compressed with the words.
                Err(error) if error.needs_dictionary().is_some() => {
                    rest = &rest[(self.inflate.total_in() - before_in) as usize..];
                    self.inflate.set_dictionary(&dictionary()).map_err(|_| Broken)?;
                    continue;
                }
                Err(_) => return Err(Broken),
            }
            rest = &rest[(self.inflate.total_in() - before_in) as usize..];
            if text.len() > FRAME_MAX {
                return Err(Broken);
            }
            if rest.is_empty() && text.len() < text.capacity() || text.len() == before_out {
                break;
            }
        }
        let mut text = text.as_slice();
        let mut number = || {
            let (number, rest) = text.split_first_chunk::<4>()?;
            text = rest;
            usize::try_from(u32::from_be_bytes(*number)).ok()
        };
        let count = number().ok_or(Broken)?;
        let mut headers = BTreeMap::new();
        let mut words = Vec::new();
        for _ in 0..count.saturating_mul(2).min(64) {
            let (length, rest) = text.split_first_chunk::<4>().ok_or(Broken)?;
            let length = u32::from_be_bytes(*length) as usize;
            let (word, rest) = rest.split_at_checked(length).ok_or(Broken)?;
            words.push(String::from_utf8_lossy(word).into_owned());
            text = rest;
        }
        for pair in words.chunks_exact(2) {
            headers.insert(pair[0].to_ascii_lowercase(), pair[1].clone());
        }
        Ok(headers)
    }

    fn compressed(&mut self, block: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut out = Vec::with_capacity(block.len() + 64);
        self.deflate.compress_vec(block, &mut out, FlushCompress::Sync).map_err(|_| Broken)?;
        Ok(out)
    }
}

fn head(first: u32, flags: u8, length: usize) -> [u8; HEAD] {
    let [a, b, c, d] = first.to_be_bytes();
    let [_, x, y, z] = (length as u32).to_be_bytes();
    [a, b, c, d, flags, x, y, z]
}

fn control(kind: u16, flags: u8, bytes: &[u8]) -> Vec<u8> {
    [&head(u32::from(CONTROL) << 16 | u32::from(kind), flags, bytes.len())[..], bytes].concat()
}

fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    // A frame's length has 24 bits.
    let mut out = Vec::new();
    let mut chunks = bytes.chunks(FRAME_MAX).peekable();
    while let Some(chunk) = chunks.next() {
        let flags = if chunks.peek().is_none() { flags } else { 0 };
        out.extend([&head(stream, flags, chunk.len())[..], chunk].concat());
    }
    if bytes.is_empty() {
        out.extend(head(stream, flags, 0));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other side, as client-go is.
    struct Client(Compress);

    impl Client {
        fn new() -> Client {
            let mut deflate = Compress::new(Compression::best(), true);
            deflate.set_dictionary(&dictionary()).expect("nothing was compressed yet");
            Client(deflate)
        }

        fn opens(&mut self, id: u32, headers: &[(&str, &str)]) -> Vec<u8> {
            let word = |word: &str| [&(word.len() as u32).to_be_bytes(), word.as_bytes()].concat();
            let pairs = headers.iter().flat_map(|(name, value)| [word(name), word(value)].concat());
            let block: Vec<u8> = (headers.len() as u32).to_be_bytes().into_iter().chain(pairs).collect();
            let mut out = Vec::with_capacity(4096);
            self.0.compress_vec(&block, &mut out, FlushCompress::Sync).expect("it is compressed");
            control(SYN_STREAM, 0, &[&id.to_be_bytes()[..], &[0; 6], &out].concat())
        }
    }

    #[test]
    fn both_sides_know_the_words() {
        let sum = dictionary().iter().fold((1u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65521;
            (a, (a + b) % 65521)
        });
        // The number that the protocol's text gives.
        assert_eq!(sum.1 << 16 | sum.0, 0xe3c6_a7c2);
    }

    #[test]
    fn a_connection_is_two_streams() {
        let (mut client, mut tunnel) = (Client::new(), Tunnel::new());
        let error = client.opens(1, &[("Streamtype", "error"), ("Port", "80"), ("Requestid", "0")]);
        let opened = tunnel.hear(&error).expect("it is SPDY");
        assert!(opened.frames.is_empty() && opened.back[..4] == [0x80, 3, 0, 2], "{opened:?}");
        let bytes = [
            client.opens(3, &[("streamtype", "data"), ("port", "80"), ("requestid", "0")]),
            data(1, FIN, &[]),
            data(3, 0, b"GET /"),
        ]
        .concat();
        // Cut anywhere, it says the same.
        let mut frames = Vec::new();
        for byte in bytes {
            frames.extend(tunnel.hear(&[byte]).expect("it is SPDY").frames);
        }
        assert_eq!(frames, [vec![OPEN, 0, 80, 0], b"\0GET /".to_vec()]);
        assert_eq!(tunnel.say(b"\0page"), data(3, 0, b"page"));
        assert_eq!(tunnel.say(b"\x01refused"), data(1, 0, b"refused"));
        assert_eq!(tunnel.hear(&data(3, FIN, &[])).expect("it is SPDY").frames, [[CLOSE, 0]]);
        assert_eq!(tunnel.say(&[CLOSE, 0]), [data(1, FIN, &[]), data(3, FIN, &[])].concat());
        assert!(tunnel.say(b"\0late").is_empty());
        assert!(tunnel.hear(&data(3, 0, b"late")).expect("it is SPDY").frames.is_empty());
        let next = client.opens(5, &[("streamtype", "data"), ("port", "81"), ("requestid", "1")]);
        assert_eq!(tunnel.hear(&next).expect("it is SPDY").frames, [[OPEN, 0, 81, 0]]);
    }

    #[test]
    fn pings_are_answered_and_nonsense_is_not_believed() {
        let mut tunnel = Tunnel::new();
        let ping = control(PING, 0, &1u32.to_be_bytes());
        assert_eq!(tunnel.hear(&ping), Ok(Heard { frames: Vec::new(), back: ping.clone() }));
        assert_eq!(tunnel.hear(&control(PING, 0, &2u32.to_be_bytes())), Ok(Heard::default()));
        let portless = Client::new().opens(1, &[("streamtype", "data"), ("port", "many")]);
        assert_eq!(tunnel.hear(&portless).map(|heard| heard.back[2..4].to_vec()), Ok(vec![0, 3]));
        for nonsense in [
            &b"GET / HTTP/1.1\r\n"[..],
            &[0x80, 2, 0, 1, 0, 0, 0, 0],
            &[0x80, 3, 0, 1, 0, 0, 0, 2, 1, 1],
            &[0, 0, 0, 1, 0, 255, 255, 255],
            &control(SYN_STREAM, 0, &[1; 40]),
        ] {
            assert_eq!(Tunnel::new().hear(nonsense), Err(Broken), "{nonsense:?}");
        }
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        for _ in 0..2_000 {
            let mut tunnel = Tunnel::new();
            let opened = Client::new().opens(1, &[("streamtype", "data"), ("port", "80"), ("requestid", "0")]);
            let mut bytes = opened;
            for _ in 0..4 {
                let at = usize::from(next()) % bytes.len();
                bytes[at] = next();
            }
            let _ = tunnel.hear(&bytes);
            let _ = tunnel.say(&bytes);
        }
    }
}
