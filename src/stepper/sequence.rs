//! A timeline as a sequence diagram: a lifeline for each process, an arrow for each message, its text beside it.
//!
//! ```text
//!           U   A   C
//!     #4    ├──▶│   │   create deployments default/web → 201
//! ▶   #6    │   ├──▶│   ADDED Deployment default/web
//! ```

use console::{measure_text_width, truncate_str};

use debugger::timeline::Row;
use engine::StepId;

use super::palette;

/// The columns before the first lifeline: mark and number.
const HEAD: usize = 10;
/// From one lifeline to the next, where there is room.
const GAP: usize = 4;
/// Text needs at least so many columns.
const TEXT: usize = 24;

/// Draws rows in `width` columns. `here` is the step where the session stands.
pub fn draw(rows: &[Row], here: Option<StepId>, width: usize) -> String {
    let width = width.max(HEAD + 2);
    let mut lifelines: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(|row| [row.from.as_str(), row.to.as_str()]) {
        if !lifelines.contains(&name) {
            lifelines.push(name);
        }
    }
    let signs = signs(&lifelines);
    let gap = gap(lifelines.len(), width);
    let mut out = legend(&lifelines, &signs, width);
    // Lifelines for which there is no room are left out: the text says who it was.
    let shown = lifelines.len().min((width - HEAD) / gap);
    let head: String = signs[..shown].iter().map(|sign| format!("{:<gap$}", truncate_str(sign, gap - 1, ""))).collect();
    out += &format!("{:HEAD$}{}\n", "", head.trim_end());
    for row in rows {
        let at = |name: &str| lifelines[..shown].iter().position(|lifeline| *lifeline == name);
        let arrow = arrow(at(&row.from), at(&row.to), shown, gap);
        let mark = if here == Some(row.step) { "▶" } else { " " };
        let line = format!("{mark}{:>7}  {arrow} {}", row.step.to_string(), row.text);
        let line = truncate_str(line.trim_end(), width, "…").into_owned();
        let line = if here == Some(row.step) { palette::here().apply_to(line).to_string() } else { line };
        out += &line;
        out.push('\n');
    }
    out
}

/// A letter for each process: `U`, `A`, `C`, `S`, and for what is on a node a letter and the end of the node's name.
fn signs(lifelines: &[&str]) -> Vec<String> {
    let sign = |name: &str| {
        let (kind, node) = name.split_once('/').unwrap_or((name, ""));
        let letter = match kind {
            "user" => return "U".to_owned(),
            "kube-apiserver" => return "A".to_owned(),
            "kube-controller-manager" => "C",
            "kube-scheduler" => "S",
            "kubelet" => "k",
            "containerd" => "r",
            "cni" => "n",
            "kube-proxy" => "p",
            other => other.get(..1).unwrap_or("?"),
        };
        format!("{letter}{}", node.rsplit('-').next().unwrap_or_default())
    };
    lifelines.iter().map(|name| truncate_str(&sign(name), GAP - 1, "").into_owned()).collect()
}

fn gap(lifelines: usize, width: usize) -> usize {
    let room = width.saturating_sub(HEAD + TEXT);
    (room / lifelines.max(1)).clamp(2, GAP)
}

fn legend(lifelines: &[&str], signs: &[String], width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for (name, sign) in lifelines.iter().zip(signs) {
        let entry = format!("{sign} {name}");
        if !line.is_empty() && measure_text_width(&line) + 3 + measure_text_width(&entry) > width {
            out += &format!("{}\n", palette::label().apply_to(truncate_str(&line, width, "…")));
            line.clear();
        }
        line += if line.is_empty() { "" } else { " · " };
        line += &entry;
    }
    out + &format!("{}\n", palette::label().apply_to(truncate_str(&line, width, "…")))
}

/// Lifelines with one arrow between two of them.
fn arrow(from: Option<usize>, to: Option<usize>, count: usize, gap: usize) -> String {
    let mut cells: Vec<char> = vec![' '; count * gap];
    for lifeline in 0..count {
        cells[lifeline * gap] = '│';
    }
    match (from, to) {
        (Some(from), Some(to)) if from == to => cells[from * gap] = '●',
        (Some(from), Some(to)) => {
            let (left, right) = (from.min(to) * gap, from.max(to) * gap);
            for (column, cell) in cells.iter_mut().enumerate().take(right).skip(left + 1) {
                *cell = if column % gap == 0 { '┼' } else { '─' };
            }
            let rightward = from < to;
            cells[left] = if rightward { '├' } else { '│' };
            cells[right] = if rightward { '│' } else { '┤' };
            cells[if rightward { right - 1 } else { left + 1 }] = if rightward { '▶' } else { '◀' };
        }
        (Some(only), None) | (None, Some(only)) => cells[only * gap] = '◆',
        (None, None) => {}
    }
    cells.into_iter().collect::<String>().trim_end_matches(' ').to_owned() + &" ".repeat(gap.saturating_sub(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |step: u64, from: &str, to: &str, text: &str| Row {
            step: StepId(step),
            from: from.into(),
            to: to.into(),
            text: text.into(),
        };
        vec![
            row(4, "user/kubectl", "kube-apiserver", "create deployments default/web → 201"),
            row(6, "kube-apiserver", "kube-controller-manager", "ADDED Deployment default/web"),
            row(7, "kube-controller-manager", "kube-controller-manager", "work deployment-controller"),
            row(9, "kubelet/node-12", "kube-apiserver", "patch pods/status default/web-1 → 200"),
        ]
    }

    #[test]
    fn arrows_go_from_lifeline_to_lifeline() {
        let expected = "\
U user/kubectl · A kube-apiserver · C kube-controller-manager · k12 kubelet/node-12
          U   A   C   k12
      #4  ├──▶│   │   │   create deployments default/web → 201
▶     #6  │   ├──▶│   │   ADDED Deployment default/web
      #7  │   │   ●   │   work deployment-controller
      #9  │   │◀──┼───┤   patch pods/status default/web-1 → 200
";
        assert_eq!(draw(&rows(), Some(StepId(6)), 100), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 0..120 {
            for line in draw(&rows(), None, width).lines() {
                assert!(measure_text_width(line) <= width.max(HEAD + 2), "{width}: {line:?}");
            }
        }
    }
}
