//! What there is to do after a chapter: an exercise as the table of the grader describes it. A chapter that names one
//! which is not there cannot be built.

use super::block::{Block, Mistake};
use super::html;
use lab::{Exercise, Judging, plug};

/// The block as HTML.
pub fn render(block: &Block) -> Result<String, Mistake> {
    block.only(&[])?;
    let exercise = Exercise::find(block.word("an exercise's name")?).map_err(|error| block.mistake(error))?;
    let Exercise { folder, title, outcome, minutes, .. } = exercise;
    let label = html::text(&format!("Exercise {folder}, about {minutes} minutes"));
    Ok(format!(
        "<section class=\"ks-exercise\" aria-label=\"{label}\"><p class=\"ks-label\">{label}</p>\
         <p class=\"ks-question\">{}</p><p>After it you can {}. {} {}</p><pre tabindex=\"0\"><code>{}</code></pre></section>\n",
        html::prose(title),
        html::prose(outcome),
        judged(&exercise.judging),
        html::prose(&types(exercise)),
        html::text(&commands(exercise)),
    ))
}

fn judged(judging: &Judging) -> &'static str {
    match judging {
        Judging::Function { .. } => "Your function is asked every question that there is within a bound.",
        Judging::Controller(_) => {
            "Your controller runs in the cluster, in place of ours, in every order of events within a bound."
        }
    }
}

/// Where one looks up what there is to write with.
fn types(exercise: &Exercise) -> String {
    match exercise.judging {
        Judging::Function { .. } => format!("What it is given, and what it gives back, is in `{}`.", exercise.types()),
        Judging::Controller(_) => format!("What it is written with is in `{}`.", exercise.types()),
    }
}

/// What is typed, in order.
fn commands(exercise: &Exercise) -> String {
    let folder = exercise.folder;
    let name = exercise.name();
    let mut lines = vec![
        ("cargo run -- learn".to_owned(), "hands it out"),
        (format!("$EDITOR exercises/{folder}/src/lib.rs"), "yours to write"),
        (format!("cargo run -- grade {name}"), "the verdict"),
    ];
    if plug::has_a_place(exercise) {
        lines.push((format!("cargo run -- step --exercise {name}"), "your code, one event at a time"));
    }
    let width = lines.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    lines.iter().map(|(line, about)| format!("{line:width$}   # {about}\n")).collect()
}
