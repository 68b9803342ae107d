//! Help, the hints of a case, options, and the end.

use debugger::scene::Drawn;

use super::super::case;
use super::super::options;
use super::super::wrap::folded;
use super::super::{Stepper, Typed};
use super::Run::Says;
use super::{Command, GROUPS, Group, Line, Takes, Text};

/// The width of the columns of help.
const GROUP_WIDTH: usize = 10;
const USAGE_WIDTH: usize = 26;

/// Commands about the stepper itself.
pub const GROUP: Group = Group {
    name: "stepper",
    acts: false,
    commands: &[
        Command {
            names: &["help", "h", "?"],
            usage: "help [COMMAND|GROUP|all]",
            takes: &[&[Takes::Command, Takes::Group]],
            about: "the names, or more",
            more: "",
            run: Says(|stepper, line| help(line, stepper.room())),
        },
        Command {
            names: &["complete"],
            usage: "complete LINE",
            takes: &[],
            about: "the lines that it may become, as Tab has them",
            more: "For editors and pages; what is typed is not kept.\n",
            run: Says(|_, _| Err("write for example: complete get po".to_owned())),
        },
        Command {
            names: &["peek"],
            usage: "peek LINE",
            takes: &[],
            about: "what kubectl reads at this moment: peek get pods",
            more: "For editors and pages: it waits for no line before it, and is none itself.\n",
            run: Says(|stepper, line| {
                let words: Vec<String> = line.arguments().iter().map(|word| (*word).to_owned()).collect();
                if !kubectl::reads_only(&words) || kubectl::goes_on(&words) {
                    return Err("write for example: peek get pods".to_owned());
                }
                Ok(stepper.session.read(&words))
            }),
        },
        Command {
            names: &["scene"],
            usage: "scene [STEP DIGEST]",
            takes: &[],
            about: "the steps since that one, for pages",
            more: "For editors and pages: with --json its value is what the course's scenes are drawn from.\n",
            run: Says(|stepper, line| {
                let drawn = Drawn::read(&line.arguments())?;
                let steps = stepper.session.history().len() as u64;
                Ok(format!("{} steps\n", steps.saturating_sub(drawn.map_or(0, |drawn| drawn.step))))
            }),
        },
        Command {
            names: &["info", "i"],
            usage: "info WORD",
            takes: &[&[Takes::One(INFO_WORDS)]],
            about: "gdb's: info b, info display, info threads …",
            more: INFO,
            run: Says(info),
        },
        Command {
            names: &["quit", "q", "exit"],
            usage: "quit",
            takes: &[],
            about: "the end",
            more: "",
            run: Says(|stepper, _| {
                stepper.done = true;
                Ok(String::new())
            }),
        },
    ],
};

/// Commands for a learner who has a broken cluster to repair.
pub const CASE: Group = Group {
    name: "case",
    acts: false,
    commands: &[
        Command {
            names: &["hint"],
            usage: "hint [NUMBER]",
            takes: &[],
            about: "the next hint of a case, or this one",
            more: "The last one nearly says what to type.\n",
            run: Says(hint),
        },
        Command {
            names: &["solved"],
            usage: "solved",
            takes: &[],
            about: "whether the broken cluster of a case is right again",
            more: "It looks ahead, at what becomes of the cluster within twenty minutes, and comes back: no time passes, and nothing\n\
                is changed. Once it is right, it says the cause.\n",
            run: Says(solved),
        },
    ],
};

fn hint(stepper: &mut Stepper, line: &Line) -> Text {
    let number = match line.arguments().as_slice() {
        [] => None,
        [number] => Some(number.parse().map_err(|_| format!("{number:?} is not the number of a hint"))?),
        _ => return Err("write for example: hint, or: hint 2".to_owned()),
    };
    let (number, text) = case::hint(stepper.session.case()?, number, stepper.hints, stepper.width())?;
    stepper.hints = number;
    Ok(text)
}

fn solved(stepper: &mut Stepper, line: &Line) -> Text {
    line.nothing()?;
    let wrong = stepper.session.still_wrong()?;
    stepper.solved = wrong.is_none();
    if let Some(wrong) = wrong {
        let wrong: String = wrong.lines().map(|line| format!("  {line}\n")).collect();
        return Ok(format!("not yet, and waiting will not help. What is not right:\n{wrong}"));
    }
    let (name, lines) = (&stepper.session.scenario().name, case::typed(&stepper.session));
    let kept = stepper.outside.solved(name, &lines).unwrap_or_else(|error| format!("{error}\n"));
    Ok(format!("solved\n\n{}{kept}", case::explained(stepper.session.case()?, stepper.width())))
}

/// Commands that set how others are done. They act: a session that is repeated does as it did.
pub const OPTIONS: Group = Group {
    name: "options",
    acts: true,
    commands: &[Command {
        names: &["option", "options"],
        usage: "option [NAME on|off]",
        takes: &[&[Takes::One(options::NAMES)], &[Takes::One(&["on", "off"])]],
        about: "how this session does things",
        more: "option to-end on     apply, scale and their like run on to their end, as with ! before them\n\
            option pager off     what is longer than the screen is printed at once\n",
        run: Says(option),
    }],
};

fn option(stepper: &mut Stepper, line: &Line) -> Text {
    let shown = match line.arguments()[..] {
        [] => options::NAMES.to_vec(),
        [name] => vec![name],
        [name, value] => {
            *stepper.options.named(name)? = match value {
                "on" => true,
                "off" => false,
                other => return Err(format!("{other:?} is neither on nor off; write for example: option {name} on")),
            };
            vec![name]
        }
        _ => return Err("write for example: option to-end on".to_owned()),
    };
    let mut said = String::new();
    for name in shown {
        let value = if *stepper.options.named(name)? { "on" } else { "off" };
        said += &format!("{name:<8} {value:<4} {}\n", options::about(name));
    }
    Ok(said)
}

/// What gdb's `info` is here.
const INFOS: &[(&[&str], &str)] = &[
    (&["breakpoints", "watchpoints"], "breakpoints"),
    (&["display"], "display"),
    (&["threads", "tasks"], "stack"),
    (&["stack", "frame"], "why"),
    (&["line", "source", "program"], "where"),
    (&["checkpoints"], "branches"),
];

/// Its words.
const INFO_WORDS: &[&str] =
    &["breakpoints", "display", "threads", "stack", "frame", "line", "source", "program", "checkpoints"];

const INFO: &str = "  info b         breakpoints\n  info display   display\n  info threads   stack\n  \
    info stack     why\n  info program   where\n";

fn info(stepper: &mut Stepper, line: &Line) -> Text {
    let known = || INFOS.iter().flat_map(|(words, _)| *words).copied().collect::<Vec<_>>().join(", ");
    let word = line.one("info breakpoints")?;
    let row = INFOS.iter().find(|(words, _)| words.iter().any(|known| known.starts_with(word)));
    let (_, meant) = row.ok_or_else(|| format!("info {word} says nothing here; there are {}", known()))?;
    super::run(stepper, &Typed::read(meant)).map(|answer| answer.text)
}

fn help(line: &Line, width: usize) -> Text {
    let row = |line: &str| folded(line, width, column(line, width));
    let about = |command: &Command| joined(&about(command), width).lines().map(row).collect::<String>();
    let group = |known: &Group| folded(&group(known), width, GROUP_WIDTH + USAGE_WIDTH);
    match line.arguments().join(" ").as_str() {
        "" => Ok(overview()),
        "all" => Ok(GROUPS.iter().map(group).collect()),
        word => match (GROUPS.iter().find(|group| group.name == word), super::find(word)) {
            (None, Some((_, command))) => Ok(about(command)),
            (Some(known), None) => Ok(group(known)),
            // `stop` is a command and a group.
            (Some(known), Some((_, command))) => Ok(format!("{}\nthe group {word}:\n{}", about(command), group(known))),
            (None, None) if kubectl::knows(word) => Ok(format!("{word} is kubectl's: {word} --help\n")),
            (None, None) => Err(super::unknown(word)),
        },
    }
}

fn about(command: &Command) -> String {
    format!("{}\n  {}\n{}", command.usage, command.about, command.more)
}

/// The names of all commands, a line or two for each group.
fn overview() -> String {
    const WIDTH: usize = 78;
    let mut out = String::new();
    for group in GROUPS {
        let mut line = format!("{:<GROUP_WIDTH$}", group.name);
        for name in group.commands.iter().flat_map(|command| command.names).filter(|name| name.len() > 2) {
            if line.chars().count() + name.len() > WIDTH {
                out += &format!("{}\n", line.trim_end());
                line = " ".repeat(GROUP_WIDTH);
            }
            line += &format!("{name} ");
        }
        out += &format!("{}\n", line.trim_end());
    }
    out + "Enter steps. help COMMAND says how it is written.\nhelp GROUP says what each does, as in: help move; or help all\n\
           Behind any line: | grep text, | less. Before a command: !, and it runs to its end.\n"
}

fn group(group: &Group) -> String {
    let mut out = String::new();
    for (i, command) in group.commands.iter().enumerate() {
        let name = if i == 0 { group.name } else { "" };
        let usage = command.usage;
        let gap = if usage.chars().count() < USAGE_WIDTH { "" } else { "  " };
        out += &format!("{name:<GROUP_WIDTH$}{usage:<USAGE_WIDTH$}{gap}{}\n", command.about);
    }
    out
}

/// Where a line goes on that is too long: below what it says of its first words, if that stands apart.
fn column(line: &str, width: usize) -> usize {
    let blanks = line.len() - line.trim_start().len();
    let gap = line[blanks..].find("  ").map(|gap| blanks + gap);
    let text = gap.and_then(|gap| Some(gap + line[gap..].find(|c: char| c != ' ')?));
    text.map(|at| line[..at].chars().count()).filter(|column| *column <= width / 2).unwrap_or(0)
}

/// Sentences that go on in the next line, where lines have to be broken anyway.
fn joined(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let is_sentence = |line: &str| !line.is_empty() && !line.starts_with(' ');
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if last.chars().count() > width && is_sentence(last) && is_sentence(line) => {
                *last += " ";
                *last += line;
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{column, folded, joined};

    #[test]
    fn a_row_goes_on_in_its_own_column() {
        let line = "  node stop 1      cut a machine off the power, or switch one on";
        assert_eq!(column(line, 40), 19);
        let said = folded(line, 40, column(line, 40));
        assert!(said.lines().skip(1).all(|line| line.starts_with(&" ".repeat(19))), "{said}");
        assert_eq!(column("a sentence that stands alone", 20), 0);
    }

    #[test]
    fn sentences_go_on_in_the_next_line() {
        assert_eq!(joined("what is said\nand more\n  wait 5\n", 10), "what is said and more\n  wait 5\n");
        assert_eq!(joined("what is said\nand more\n", 12), "what is said\nand more\n");
    }
}
