//! Help, and the end.

use super::{Command, GROUPS, Group, Line, Reply};

/// The width of the columns of help.
const GROUP_WIDTH: usize = 10;
const USAGE_WIDTH: usize = 26;

/// Commands about the stepper itself.
pub const GROUP: Group = Group {
    name: "stepper",
    commands: &[
        Command {
            names: &["help", "h", "?"],
            usage: "help [COMMAND]",
            about: "this list, or more on one of them",
            more: "",
            run: |_, line| help(line),
        },
        Command {
            names: &["quit", "q", "exit"],
            usage: "quit",
            about: "the end",
            more: "",
            run: |stepper, _| {
                stepper.done = true;
                Ok(String::new())
            },
        },
    ],
};

fn help(line: &Line) -> Reply {
    match line.arguments().as_slice() {
        [] => Ok(GROUPS.iter().map(group).collect()),
        [word, ..] => match super::find(word) {
            Some(command) => Ok(format!("{}\n  {}\n{}", command.usage, command.about, command.more)),
            None => Err(super::unknown(word)),
        },
    }
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
