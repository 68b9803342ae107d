//! What a learner reads of a wrong answer: of each property of each exercise the first mistake that breaks it, as it is shown.
//! `KUBESTEP_BLESS=1` writes the texts anew; read the difference before you keep it.

use std::fmt::Write;
use std::path::Path;

use super::*;

/// A terminal has so many columns; a verdict leaves two free.
const COLUMNS: usize = 80 - 2;
/// A learner does not read more lines.
const LINES: usize = 16;

/// Every case is short, in a person's words and says what differs; and the texts are those in `verdicts/`.
pub(crate) fn check(name: &str, failures: &[Failure]) {
    let mut seen = Vec::new();
    let mut text = String::new();
    for Failure { property, case, mistake, .. } in failures {
        assert!(is_for_a_person(case), "{name}: {case}");
        let differs = case.contains("\nright was:") || case.ends_with("\nnot all of it is so");
        assert!(case.contains("\nyours ") && differs, "{name}: no difference\n{case}");
        if !seen.contains(property) {
            let perhaps = mistake.as_deref().unwrap_or("unknown");
            writeln!(text, "{property}\n{}  perhaps: {perhaps}\n", indented(case)).unwrap();
            seen.push(property.clone());
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("function/verdicts").join(format!("{name}.txt"));
    if std::env::var_os("KUBESTEP_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, golden, "KUBESTEP_BLESS=1 writes {} anew", file.display());
}

/// Short, narrow, and neither JSON nor what Rust prints of a structure.
pub(crate) fn is_for_a_person(case: &str) -> bool {
    let is_narrow = |line: &str| line.chars().count() <= COLUMNS;
    case.lines().count() <= LINES && case.lines().all(is_narrow) && !case.contains("{\"") && !case.contains(" { ")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
