//! Exercise 02: a ConfigMap that others may change meanwhile, and a small API server that has it.

use std::collections::{BTreeMap, VecDeque};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::{Deserialize, Serialize};

use crate::pause::{Rest, pauses};
use crate::process;
use object::Accessor;

/// What can be asked about one ConfigMap.
pub trait Api {
    /// Reads it.
    ///
    /// # Errors
    /// That it is not there, or that the API server cannot answer.
    fn get(&mut self) -> Result<ConfigMap, Refused>;

    /// Writes it, if no client has written it since the `metadata.resourceVersion` that it carries; without one in any case.
    /// Gives it as it is now.
    ///
    /// # Errors
    /// The same, and that another client has.
    fn update(&mut self, object: ConfigMap) -> Result<ConfigMap, Refused>;
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refused {
    /// 404: there is none.
    NotFound,
    /// 409: it is another one than that which was read.
    Conflict,
    /// Anything else, which trying again at once does not mend.
    Other(String),
}

/// What others do before one call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Meanwhile {
    /// They do nothing.
    Nothing,
    /// Another client counts too.
    Counted,
    /// Another client changes `data.note`, and says so in a label.
    Noted,
    /// Another client adds a label.
    Labelled,
    /// It is deleted.
    Deleted,
    /// It is deleted, and created again without data.
    Recreated,
    /// The call fails.
    Fails,
}

impl Meanwhile {
    /// As a sentence without its end.
    pub fn in_words(self) -> &'static str {
        match self {
            Meanwhile::Nothing => "nothing happens",
            Meanwhile::Counted => "another client counts one more",
            Meanwhile::Noted => "another client changes the note, and adds a label",
            Meanwhile::Labelled => "another client adds a label",
            Meanwhile::Deleted => "another client deletes it",
            Meanwhile::Recreated => "another client deletes it and makes a new one without data",
            Meanwhile::Fails => FAILS,
        }
    }
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// What `data.count` says at first.
    pub count: Option<u64>,
    /// What others do before each call; nothing, when it has come to its end.
    pub script: Vec<Meanwhile>,
}

impl Case {
    /// What the ConfigMap has before the first call.
    pub fn data(&self) -> Option<BTreeMap<String, String>> {
        Server::new(self).object.and_then(|object| object.data)
    }
}

/// What the function has said and called, and what is in the ConfigMap then.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it has said.
    pub said: Result<u64, Refused>,
    /// `get` or `update`, in their order.
    pub calls: Vec<String>,
    /// The ConfigMap; none: it is gone.
    pub left: Option<ConfigMap>,
    /// Whether it pauses after a conflict.
    pub pauses: bool,
}

/// Answers with this function.
pub fn answer(count: fn(&mut dyn Api) -> Result<u64, Refused>) {
    process::answer(|case: &Case| {
        let (outcome, rest) = talk(case, count);
        Outcome { pauses: pauses(&rest, || talk(case, count).1), ..outcome }
    });
}

/// What comes of a function that talks with the small API server.
pub fn converse(case: &Case, count: impl FnOnce(&mut dyn Api) -> Result<u64, Refused>) -> Outcome {
    talk(case, count).0
}

/// The same, and how it rests.
fn talk(case: &Case, count: impl FnOnce(&mut dyn Api) -> Result<u64, Refused>) -> (Outcome, Rest) {
    let mut server = Server::new(case);
    let said = count(&mut server);
    let mut left = server.object;
    // Which number it has does not matter.
    left.iter_mut().for_each(|object| object.metadata.resource_version = None);
    (Outcome { said, calls: server.calls, left, pauses: false }, server.rest)
}

/// An API server with one object.
struct Server {
    object: Option<ConfigMap>,
    revision: u64,
    script: VecDeque<Meanwhile>,
    calls: Vec<String>,
    rest: Rest,
}

impl Server {
    fn new(case: &Case) -> Server {
        let script = case.script.iter().copied().collect();
        let mut server = Server { object: None, revision: 0, script, calls: Vec::new(), rest: Rest::default() };
        server.create();
        server.write(|data| {
            data.insert("note".to_owned(), "first".to_owned());
            data.insert("team".to_owned(), "blue".to_owned());
            case.count.map(|count| data.insert("count".to_owned(), count.to_string()));
        });
        server
    }

    fn create(&mut self) {
        self.revision += 1;
        let mut object = ConfigMap::default();
        object.metadata.name = Some("counter".to_owned());
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.uid = Some(format!("uid-{}", self.revision));
        object.metadata.resource_version = Some(self.revision.to_string());
        let text = |key: &str, value: String| Some(BTreeMap::from([(key.to_owned(), value)]));
        object.metadata.labels = text("app", "shop".to_owned());
        object.metadata.annotations = text("made-at", self.revision.to_string());
        object.metadata.finalizers = Some(vec!["example.com/keep".to_owned(), "example.com/backup".to_owned()]);
        object.immutable = Some(false);
        let text = |text: &str| text.to_owned();
        let (api_version, kind, name, uid) = (text("example.com/v1"), text("Shop"), text("shop"), text("uid-shop"));
        let owner = OwnerReference { api_version, kind, name, uid, ..OwnerReference::default() };
        let other = OwnerReference { name: "store".to_owned(), uid: "uid-store".to_owned(), ..owner.clone() };
        object.metadata.owner_references = Some(vec![owner, other]);
        object.binary_data = Some(BTreeMap::from([
            ("logo".to_owned(), ByteString(vec![0, 159, 146, 150])),
            ("seal".to_owned(), ByteString(vec![1])),
        ]));
        self.object = Some(object);
    }

    fn write(&mut self, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        let Some(object) = &mut self.object else { return };
        self.revision += 1;
        change(object.data.get_or_insert_default());
        object.metadata.resource_version = Some(self.revision.to_string());
    }

    fn label(&mut self, key: String) {
        if let Some(object) = &mut self.object {
            object.metadata.labels.get_or_insert_default().insert(key, "yes".to_owned());
        }
    }

    /// What others do before this call.
    fn meanwhile(&mut self, call: &str) -> Result<(), Refused> {
        self.rest.called();
        self.calls.push(call.to_owned());
        match self.script.pop_front().unwrap_or(Meanwhile::Nothing) {
            Meanwhile::Nothing => {}
            Meanwhile::Counted => self.write(|data| {
                let count = data.get("count").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
                data.insert("count".to_owned(), (count + 1).to_string());
            }),
            Meanwhile::Noted => {
                let note = format!("changed at {}", self.revision);
                self.label(format!("noted-{}", self.revision));
                self.write(|data| drop(data.insert("note".to_owned(), note)));
            }
            Meanwhile::Labelled => {
                self.label(format!("seen-{}", self.revision));
                self.write(|_| {});
            }
            Meanwhile::Deleted => self.object = None,
            Meanwhile::Recreated => self.create(),
            Meanwhile::Fails => return Err(Refused::Other(FAILS.to_owned())),
        }
        Ok(())
    }
}

impl Api for Server {
    fn get(&mut self) -> Result<ConfigMap, Refused> {
        self.meanwhile("get")?;
        self.object.clone().ok_or(Refused::NotFound)
    }

    fn update(&mut self, object: ConfigMap) -> Result<ConfigMap, Refused> {
        self.meanwhile("update")?;
        let stored = self.object.as_ref().ok_or(Refused::NotFound)?.metadata.clone();
        let mut meta = object.metadata;
        if let Some(why) = misplaced(&meta) {
            return Err(Refused::Other(why));
        }
        let same = |sent: &Option<String>, stored: &Option<String>| sent.is_none() || sent == stored;
        if !same(&meta.resource_version, &stored.resource_version) || !same(&meta.uid, &stored.uid) {
            self.rest.refused();
            return Err(Refused::Conflict);
        }
        (meta.namespace, meta.uid, meta.managed_fields) = (stored.namespace, stored.uid, stored.managed_fields);
        (meta.creation_timestamp, meta.generation) = (stored.creation_timestamp, stored.generation);
        self.object = Some(ConfigMap { metadata: meta, ..object });
        self.write(|_| {});
        self.object.clone().ok_or(Refused::NotFound)
    }
}

/// Why the object cannot be the one that the URL names.
fn misplaced(meta: &ObjectMeta) -> Option<String> {
    match (meta.name(), meta.namespace()) {
        ("", _) => {
            Some("the name of the object (counter based on URL) was undeterminable: name must be provided".to_owned())
        }
        ("counter", "" | "default") => None,
        ("counter", _) => {
            Some("the namespace of the provided object does not match the namespace sent on the request".to_owned())
        }
        (name, _) => Some(format!("the name of the object ({name}) does not match the name on the URL (counter)")),
    }
}

/// What the API server says when it cannot answer.
const FAILS: &str = "etcdserver: request timed out";
