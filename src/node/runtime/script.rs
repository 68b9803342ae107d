//! The little of a shell that containers here understand: simple commands one after another, joined by `;`, `&&` and
//! `||`, whose output may go into a file.
//!
//! What `$(…)` prints is put in its place, and what `$((…))` comes to. A script may end in a loop without end.
//!
//! Left out: pipes, other loops, functions and the like: a command with any of them is *beyond* what is understood. Errors
//! that are sent elsewhere (`2>/dev/null`) are shown all the same.

/// Whether a command runs, depending on how the one before it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joint {
    /// `;`, or a new line: in any case.
    #[default]
    Always,
    /// `&&`: if it ended well.
    AndThen,
    /// `||`: if it did not.
    OrElse,
}

/// A command: words, and where its output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// When it runs.
    pub joint: Joint,
    /// Its name and arguments, without quotes.
    pub words: Vec<String>,
    /// `> PATH`, or, with true, `>> PATH`.
    pub into: Option<(String, bool)>,
    /// There is a pipe, a loop or the like in it.
    pub is_beyond: bool,
}

impl Joint {
    /// Whether to go on after a command that ended with `code`.
    pub fn goes_on(self, code: i32) -> bool {
        match self {
            Joint::Always => true,
            Joint::AndThen => code == 0,
            Joint::OrElse => code != 0,
        }
    }
}

/// The script of a command that is a shell's: `sh -c SCRIPT`.
pub fn of_shell<'a>(words: &[&'a str]) -> Option<&'a str> {
    match words {
        [shell, "-c" | "-ec" | "-ce", script, ..] if is_shell(shell) => Some(script),
        _ => None,
    }
}

/// Whether a word starts a shell.
pub fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash"))
}

/// The name of a program that a word starts: an image has the usual ones in the usual places.
pub fn program(word: &str) -> &str {
    const PLACES: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];
    word.rsplit_once('/').filter(|(place, _)| PLACES.contains(place)).map_or(word, |(_, name)| name)
}

/// The text of the first `$(…)`: what is before it, the command in it, what is after it.
pub fn substitution(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("$(")?;
    let (command, after) = rest.split_once(')')?;
    Some((before, command, after))
}

/// `NAME=VALUE`, if that is all of a command.
pub fn assignment(words: &[String]) -> Option<(&str, &str)> {
    let [word] = words else { return None };
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let is_name = !first.is_ascii_digit() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// A script that ends in a loop without end, `while true; do …; done`: what comes before the loop, and what is done in each
/// round. None if it does not, or if a round has anything beyond in it, or an end.
pub fn endless(commands: &[Simple]) -> Option<(&[Simple], Vec<Simple>)> {
    let words = |simple: &Simple| simple.words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let start = commands.iter().position(|simple| simple.is_beyond)?;
    let head = words(&commands[start]);
    let pause = match head.strip_prefix("while ")? {
        "true" | ":" => None,
        pause if pause.starts_with("sleep ") => Some(parse(pause)),
        _ => return None,
    };
    let body = commands[start + 1..].strip_prefix(&[Simple::keyword("do")][..])?;
    let end = body.iter().position(|simple| simple.is_beyond).filter(|end| words(&body[*end]) == "done")?;
    let leaves = |simple: &Simple| matches!(simple.words[..].first().map(String::as_str), Some("exit" | "break"));
    let round: Vec<Simple> = pause.into_iter().flatten().chain(body[..end].iter().cloned()).collect();
    (!round.iter().any(leaves)).then_some((&commands[..start], round))
}

impl Simple {
    fn keyword(word: &str) -> Simple {
        Simple { words: vec![word.to_owned()], is_beyond: true, ..Simple::default() }
    }
}

/// What `$((…))` comes to: a number or a variable, or two with `+`, `-`, `*`, `/` or `%` between them.
pub fn arithmetic(text: &str, value_of: impl Fn(&str) -> Option<String>) -> Option<i64> {
    let number = |text: &str| match text.trim().parse::<i64>() {
        Ok(number) => Some(number),
        Err(_) => value_of(text.trim()).map_or(Some(0), |value| value.parse().ok()),
    };
    let Some(at) = text.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-' | '*' | '/' | '%')) else {
        return number(text);
    };
    let (left, right) = (number(&text[..at.0])?, number(&text[at.0 + 1..])?);
    match at.1 {
        '+' => left.checked_add(right),
        '-' => left.checked_sub(right),
        '*' => left.checked_mul(right),
        '/' => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

/// Words that begin what is beyond.
const KEYWORDS: &[&str] =
    &["if", "while", "until", "for", "case", "do", "done", "then", "else", "fi", "esac", "{", "!"];

/// The commands of a script.
pub fn parse(script: &str) -> Vec<Simple> {
    let mut reader = Reader::default();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match (reader.quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => reader.quote = None,
            (None, '\\') => reader.push(chars.next().unwrap_or('\\')),
            // Between double quotes it is a sign like any other, but before these.
            (Some('"'), '\\') => reader.push(chars.next_if(|c| matches!(c, '$' | '`' | '"' | '\\')).unwrap_or('\\')),
            (None | Some('"'), '$') if chars.peek() == Some(&'(') => reader.substitution(&mut chars),
            (Some(_), c) => reader.push(c),
            (None, '\'' | '"') => reader.begin_quote(c),
            (None, ';' | '\n') => reader.end_command(Joint::Always),
            (None, '&' | '|') if chars.next_if_eq(&c).is_some() => {
                reader.end_command(if c == '&' { Joint::AndThen } else { Joint::OrElse });
            }
            (None, '>') => reader.redirect(chars.next_if_eq(&'>').is_some()),
            (None, '&' | '|' | '<' | '(' | ')' | '`') => reader.command.is_beyond = true,
            (None, '#') if reader.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, c) if c.is_whitespace() => reader.end_word(),
            (None, c) => reader.push(c),
        }
    }
    reader.end_command(Joint::Always);
    reader.commands
}

#[derive(Default)]
struct Reader {
    commands: Vec<Simple>,
    command: Simple,
    word: Option<String>,
    quote: Option<char>,
    /// The next word is where output goes, at the end of the file if true; or where errors go, which is nowhere.
    target: Option<Target>,
}

enum Target {
    Output { append: bool },
    Errors,
}

impl Reader {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// `$(…)` and `$((…))` stay as they are, for whoever runs the command.
    fn substitution(&mut self, chars: &mut impl Iterator<Item = char>) {
        self.push('$');
        let mut depth = 0;
        for c in chars {
            depth = match c {
                '(' => depth + 1,
                ')' => depth - 1,
                _ => depth,
            };
            self.command.is_beyond |= depth > 2 || matches!(c, '|' | '<' | '>' | '&' | ';');
            self.push(c);
            if depth == 0 {
                break;
            }
        }
    }

    fn begin_quote(&mut self, quote: char) {
        self.word.get_or_insert_default();
        self.quote = Some(quote);
    }

    fn redirect(&mut self, append: bool) {
        let is_errors = self.word.as_deref() == Some("2");
        if is_errors {
            self.word = None;
        }
        self.end_word();
        self.target = Some(if is_errors { Target::Errors } else { Target::Output { append } });
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            None => self.command.words.push(word),
            Some(Target::Output { append }) => self.command.into = Some((word, append)),
            Some(Target::Errors) => {}
        }
    }

    fn end_command(&mut self, next: Joint) {
        self.end_word();
        self.target = None;
        // What a loop does begins on the line of its `do`.
        if self.command.words.len() > 1 && self.command.words[0] == "do" {
            let (words, joint) = (vec![self.command.words.remove(0)], self.command.joint);
            self.commands.push(Simple { words, joint, is_beyond: true, ..Simple::default() });
            self.command.joint = Joint::Always;
        }
        let mut command = std::mem::replace(&mut self.command, Simple { joint: next, ..Simple::default() });
        command.is_beyond |= command.words.first().is_some_and(|word| KEYWORDS.contains(&word.as_str()));
        if !command.words.is_empty() || command.into.is_some() || command.is_beyond {
            self.commands.push(command);
        }
    }
}

/// Replaces `$NAME` and `${NAME}` by what the environment says.
pub fn expand(text: &mut String, envs: &[(String, String)]) {
    if !text.contains('$') {
        return;
    }
    // Longer names first, so that `$HOME_DIR` is not `$HOME` and `_DIR`.
    let mut envs: Vec<&(String, String)> = envs.iter().collect();
    envs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in envs {
        *text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_as_a_shell_reads_them() {
        let shown = |script: &str| {
            let command = |simple: Simple| {
                let joint = [";", "&&", "||"][simple.joint as usize];
                let into = simple.into.map(|(path, append)| format!(" {}{path}", if append { ">>" } else { ">" }));
                let beyond = if simple.is_beyond { " ?" } else { "" };
                format!("{joint}{:?}{}{beyond}", simple.words, into.unwrap_or_default())
            };
            parse(script).into_iter().map(command).collect::<Vec<_>>().join(" ")
        };
        for (script, expected) in [
            ("sleep 3", r#";["sleep", "3"]"#),
            ("a; b && c || d\ne", r#";["a"] ;["b"] &&["c"] ||["d"] ;["e"]"#),
            ("echo 'one  two' \"three; four\" >> /log", r#";["echo", "one  two", "three; four"] >>/log"#),
            ("echo a>/x", r#";["echo", "a"] >/x"#),
            ("cat /x 2>/dev/null", r#";["cat", "/x"]"#),
            ("echo \\$A # why", r#";["echo", "$A"]"#),
            ("echo ''", r#";["echo", ""]"#),
            (r#"echo "a\n\"b""#, r#";["echo", "a\\n\"b"]"#),
            ("echo \"it is $(date -u)\" $(id)", r#";["echo", "it is $(date -u)", "$(id)"]"#),
            ("echo $((1 + 2))", r#";["echo", "$((1 + 2))"]"#),
            ("cat /x | wc", r#";["cat", "/x", "wc"] ?"#),
            ("while true; do date; done", r#";["while", "true"] ? ;["do"] ? ;["date"] ;["done"] ?"#),
            (" ; \n", ""),
        ] {
            assert_eq!(shown(script), expected, "{script}");
        }
    }

    #[test]
    fn a_loop_without_end_is_known() {
        let shown = |script: &str| {
            let commands = parse(script);
            let (before, round) = endless(&commands)?;
            let text =
                |list: &[Simple]| list.iter().map(|simple| simple.words.join(" ")).collect::<Vec<_>>().join("; ");
            Some(format!("{} | {}", text(before), text(&round)))
        };
        for (script, expected) in [
            ("i=0; while true; do echo $i; sleep 5; done", Some("i=0 | echo $i; sleep 5")),
            ("while sleep 2\ndo\n  date\ndone", Some(" | sleep 2; date")),
            ("while :; do date > /x; done;", Some(" | date")),
            ("while true; do exit 1; done", None),
            ("while true; do date | wc; done", None),
            ("until true; do date; done", None),
            ("date", None),
        ] {
            assert_eq!(shown(script).as_deref(), expected, "{script}");
        }
    }

    #[test]
    fn sums_are_made() {
        let value_of = |name: &str| (name == "i").then(|| "41".to_owned());
        for (text, expected) in
            [("i+1", Some(42)), (" i * 2 ", Some(82)), ("-3", Some(-3)), ("none", Some(0)), ("7 % 0", None)]
        {
            assert_eq!(arithmetic(text, value_of), expected, "{text}");
        }
    }

    #[test]
    fn the_longest_name_counts() {
        let envs = [("HOME".to_owned(), "/root".to_owned()), ("HOME_DIR".to_owned(), "/home".to_owned())];
        let mut text = "$HOME_DIR ${HOME} $OTHER".to_owned();
        expand(&mut text, &envs);
        assert_eq!(text, "/home /root $OTHER");
    }
}
