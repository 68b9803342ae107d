//! Lines for a prompt as a text, typed one after another: how the solution of a case is judged.

use super::{Stepper, Typed, What, shell};

/// The lines of a text. A line that is not over goes on in the next one.
pub fn lines(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        match all.last_mut().filter(|_| goes_on) {
            Some(begun) => match begun.strip_suffix('\\') {
                Some(first) => *begun = format!("{first}{line}"),
                None => *begun = format!("{begun}\n{line}"),
            },
            None if line.trim().is_empty() => continue,
            None => all.push(line.to_owned()),
        }
        goes_on = all.last().is_some_and(|line| shell::goes_on(line));
    }
    all
}

impl Stepper {
    /// Types the lines of a text, and lets the cluster come to rest after each; then says what is still wrong with the cluster
    /// of the case. None: it is solved.
    ///
    /// # Errors
    /// A line cannot be carried out: which, and why.
    pub fn repair(&mut self, text: &str) -> Result<Option<String>, String> {
        for line in lines(text) {
            let typed = self.read(&line);
            if matches!(typed.what, What::Nothing) {
                continue;
            }
            self.carry_out(&typed).map_err(|error| format!("{line}: {error}"))?;
            if typed.acts() {
                self.carry_out(&Typed::read("run")).map_err(|error| format!("{line}: {error}"))?;
            }
        }
        self.session.still_wrong()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_in_the_next() {
        let text =
            "# a comment\n\nkubectl run web \\\n  --image=nginx\ncat <<EOF | kubectl apply -f -\nkind: Pod\nEOF\nrun\n";
        let expected =
            ["# a comment", "kubectl run web   --image=nginx", "cat <<EOF | kubectl apply -f -\nkind: Pod\nEOF", "run"];
        assert_eq!(lines(text), expected);
    }
}
