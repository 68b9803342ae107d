//! Values at a stop: `print`, and `display` at each.

use debugger::Stop;
use debugger::stop::Fact;
use debugger::value::Asked;
use serde_json::Value;

use super::super::{Stepper, Typed, What};
use super::{Answer, Line, Run, Text};

/// What a stop calls a value that is shown at each.
const DISPLAY: &str = "display";

/// `print` and its like: how what they take is written.
pub const VALUES: &str = "\
  print new.status.phase             of this step: old, new, object, event, message, step, time
  print changed(spec.replicas)       an expression, as after break … if
  print deploy/web.status.replicas   of an object, as it is stored
";

/// The values that a line asks for.
pub fn values(stepper: &Stepper, line: &Line) -> Result<Vec<Value>, String> {
    Asked::read(line.rest())?.values(&stepper.session)
}

/// What they are, a line each; of more than a word, as YAML.
pub fn print(stepper: &Stepper, line: &Line) -> Text {
    let values = values(stepper, line)?;
    if values.is_empty() {
        return Ok("nothing is there\n".to_owned());
    }
    Ok(values.iter().map(shown).collect())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => {
            serde_yaml::to_string(value).unwrap_or_else(|error| format!("it cannot be shown: {error}\n"))
        }
        plain => format!("{plain}\n"),
    }
}

/// Shows a value at each stop from now on; without one, those that are shown.
pub fn display(stepper: &mut Stepper, line: &Line) -> Text {
    if line.rest().is_empty() {
        return Ok(list(stepper));
    }
    let asked = Asked::read(line.rest())?;
    let number = stepper.displays.last().map_or(1, |(number, _)| number + 1);
    let now = in_a_line(stepper, &asked);
    stepper.displays.push((number, asked));
    Ok(format!("{number}: {now}\n"))
}

/// Shows some of them no more; without a number, none.
pub fn undisplay(stepper: &mut Stepper, line: &Line) -> Text {
    let known = stepper.displays.iter().map(|(number, _)| *number).collect::<Vec<u32>>();
    let number = |word: &&str| {
        let number = word.parse().ok().filter(|number| known.contains(number));
        number.ok_or_else(|| format!("{word:?} is not the number of a value that is displayed; display lists them"))
    };
    let gone: Vec<u32> = match line.arguments().as_slice() {
        [] => known.clone(),
        words => words.iter().map(number).collect::<Result<_, _>>()?,
    };
    stepper.displays.retain(|(number, _)| !gone.contains(number));
    Ok(list(stepper))
}

fn list(stepper: &Stepper) -> String {
    if stepper.displays.is_empty() {
        return "no value is shown at each stop; display new.status.phase would be\n".to_owned();
    }
    stepper.displays.iter().map(|(number, asked)| format!("{number}: {}\n", in_a_line(stepper, asked))).collect()
}

/// `new.status.phase = "Running"`.
fn in_a_line(stepper: &Stepper, asked: &Asked) -> String {
    let values = asked.values(&stepper.session);
    let shown = values.map(|values| values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
    // The first line of an error says what is wrong; where, who typed it knows.
    let shown = shown.unwrap_or_else(|error| format!("({})", error.lines().next().unwrap_or_default()));
    format!("{} = {shown}", asked.text)
}

impl Stepper {
    /// Adds to a stop what is to be seen at each, and what its breakpoints' commands say.
    pub(in super::super) fn complete_stop(&mut self, answer: &mut Answer) {
        let Some(stop) = &mut answer.stop else { return };
        let here = self.session.current().is_some_and(|step| step.id.0 == stop.step);
        if here {
            self.add_displays(stop);
            answer.below += &self.looks_of_hits();
        }
    }

    fn add_displays(&self, stop: &mut Stop) {
        let fact = |(_, asked): &(u32, Asked)| Fact {
            topic: DISPLAY.to_owned(),
            text: in_a_line(self, asked),
            table: None,
            value: None,
        };
        // Before the others: a small screen may leave out the last of them.
        stop.facts.splice(..0, self.displays.iter().map(fact));
    }

    fn looks_of_hits(&mut self) -> String {
        let hits: Vec<u32> = self.session.hits().iter().map(|hit| hit.number).collect();
        let breakpoints = self.session.breakpoints.list().iter().filter(|b| hits.contains(&b.number));
        let lines: Vec<String> = breakpoints.flat_map(|breakpoint| breakpoint.looks.clone()).collect();
        let look = |line: String| {
            let said = super::run(self, &Typed::read(&line)).map(|answer| answer.printed + &answer.text);
            format!("{line}\n{}", said.unwrap_or_else(|error| error + "\n"))
        };
        lines.into_iter().map(look).collect()
    }
}

/// `commands 1 get pods; where`: what is looked at when a breakpoint stops.
pub fn commands(stepper: &mut Stepper, line: &Line) -> Text {
    const USAGE: &str = "write for example: commands 1 get pods; print new.status";
    let (number, text) = line.rest().split_once(char::is_whitespace).unwrap_or((line.rest(), ""));
    let lines = debugger::breakpoint::looks(text.trim().trim_end_matches("end"));
    if number.is_empty() {
        return Err(USAGE.to_owned());
    }
    for one in &lines {
        if !looks(one) {
            return Err(format!(
                "{one:?} does more than look. commands shows something at a stop; break … print TEXT prints and goes on, \
                 when … do CHOICE breaks something, continue is typed"
            ));
        }
    }
    let breakpoint = stepper.session.breakpoints.get(super::stop::number(number)?)?;
    breakpoint.looks = lines;
    Ok(format!("{breakpoint}\n"))
}

/// Whether a line only looks and says what it sees.
fn looks(line: &str) -> bool {
    match Typed::read(line).what {
        What::Command { group, command, line } => {
            let reads = || kubectl::does(line.name()) && kubectl::reads_only(line.words());
            matches!(command.run, Run::Says(_)) && (!group.acts || reads()) && line.name() != "quit"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cluster::scenario::Scenario;
    use debugger::Session;

    use super::*;
    use crate::lines::text;

    fn stepper() -> Stepper {
        Stepper::new(Session::of(Scenario::find("deployment").unwrap()), false)
    }

    fn says(stepper: &mut Stepper, line: &str) -> String {
        let answer = stepper.answer(line);
        answer.map_or_else(|error| error, |answer| text(&answer, &stepper.view()))
    }

    #[test]
    fn values_are_shown_at_a_stop_and_at_each() {
        let mut stepper = stepper();
        assert!(says(&mut stepper, "print new.status").contains("nothing has happened yet"));
        for (line, part) in [
            ("b create deployments", "1   break  create deployments"),
            ("condition 1 new.spec.replicas > 1", "create deployments if new.spec.replicas > 1"),
            ("commands 1 print new.spec.replicas; info b", "(then print new.spec.replicas; info b)"),
            ("commands 1 step", "does more than look"),
            ("display new.metadata.name", "1: new.metadata.name = (nothing has happened yet"),
            ("continue", "display  new.metadata.name = \"web\""),
            ("show", "display  new.metadata.name = \"web\""),
            ("print new.spec.replicas", "2\n"),
            ("p new.metadata.name.startsWith(\"we\")", "true\n"),
            ("print deploy/web.spec.template.spec.containers[*].image", "\"nginx:1.27\"\n"),
            ("print default/web.spec.replicas", "2\n"),
            ("print new.spec", "replicas: 2\n"),
            ("print status.phase", "a path begins with one of"),
            ("print deploy/zzz", "there is no Deployment default/zzz"),
            ("history web -n default", "write its kind too: deployment/web"),
            ("history default/web", "Deployment default/web"),
            ("history deploy web -n default", "Deployment default/web"),
            ("watch deploy/zzz.status.replicas", "there is no such Deployment yet"),
            ("watch deploy/web.status.replica", "has no field \"replica\""),
            ("condition 2 step > 1", "a watch has no condition"),
            ("condition 1", "1   break  create deployments  (hit once)"),
            ("undisplay 7", "is not the number of a value"),
            ("undisplay", "no value is shown at each stop"),
            ("info display", "no value is shown"),
            ("bt", "kubectl apply -f web.yaml"),
            ("info zzz", "says nothing here"),
        ] {
            let said = says(&mut stepper, line);
            assert!(said.contains(part), "{line}: {said}");
        }
        stepper.answer("goto 0").unwrap();
        let said = says(&mut stepper, "continue");
        assert!(said.contains("print new.spec.replicas\n2\ninfo b\n1   break"), "below the stop: {said}");
    }
}
