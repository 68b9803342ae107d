//! Back in time, and from one course of events to another.

use debugger::breakpoint::parse::split_watch;
use debugger::compare::{End, Parting, telling};
use debugger::{Called, Chosen, StopAt, changes, target};

use super::super::Stepper;
use super::super::view;
use super::Run::{Says, Stops};
use super::movement::{STEPS_MAX, STRIDE, THAT_IS_ALL};
use super::{Answer, Command, Group, Line, Reply, Takes, Text};

/// So many changed fields of an object are shown.
const FIELDS_SHOWN: usize = 6;
/// So many objects that differ are shown.
const OBJECTS_SHOWN: usize = 30;

/// Commands that leave the present.
pub const GROUP: Group = Group {
    name: "go back",
    acts: true,
    commands: &[
        Command {
            names: &["back", "reverse-step"],
            usage: "back [N]",
            takes: &[],
            about: "to the informer notification before",
            more: "",
            run: Stops(|stepper, line| back(stepper, stepper.stop, line.count()?)),
        },
        Command {
            names: &["backi", "reverse-stepi"],
            usage: "backi [N]",
            takes: &[],
            about: "to the event before, of any kind",
            more: "",
            run: Stops(|stepper, line| back(stepper, StopAt::Event, line.count()?)),
        },
        Command {
            names: &["rnext", "rn", "reverse-next"],
            usage: "rnext",
            takes: &[],
            about: "to what the same component got before this",
            more: "",
            run: Stops(|stepper, line| {
                line.nothing()?;
                let before = stepper.session.delivery_before();
                go(stepper, before)
            }),
        },
        Command {
            names: &["rcontinue", "rc", "reverse-continue"],
            usage: "rcontinue",
            takes: &[],
            about: "back to the breakpoint hit before",
            more: "",
            run: Stops(|stepper, line| {
                line.nothing()?;
                match stepper.session.hit_before() {
                    Some(step) => go(stepper, step),
                    None => Err("no breakpoint was met before this step; break sets one".to_owned()),
                }
            }),
        },
        Command {
            names: &["goto", "g"],
            usage: "goto STEP [--fresh]",
            takes: &[],
            about: "to any step, back or forward; 0 is the start",
            more: "What was chosen later is kept: going forward does it again. Do something else instead, and the run\n\
                parts there: branches lists the courses that were left. With --fresh it parts at once.\n",
            run: Stops(|stepper, line| match line.without("--fresh").step() {
                Ok(Some(step)) if line.has("--fresh") => fresh(stepper, step),
                Ok(Some(step)) => go(stepper, step),
                Ok(None) => Err("write the number of a step: goto 42".to_owned()),
                Err(error) => Err(elsewhere(line.rest(), &error)),
            }),
        },
        Command {
            names: &["last-change", "lc"],
            usage: "last-change OBJECT[.field.path]",
            takes: &[&[Takes::Watched]],
            about: "back to the step that changed it last",
            more: "  last-change deploy/web\n  last-change pod/web.status.phase\nStars will do if they fit one object. Again, it goes to the change before.\n",
            run: Stops(last_change),
        },
        Command {
            names: &["branches"],
            usage: "branches",
            takes: &[],
            about: "courses of events that were left for another",
            more: "",
            run: Says(|stepper, line| line.nothing().map(|()| branches(stepper))),
        },
        Command {
            names: &["branch"],
            usage: "branch NAME",
            takes: &[],
            about: "call this course so",
            more: "switch and compare take the name too.\n",
            run: Says(|stepper, line| {
                let name = line.one("branch with-the-crash")?;
                if name == "*" || name.parse::<u32>().is_ok() {
                    return Err(
                        "a name that is a number would be taken for one; write for example: branch late".to_owned()
                    );
                }
                stepper.session.called().name = name.to_owned();
                Ok(branches(stepper))
            }),
        },
        Command {
            names: &["switch"],
            usage: "switch N|NAME",
            takes: &[&[Takes::Branch]],
            about: "to such a course, as far as it was followed",
            more: "",
            run: Stops(|stepper, line| switch(stepper, line.one("switch 1")?)),
        },
        Command {
            names: &["compare"],
            usage: "compare A [B]",
            takes: &[&[Takes::Branch], &[Takes::Branch]],
            about: "where two courses part, and how they end",
            more: "A and B are numbers that branches shows, or * for this course, which is meant without B. Both are run\n\
                through once, asking of each what must hold in every run.\n  compare 1\n  compare 1 2\n",
            run: Says(compare),
        },
    ],
};

fn back(stepper: &mut Stepper, stop: StopAt, times: u64) -> Reply {
    if stepper.session.current().is_none() {
        return Err("this is the start of the run; nothing has happened yet".to_owned());
    }
    let before = stepper.session.stop_before(stop, times);
    stepper.session.goto(before);
    Ok(arrived(stepper))
}

fn go(stepper: &mut Stepper, step: u64) -> Reply {
    let mut came_to = stepper.session.history().len() as u64;
    let most = came_to.max(stepper.session.furthest()) + STEPS_MAX;
    loop {
        let next = step.min(came_to + STRIDE);
        came_to = stepper.session.goto(next);
        if came_to < next || came_to == step || came_to >= most || !stepper.goes_on() {
            break;
        }
    }
    let mut answer = arrived(stepper);
    if stepper.interrupted {
        answer.text = format!("stopped before step {step}\n");
    } else if came_to >= most && came_to < step {
        answer.text = format!("{THAT_IS_ALL}, and step {step} has not come; goto {step} goes on\n");
    } else if came_to < step {
        answer.text = format!("the run ends here, before step {step}\n");
    }
    Ok(answer)
}

/// Goes there, and leaves what was chosen later as a branch.
fn fresh(stepper: &mut Stepper, step: u64) -> Reply {
    let mut answer = go(stepper, step)?;
    if stepper.session.part() {
        answer.text += "what was chosen and run after this is left as a branch; branches lists it\n";
    }
    Ok(answer)
}

/// What is said of a place that is no step.
fn elsewhere(place: &str, error: &str) -> String {
    match place {
        "start" | "begin" | "beginning" | "first" => "the start is step 0: goto 0".to_owned(),
        "end" | "last" => "run goes on to the end".to_owned(),
        object if object.contains('/') => format!("{error}; last-change {object} goes to an object's last change"),
        _ => error.to_owned(),
    }
}

/// What is shown where one has come to. What commands had printed by then counts as said.
fn arrived(stepper: &mut Stepper) -> Answer {
    stepper.heard();
    match stepper.session.current() {
        Some(_) => stepper.shown(),
        None => Answer::says("this is the start of the run; press Enter to step\n"),
    }
}

fn branches(stepper: &mut Stepper) -> String {
    let here = stepper.session.called().clone();
    let session = &stepper.session;
    let line = |called: &Called, mark: &str, steps: u64, choices: &[Chosen], what: &str| {
        let name = if called.name.is_empty() { String::new() } else { format!("{}: ", called.name) };
        (called.number(), format!("{mark} {}  {name}{steps} steps, {}{what}\n", called.number(), last_choice(choices)))
    };
    let left = session.branches().iter().map(|branch| line(&branch.called, " ", branch.steps, &branch.choices, ""));
    let this = line(&here, "*", session.furthest(), session.choices(), " (this one)");
    let mut lines: Vec<(u32, String)> = left.chain([this]).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// A course is known by what was chosen last on it.
fn last_choice(choices: &[Chosen]) -> String {
    match choices.last() {
        None => "as the scenario has it".to_owned(),
        Some(chosen) => {
            format!("after step {}: {}", chosen.after, chosen.choice.brief())
        }
    }
}

fn switch(stepper: &mut Stepper, word: &str) -> Reply {
    match course(stepper, word)? {
        None => Err(format!("{word} is this course; branches lists the others")),
        Some(place) => {
            stepper.session.switch(place);
            Ok(arrived(stepper))
        }
    }
}

/// Why no branch is meant by a word.
fn no_branch(stepper: &Stepper, word: &str) -> String {
    match stepper.session.branches().len() {
        0 => "there is one course of events only; go back and do something else to part from it".to_owned(),
        _ => format!("{word:?} is neither the number nor the name of a course; branches lists them"),
    }
}

fn last_change(stepper: &mut Stepper, line: &Line) -> Reply {
    let (object, path) = split_watch(line.rest()).unwrap_or_else(|_| (line.rest().to_owned(), String::new()));
    let target = target::find(&stepper.session, &object.split_whitespace().collect::<Vec<_>>())?;
    let what = if path.is_empty() { target.to_string() } else { format!("{path} of {target}") };
    let Some((step, fields)) = changes::last(&stepper.session, &target, &path) else {
        return Err(format!("no step before this one changed {what}; history shows what else is known"));
    };
    let view = stepper.view();
    let mut out = String::new();
    for field in fields.iter().take(FIELDS_SHOWN) {
        out += &format!("{}\n", view.fit(&view::field(field)));
    }
    out += &more(fields.len(), FIELDS_SHOWN, "fields");
    Ok(Answer { text: out, ..go(stepper, step.0)? })
}

/// What is left out.
fn more(count: usize, shown: usize, what: &str) -> String {
    if count > shown { format!("  … and {} {what} more\n", count - shown) } else { String::new() }
}

/// A course as it is typed, by number or name: its place among the branches; none for the present one.
fn course(stepper: &mut Stepper, word: &str) -> Result<Option<usize>, String> {
    let is = |called: &Called| called.number().to_string() == word || (!word.is_empty() && called.name == word);
    if word == "*" || (is(&stepper.session.called().clone()) && !stepper.session.branches().is_empty()) {
        return Ok(None);
    }
    let place = stepper.session.branches().iter().position(|branch| is(&branch.called));
    place.map(Some).ok_or_else(|| no_branch(stepper, word))
}

/// The two courses that are to be compared: as they were typed, and their places.
pub fn courses<'a>(stepper: &mut Stepper, line: &'a Line) -> Result<([&'a str; 2], [Option<usize>; 2]), String> {
    let words = match line.arguments().as_slice() {
        [a] => [*a, "*"],
        [a, b] => [*a, *b],
        _ => return Err("write for example: compare 1, or: compare 1 2".to_owned()),
    };
    Ok((words, [course(stepper, words[0])?, course(stepper, words[1])?]))
}

fn compare(stepper: &mut Stepper, line: &Line) -> Text {
    let (words, which) = courses(stepper, line)?;
    let compared = stepper.session.compare(which)?;
    let names = words.map(|word| if word == "*" { "*  this one".to_owned() } else { format!("{word}  branch {word}") });
    let mut out = match &compared.parting {
        Some(parting) => parting_text(parting, &names),
        None if compared.ends[0].steps == compared.ends[1].steps => "they are the same, step by step\n".to_owned(),
        None => "one is the beginning of the other\n".to_owned(),
    };
    for (name, end) in names.iter().zip(&compared.ends) {
        out += &end_text(name, end);
    }
    for (changed, made) in compared.objects.iter().zip(&compared.made).take(OBJECTS_SHOWN) {
        let (name, only) = (changed.name(), |word: &str| format!("only in {word}"));
        match (&changed.old, &changed.new) {
            (Some(_), None) => out += &format!("{name} is {}\n", only(words[0])),
            (None, Some(_)) => out += &format!("{name} is {}\n", only(words[1])),
            _ => {
                out += &format!("{name}{}\n", made_in(&words, made));
                let fields = telling(changed);
                out += &fields.iter().take(FIELDS_SHOWN).map(|f| format!("  {}\n", view::field(f))).collect::<String>();
                out += &more(fields.len(), FIELDS_SHOWN, "fields");
            }
        }
    }
    out += &more(compared.objects.len(), OBJECTS_SHOWN, "objects");
    let view = stepper.view();
    Ok(out.lines().map(|line| format!("{}\n", view.fit(line))).collect())
}

/// Which steps wrote an object last on either course.
fn made_in(words: &[&str; 2], made: &[Option<u64>; 2]) -> String {
    let one = |(word, step): (&&str, &Option<u64>)| step.map(|step| format!("step {step} of {word}"));
    let steps: Vec<String> = words.iter().zip(made).filter_map(one).collect();
    if steps.is_empty() { String::new() } else { format!("  by {}", steps.join(", ")) }
}

fn parting_text(parting: &Parting, names: &[String; 2]) -> String {
    let mut out = format!("they part in step {}\n", parting.step);
    for ((name, side), chosen) in names.iter().zip(&parting.sides).zip(&parting.choices) {
        if let Some(chosen) = chosen {
            out += &format!("  {name}: after step {}: {}\n", chosen.after, chosen.choice.brief());
        }
        out += &format!("  {name}: {}\n", side.as_deref().unwrap_or("it ends before"));
    }
    out
}

fn end_text(name: &str, end: &End) -> String {
    let rest = if end.quiet { "nothing is left to do" } else { "it was followed no further" };
    let mut out = format!("  {name}: ends in step {}, {rest}", end.steps);
    if end.broken.is_empty() {
        return out + "; what must hold holds\n";
    }
    out.push('\n');
    out + &end.broken.iter().map(|broken| format!("     broken: {broken}\n")).collect::<String>()
}
