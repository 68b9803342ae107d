//! What comes of judging an exercise, as values. [`super::report`] has the words.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What the answers of a function amount to: how many are right, or which question is the first whose answer is not, and
/// what is wrong with it.
pub type Judged = Result<usize, (usize, Failure)>;

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The property, in words.
    pub property: String,
    /// A smallest case in which it is broken: what was seen, answered and right.
    pub case: String,
    /// The known mistake that answers most like this, if one does so better than chance.
    pub mistake: Option<Cow<'static, str>>,
    /// The run in which it is broken, if it is one.
    pub replay: Option<Replay>,
    /// It is broken because the program answered too slowly.
    pub too_slow: bool,
}

impl Failure {
    /// The same gets another answer when it is asked again.
    pub(super) fn not_again(case: &str) -> Failure {
        Failure {
            property: "the same question gets the same answer, in any order".to_owned(),
            case: format!(
                "{case}\nthis was asked twice, and went otherwise the second time: does it go through a HashMap or a HashSet, whose \
                 order is another each time (a BTreeMap has one), is something kept between two calls, in a static or a file, \
                 or is a clock or chance asked?"
            ),
            mistake: None,
            replay: None,
            too_slow: false,
        }
    }
}

/// A run to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The file that `kubestep step --replay` opens.
    pub text: String,
    /// The step at which a property broke.
    pub step: u64,
}

/// What came of grading one exercise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// The file is as it was handed out.
    NotStarted,
    /// cargo, or rustup, has failed before rustc came to the file: its own words.
    NotBuilt(String),
    /// rustc's own words.
    DoesNotCompile(String),
    /// The process did not come to its end as it should: which way, in words.
    Stopped(String),
    /// The process answers, but too slowly: how slowly, in words.
    TooSlow(String),
    /// A property is broken.
    Fails(Failure),
    /// Every property holds, over this many checks.
    Passes(usize),
}

impl Verdict {
    /// Whether there is nothing to mend. A verdict without a check is none.
    pub fn passes(&self) -> bool {
        matches!(self, Verdict::Passes(checks) if *checks > 0)
    }
}
