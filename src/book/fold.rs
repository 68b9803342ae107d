//! Rust on lines that are narrow enough for a page: longer ones are broken as rustfmt would, behind `=` and `=>`, before
//! operators and calls, or within brackets; paragraphs of comments are wrapped. Nothing but blanks differs from the source, and
//! the signs that begin lines of a comment.

/// So many columns fit on a page, and on half a screen.
pub const WIDTH: usize = 80;
/// What a line that goes on is indented by.
const STEP: usize = 4;

/// What binds weakest comes first: where there is such an operator, a line is broken before it and not before others.
const OPERATORS: [&str; 8] = [" || ", " && ", " | ", " == ", " != ", " <= ", " + ", " - "];

/// Source whose lines have at most [`WIDTH`] columns, where that can be done.
pub fn fold(source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let paragraphs = lines.chunk_by(|one, next| sign(one).is_some() && sign(one) == sign(next) && !begins(next));
    let folded = paragraphs.flat_map(|lines| match sign(lines[0]) {
        Some(sign) if lines.iter().any(|line| width(line) > WIDTH) => {
            let words: Vec<&str> = lines.iter().flat_map(|line| line[sign.len()..].split_whitespace()).collect();
            wrapped(sign, &words)
        }
        _ => lines.iter().flat_map(|line| fold_line(line)).collect(),
    });
    folded.map(|line| line + "\n").collect()
}

/// What a line of comment begins with, and its indent.
fn sign(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let length = text.len() - text.trim_start_matches(['/', '!']).len();
    text.starts_with("//").then(|| &line[..line.len() - text.len() + length])
}

/// Whether a line of comment begins a paragraph or an item of a list.
fn begins(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
    text.is_empty() || text.starts_with("- ")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn wrapped(sign: &str, words: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= WIDTH => *line += &format!(" {word}"),
            _ => lines.push(format!("{sign} {word}")),
        }
    }
    lines
}

/// A line of code. A comment at its end comes to stand above it.
fn fold_line(line: &str) -> Vec<String> {
    if width(line) <= WIDTH {
        return vec![line.to_owned()];
    }
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let Some(at) = Signs::of(text).outside("// ").pop() else { return broken(indent, text, false) };
    let words: Vec<&str> = text[at + 2..].split_whitespace().collect();
    let above = wrapped(&format!("{}//", " ".repeat(indent)), &words);
    [above, broken(indent, text[..at].trim_end(), false)].concat()
}

/// Of the ways to break code the one that fits, in the fewest lines. `listed` is whether it stands within brackets, where each
/// comma may end a line.
fn broken(indent: usize, text: &str, listed: bool) -> Vec<String> {
    let whole = format!("{}{text}", " ".repeat(indent));
    if width(&whole) <= WIDTH {
        return vec![whole];
    }
    let signs = Signs::of(text);
    let ways = match () {
        () if listed && !signs.outside(", ").is_empty() => vec![signs.at_commas(indent)],
        () if !signs.branches().is_empty() => vec![signs.open(indent, &signs.branches())],
        () => [signs.behind(indent), signs.before_operators(indent)]
            .into_iter()
            .flatten()
            .chain(signs.within(indent))
            .chain(signs.before_a_call(indent))
            .collect(),
    };
    ways.into_iter().filter(|lines| lines.len() > 1).min_by_key(|lines| cost(lines)).unwrap_or_else(|| vec![whole])
}

/// How bad it is: how many lines are too wide, and how many there are.
fn cost(lines: &[String]) -> (usize, usize) {
    (lines.iter().filter(|line| width(line) > WIDTH).count(), lines.len())
}

/// Brackets that open and close in a text.
struct Group {
    from: usize,
    to: usize,
    /// How many others are around it.
    depth: usize,
}

/// A text and its brackets.
struct Signs<'a> {
    text: &'a str,
    /// How many brackets are open behind each byte; None within a literal.
    depth: Vec<Option<usize>>,
    groups: Vec<Group>,
}

impl<'a> Signs<'a> {
    fn of(text: &'a str) -> Signs<'a> {
        let bytes = text.as_bytes();
        let byte = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        let (mut signs, mut open) = (Signs { text, depth: Vec::new(), groups: Vec::new() }, Vec::new());
        let mut literal = None;
        for (at, sign) in bytes.iter().enumerate() {
            let (before, after) = (byte(at.checked_sub(1)), byte(Some(at + 1)));
            if let Some(quote) = literal {
                signs.depth.push(None);
                let escaped = before == b'\\' && byte(at.checked_sub(2)) != b'\\';
                literal = literal.filter(|_| *sign != quote || escaped);
                continue;
            }
            let bar = open.last().is_some_and(|from: &usize| bytes[*from] == b'|');
            let (opens, closes) = match sign {
                // A lifetime has no second quote.
                b'"' => (false, false),
                b'|' => (!bar && after != b'|' && takes_parameters(&text[..at]), bar),
                b'<' => (![b' ', b'=', b'<'].contains(&after), false),
                b'>' => (false, ![b' ', b'-', b'='].contains(&before)),
                other => (b"([{".contains(other), b")]}".contains(other)),
            };
            if *sign == b'"' || (*sign == b'\'' && (after == b'\\' || byte(Some(at + 2)) == b'\'')) {
                literal = Some(*sign);
            } else if opens {
                open.push(at);
            } else if closes && let Some(from) = open.pop() {
                signs.groups.push(Group { from, to: at, depth: open.len() });
            }
            signs.depth.push(Some(open.len()));
        }
        signs.groups.sort_by_key(|group| (group.depth, group.from));
        signs
    }

    /// The places at which something stands within no brackets.
    fn outside(&self, what: &str) -> Vec<usize> {
        self.text.match_indices(what).map(|(at, _)| at).filter(|at| self.depth[*at] == Some(0)).collect()
    }

    /// Broken at these places, each piece on where it must be. All but the first are indented more.
    fn cut(&self, indent: usize, more: usize, places: &[usize]) -> Vec<String> {
        // The brace of a block stands on a line of its own then.
        let (text, block) = self.text.strip_suffix(" {").map_or((self.text, false), |text| (text, true));
        let starts = [0].into_iter().chain(places.iter().copied());
        let ends = places.iter().copied().chain([text.len()]);
        let indents = [indent].into_iter().chain(std::iter::repeat(indent + more));
        let pieces = starts.zip(ends).map(|(from, to)| text[from..to].trim()).zip(indents);
        let lines = pieces.flat_map(|(piece, indent)| broken(indent, piece, false));
        lines.chain(block.then(|| format!("{}{{", " ".repeat(indent)))).collect()
    }

    fn at_commas(&self, indent: usize) -> Vec<String> {
        let places: Vec<usize> = self.outside(", ").iter().map(|at| at + 1).collect();
        self.cut(indent, 0, &places)
    }

    fn behind(&self, indent: usize) -> Option<Vec<String>> {
        let place = match self.outside(" => ").first() {
            Some(at) => at + 3,
            None => self.outside(" = ").first()? + 2,
        };
        // `if a && let b = c`: the operator first.
        let is_whole = self.outside(" && ").first().is_none_or(|at| place < *at);
        is_whole.then(|| self.cut(indent, STEP, &[place]))
    }

    fn before_operators(&self, indent: usize) -> Option<Vec<String>> {
        let places = self.operators()?;
        (self.outside(" => ").is_empty()).then(|| self.cut(indent, STEP, &places))
    }

    fn operators(&self) -> Option<Vec<usize>> {
        // `= || x` is a closure without parameters.
        let places = |operator| self.outside(operator).into_iter().filter(|at| !takes_parameters(&self.text[..*at]));
        OPERATORS.iter().map(|operator| places(operator).collect::<Vec<_>>()).find(|places| !places.is_empty())
    }

    /// Before the last call whose line fits.
    fn before_a_call(&self, indent: usize) -> Option<Vec<String>> {
        if self.operators().is_some() || !self.outside(" => ").is_empty() {
            return None;
        }
        let places: Vec<usize> =
            self.outside(".").into_iter().filter(|at| *at > 0 && is_call(&self.text[*at..])).collect();
        let fits = |at: &&usize| indent + width(&self.text[..**at]) <= WIDTH;
        let place = places.iter().rev().find(fits).or(places.first())?;
        let more = if self.text.starts_with('.') { 0 } else { STEP };
        Some(self.cut(indent, more, &[*place]))
    }

    /// What stands in brackets on lines of its own. Brackets around nothing but others open together with them.
    fn within(&self, indent: usize) -> Vec<Vec<String>> {
        if self.operators().is_some() {
            return Vec::new();
        }
        let outer = |group: &Group| {
            let mut around = self.groups.iter().filter(|one| one.from < group.from && group.to < one.to);
            around.all(|one| {
                let is_alone = Signs::of(&self.text[one.from + 1..one.to]).outside(", ").is_empty();
                is_alone && self.text[group.to..one.to].bytes().all(|sign| b")]}".contains(&sign))
            })
        };
        let fits = |group: &&Group| {
            let tail = &self.text[group.to + 1..];
            let brackets = b"([{".contains(&self.text.as_bytes()[group.from]) && group.to > group.from + 1;
            brackets
                && outer(group)
                && !Signs::of(tail).outside(".").iter().any(|at| is_call_with_arguments(&tail[*at..]))
        };
        let lines = |group: &Group| self.open(indent, &[group]);
        self.groups.iter().filter(fits).map(lines).collect()
    }

    /// The blocks of an `else` and of what is before it.
    fn branches(&self) -> Vec<&Group> {
        let is_block = |group: &&Group| group.depth == 0 && self.text[group.from..].starts_with("{ ");
        if self.outside(" else {").is_empty() { Vec::new() } else { self.groups.iter().filter(is_block).collect() }
    }

    fn open(&self, indent: usize, groups: &[&Group]) -> Vec<String> {
        let (mut lines, mut at) = (Vec::new(), 0);
        for group in groups {
            lines.extend(broken(indent, &self.text[at..=group.from], false));
            lines.extend(broken(indent + STEP, self.text[group.from + 1..group.to].trim(), true));
            at = group.to;
        }
        lines.extend(broken(indent, &self.text[at..], false));
        lines
    }
}

/// Whether a `|` behind this text begins the parameters of a closure.
fn takes_parameters(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || ["(", ",", "=", "{", "move", "=>"].iter().any(|end| before.ends_with(end))
}

/// Whether a text begins with `.name(` or `.name::<`.
fn is_call(text: &str) -> bool {
    let rest = text[1..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    rest.starts_with('(') || rest.starts_with("::<")
}

fn is_call_with_arguments(text: &str) -> bool {
    is_call(text) && !text.split_once('(').is_some_and(|(_, rest)| rest.starts_with(')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays() {
        let source = format!("    {};\n\n    // {}\n", "a".repeat(75), "b".repeat(60));
        assert_eq!(fold(&source), source);
    }

    #[test]
    fn code_is_broken_as_rustfmt_would() {
        for (line, folded) in [
            (
                "pub fn verdict(owner: &ObjectMeta, selector: &Selector<'a>, candidate: &ObjectMeta) -> Result<Verdict, Error> {",
                "pub fn verdict(\n    owner: &ObjectMeta, selector: &Selector<'a>, candidate: &ObjectMeta\n) -> Result<Verdict, Error> {",
            ),
            (
                "        Some(controller) if Some(&controller.uid) != owner.uid.as_ref() => Verdict::Ignore,",
                "        Some(controller) if Some(&controller.uid) != owner.uid.as_ref() =>\n            Verdict::Ignore,",
            ),
            (
                "    if !scaled && status::is_complete(kind, &deployment.status.unwrap_or_default()) {",
                "    if !scaled\n        && status::is_complete(kind, &deployment.status.unwrap_or_default())\n    {",
            ),
            (
                "    let Some((runtime, actions)) = self.compute_actions(uid, &pod) else { return End::Done };",
                "    let Some((runtime, actions)) = self.compute_actions(uid, &pod) else {\n        return End::Done\n    };",
            ),
            (
                "    expansion::for_mounts(container, &envs).map_err(|why| failed(\"CreateContainerConfigError\", why))?;",
                "    expansion::for_mounts(container, &envs)\n        .map_err(|why| failed(\"CreateContainerConfigError\", why))?;",
            ),
            (
                "        return Err(failed(\"CreateContainerConfigError\", format!(\"no target, container {target}\")));",
                "        return Err(failed(\n            \"CreateContainerConfigError\",\n            format!(\"no target, container {target}\")\n        ));",
            ),
            (
                "    let caches = [(T::kind(), self.replica_sets.revision()), (Kind::Pod, self.pods.revision())];",
                "    let caches = [\n        (T::kind(), self.replica_sets.revision()),\n        (Kind::Pod, self.pods.revision())\n    ];",
            ),
        ] {
            assert!(width(line) > WIDTH, "{line}");
            assert_eq!(fold(line), format!("{folded}\n"));
        }
    }

    #[test]
    fn comments_are_wrapped_as_a_paragraph_and_come_before_their_line() {
        let word = "word ".repeat(17);
        let source = format!("    // {word}end.\n    // More.\n    //\n    // - Item.\n");
        assert_eq!(
            fold(&source),
            format!("    // {}\n    // word word end. More.\n    //\n    // - Item.\n", "word ".repeat(14).trim_end())
                .replace("word word end", "word word word end")
        );
        let line = format!("    call(\"//\"); // {word}");
        assert!(
            fold(&line).ends_with("\n    call(\"//\");\n") && fold(&line).starts_with("    // word"),
            "{}",
            fold(&line)
        );
    }

    #[test]
    fn nothing_but_blanks_changes_whatever_stands_there() {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        for part in
            ["(", ")]}>", "a.b(", "|a, b| ", "'x', '\\'', 'a ", "\"é // \\\" (\", ", " => ", " && ", "} else {", "…"]
        {
            let line = format!("    {}", part.repeat(40));
            assert_eq!(bare(&fold(&line)), bare(&line), "{part}");
        }
    }
}
