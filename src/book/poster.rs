//! A poster: a run from its first line to its end on one page, hop by hop, each with a link to the scene that shows it from nearer.
//!
//! ```text
//! # Controllers
//! create replicasets request: A ReplicaSet. The Deployment controller creates it. -> 07-deployment.md#scene-a-rollout
//! ```
//!
//! A hop is a condition as `until` takes it; sender, receiver and time come from the run, and a hop that the run no longer makes fails
//! the build. A line that begins with `#` begins a stage. The page is as wide as A4 or A3 across, in the colours of the book.

use std::fmt::Write as _;

use super::block::{Block, Mistake};
use super::html;
use super::svg::component;
use debugger::scene::{Scene, Step};

/// Width and height, in the proportion of A3 and A4.
const PAGE: (usize, usize) = (1414, 1000);
/// Where the first lane is, and how far it is from one to the next.
const LANES: (usize, usize) = (96, 96);
/// Where hops are told in words.
const TEXT: usize = 736;
/// Where the first hop is, and where the last one ends.
const ROWS: (usize, usize) = (128, 968);
/// The programs that take part, from the user inwards: what their names begin with, and two short lines to name them.
const PROGRAMS: [(&str, &str, &str); 7] = [
    ("user", "you and", "kubectl"),
    ("kube-apiserver", "API server", "and etcd"),
    ("kube-controller-manager", "controller", "manager"),
    ("kube-scheduler", "scheduler", ""),
    ("kubelet", "kubelet", "of the node"),
    ("containerd", "container", "runtime"),
    ("cni", "network", "plugins"),
];

/// One hop, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The stage that begins with it, if one does.
    pub stage: Option<String>,
    /// Where it is in the run.
    pub condition: String,
    /// A title, a full stop, and a sentence or two.
    pub text: String,
    /// The page and place that show it.
    pub link: String,
}

/// The hops of a block.
///
/// # Errors
/// The line that is none.
pub fn hops(block: &Block) -> Result<Vec<Hop>, Mistake> {
    let (mut hops, mut stage) = (Vec::new(), None);
    for (line, text) in (block.line + 1..).zip(block.body.lines()) {
        if let Some(name) = text.strip_prefix("# ") {
            stage = Some(name.to_owned());
            continue;
        }
        let parts = text.split_once(": ").and_then(|(condition, rest)| Some((condition, rest.split_once(" -> ")?)));
        let Some((condition, (text, link))) = parts else {
            return Err(Mistake::new(line, "write CONDITION: Title. What happens. -> PAGE.md#PLACE"));
        };
        let link = link.replace(".md", ".html");
        hops.push(Hop { stage: stage.take(), condition: condition.to_owned(), text: text.to_owned(), link });
    }
    Ok(hops)
}

/// The lane of a process. What has none, such as a clock, is with the one that it wakes.
fn lane(name: &str) -> Option<usize> {
    let program = name.split('/').next().unwrap_or(name);
    PROGRAMS.iter().position(|(begins, ..)| *begins == program)
}

fn x(lane: usize) -> usize {
    LANES.0 + LANES.1 * lane
}

/// The figure. `scene` has a caption at the step of each hop.
pub fn draw(title: &str, hops: &[Hop], scene: &Scene) -> String {
    let (width, height) = PAGE;
    let mut out = format!(
        "<figure class=\"ks-poster\"><svg viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"Poster: {0}\">\
         <text class=\"ks-title\" x=\"40\" y=\"46\">{0}</text>\
         <text class=\"ks-faint\" x=\"{TEXT}\" y=\"46\">kubestep step {1}: {2} nodes; times are virtual seconds</text>",
        html::text(title),
        html::text(&scene.scenario),
        scene.nodes.len()
    );
    for (n, (begins, first, second)) in PROGRAMS.iter().enumerate() {
        let _ = write!(
            out,
            "<g class=\"{}\"><text x=\"{x}\" y=\"82\" text-anchor=\"middle\">{first}</text>\
             <text x=\"{x}\" y=\"98\" text-anchor=\"middle\">{second}</text><path d=\"M{x} 108V{}\"/></g>",
            component(begins),
            ROWS.1,
            x = x(n)
        );
    }
    let row = (ROWS.1 - ROWS.0) / hops.len().max(1);
    let steps = scene.steps.iter().filter(|step| step.caption.is_some());
    let mut bands = Vec::new();
    for (n, (hop, step)) in hops.iter().zip(steps).enumerate() {
        let top = ROWS.0 + row * n;
        if let Some(stage) = &hop.stage {
            bands.push((top, stage));
        }
        out += &drawn(n + 1, hop, step, top, row);
    }
    for (n, (top, stage)) in bands.iter().enumerate() {
        let bottom = bands.get(n + 1).map_or(ROWS.0 + row * hops.len(), |(next, _)| *next);
        let _ = write!(
            out,
            "<path class=\"ks-band\" d=\"M22 {}V{}\"/><text class=\"ks-stage\" text-anchor=\"middle\" \
             transform=\"translate(14 {}) rotate(-90)\">{}</text>",
            top + 3,
            bottom - 3,
            (top + bottom) / 2,
            html::text(stage)
        );
    }
    out + "</svg></figure>\n"
}

/// One hop: its arrow, its number, its time, and its words, all of them one link.
fn drawn(number: usize, hop: &Hop, step: &Step, top: usize, row: usize) -> String {
    let y = top + row / 2;
    let to = lane(&step.to);
    let (from, to) = (lane(&step.from).or(to).unwrap_or(0), to.or(lane(&step.from)).unwrap_or(0));
    let (title, about) = hop.text.split_once(". ").unwrap_or((&hop.text, ""));
    let (start, end) = (x(from), x(to));
    let arrow = match end.cmp(&start) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Greater => {
            format!("<path class=\"ks-arrow\" d=\"M{start} {y}H{}m-7 -4l7 4l-7 4\"/>", end - 4)
        }
        std::cmp::Ordering::Less => format!("<path class=\"ks-arrow\" d=\"M{start} {y}H{}m7 -4l-7 4l7 4\"/>", end + 4),
    };
    format!(
        "<a href=\"{}\" class=\"{}\"><rect x=\"30\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>{arrow}\
         <circle cx=\"{start}\" cy=\"{y}\" r=\"10\"/><text class=\"ks-number\" x=\"{start}\" y=\"{}\" \
         text-anchor=\"middle\">{number}</text><text class=\"ks-faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.3}</text>\
         <text class=\"ks-hop\" x=\"{TEXT}\" y=\"{}\">{}</text><text x=\"{TEXT}\" y=\"{}\">{}</text></a>",
        html::text(&hop.link),
        component(if lane(&step.from).is_some() { &step.from } else { &step.to }),
        top + 1,
        PAGE.0 - 44,
        row - 2,
        y + 4,
        LANES.0 - 22,
        y + 4,
        step.t_us as f64 / 1e6,
        y - 3,
        html::text(title),
        y + 13,
        html::text(&about.replace('`', ""))
    )
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    #[test]
    fn a_hop_has_a_condition_words_and_a_link() {
        let of = |body: &str| {
            let source = format!("```poster pod\n{body}```\n");
            hops(&block::find(&source).expect("it is one block")[0]).map_err(|mistake| mistake.line)
        };
        let read =
            of("# Kubelet\nmethod=PullImage: An image. Pulled. -> 09-kubelet.md#scene-a\nmethod=X: Y. -> a.md\n");
        let read = read.expect("it is well written");
        assert_eq!((read[0].stage.as_deref(), read[1].stage.as_deref()), (Some("Kubelet"), None));
        assert_eq!(
            (read[0].condition.as_str(), read[0].link.as_str()),
            ("method=PullImage", "09-kubelet.html#scene-a")
        );
        assert_eq!(of("method=X: Y.\n"), Err(2));
    }
}
