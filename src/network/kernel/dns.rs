//! DNS messages, as a packet's payload carries them: a question, and an answer's code and records.
//!
//! They travel as text that a reader understands; the first line is what a sniffer would show.

use std::fmt;
use std::net::Ipv4Addr;

/// The port that DNS servers listen on.
pub const PORT: u16 = 53;

/// What sort of record is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordType {
    /// An IPv4 address.
    A,
    /// An IPv6 address.
    Aaaa,
    /// Another name for the same.
    Cname,
    /// Where a service of a domain is: port and host.
    Srv,
    /// The name of an address.
    Ptr,
    /// A text.
    Txt,
}

impl RecordType {
    /// As a zone file writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            RecordType::A => "A",
            RecordType::Aaaa => "AAAA",
            RecordType::Cname => "CNAME",
            RecordType::Srv => "SRV",
            RecordType::Ptr => "PTR",
            RecordType::Txt => "TXT",
        }
    }

    /// Reads it, in any case.
    pub fn parse(text: &str) -> Option<RecordType> {
        use RecordType::{A, Aaaa, Cname, Ptr, Srv, Txt};
        [A, Aaaa, Cname, Srv, Ptr, Txt].into_iter().find(|known| known.as_str().eq_ignore_ascii_case(text))
    }
}

/// A question. Names are without the dot at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name.
    pub name: String,
    /// What is wanted of it.
    pub kind: RecordType,
}

/// One record of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose.
    pub name: String,
    /// Seconds that it may be remembered.
    pub ttl: u32,
    /// What sort.
    pub kind: RecordType,
    /// As a zone file writes it: `10.96.0.10`, `0 100 80 web.default.svc.cluster.local`.
    pub value: String,
}

/// How a server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Code {
    /// The name exists; there may be no records of the type asked for.
    #[default]
    NoError,
    /// There is no such name.
    NxDomain,
    /// The server cannot say.
    ServFail,
    /// The server will not say.
    Refused,
}

impl Code {
    /// As `dig` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::NoError => "NOERROR",
            Code::NxDomain => "NXDOMAIN",
            Code::ServFail => "SERVFAIL",
            Code::Refused => "REFUSED",
        }
    }
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How it went.
    pub code: Code,
    /// The records, CNAMEs first.
    pub records: Vec<Record>,
}

impl Answer {
    /// The addresses among the records.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let of_a = self.records.iter().filter(|record| record.kind == RecordType::A);
        of_a.filter_map(|record| record.value.parse().ok()).collect()
    }

    /// The payload that answers a question.
    pub fn encode(&self, question: &Question) -> String {
        let records: String = self.records.iter().map(|record| format!("\n{record}")).collect();
        let values: Vec<&str> = self.records.iter().map(|record| record.value.as_str()).collect();
        format!("{} {question} {}", self.code.as_str(), values.join(", ")).trim_end().to_owned() + &records
    }

    /// Reads such a payload. None if it is none.
    pub fn decode(payload: &str) -> Option<Answer> {
        let (first, rest) = payload.split_once('\n').unwrap_or((payload, ""));
        let known = [Code::NoError, Code::NxDomain, Code::ServFail, Code::Refused];
        let code = known.into_iter().find(|code| first.split(' ').next() == Some(code.as_str()))?;
        Some(Answer { code, records: rest.lines().filter_map(Record::decode).collect() })
    }
}

impl Question {
    /// Reads a payload. None if it is no question.
    pub fn decode(payload: &str) -> Option<Question> {
        let (kind, name) = payload.split_once("? ")?;
        Some(Question { name: name.to_owned(), kind: RecordType::parse(kind)? })
    }
}

impl fmt::Display for Question {
    /// `A? web.default.svc.cluster.local`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}? {}", self.kind.as_str(), self.name)
    }
}

impl Record {
    fn decode(line: &str) -> Option<Record> {
        let mut words = line.splitn(5, ' ');
        let (name, ttl, _, kind) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (name, ttl, kind) = (name.to_owned(), ttl.parse().ok()?, RecordType::parse(kind)?);
        Some(Record { name, ttl, kind, value: words.next()?.to_owned() })
    }
}

impl fmt::Display for Record {
    /// As a zone file writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} IN {} {}", self.name, self.ttl, self.kind.as_str(), self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        let question = Question { name: "_http._tcp.web.default.svc.cluster.local".into(), kind: RecordType::Srv };
        assert_eq!(Question::decode(&question.to_string()), Some(question.clone()));
        let record = |kind, value: &str| Record { name: "web".into(), ttl: 30, kind, value: value.into() };
        let answer = Answer {
            code: Code::NoError,
            records: vec![record(RecordType::Srv, "0 100 80 web.x"), record(RecordType::A, "10.96.0.9")],
        };
        let text = answer.encode(&question);
        assert!(text.starts_with("NOERROR SRV? _http._tcp.web.default.svc.cluster.local 0 100 80 web.x, 10.96.0.9\n"));
        assert_eq!(Answer::decode(&text), Some(answer));
        let none = Answer { code: Code::NxDomain, records: Vec::new() };
        assert_eq!(none.encode(&question), format!("NXDOMAIN {question}"));
        assert_eq!(Answer::decode("GET / HTTP/1.1"), None);
        assert_eq!(Question::decode("NOERROR A? x"), None);
    }
}
