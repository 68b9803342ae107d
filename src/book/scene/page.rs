//! The HTML of a scene. Without a script it is a list of steps and a diagram; the player finds its data beside them.

use super::super::{html, svg};
use debugger::scene::data::{self, Words};
use debugger::scene::{Scene, Step};

/// How a scene is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Among text, with all that steps through it.
    Player,
    /// As wide as the page: a picture that plays when it is touched. All else is there for those who look closer.
    Cover,
}

/// A scene as HTML in one line. Its title is also where links lead to it: `scene-a-pod-is-deleted`.
pub fn html(scene: &Scene, title: &str, form: Form) -> String {
    let id = format!("scene-{}", html::slug(title));
    let steps = list(&scene.steps);
    let last = scene.steps.last().map_or(0, |step| step.number);
    let first = scene.steps.first().map_or(0, |step| step.number);
    let (class, label, diagram) = match form {
        Form::Player => ("ks-scene", "Scene ", svg::sequence(scene)),
        Form::Cover => ("ks-scene ks-cover", "", svg::topology(scene)),
    };
    format!(
        "<section class=\"{class}\" id=\"{id}\" aria-label=\"Scene: {title}\" data-scenario=\"{scenario}\">\
         <p class=\"ks-label\">{label}<span>{title}</span></p><div class=\"ks-player\"></div>\
         <figure class=\"ks-figure\">{diagram}</figure>\
         <details class=\"ks-steps\"><summary>All {count} steps in words</summary><ol>{steps}</ol></details>\
         <p class=\"ks-command\">In the terminal: <code>kubestep step {scenario}{seed}</code>, steps {first} to {last}</p>\
         <script type=\"application/json\">{data}</script></section>\n",
        title = html::text(title),
        scenario = html::text(&scene.scenario),
        count = scene.steps.len(),
        seed = if scene.seed == 0 { String::new() } else { format!(" --seed {}", scene.seed) },
        // Nothing in it can end the element that it stands in.
        data = data::json(scene, Words::Beside).to_string().replace('<', "\\u003c"),
    )
}

/// The steps as items of a list. Where the author says nothing of several in a row, they are folded into one.
fn list(steps: &[Step]) -> String {
    let mut out = String::new();
    for run in steps.chunk_by(|one, next| one.caption.is_none() && next.caption.is_none()) {
        let items: String = run.iter().map(item).collect();
        match run {
            [first, .., last] => {
                out += &format!(
                    "<li class=\"ks-run\"><details><summary>{} steps, {} to {}</summary><ol>{items}</ol></details></li>",
                    run.len(),
                    first.number,
                    last.number
                );
            }
            _ => out += &items,
        }
    }
    out
}

fn item(step: &Step) -> String {
    let caption =
        step.caption.as_ref().map_or(String::new(), |text| format!("<p class=\"ks-said\">{}</p>", html::prose(text)));
    let effects: String = step.effects.iter().map(|effect| format!("<li>{}</li>", html::text(effect))).collect();
    let effects = if effects.is_empty() { effects } else { format!("<ul>{effects}</ul>") };
    format!("<li value=\"{}\">{caption}<p>{}</p>{effects}</li>", step.number, html::text(&step.text))
}
