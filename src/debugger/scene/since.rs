//! What a page is told that draws a session as it goes.

use serde::Serialize;
use serde_json::Value;

use super::super::Session;
use super::data::{self, Words};
use super::{Scene, Start, of_step};

/// So many steps are told at once. Where more have run, a scene begins so far before the present.
const TOLD: u64 = 1_500;

/// How far a page has drawn a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The last step that it knows.
    pub step: u64,
    /// The digest of the run up to there.
    pub digest: u64,
}

impl Drawn {
    /// From words: `57 8f3c2d1e90ab7f64`; from none, nothing was drawn.
    ///
    /// # Errors
    /// Which word is wrong, and an example.
    pub fn read(words: &[&str]) -> Result<Option<Drawn>, String> {
        match words {
            [] => Ok(None),
            [step, digest] => {
                let step = step.parse().map_err(|_| format!("{step:?} is no step; write for example: scene"))?;
                let digest = u64::from_str_radix(digest, 16).map_err(|_| {
                    format!("{digest:?} is no digest, as the last scene gave it; write for example: scene")
                })?;
                Ok(Some(Drawn { step, digest }))
            }
            _ => Err("write for example: scene".to_owned()),
        }
    }
}

/// Which steps a page is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The steps behind this one.
    pub after: u64,
    /// Whether what the page had drawn is of no more use: it was another course of events, or too long ago.
    pub anew: bool,
    /// The last step.
    pub step: u64,
    /// The digest of the run up to there, to be given next time.
    pub digest: String,
}

/// The steps behind those that were drawn, as [`data`] has them. What was there before the first of them stands in it if a
/// page begins anew.
pub fn since(session: &mut Session, drawn: Option<Drawn>) -> (Told, Value) {
    let digest = session.digest();
    let step = session.history().len() as u64;
    let follows = |drawn: &Drawn| {
        session.digest_at(drawn.step) == Some(drawn.digest) && drawn.step <= step && step - drawn.step <= TOLD
    };
    let known = drawn.filter(follows);
    let after = known.map_or(session.begun().max(step.saturating_sub(TOLD)), |drawn| drawn.step);
    let steps = session.history()[after as usize..].iter().filter(|step| !step.event.background);
    let mut scene = Scene {
        scenario: session.scenario().name.clone(),
        title: session.scenario().title.clone(),
        seed: session.scenario().seed,
        nodes: nodes(session),
        start: if known.is_some() { Start::default() } else { Start::of(session, after) },
        steps: steps.map(|step| of_step(session, step)).collect(),
        ..Scene::default()
    };
    scene.close(session);
    let told = Told { after, anew: known.is_none(), step, digest: format!("{digest:016x}") };
    (told, data::json(&scene, Words::Within))
}

/// The nodes that there are, by name.
pub fn nodes(session: &Session) -> Vec<String> {
    let store = &session.cluster.engine.server.api.store;
    store.prefix("/registry/minions/").map(|(_, entry)| entry.value.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use cluster::scenario::Scenario;

    use super::*;

    fn told(session: &mut Session, drawn: Option<Drawn>) -> (Told, usize) {
        let (told, scene) = since(session, drawn);
        (told, scene["steps"].as_array().map_or(0, Vec::len))
    }

    fn drawn(told: &Told) -> Option<Drawn> {
        Drawn::read(&[&told.step.to_string(), &told.digest]).unwrap()
    }

    #[test]
    fn a_page_is_told_what_it_has_not_drawn() {
        let mut session = Session::of(Scenario::find("deployment").unwrap());
        session.goto(20);
        let (first, steps) = told(&mut session, None);
        assert!(first.anew && first.after == 0 && steps > 10, "{first:?}, {steps}");
        assert_eq!(told(&mut session, drawn(&first)).1, 0, "nothing has happened");

        session.goto(25);
        let (second, steps) = told(&mut session, drawn(&first));
        assert!(!second.anew && second.after == first.step && (1..=5).contains(&steps), "{second:?}, {steps}");
        // Back along the same course, which the page has drawn.
        session.goto(first.step);
        assert!(!told(&mut session, drawn(&first)).0.anew);
        assert!(told(&mut session, drawn(&second)).0.anew, "that step is of the future now");
        let other = Some(Drawn { step: first.step, digest: 1 });
        assert!(told(&mut session, other).0.anew, "another course");
    }

    #[test]
    fn a_scene_begins_with_what_was_there_then() {
        let mut session = Session::of(Scenario::find("deployment").unwrap());
        session.goto(10);
        let then = Start::of(&session, 10);
        session.goto(210);
        assert_ne!(then, Start::of(&session, session.history().len() as u64), "something has happened since");
        assert_eq!(then, Start::of(&session, 10));
    }

    /// Of what components say of themselves a page draws what kernels decide about packets.
    #[test]
    fn a_step_without_packets_has_no_decisions() {
        let decisions = |name: &str| {
            let mut session = Session::of(Scenario::find(name).unwrap());
            session.goto(300);
            let (_, scene) = since(&mut session, None);
            scene["steps"].as_array().unwrap().iter().filter(|step| !step["d"].is_null()).count()
        };
        assert_eq!(decisions("deployment"), 0, "a runtime and its plugins have said much");
        assert!(decisions("cross-node") > 4);
    }

    #[test]
    fn words_that_are_wrong_are_told() {
        for words in [&["x", "1"][..], &["1", "x"], &["1"], &["1", "1", "1"]] {
            assert!(Drawn::read(words).unwrap_err().contains("write for example: scene"), "{words:?}");
        }
    }
}
