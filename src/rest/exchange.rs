//! A whole exchange over HTTP: method, path, headers and body go in; status, headers and body come out.
//!
//! This is all that stands between a socket and the API server. A front end reads a request off its connection, hands it to
//! [`exchange`], and writes what it gets; it decides nothing. How a [`Request`] reaches the server is the caller's: `ask`
//! carries it there, in a cluster as an event each way, in a test as a call.
//!
//! Mirrors what `k8s.io/apiserver/pkg/endpoints/handlers` and `responsewriters` do around the handlers themselves.

use std::net::Ipv4Addr;
use std::rc::Rc;

use kinds::printers::View;
use object::time::Instant;
use object::{Discovery, Kind};
use wire::{Answer, Body, Connection, Request, Response, User, Verb};

use super::headers::impersonation;
use super::options::Query;
use super::{Call, HttpAnswer, HttpRequest, TEXT, call, is_built_in, respond};

/// A request as it stands on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawRequest<'a> {
    /// `GET`, `POST` …
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// Names and values of the headers, in order.
    pub headers: &'a [(&'a str, &'a str)],
    /// What was sent.
    pub body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// A header, empty if it is missing.
    pub fn header(&self, name: &str) -> &'a str {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The program that sent it, which is the first part of its `User-Agent`: `kubectl`, `curl` …
    pub fn program(&self) -> &'a str {
        let program = self.header("User-Agent").split(['/', ' ']).next();
        program.filter(|name| !name.is_empty()).unwrap_or("unknown")
    }

    /// The token that it shows, empty if there is none.
    pub fn bearer(&self) -> &'a str {
        let (scheme, token) = self.header("Authorization").split_once(' ').unwrap_or_default();
        if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" }
    }

    /// Whether the client wants the connection to go on as a WebSocket.
    fn upgrades(&self) -> bool {
        self.header("Upgrade").eq_ignore_ascii_case("websocket")
    }

    /// Whether JSON is laid out for people: if the query says so, and else for the programs that they type. Mirrors
    /// `isPrettyPrint` of `endpoints/handlers/negotiation`.
    fn is_pretty(&self) -> bool {
        let (_, query) = self.target.split_once('?').unwrap_or_default();
        match Query::parse(query).get("pretty") {
            None | Some("") => {
                let agent = self.header("User-Agent");
                ["curl", "Wget", "Mozilla/5.0"].iter().any(|program| agent.starts_with(program))
            }
            Some(said) => matches!(said, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        }
    }
}

impl RawRequest<'_> {
    /// Whether an object is to be shown in another form than its own. Mirrors `targetEncodingForTransform`, whose encoder
    /// lays errors out.
    fn wants_another_form(&self) -> bool {
        let forms = ["as=Table", "as=PartialObjectMetadata"];
        self.header("Accept").split(',').next().is_some_and(|first| forms.iter().any(|form| first.contains(form)))
    }
}

/// What a request is answered, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAnswer {
    /// The HTTP status.
    pub code: u16,
    /// The headers, but for `Content-Length`.
    pub headers: Vec<(&'static str, String)>,
    /// What is sent; nothing for a HEAD.
    pub body: String,
}

impl RawAnswer {
    /// A header, empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

impl From<HttpAnswer> for RawAnswer {
    fn from(answer: HttpAnswer) -> RawAnswer {
        let HttpAnswer { code, content_type, headers: more, body } = answer;
        let cached = more.iter().any(|(name, _)| *name == "Cache-Control");
        let cached = (!cached).then_some(("Cache-Control", "no-cache, private"));
        let of_type = (!content_type.is_empty()).then_some(("Content-Type", content_type));
        // As `http.Error` of Go does.
        let sniff = (content_type == TEXT && code >= 400).then_some(("X-Content-Type-Options", "nosniff"));
        let named = cached.into_iter().chain(of_type).chain(sniff).map(|(name, value)| (name, value.to_owned()));
        RawAnswer { code, headers: named.chain(more).collect(), body }
    }
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A user that the connection itself names, as a client's certificate does.
    Known(Rc<User>),
    /// A client on the network: a token says which user it is; without one it is anonymous.
    At {
        /// From this address.
        peer: Ipv4Addr,
        /// As which traces name it.
        agent: Rc<str>,
    },
}

impl Caller {
    /// The user who asks, and how the request came.
    fn user(&self, raw: &RawRequest) -> (Rc<User>, Option<Rc<Connection>>) {
        let acting_as = impersonation(raw.headers).map(Rc::new);
        match self {
            Caller::Known(user) => (Rc::new(User { acting_as, ..(**user).clone() }), None),
            Caller::At { peer, agent } => {
                let user = User { acting_as, ..User::anonymous(agent) };
                let (user_agent, bearer) = (raw.header("User-Agent").to_owned(), raw.bearer().to_owned());
                (Rc::new(user), Some(Rc::new(Connection { peer: *peer, user_agent, bearer })))
            }
        }
    }
}

/// What came of an exchange.
#[derive(Clone, Debug)]
pub enum Told {
    /// This is the answer.
    Answer(RawAnswer),
    /// The request is for a watch, which is yet to be opened: status 200, and a [`super::watch_line`] for each event.
    /// Its lines need to know the kinds that users have defined.
    Watch(Box<Call>, Rc<Discovery>),
    /// What follows is between the client and a kubelet or a server behind a proxy, which the answer names.
    PassedOn(Box<Call>, Response),
    /// There is no server: the connection is closed.
    Closed,
}

/// One request and its answer. `ask` gives none where no server answers.
pub async fn exchange(
    raw: &RawRequest<'_>,
    caller: &Caller,
    now: impl Fn() -> Instant,
    ask: &impl AsyncFn(Request) -> Option<Answer>,
) -> Told {
    let (user, connection) = caller.user(raw);
    let Some(known) = kinds_for(raw.target, ask).await else { return Told::Closed };
    let http = HttpRequest {
        method: raw.method,
        target: raw.target,
        content_type: raw.header("Content-Type"),
        accept: raw.header("Accept"),
        body: raw.body,
        user: Some(user),
        connection,
    };
    let call = match call(&http, &known) {
        Ok(call) => call,
        Err(answer) => return Told::Answer(written(raw, answer)),
    };
    if call.request.verb == Verb::Watch && !matches!(call.request.body, Body::Refused(_)) {
        return Told::Watch(Box::new(call), Rc::new(known));
    }
    match ask(call.request.clone()).await {
        None => Told::Closed,
        Some(Answer { result: Ok(proxied @ Response::Proxied { .. }), .. }) => Told::PassedOn(Box::new(call), proxied),
        Some(Answer { result: Ok(passed @ Response::PassedOn { .. }), .. })
            if !call.is_connection() || raw.upgrades() =>
        {
            Told::PassedOn(Box::new(call), passed)
        }
        Some(answer) => {
            Told::Answer(written(raw, respond(&call, &answer, View { now: now().timestamp(), known: &known })))
        }
    }
}

/// The kinds that users have defined, for a path that leads to none of the built-in ones. The server knows them: no user is
/// asked whether they may.
async fn kinds_for(target: &str, ask: &impl AsyncFn(Request) -> Option<Answer>) -> Option<Discovery> {
    if is_built_in(target) {
        return Some(Discovery::default());
    }
    let kind = Kind::CustomResourceDefinition;
    let own = Request::new(Rc::new(User::loopback()), Verb::List, kind, "", "", Body::None);
    Some(match ask(own).await?.result {
        Ok(Response::List { items, .. }) => Discovery::of(&items),
        _ => Discovery::default(),
    })
}

/// An answer with all its headers.
fn written(raw: &RawRequest, answer: HttpAnswer) -> RawAnswer {
    let mut answer = RawAnswer::from(answer);
    let tag = answer.header("Etag");
    if answer.code == 200 && !tag.is_empty() && raw.header("If-None-Match").split(',').any(|had| had.trim() == tag) {
        answer.headers.retain(|(name, _)| !matches!(*name, "Content-Type" | "Last-Modified"));
        return RawAnswer { code: 304, body: String::new(), ..answer };
    }
    let is_json = answer.header("Content-Type") == "application/json";
    match raw.method {
        "HEAD" => answer.body.clear(),
        _ if is_json && (raw.is_pretty() || answer.code >= 400 && raw.wants_another_form()) => {
            answer.body = laid_out(&answer.body)
        }
        _ => {}
    }
    answer
}

/// The same JSON with a line for each thing, in the order that it has. Mirrors `json.Indent`.
fn laid_out(json: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0, false, false);
    let mut rest = json.trim_end().chars().peekable();
    while let Some(c) = rest.next() {
        if quoted {
            out.push(c);
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        let begins = matches!(c, '{' | '[');
        match c {
            '{' | '[' if rest.peek().is_some_and(|next| matches!(next, '}' | ']')) => {
                out.extend([c].into_iter().chain(rest.next()));
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if matches!(c, '}' | ']') {
            out += &format!("\n{}", "  ".repeat(depth));
        }
        out.push(c);
        match c {
            '"' => quoted = true,
            ':' => out.push(' '),
            _ if begins || c == ',' => out += &format!("\n{}", "  ".repeat(depth)),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_in_its_own_order() {
        let compact = "{\"kind\":\"a\",\"b\":[1,{}],\"a\":{\"c\":\"{\\\":,[\"},\"d\":[]}\n";
        let expected = "{\n  \"kind\": \"a\",\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"c\": \"{\\\":,[\"\n  },\n  \"d\": []\n}";
        assert_eq!(laid_out(compact), expected);
    }

    #[test]
    fn people_get_lines_and_programs_get_none() {
        let pretty = |target, headers| RawRequest { method: "GET", target, headers, body: b"" }.is_pretty();
        let curl: &[(&str, &str)] = &[("user-agent", "curl/8.5.0")];
        assert!(pretty("/api", curl) && pretty("/api?pretty=true", &[]) && pretty("/api?pretty=1", &[]));
        assert!(!pretty("/api", &[]) && !pretty("/api?pretty=0", curl) && !pretty("/api?pretty=yes", curl));
    }
}
