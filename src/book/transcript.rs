//! Sessions that a chapter shows. They are run when the book is built: what the page says is what the program prints.
//!
//! A line `$ kubestep …` starts the program, lines `(kubestep) …` are typed at its prompt, and lines `/ # …` at that of a shell
//! in a container. What stands below them is
//! compared with what comes; a line that is only `…` stands for any number of lines. `KUBESTEP_BLESS=1` writes anew what
//! differs. Numbers of source lines and revisions are not compared, as they move with edits elsewhere; the page shows those of
//! today.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::block::{Block, Mistake};
use super::html;
use super::numbers::{with_revisions, without_source_line};

/// What stands for lines left out.
const LEFT_OUT: &str = "…";
/// The prompt.
const PROMPT: &str = "(kubestep)";

/// A transcript as it is shown, and as it stands in the chapter when it is blessed.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    /// HTML.
    pub html: String,
    /// What the block should hold instead; none if it is right.
    pub anew: Option<String>,
}

/// Runs a transcript with `program` in `folder`. With `bless` a difference is no mistake.
pub fn render(block: &Block, program: &Path, folder: &Path, bless: bool) -> Result<Shown, Mistake> {
    block.only(&["title"])?;
    let mut shown = String::new();
    let mut anew = String::new();
    let mut rest: Vec<(usize, &str)> = (block.line + 1..).zip(block.body.lines()).collect();
    if rest.first().is_none_or(|(_, line)| !line.starts_with("$ ")) {
        return Err(block.mistake("a transcript begins with a line such as: $ kubestep step deployment"));
    }
    while !rest.is_empty() {
        let next =
            rest.iter().skip(1).position(|(_, line)| line.starts_with("$ kubestep ")).map_or(rest.len(), |n| n + 1);
        let session: Vec<(usize, &str)> = rest.drain(..next).collect();
        let printed = run(&session, program, folder)?;
        let texts: Vec<&str> = session.iter().map(|(_, line)| *line).collect();
        match compare(&texts, &printed) {
            Ok(lines) => {
                shown += &lines;
                anew += &session.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
            }
            Err(_) if bless => {
                let printed = left_out(&texts, &printed);
                shown += &printed;
                anew += &printed;
            }
            Err((at, found)) => {
                let (line, expected) = session.get(at).copied().unwrap_or((session[0].0 + at, "the end"));
                let text =
                    format!("{expected:?} stands here, but {found:?} is printed; KUBESTEP_BLESS=1 writes it again");
                return Err(Mistake::new(line, text));
            }
        }
    }
    Ok(Shown { html: page(&shown), anew: (anew != block.body).then_some(anew) })
}

/// The command's line and all that it prints; what is typed stands behind its prompt.
fn run(session: &[(usize, &str)], program: &Path, folder: &Path) -> Result<String, Mistake> {
    let (line, head) = session[0];
    let mistake = |text: String| Mistake::new(line, text);
    let words =
        shell_words::split(head.trim_start_matches("$ ")).map_err(|error| mistake(format!("{head:?}: {error}")))?;
    let [name, arguments @ ..] = words.as_slice() else { return Err(mistake("no command stands here".to_owned())) };
    if name != "kubestep" {
        return Err(mistake(format!("only kubestep can be run here, not {name:?}")));
    }
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        // Readers start it by cargo, which its messages are to say.
        .env("CARGO", "cargo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| mistake(format!("{} cannot be started: {error}", program.display())))?;
    let typed: String =
        session.iter().filter_map(|(_, line)| typed(line)).map(|line| format!("{}\n", line.trim())).collect();
    if let Some(mut input) = child.stdin.take() {
        // A program that fails at once reads nothing; what it says comes below.
        let _ = input.write_all(typed.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| mistake(format!("{head:?}: {error}")))?;
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // The end of the input is no line of the reader's.
    let out = out.strip_suffix(&format!("{PROMPT} ")).or(out.strip_suffix(PROMPT)).unwrap_or(&out);
    let text: String = format!("{out}{errors}").lines().map(|line| format!("{}\n", line.trim_end())).collect();
    Ok(format!("{head}\n{text}"))
}

/// What is typed in a line, if it begins with a prompt: the stepper's, or one such as `/tmp # `.
fn typed(line: &str) -> Option<&str> {
    let in_shell = || line.split_once(" # ").filter(|(at, _)| at.starts_with('/') && !at.contains(' '));
    line.strip_prefix(PROMPT).or_else(|| in_shell().map(|(_, typed)| typed))
}

/// The lines to show, with what was left out left out; or the line that differs and what should stand there.
pub(super) fn compare(written: &[&str], printed: &str) -> Result<String, (usize, String)> {
    let lines: Vec<&str> = printed.lines().collect();
    let (mut out, mut at) = (String::new(), 0);
    let mut n = 0;
    while n < written.len() {
        if written[n].trim() == LEFT_OUT {
            let next = written[n + 1..].iter().find(|line| line.trim() != LEFT_OUT);
            let skip = match next {
                Some(next) => lines[at..].iter().position(|line| same(line, next)),
                None => Some(lines.len() - at),
            };
            let Some(skip) = skip else { return Err((n + 1, "no such line".to_owned())) };
            at += skip;
            out += &format!("{LEFT_OUT}\n");
        } else {
            match lines.get(at) {
                Some(line) if same(line, written[n]) => out += &format!("{line}\n"),
                Some(line) => return Err((n, (*line).to_owned())),
                None => return Err((n, "nothing more".to_owned())),
            }
            at += 1;
        }
        n += 1;
    }
    match lines.get(at) {
        Some(more) => Err((n, (*more).to_owned())),
        None => Ok(out),
    }
}

/// What is printed now, with lines left out where they were.
fn left_out(written: &[&str], printed: &str) -> String {
    let printed: Vec<&str> = printed.lines().collect();
    let (new, old) = (by_command(&printed), by_command(written));
    new.iter()
        .enumerate()
        .flat_map(|(n, new)| old.get(n).map_or(new.to_vec(), |old| left_out_of(old, new)))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Lines from prompt to prompt.
fn by_command<'a>(lines: &'a [&'a str]) -> Vec<&'a [&'a str]> {
    let starts = (0..lines.len()).filter(|&n| n == 0 || typed(lines[n]).is_some());
    let starts: Vec<usize> = starts.chain([lines.len()]).collect();
    starts.windows(2).map(|pair| &lines[pair[0]..pair[1]]).collect()
}

/// The same of what one command prints. What stood before the first gap is as long as it was, and so is what stood behind
/// the last; of what stood between two, the lines that look alike are kept.
fn left_out_of<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<&'a str> {
    let parts: Vec<&[&str]> = old.split(|line| line.trim() == LEFT_OUT).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return new.to_vec() };
    if parts.len() == 1 || first.len() + last.len() >= new.len() {
        return new.to_vec();
    }
    let (head, rest) = new.split_at(first.len());
    let (mut middle, tail) = rest.split_at(rest.len() - last.len());
    let mut out = [head, &[LEFT_OUT]].concat();
    for part in &parts[1..parts.len() - 1] {
        let found = part.first().and_then(|first| middle.iter().position(|line| shape(line) == shape(first)));
        if let Some(at) = found {
            let end = (at + part.len()).min(middle.len());
            out.extend(&middle[at..end]);
            out.push(LEFT_OUT);
            middle = &middle[end..];
        }
    }
    out.extend(tail);
    out
}

/// A line without its numbers, which are what changes most.
fn shape(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit() && *c != ' ').collect()
}

fn same(printed: &str, written: &str) -> bool {
    without_numbers(printed) == without_numbers(written.trim_end())
}

/// Without the numbers that move with edits elsewhere.
fn without_numbers(line: &str) -> String {
    with_revisions(&without_source_line(line), "", |_| "N".to_owned())
}

/// Lines as a page shows them; what was typed stands out.
pub(super) fn page(shown: &str) -> String {
    let line = |line: &str| match line.starts_with("$ ") || typed(line).is_some() {
        true => format!("<b>{}</b>", html::text(line)),
        false => html::text(line),
    };
    let lines: Vec<String> = shown.lines().map(line).collect();
    format!("<pre class=\"ks-transcript\"><code class=\"nohighlight\">{}</code></pre>\n", lines.join("&#10;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_be_left_out_and_source_lines_may_move() {
        let printed = "$ kubestep x\na\nb\n  src/a.rs:3\n  ▶ 3 let a;\nc\n";
        let written = ["$ kubestep x", "…", "  src/a.rs:9", "  ▶ 8 let a;", "…"];
        assert_eq!(compare(&written, printed).as_deref(), Ok("$ kubestep x\n…\n  src/a.rs:3\n  ▶ 3 let a;\n…\n"));
    }

    #[test]
    fn what_was_left_out_stays_left_out() {
        let written = ["$ kubestep x", "…", "(kubestep) a", "one 1", "…", "mid 2", "…", "end 3", "(kubestep) b", "b"];
        let printed = "$ kubestep x\nhello\n(kubestep) a\none 4\nx\nmid 5\ny\nz\nend 6\n(kubestep) b\nc\nd\n";
        let anew = "$ kubestep x\n…\n(kubestep) a\none 4\n…\nmid 5\n…\nend 6\n(kubestep) b\nc\nd\n";
        assert_eq!(left_out(&written, printed), anew);
    }

    #[test]
    fn a_shell_in_a_container_has_a_prompt() {
        for (line, expected) in [
            ("(kubestep) step", Some(" step")),
            ("/ # ls /", Some("ls /")),
            ("/tmp # :back", Some(":back")),
            ("/etc/hosts is # no prompt", None),
            ("a # b", None),
        ] {
            assert_eq!(typed(line), expected, "{line}");
        }
    }

    #[test]
    fn what_differs_is_said() {
        let printed = "$ kubestep x\na\n";
        for (written, wrong) in [
            (vec!["$ kubestep x", "b"], (1, "a")),
            (vec!["$ kubestep x"], (1, "a")),
            (vec!["$ kubestep x", "a", "b"], (2, "nothing more")),
            (vec!["$ kubestep x", "…", "b"], (2, "no such line")),
        ] {
            assert_eq!(compare(&written, printed), Err((wrong.0, wrong.1.to_owned())), "{written:?}");
        }
    }
}
