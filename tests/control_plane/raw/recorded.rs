//! The recorded requests and answers, and what later requests say of earlier answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use kubestep_tests::project::from_root;
use object::{Discovery, base64};
use rest::exchange::RawAnswer;
use serde::de::IgnoredAny;
use serde_json::Value;

/// What ran while a part was recorded. Each began on a fresh cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The API server alone.
    Alone,
    /// With controllers and scheduler.
    Controllers,
    /// The same, asked by several users.
    Users,
}

/// One request and what it was answered.
pub struct Case {
    pub seq: u64,
    pub block: Block,
    /// Its topic and name.
    pub name: String,
    pub method: String,
    pub target: String,
    pub body: String,
    /// Who asked; empty: the administrator.
    pub user: String,
    /// All else that was recorded.
    pub line: Value,
}

/// All cases in the order in which they were sent; none, if the recording is not at hand.
pub fn cases() -> Option<Vec<Case>> {
    Some(recording("real/raw.jsonl")?.lines().map(Case::parse).collect())
}

/// A recording of what was said on the wire, if it is at hand.
pub fn recording(name: &str) -> Option<String> {
    let folder = std::env::var_os("KUBESTEP_RECORDINGS").map_or_else(|| from_root("../shared"), PathBuf::from);
    let path = folder.join("wire").join(name);
    let text = fs::read_to_string(&path);
    if text.is_err() {
        println!("skipped: needs {}", path.display());
    }
    text.ok()
}

/// The method, the target and the body of each request that a program has sent with a body that is no text.
pub fn binary_bodies(program: &str) -> Option<Vec<(String, String, Vec<u8>)>> {
    let text = recording(&format!("real/{program}.jsonl"))?;
    let mut bodies = Vec::new();
    for line in text.lines() {
        let command: Value = serde_json::from_str(line).expect("each line is JSON");
        for request in command["requests"].as_array().into_iter().flatten() {
            let said = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
            bodies.extend(bytes(&request["request"]).map(|body| (said("method"), said("path"), body)));
        }
    }
    Some(bodies)
}

/// What was sent, if that was no text and was kept.
fn bytes(request: &Value) -> Option<Vec<u8>> {
    let text = request["base64"].as_str()?.trim_end_matches('=').replace('+', "-").replace('/', "_");
    Some(base64::decode(&text).expect("it is base64"))
}

impl Case {
    fn parse(line: &str) -> Case {
        let value: Value = serde_json::from_str(line).expect("each line is JSON");
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        // One was put between two others later.
        let seq = value["seq"].as_f64().expect("each has a number") as u64;
        let block = match seq {
            0..=10_000 => Block::Alone,
            10_001..=20_000 => Block::Controllers,
            _ => Block::Users,
        };
        let body = match &value["request"] {
            Value::String(text) => text.clone(),
            Value::Null if value.get("request").is_none() => String::new(),
            _ => as_sent(line).to_owned(),
        };
        let name = format!("{}/{}", text("topic"), text("case"));
        let (method, target, user) = (text("method"), text("path"), text("user"));
        Case { seq, block, name, method, target, body, user, line: value }
    }

    /// What was sent with it.
    pub fn headers(&self, token: &str) -> Vec<(String, String)> {
        let field = |field: &str| self.line[field].as_str().map(str::to_owned);
        let mut headers: Vec<(String, String)> = Vec::new();
        headers.extend(field("request_content_type").map(|kind| ("Content-Type".to_owned(), kind)));
        headers.push(("Accept".to_owned(), field("accept").unwrap_or_else(|| "application/json".to_owned())));
        match self.user.as_str() {
            "bad" => headers.push(("Authorization".to_owned(), "Bearer nonsense".to_owned())),
            "token from an earlier answer" => headers.push(("Authorization".to_owned(), format!("Bearer {token}"))),
            _ => {}
        }
        let more = self.line["request_headers"].as_object().into_iter().flatten();
        headers.extend(more.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())));
        headers
    }

    /// Whether it shows a service account's token.
    pub fn needs_token(&self) -> bool {
        self.user == "token from an earlier answer" || self.body.contains("\"eyJhbGci")
    }

    /// What was sent, if that was no text.
    pub fn binary(&self) -> Option<Vec<u8>> {
        bytes(&self.line["request"])
    }

    /// The path of the object that it is about: of one that is made, where it will be.
    pub fn object(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default().trim_end_matches('/');
        if self.method == "POST" {
            let name = self.line["response"]["metadata"]["name"].as_str().unwrap_or_default();
            return format!("{path}/{name}");
        }
        let parts = ["/status", "/scale", "/resize", "/ephemeralcontainers", "/finalize", "/approval"];
        let part = parts.iter().find_map(|part| path.strip_suffix(part));
        part.unwrap_or(path).to_owned()
    }

    /// What is answered in another encoding than JSON and YAML.
    pub fn is_left_out(&self) -> bool {
        let text = |field: &str| self.line[field].as_str().unwrap_or_default();
        let binary = ["accept", "content_type"].iter().any(|field| text(field).contains("protobuf"));
        binary || self.line["request"]["length"].is_number() && self.binary().is_none()
    }
}

/// The text of the field `request`, as it stands in the line.
fn as_sent(line: &str) -> &str {
    const FIELD: &str = "\"request\": ";
    let at = line.find(FIELD).expect("the field was found when the line was read") + FIELD.len();
    let mut values = serde_json::Deserializer::from_str(&line[at..]).into_iter::<IgnoredAny>();
    values.next().expect("a field has a value").expect("it could be read");
    &line[at..at + values.byte_offset()]
}

/// What stood in the recorded answers, and stands in ours instead: uids, versions, generated names.
#[derive(Default)]
pub struct Known {
    words: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    token: String,
    /// The paths of objects that were there, and the first case about each.
    objects: BTreeMap<String, u64>,
    /// The cases that are here.
    here: BTreeSet<u64>,
}

impl Known {
    /// Nothing yet, but which cases there are.
    pub fn of(cases: &[Case]) -> Known {
        Known { here: cases.iter().map(|case| case.seq).collect(), ..Known::default() }
    }

    /// Learns from the two answers to a case.
    pub fn learn(&mut self, case: &Case, answer: &RawAnswer) {
        let path = case.object();
        if (200..300).contains(&answer.code) {
            self.objects.entry(path).or_insert(case.seq);
        }
        if let Some(tag) = case.line["response_headers"]["Etag"].as_str() {
            self.words.insert(tag.to_owned(), answer.header("Etag").to_owned());
        }
        self.learn_token(answer);
        let Ok(ours) = serde_json::from_str::<Value>(&answer.body) else { return };
        self.pair(&case.line["response"], &ours);
    }

    fn pair(&mut self, real: &Value, ours: &Value) {
        match (real, ours) {
            (Value::Object(real), Value::Object(ours)) => {
                let generated = real.contains_key("generateName");
                for (key, value) in real {
                    let Some(other) = ours.get(key) else { continue };
                    match (key.as_str(), value.as_str(), other.as_str()) {
                        ("resourceVersion", Some(real), Some(ours)) => {
                            self.versions.entry(real.to_owned()).or_insert_with(|| ours.to_owned());
                        }
                        ("uid" | "continue" | "token", Some(real), Some(ours)) if real.len() > 20 => {
                            self.words.insert(real.to_owned(), ours.to_owned());
                        }
                        ("clusterIP", Some(real), Some(ours)) if real.starts_with("10.96.") => {
                            self.words.insert(real.to_owned(), ours.to_owned());
                        }
                        ("name", Some(real), Some(ours)) if generated => {
                            self.words.insert(real.to_owned(), ours.to_owned());
                        }
                        _ => self.pair(value, other),
                    }
                }
            }
            (Value::Array(real), Value::Array(ours)) => {
                real.iter().zip(ours).for_each(|(real, ours)| self.pair(real, ours))
            }
            _ => {}
        }
    }

    /// Whether what differs may come of cases that are not here: the object was made by one of them, the version that the
    /// request names was, or its token, or the object has changed since the last case about it.
    pub fn lacks(&self, case: &Case, answer: &RawAnswer, differences: &[(String, String)]) -> bool {
        let path = case.object();
        let (real, ours) = (case.line["http_status"].as_u64().unwrap_or_default(), u64::from(answer.code));
        let is_known = self.objects.keys().any(|there| *there == path);
        let is_object = path.starts_with("/api/") || path.starts_with("/apis/");
        if real != 404 && ours == 404 && !is_known && is_object
            || real == 200 && ours == 201
            || real == 409 && ours == 201
        {
            return !is_known;
        }
        let version =
            case.line["request"]["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty());
        if version.is_some_and(|version| version != "0" && !self.versions.contains_key(version)) {
            return true;
        }
        if case.target.contains("continue=ey") && !self.words.keys().any(|word| case.target.contains(word.as_str())) {
            return true;
        }
        let since = self.objects.get(&path).copied().unwrap_or(case.seq);
        let gap = (since + 1..case.seq).any(|seq| !self.here.contains(&seq));
        let of_state = |(kind, _): &(String, String)| {
            let parts = [".metadata.generation", " .data", ".status.conditions", "containers[].name"];
            parts.iter().any(|part| kind.contains(part))
        };
        let is_patch = case.method == "PATCH" && (real, ours) == (200, 422);
        gap && (is_patch || differences.iter().any(of_state))
    }

    /// What is sent here where this was sent there.
    pub fn translate(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // The hash of a document says what it is made from.
        if let Some((path, hash)) = text.split_once("?hash=").filter(|(_, hash)| hash.len() > 100) {
            let known = Discovery::default();
            let found = rest::openapi::page(path, true, &known);
            let tag =
                found.headers.iter().find(|(name, _)| *name == "Etag").map_or("", |(_, tag)| tag.trim_matches('"'));
            text = text.replace(hash, tag);
        }
        for (real, ours) in &self.words {
            if text.contains(real) {
                text = text.replace(real, ours);
            }
        }
        // A token that this server has not signed.
        if let Some(at) = text.find("\"eyJhbGci").filter(|_| !self.token.is_empty()) {
            let end = text[at + 1..].find('"').map_or(text.len(), |end| at + 1 + end);
            text.replace_range(at + 1..end, &self.token);
        }
        const VERSION: &str = "\"resourceVersion\": \"";
        let mut out = String::new();
        while let Some((before, after)) = text.split_once(VERSION) {
            let (version, rest) = after.split_once('"').unwrap_or((after, ""));
            let ours = self.versions.get(version).map_or(version, String::as_str);
            out += &format!("{before}{VERSION}{ours}\"");
            text = rest.to_owned();
        }
        out + &text
    }

    /// Learns the token of an answer, if it has one.
    pub fn learn_token(&mut self, answer: &RawAnswer) {
        let Ok(ours) = serde_json::from_str::<Value>(&answer.body) else { return };
        if let Some(token) = ours["status"]["token"].as_str() {
            token.clone_into(&mut self.token);
        }
    }

    /// The token that was issued last.
    pub fn token(&self) -> String {
        self.token.clone()
    }
}
