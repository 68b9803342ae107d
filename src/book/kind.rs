//! "The same on kind": what a learner types at a real cluster, and what Kubernetes 1.36 printed to it.
//!
//! The block names a recording, a folder of `tests/reference`, and holds a part of its `output.txt` without the times. A line that is
//! only `…` stands for lines left out, as in a transcript. Nothing is run: what is not in the recording fails the build.

use std::path::Path;

use super::block::{Block, Mistake};
use super::transcript;

/// The block as HTML. `project` is the folder that has the recordings.
pub fn render(block: &Block, project: &Path) -> Result<String, Mistake> {
    block.only(&[])?;
    let name = block.word("a recording's name")?;
    let file = project.join("tests/reference").join(name).join("output.txt");
    let recorded = std::fs::read_to_string(&file)
        .map_err(|error| block.mistake(format!("{} cannot be read: {error}", file.display())))?;
    let recorded = commands(&recorded);
    let mut shown = String::new();
    let lines: Vec<(usize, &str)> = (block.line + 1..).zip(block.body.lines()).collect();
    let mut from = 0;
    for part in lines.chunk_by(|_, (_, next)| !next.starts_with("$ ")) {
        let (line, typed) = part[0];
        let mistake = |text: String| Mistake::new(line, text);
        let found = recorded[from..].iter().position(|command| command.lines().next() == Some(typed));
        let Some(found) = found else {
            return Err(mistake(format!("{name} has no such command from here on: {typed}")));
        };
        from += found + 1;
        let texts: Vec<&str> = part.iter().map(|(_, text)| text.trim_end()).filter(|text| !text.is_empty()).collect();
        let text = transcript::compare(&texts, &recorded[from - 1]);
        shown += &text.map_err(|(at, found)| {
            Mistake::new(line + at, format!("{found:?} was recorded where this block says something else"))
        })?;
    }
    Ok(format!(
        "<div class=\"ks-same\" role=\"group\" aria-label=\"The same on kind\"><p class=\"ks-label\">The same on kind</p>{}</div>\n",
        transcript::page(&shown).trim_end()
    ))
}

/// A recording's commands, each with what it printed: `$ kubectl …` in the first line. Blank lines are left out.
fn commands(recorded: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for line in recorded.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        let typed = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("] $ ")?.1));
        match (typed, commands.last_mut()) {
            (Some(typed), _) => commands.push(format!("$ {typed}\n")),
            (None, Some(command)) => *command += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    #[test]
    fn only_what_was_recorded_is_shown() {
        let project = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let of = |body: &str| {
            let blocks = block::find(&format!("```kind 01-single-pod\n{body}```\n")).expect("it is one block");
            render(&blocks[0], project).map_err(|mistake| mistake.line)
        };
        let html = of(
            "$ kubectl apply -f manifests/pod.yaml\npod/web created\n$ kubectl describe pod web\n…\nIP:               10.244.2.2\n…\n",
        );
        let html = html.expect("this was recorded");
        assert!(html.contains("<b>$ kubectl apply") && html.contains("10.244.2.2") && !html.trim_end().contains('\n'));
        assert_eq!(of("$ kubectl apply -f manifests/pod.yaml\npod/web configured\n"), Err(3));
        assert_eq!(of("$ kubectl get nothing\n"), Err(2));
    }
}
