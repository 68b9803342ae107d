//! One session in a page.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use cluster::scenario::{Scenario, Sight};
use debugger::file::File;
use debugger::journal as journal_text;
use debugger::quiz::Quiz;
use debugger::{Session, tour};
use kubectl::workdir::{Disk, Found, PageFiles};
use stepper::outside::{Journal, Outside};
use stepper::{Stepper, json};

/// What a page is told that has opened no session.
const NONE: &str = "no session has begun";

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// A session begins, in the place of the one before. Answered by its first line.
    Open(Open),
    /// A command, as it is typed. Answered by a line.
    Line(String),
    /// A file is put into the folder in which commands are typed. Answered by its name.
    File(Uploaded),
    /// The names of the files there.
    Files,
    /// What the journal has got since it was asked for last.
    Journal,
    /// The session as a file: `kubestep step --replay` opens it too.
    Session,
    /// The lines that one may become with its last word completed.
    Complete(String),
    /// A digest of all steps so far: the same in a page and in a terminal.
    Digest,
    /// The scenarios that are shipped: name, title and group.
    Scenarios,
}

/// Which session begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Open {
    /// The name of a scenario that is shipped.
    pub scenario: Option<String>,
    /// Or the text of a saved session, or of a journal.
    pub session: Option<String>,
    /// The seed of a new session; the scenario's own if there is none.
    pub seed: Option<u64>,
    /// Whether the reader is asked what comes next.
    pub quiz: bool,
}

/// A file of the page's reader.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uploaded {
    /// Its name, as commands give it.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// What a journal has got.
#[derive(Debug, Default, Serialize)]
pub struct Written {
    /// Whether the text takes the place of all that was written before.
    anew: bool,
    /// The text.
    text: String,
}

/// A scenario, as a page offers it.
#[derive(Debug, Serialize)]
struct Offered {
    name: String,
    title: String,
}

/// The session of a page, if one has begun.
#[derive(Default)]
pub struct Page {
    stepper: Option<Stepper>,
    files: PageFiles,
    written: Rc<RefCell<Written>>,
}

impl Page {
    /// Carries out a request in JSON. What is wrong with it is an answer too.
    pub fn answer(&mut self, request: &str) -> String {
        let answered = serde_json::from_str(request)
            .map_err(|fault| format!("a message is not understood: {fault}"))
            .and_then(|request| self.carry_out(request));
        answered.unwrap_or_else(|message| {
            serde_json::json!({"kind": "error", "command": "", "message": message}).to_string()
        })
    }

    fn carry_out(&mut self, request: Request) -> Result<String, String> {
        let text = match request {
            Request::Open(open) => {
                // The old one goes first: memory has room for one.
                self.stepper = None;
                let stepper = self.stepper.insert(begin(&open, &self.files)?);
                *self.written.borrow_mut() = Written { anew: true, text: stepper.head() };
                let notice = stepper.keep(Ok(Box::new(Kept(self.written.clone()))));
                json::hello(stepper, &notice)
            }
            Request::Line(line) => {
                let stepper = self.stepper.as_mut().ok_or(NONE)?;
                json::answer(stepper, &line).map(|(answer, _)| answer)
            }
            Request::File(Uploaded { name, text }) => {
                self.files.put(&name, text.into_bytes())?;
                serde_json::to_string(&name)
            }
            Request::Files => serde_json::to_string(&self.files.names("")),
            Request::Journal => serde_json::to_string(&self.written.take()),
            Request::Session => {
                let stepper = self.stepper.as_ref().ok_or(NONE)?;
                serde_json::to_string(&Written { anew: true, text: File::of(&stepper.session).text() })
            }
            Request::Digest => {
                let stepper = self.stepper.as_mut().ok_or(NONE)?;
                serde_json::to_string(&format!("{:016x}", stepper.session.digest()))
            }
            Request::Complete(line) => {
                let stepper = self.stepper.as_ref().ok_or(NONE)?;
                serde_json::to_string(&stepper.candidates(&line))
            }
            Request::Scenarios => {
                let offered = |scenario: Scenario| Offered { name: scenario.name, title: scenario.title };
                let all = Scenario::shipped().into_iter().chain(Scenario::broken());
                serde_json::to_string(&all.map(offered).collect::<Vec<_>>())
            }
        };
        text.map_err(|fault| fault.to_string())
    }
}

fn begin(open: &Open, files: &PageFiles) -> Result<Stepper, String> {
    let outside = || Box::new(Browser { files: files.clone() });
    let mut stepper = match (&open.session, &open.scenario) {
        (Some(text), _) => {
            let file = File::read(text).or_else(|error| journal_text::read(text).map_err(|_| error))?;
            Stepper::of_file(&file, None, outside())?
        }
        (None, Some(name)) => {
            let mut scenario = Scenario::find(name).map_err(|error| error.to_string())?;
            scenario.seed = open.seed.unwrap_or(scenario.seed);
            scenario.sight = Sight(outside().disk());
            let session = Session::of(scenario);
            tour::check(&session).map_err(|error| format!("{name}: {error}"))?;
            let mut stepper = Stepper::new(session, false);
            stepper.outside = outside();
            stepper.quiz = open.quiz.then(Quiz::default);
            stepper
        }
        (None, None) => return Err("say which scenario, or give a session".to_owned()),
    };
    stepper.columns = Some(json::COLUMNS);
    Ok(stepper)
}

/// What a page has around a session: files that its reader wrote, uploaded or saved.
struct Browser {
    files: PageFiles,
}

impl Outside for Browser {
    fn disk(&self) -> Disk {
        Disk::Page(self.files.clone())
    }

    fn files(&self, start: &str) -> Vec<String> {
        self.files.names(start)
    }

    fn load(&self, name: &str) -> Result<String, String> {
        match self.files.look(name) {
            Found::Text(text) => Ok(text),
            _ => Err(format!("{name} cannot be read: this page has no such file; upload it first")),
        }
    }

    fn save(&self, name: &str, text: &str) -> Result<(), String> {
        self.files.put(name, text.as_bytes().to_vec())
    }
}

/// A journal that is kept until the page takes it.
struct Kept(Rc<RefCell<Written>>);

impl Journal for Kept {
    fn add(&mut self, text: &str) -> Result<(), String> {
        self.0.borrow_mut().text += text;
        Ok(())
    }

    fn anew(&mut self, head: &str) -> Result<(), String> {
        *self.0.borrow_mut() = Written { anew: true, text: head.to_owned() };
        Ok(())
    }

    fn end(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn ask(page: &mut Page, request: &str) -> Value {
        serde_json::from_str(&page.answer(request)).unwrap()
    }

    #[test]
    fn a_page_walks_and_takes_its_journal_elsewhere() {
        let mut page = Page::default();
        let hello = ask(&mut page, r#"{"open":{"scenario":"deployment"}}"#);
        assert_eq!((&hello["kind"], &hello["scenario"]), (&"hello".into(), &"deployment".into()));
        assert_eq!(ask(&mut page, r#"{"line":"until running pods"}"#)["kind"], "error", "no such term");
        let stop = ask(&mut page, r#"{"line":"step"}"#);
        assert_eq!(stop["kind"], "stop");
        let written = ask(&mut page, r#""journal""#);
        assert_eq!(ask(&mut page, r#""journal""#)["text"], "", "it was taken");

        let open = serde_json::json!({"open": {"session": written["text"]}}).to_string();
        let mut other = Page::default();
        assert_eq!(ask(&mut other, &open)["step"], stop["step"]);
    }

    #[test]
    fn a_page_has_files_of_its_own() {
        let mut page = Page::default();
        ask(&mut page, r#"{"open":{"scenario":"playground"}}"#);
        let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}";
        let file = serde_json::json!({"file": {"name": "mine.yaml", "text": manifest}}).to_string();
        assert_eq!(ask(&mut page, &file), "mine.yaml");
        let applied = ask(&mut page, r#"{"line":"apply -f mine.yaml !"}"#);
        assert!(applied["printed"].as_str().unwrap().contains("configmap/mine created"), "{applied}");
        assert!(ask(&mut page, r#"{"line":"save mine.session"}"#)["kind"] != "error");
        assert_eq!(ask(&mut page, r#""files""#), serde_json::json!(["mine.session", "mine.yaml"]));
    }

    #[test]
    fn wrong_requests_are_told() {
        let mut page = Page::default();
        for (request, why) in [
            ("", "a message is not understood: EOF"),
            (r#"{"line":"step"}"#, "no session has begun"),
            (r#"{"open":{"scenario":"deploymint"}}"#, "deploymint"),
            (r#"{"open":{}}"#, "say which scenario"),
            (r#"{"open":{"session":"x"}}"#, ""),
        ] {
            let answer = ask(&mut page, request);
            assert_eq!(answer["kind"], "error", "{request}");
            assert!(answer["message"].as_str().unwrap().contains(why), "{request}: {answer}");
        }
    }
}
