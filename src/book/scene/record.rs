//! From a session to a scene.

use cluster::scenario::Scenario;
use debugger::breakpoint::Breakpoints;
use debugger::facts::Facts;
use debugger::scene::{Scene, Start, of_step};
use debugger::{Session, StopAt, source};
use kubestep::cli::sources::Disk;

/// So many steps at most may lie before the end of a scene.
const STEPS_MAX: u64 = 100_000;
/// So many steps at most may a scene have.
const SCENE_MAX: usize = 1_500;

/// What a scene is asked for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The scenario's name.
    pub scenario: String,
    /// Its seed, unless the scenario's own.
    pub seed: Option<u64>,
    /// The condition that holds in the first step; empty: the start of the run.
    pub from: String,
    /// The condition that holds in the last step; empty: where nothing is left to do.
    pub to: String,
    /// Conditions, and what is said where each holds first; in the order of the run.
    pub captions: Vec<(String, String)>,
}

/// Runs the scenario and records the part that is asked for. The error says which condition never holds.
pub fn record(ask: &Ask) -> Result<Scene, String> {
    source::provide(&Disk);
    let mut scenario = Scenario::find(&ask.scenario).map_err(|error| error.to_string())?;
    scenario.seed = ask.seed.unwrap_or(scenario.seed);
    let mut session = Session::of(scenario);
    begin(&mut session, &ask.from)?;
    let mut scene = Scene {
        scenario: ask.scenario.clone(),
        title: session.scenario().title.clone(),
        seed: session.scenario().seed,
        nodes: session.cluster.config().nodes.iter().map(|node| node.name.clone()).collect(),
        start: Start::of(&session, session.history().len() as u64),
        ..Scene::default()
    };
    let mut end = Condition::read(&session, &ask.to)?;
    let mut captions = Vec::new();
    for (condition, text) in &ask.captions {
        captions.push((Condition::read(&session, condition)?, Some(text), condition));
    }
    while let Some(number) = advance(&mut session) {
        let current = session.current().filter(|step| !step.event.background);
        if let Some(current) = current {
            let mut step = of_step(&session, current);
            let mut unsaid = None;
            for (condition, text, written) in &mut captions {
                if text.is_some() && condition.as_mut().is_none_or(|c| c.holds(&session, current)) {
                    if let Some(unsaid) = unsaid {
                        return Err(format!("this holds at a step before the one in which {unsaid} does: {written}"));
                    }
                    let said = text.take().cloned().unwrap_or_default();
                    step.caption = Some(step.caption.map_or(said.clone(), |before| format!("{before} {said}")));
                }
                unsaid = unsaid.or(text.map(|_| *written));
            }
            scene.steps.push(step);
            if end.as_mut().is_some_and(|end| end.holds(&session, current)) {
                break;
            }
        }
        if scene.steps.len() > SCENE_MAX || number > STEPS_MAX {
            return Err(format!("more than {SCENE_MAX} steps pass before this holds: {}; name a nearer end", ask.to));
        }
    }
    let ended = session.current().is_some_and(|current| end.is_none_or(|mut end| end.holds(&session, current)));
    if !ended {
        return Err(format!(
            "{} never comes to where this holds after the start of the scene: {}",
            ask.scenario, ask.to
        ));
    }
    if let Some((_, _, condition)) = captions.iter().find(|(_, text, _)| text.is_some()) {
        return Err(format!("no step of this scene is one in which this holds: {condition}"));
    }
    scene.close(&session);
    Ok(scene)
}

/// Steps to the moment before the step in which `from` holds first.
fn begin(session: &mut Session, from: &str) -> Result<(), String> {
    let Some(mut condition) = Condition::read(session, from)? else { return Ok(()) };
    while let Some(number) = advance(session) {
        if session.current().is_some_and(|step| condition.holds(session, step)) {
            session.goto(number - 1);
            return Ok(());
        }
        if number > STEPS_MAX {
            break;
        }
    }
    Err(format!("{} never comes to where this holds: {from}", session.scenario().name))
}

/// One step; none when the cluster is quiet.
fn advance(session: &mut Session) -> Option<u64> {
    let before = session.history().len();
    if session.cluster.is_quiet() {
        return None;
    }
    session.advance(StopAt::Anything, 1);
    (session.history().len() > before).then_some(before as u64 + 1)
}

/// A condition as `until` takes it.
struct Condition(Breakpoints);

impl Condition {
    /// None if nothing is asked.
    fn read(session: &Session, text: &str) -> Result<Option<Condition>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut breakpoints = Breakpoints::default();
        breakpoints.add(text, false, &session.names()).map_err(|error| format!("{text:?}: {error}"))?;
        Ok(Some(Condition(breakpoints)))
    }

    fn holds(&mut self, session: &Session, step: &engine::Step) -> bool {
        let seconds = session.time(step.time).0 as f64 / 1e9;
        !self.0.check(&Facts::of(&session.cluster.engine, step), seconds).hits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use debugger::scene::{Packet, Spot, Step};

    use super::*;

    fn ask(from: &str, to: &str) -> Ask {
        Ask { scenario: "pod".into(), from: from.into(), to: to.into(), ..Ask::default() }
    }

    #[test]
    fn a_scene_begins_and_ends_where_its_conditions_hold() {
        let scene = record(&ask("create pods request", "create pods/binding request")).expect("the run comes there");
        let (first, last) = (&scene.steps[0], &scene.steps[scene.steps.len() - 1]);
        assert!(first.what.starts_with("create pods") && first.changes.len() == 1, "{first:?}");
        assert!(last.what.starts_with("create pods/binding"), "{last:?}");
        assert!(scene.start.objects.is_empty());
        assert!(scene.steps.iter().all(|step| !step.text.is_empty()));
    }

    #[test]
    fn a_packet_leaves_where_it_has_arrived() {
        let (from, to) = ("get service/far request".to_owned(), "from=kernel/node-1 to=user/kubectl".to_owned());
        let ask = Ask { scenario: "cross-node".into(), from, to, ..Ask::default() };
        let scene = record(&ask).expect("the run comes there");
        let packets: Vec<&Packet> = scene.steps.iter().filter_map(|step| step.packet.as_ref()).collect();
        assert!(packets.len() > 6, "{packets:#?}");
        let place = |spot: &Spot| (spot.machine.clone(), spot.pod.clone());
        for hop in packets.windows(2) {
            let left = hop[1].by.first().map(place);
            assert!(
                left == Some(place(&hop[0].at)) || left.is_some_and(|(_, pod)| pod == "default/client"),
                "{hop:#?}"
            );
        }
        let decided = |step: &Step| step.decisions.iter().any(|(table, _)| *table == "route");
        assert!(scene.steps.iter().any(|step| step.packet.is_none() && decided(step)), "the sender asks for a route");
    }

    #[test]
    fn what_never_holds_is_an_error_that_names_it() {
        for (from, to) in [("create deployments request", ""), ("", "create deployments request"), ("x y z", "")] {
            let error = record(&ask(from, to)).expect_err("a single Pod has no Deployment");
            assert!(error.contains(if from.is_empty() { to } else { from }), "{error}");
        }
        let caption = ("create deployments request".to_owned(), "x".to_owned());
        let error = record(&Ask { captions: vec![caption], ..ask("", "") }).expect_err("nowhere to say it");
        assert!(error.contains("create deployments"), "{error}");
    }

    /// A condition that holds too soon says what is not so yet.
    #[test]
    fn captions_are_said_in_the_order_in_which_they_stand() {
        let caption = |condition: &str| (condition.to_owned(), condition.to_owned());
        let captions = vec![caption("create pods request"), caption("create pods/binding request")];
        let said = |captions| record(&Ask { captions, ..ask("create pods request", "create pods/binding request") });
        let scene = said(captions.clone()).expect("the Pod comes first");
        assert_eq!(scene.steps.iter().filter(|step| step.caption.is_some()).count(), 2);
        let error = said(captions.into_iter().rev().collect()).expect_err("the binding does not");
        assert!(error.ends_with("the one in which create pods/binding request does: create pods request"), "{error}");
    }

    #[test]
    fn the_line_of_a_request_is_the_one_that_sent_it() {
        let ask = Ask { scenario: "deployment".to_owned(), to: "condition=Ready:True".to_owned(), ..Ask::default() };
        let scene = record(&ask).expect("the Pods become ready");
        let sent = |step: &&Step| step.class == "request" && step.code.is_some();
        let wrong: Vec<&Step> =
            scene.steps.iter().filter(sent).filter(|s| s.code.as_ref().unwrap().awaits != s.what).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let create =
            scene.steps.iter().find(|step| step.what.starts_with("create pods default/")).expect("Pods are made");
        let code = create.code.as_ref().expect("a reconcile waits");
        assert!(
            code.task.starts_with("replicaset-controller default/") && code.file.ends_with("controllers/pods.rs"),
            "{code:?}"
        );
    }
}
