//! What a command gives.

use debugger::Stop;
use debugger::quiz::Question;

/// What a command gives: an answer to show, or what was wrong and the way out.
pub type Reply = Result<Answer, String>;

/// The same of a command that only says something.
pub type Text = Result<String, String>;

/// What a face shows when a command is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What kubectl and logpoints have printed on the way.
    pub printed: String,
    /// What the command says.
    pub text: String,
    /// The stop it has come to, or shows.
    pub stop: Option<Box<Stop>>,
    /// What stands below it: what its breakpoints' commands say.
    pub below: String,
    /// Whether it is shown with every detail, however small the screen.
    pub whole: bool,
    /// Whether it is to be shown page by page, where there are pages.
    pub paged: bool,
    /// What the scenario tells there.
    pub narration: String,
    /// What is to be predicted first.
    pub question: Option<Question>,
}

impl Answer {
    /// An answer that only says something.
    pub fn says(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }
}
