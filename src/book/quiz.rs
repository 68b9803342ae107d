//! Questions with answers that explain themselves. They need no script: every answer opens to say whether it is right,
//! and why.
//!
//! ```yaml
//! question: A Pod was deleted. Why does the ReplicaSet controller make another?
//! answers:
//!   - text: It was told to replace the Pod.
//!     why: It is never told what to do, only that something changed.
//!   - text: It counts fewer Pods than its ReplicaSet asks for.
//!     right: true
//!     why: It compares the desired state with the current one, after every change.
//! ```

use serde::Deserialize;

use super::block::{Block, Mistake};
use super::html;

/// One question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    question: String,
    answers: Vec<Answer>,
}

/// One of its answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    text: String,
    #[serde(default)]
    right: bool,
    why: String,
}

/// A block may hold one question or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Body {
    One(Question),
    Many(Vec<Question>),
}

/// The block as HTML. `number` is its place among those of the chapter.
pub fn render(block: &Block, number: usize) -> Result<String, Mistake> {
    block.only(&["title"])?;
    let questions = read(block)?;
    let title = block.option("title").unwrap_or("Check yourself");
    let mut out =
        format!("<section class=\"ks-quiz\" aria-label=\"{0}\"><p class=\"ks-label\">{0}</p>", html::text(title));
    for (n, question) in (1..).zip(&questions) {
        let id = format!("quiz-{number}-{n}");
        out += &format!("<div role=\"group\" aria-labelledby=\"{id}\"><p class=\"ks-question\" id=\"{id}\">");
        out += &format!("{}</p>", html::prose(&question.question));
        for answer in &question.answers {
            let (class, verdict) = if answer.right { ("right", "Right.") } else { ("wrong", "No.") };
            out += &format!(
                "<details class=\"ks-{class}\"><summary>{}</summary><p><strong>{verdict}</strong> {}</p></details>",
                html::prose(&answer.text),
                html::prose(&answer.why)
            );
        }
        out += "</div>";
    }
    Ok(out + "</section>\n")
}

fn read(block: &Block) -> Result<Vec<Question>, Mistake> {
    // A list is told from a single question first, so that a mistake in either has its own words and line.
    let list = block.body.trim_start().starts_with("- ");
    let parsed = match list {
        true => serde_yaml::from_str(&block.body).map(Body::Many),
        false => serde_yaml::from_str(&block.body).map(Body::One),
    };
    let questions = match parsed {
        Ok(Body::One(question)) => vec![question],
        Ok(Body::Many(questions)) => questions,
        Err(error) => {
            let line = block.line + error.location().map_or(0, |place| place.line());
            return Err(Mistake::new(
                line,
                format!("{error}; a quiz has question:, and answers: with text:, why: and right:"),
            ));
        }
    };
    for question in &questions {
        let right = question.answers.iter().filter(|answer| answer.right).count();
        if right == 0 || right == question.answers.len() {
            let (asked, all) = (&question.question, question.answers.len());
            return Err(block.mistake(format!("{asked:?}: {right} of {all} answers are right; some must be, not all")));
        }
    }
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    fn rendered(body: &str) -> Result<String, Mistake> {
        let blocks = block::find(&format!("\n```quiz\n{body}\n```\n")).expect("it is one block");
        render(&blocks[0], 1)
    }

    #[test]
    fn every_answer_explains_itself() {
        let html = rendered("question: Why?\nanswers:\n- {text: a, right: true, why: yes}\n- {text: b, why: '<no>'}");
        let html = html.expect("it is well written");
        assert_eq!((html.matches("<details").count(), html.matches("ks-right").count()), (2, 1));
        assert!(html.contains("<strong>No.</strong> &lt;no&gt;") && !html.trim_end().contains('\n'));
    }

    #[test]
    fn mistakes_say_their_line() {
        let no_why = rendered("question: Why?\nanswers:\n- {text: a, right: true}");
        assert!(no_why.is_err_and(|mistake| mistake.line >= 4 && mistake.text.contains("why")));
        let none = rendered("question: Why?\nanswers:\n- {text: a, why: b}");
        assert!(none.is_err_and(|mistake| mistake.line == 2 && mistake.text.contains("0 of 1")));
    }
}
