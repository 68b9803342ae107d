//! Exercise 23: an object of a kind of one's own, whose status is a resource of its own, and a small API server that has it.

use std::collections::{BTreeMap, VecDeque};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::pause::{Rest, pauses};
use crate::process;
pub use crate::update::Refused;
use object::time::Instant;

/// A kind of one's own: several Pods of one image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    /// Its name, its uid, and how often its spec has changed (`generation`).
    pub metadata: ObjectMeta,
    /// What its user asks for.
    pub spec: SiteSpec,
    /// What programs have seen of it.
    pub status: Option<SiteStatus>,
}

/// What the user of a Site asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteSpec {
    /// So many Pods.
    pub replicas: i32,
    /// Of this image.
    pub image: String,
}

/// What programs have seen of a Site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    /// The generation that the operator has acted upon.
    pub observed_generation: Option<i64>,
    /// So many Pods are ready.
    pub ready_replicas: Option<i32>,
    /// Where it is found. Another program writes this.
    pub address: Option<String>,
    /// One of each type.
    pub conditions: Option<Vec<Condition>>,
}

/// What can be asked about one Site.
pub trait Api {
    /// Reads it.
    ///
    /// # Errors
    /// That it is not there, or that the API server cannot answer.
    fn get(&mut self) -> Result<Site, Refused>;

    /// Writes all of it but its status, if it is still of the `metadata.resourceVersion` that it carries; without one in any
    /// case. Another spec is another generation. Gives it as it is now.
    ///
    /// # Errors
    /// The same, that it has another version by now, and that it is no valid Site.
    fn update(&mut self, site: Site) -> Result<Site, Refused>;

    /// Writes its status and nothing else, in the same way.
    ///
    /// # Errors
    /// The same.
    fn update_status(&mut self, site: Site) -> Result<Site, Refused>;
}

/// What a clock shows, in seconds, as a condition has it.
pub fn time(seconds: u64) -> Time {
    Instant(seconds.saturating_mul(1_000_000_000)).time()
}

/// What a condition has, in seconds, as a clock shows it.
pub fn seconds(time: &Time) -> u64 {
    Instant::from_time(time).0 / 1_000_000_000
}

/// What others do before one call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Meanwhile {
    /// They do nothing.
    Nothing,
    /// A user adds a label.
    Labelled,
    /// A user asks for one Pod more.
    Scaled,
    /// Another program writes its own condition and the address.
    Reported,
    /// Another copy of the operator writes the opposite of what Ready says.
    Turned,
    /// A user asks for one Pod more, and another copy of the operator reports on that.
    Overtaken,
    /// It is deleted.
    Deleted,
    /// It is deleted, and made anew with the same name.
    Recreated,
    /// The call fails.
    Fails,
}

impl Meanwhile {
    /// All of them.
    pub const ALL: [Meanwhile; 9] = [
        Meanwhile::Nothing,
        Meanwhile::Labelled,
        Meanwhile::Scaled,
        Meanwhile::Reported,
        Meanwhile::Turned,
        Meanwhile::Overtaken,
        Meanwhile::Deleted,
        Meanwhile::Recreated,
        Meanwhile::Fails,
    ];

    /// As a sentence without its end.
    pub fn in_words(self) -> &'static str {
        match self {
            Meanwhile::Nothing => "nothing happens",
            Meanwhile::Labelled => "a user adds a label",
            Meanwhile::Scaled => "a user asks for one Pod more",
            Meanwhile::Reported => "another program writes its condition and the address",
            Meanwhile::Turned => "another copy of the operator turns Ready round",
            Meanwhile::Overtaken => "a user asks for one Pod more, and another copy of the operator reports on that",
            Meanwhile::Deleted => "a user deletes it",
            Meanwhile::Recreated => "a user deletes it and makes a new one",
            Meanwhile::Fails => FAILS,
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The Site as the API server has it at first.
    pub stored: Site,
    /// The Site as the operator has acted upon it.
    pub site: Site,
    /// So many Pods are ready; none: they could not be counted.
    pub ready: Option<i32>,
    /// What the clock shows.
    pub now: u64,
    /// What others do before each call; nothing, when it has come to its end.
    pub script: Vec<Meanwhile>,
}

/// What the function has said and called, and the Site as it is then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it has said.
    pub said: Result<(), Refused>,
    /// `get`, `update` or `update_status`, in their order.
    pub calls: Vec<String>,
    /// The Site, its conditions in the order of their types; none: it is gone.
    pub left: Option<Site>,
    /// Whether it pauses after a conflict.
    pub pauses: bool,
}

/// The function: it reports on a Site with so many ready Pods, at this time.
pub type Report = fn(&Site, Option<i32>, u64, &mut dyn Api) -> Result<(), Refused>;

/// Answers with this function.
pub fn answer(report: Report) {
    process::answer(|case: &Case| {
        let talk = || talk(case, |api| report(&case.site, case.ready, case.now, api));
        let (outcome, rest) = talk();
        Outcome { pauses: pauses(&rest, || talk().1), ..outcome }
    });
}

/// What comes of a function that talks with the small API server.
pub fn converse(case: &Case, report: impl FnOnce(&mut dyn Api) -> Result<(), Refused>) -> Outcome {
    talk(case, report).0
}

/// The same, and how it rests.
fn talk(case: &Case, report: impl FnOnce(&mut dyn Api) -> Result<(), Refused>) -> (Outcome, Rest) {
    let mut server = Server::new(case);
    let said = report(&mut server);
    let mut left = server.site;
    if let Some(site) = &mut left {
        // Which number it has does not matter, and neither does the order of conditions.
        site.metadata.resource_version = None;
        let conditions = site.status.iter_mut().flat_map(|status| &mut status.conditions);
        conditions.for_each(|all| all.sort_by(|one, other| one.type_.cmp(&other.type_)));
    }
    (Outcome { said, calls: server.calls, left, pauses: false }, server.rest)
}

/// An API server with one Site.
struct Server {
    site: Option<Site>,
    revision: u64,
    now: u64,
    script: VecDeque<Meanwhile>,
    calls: Vec<String>,
    rest: Rest,
}

impl Server {
    fn new(case: &Case) -> Server {
        let script = case.script.iter().copied().collect();
        let site = Some(case.stored.clone());
        let mut server = Server { site, revision: 6, now: case.now, script, calls: Vec::new(), rest: Rest::default() };
        server.change(|_| {});
        server
    }

    /// What others do before this call.
    fn meanwhile(&mut self, call: &str) -> Result<(), Refused> {
        self.rest.called();
        self.calls.push(call.to_owned());
        let (revision, before) = (self.revision, time(self.now.saturating_sub(7)));
        match self.script.pop_front().unwrap_or(Meanwhile::Nothing) {
            Meanwhile::Nothing => {}
            Meanwhile::Labelled => self.change(|site| {
                site.metadata.labels.get_or_insert_default().insert(format!("seen-{revision}"), "yes".to_owned());
            }),
            Meanwhile::Scaled => self.change(scale),
            Meanwhile::Reported => self.change(|site| {
                let status = site.status.get_or_insert_default();
                status.address = Some(format!("192.0.2.{revision}"));
                let message = format!("the backup of {revision} is there");
                put(status, condition("Backup", "True", "Done", &message, None, before));
            }),
            Meanwhile::Turned => self.change(|site| turn(site, before)),
            Meanwhile::Overtaken => self.change(|site| {
                scale(site);
                turn(site, before);
            }),
            Meanwhile::Deleted => self.site = None,
            Meanwhile::Recreated => self.change(|site| {
                let uid = Some(format!("uid-{revision}"));
                let (name, namespace) = (site.metadata.name.take(), site.metadata.namespace.take());
                let generation = Some(1);
                site.metadata = ObjectMeta { name, namespace, uid, generation, ..ObjectMeta::default() };
                site.status = None;
            }),
            Meanwhile::Fails => return Err(Refused::Other(FAILS.to_owned())),
        }
        Ok(())
    }

    /// Changes the Site, which has another version then.
    fn change(&mut self, change: impl FnOnce(&mut Site)) {
        let Some(site) = &mut self.site else { return };
        change(site);
        self.revision += 1;
        site.metadata.resource_version = Some(self.revision.to_string());
    }

    /// Writes the part of `sent` that `take` gives the Site. One that changes nothing is no new version.
    fn write(&mut self, sent: &Site, take: impl FnOnce(&mut Site)) -> Result<Site, Refused> {
        let stored = self.site.clone().ok_or(Refused::NotFound)?;
        let same = |sent: &Option<String>, stored: &Option<String>| sent.is_none() || sent == stored;
        let (one, other) = (&sent.metadata, &stored.metadata);
        if one.name != other.name {
            return Err(Refused::Other("the name of the object does not match the name on the URL".to_owned()));
        }
        if !same(&one.resource_version, &other.resource_version) || !same(&one.uid, &other.uid) {
            self.rest.refused();
            return Err(Refused::Conflict);
        }
        let mut next = stored.clone();
        take(&mut next);
        if let Some(why) = next.status.as_ref().and_then(invalid) {
            return Err(Refused::Other(format!("Site.example.com \"blog\" is invalid: status.conditions{why}")));
        }
        if next != stored {
            self.change(|site| *site = next);
        }
        self.site.clone().ok_or(Refused::NotFound)
    }
}

impl Api for Server {
    fn get(&mut self) -> Result<Site, Refused> {
        self.meanwhile("get")?;
        self.site.clone().ok_or(Refused::NotFound)
    }

    fn update(&mut self, site: Site) -> Result<Site, Refused> {
        self.meanwhile("update")?;
        self.write(&site, |stored| {
            stored.metadata.labels.clone_from(&site.metadata.labels);
            stored.metadata.annotations.clone_from(&site.metadata.annotations);
            if stored.spec != site.spec {
                stored.spec.clone_from(&site.spec);
                stored.metadata.generation = stored.metadata.generation.map(|generation| generation + 1);
            }
        })
    }

    fn update_status(&mut self, site: Site) -> Result<Site, Refused> {
        self.meanwhile("update_status")?;
        self.write(&site, |stored| stored.status.clone_from(&site.status))
    }
}

/// A user asks for one Pod more.
fn scale(site: &mut Site) {
    site.spec.replicas += 1;
    site.metadata.generation = site.metadata.generation.map(|generation| generation + 1);
}

/// Another copy of the operator reports on the present generation the opposite of what was said.
fn turn(site: &mut Site, at: Time) {
    let generation = site.metadata.generation;
    let status = site.status.get_or_insert_default();
    let is_ready = status.conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    let (says, reason) = if is_ready { ("False", "SomeNotReady") } else { ("True", "AllReady") };
    status.observed_generation = generation;
    put(status, condition("Ready", says, reason, "as another copy saw it", generation, at));
}

/// A condition.
fn condition(sort: &str, status: &str, reason: &str, message: &str, generation: Option<i64>, since: Time) -> Condition {
    Condition {
        type_: sort.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since,
    }
}

/// Puts a condition in the place of the one of its type, or behind the others.
fn put(status: &mut SiteStatus, condition: Condition) {
    let all = status.conditions.get_or_insert_default();
    match all.iter_mut().find(|one| one.type_ == condition.type_) {
        Some(one) => *one = condition,
        None => all.push(condition),
    }
}

/// What the schema of the kind does not allow in a status: where, and why.
fn invalid(status: &SiteStatus) -> Option<String> {
    let mut types = BTreeMap::new();
    for (n, one) in status.conditions.iter().flatten().enumerate() {
        if types.insert(&one.type_, n).is_some() {
            return Some(format!("[{n}].type: Duplicate value: \"{}\"", one.type_));
        }
        if !["True", "False", "Unknown"].contains(&&*one.status) {
            return Some(format!("[{n}].status: Unsupported value: \"{}\"", one.status));
        }
        if one.reason.is_empty() {
            return Some(format!("[{n}].reason: Invalid value: \"\": should be at least 1 chars long"));
        }
    }
    None
}

/// What the API server says when it cannot answer.
const FAILS: &str = "etcdserver: request timed out";
