//! Whether a case of "Broken: find out why" is solved: whether the cluster, left alone from here, comes to be as it should.
//!
//! The judge lets the run go on, looks, and brings it back, so nothing has happened when it is done. It looks at all conditions
//! after ten seconds of virtual time, then after twenty more, and so on; the first look at which all of them hold decides. So a
//! repair may take the time that it takes, and it makes no difference which one it is.

use std::time::Duration;

use cluster::scenario::{Case, Outcome, Scenario};

use super::Session;
use super::moves::Goal;
use super::properties::own::{self, Stated};

/// So long a repair may take to show: a controller whose tries were refused often waits longest, 1,000 seconds.
const PATIENCE: Duration = Duration::from_secs(1_200);
/// The time before the first look, which grows to twice as much before each of the next.
const BETWEEN: Duration = Duration::from_secs(10);
/// So long a line may take.
const LINE: Duration = Duration::from_secs(60);

/// A condition, understood.
enum Condition {
    Line(String),
    Property(Box<Stated>),
}

impl Session {
    /// The case that the scenario is.
    ///
    /// # Errors
    /// It is none.
    pub fn case(&self) -> Result<&Case, String> {
        self.scenario().case.as_ref().ok_or_else(|| {
            let cases: Vec<String> = Scenario::broken().into_iter().map(|case| case.name).collect();
            format!("this scenario is no case to solve; these are: {}", cases.join(", "))
        })
    }

    /// What is still wrong with the cluster of a case; None: it is solved.
    ///
    /// # Errors
    /// The scenario is no case, or its conditions cannot be read.
    pub fn still_wrong(&mut self) -> Result<Option<String>, String> {
        let conditions = self.case()?.solved.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(self.ahead(|session| {
            let end = session.cluster.engine.now() + PATIENCE;
            let mut between = BETWEEN;
            loop {
                let now = session.cluster.engine.now();
                session.go(&mut Goal::Time(now + between), 0);
                let wrong = conditions.iter().find_map(|condition| session.fails(condition).err());
                if wrong.is_none() || now >= end {
                    return wrong;
                }
                between *= 2;
            }
        }))
    }

    /// An error says why a condition does not hold.
    fn fails(&mut self, condition: &Condition) -> Result<(), String> {
        match condition {
            Condition::Line(line) => self.ends_well(line),
            Condition::Property(stated) => {
                let mut property = stated.begin();
                let engine = &self.cluster.engine;
                let mut steps = self.history().iter().skip(self.begun() as usize);
                let held = steps.try_for_each(|step| {
                    let broken = |why| format!("{why}, in step {}; back and goto lead to before it", step.id);
                    property.check(engine, step).map_err(broken)
                });
                held.and_then(|()| property.finish(engine))
                    .map_err(|why| format!("it must hold that {}\n{why}", stated.name()))
            }
        }
    }

    /// Types a line, and says what it prints if it ends badly.
    fn ends_well(&mut self, line: &str) -> Result<(), String> {
        let (before, end) = (self.cluster.kubectl.printed(), self.cluster.engine.now() + LINE);
        self.cluster.type_lines(vec![line.to_owned()]);
        while self.cluster.lines_code().is_none() && self.cluster.engine.now() < end {
            let Some(step) = self.next_step() else { break };
            self.keep(step);
        }
        match self.cluster.lines_code() {
            Some(0) => Ok(()),
            _ => Err(self.cluster.kubectl.printed_since(before).trim().to_owned()),
        }
    }
}

fn read(outcome: &Outcome) -> Result<Condition, String> {
    match outcome {
        Outcome::Line(line) => Ok(Condition::Line(line.clone())),
        Outcome::Property(property) => own::one(property).map(|stated| Condition::Property(Box::new(stated))),
    }
}
