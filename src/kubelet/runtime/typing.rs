//! Connections of users who type into a container, between two lines.

use engine::CallId;
use userland::shell::run::Shell;

/// A user who is connected.
#[derive(Clone, Debug)]
pub struct Typing {
    /// To this container.
    pub(super) container: String,
    pub(super) to: To,
    /// What the shell is called.
    pub(super) name: String,
    pub(super) style: Style,
    /// What was typed of a statement that has not come to its end.
    pub(super) open: String,
    /// Who is to be woken to go on with the line that runs.
    pub(super) line: Option<CallId>,
    /// The line that runs is to end.
    pub(super) interrupted: bool,
}

/// What a user is connected to.
#[derive(Clone, Debug)]
pub(super) enum To {
    /// The process of the container, which keeps its shell itself.
    Process,
    /// A shell that was begun for them; it is not here while a line runs.
    Beside(Option<Box<Shell>>),
}

/// How a shell says that it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Not at all: there is no terminal.
    Nothing,
    /// `/ # `
    Busybox,
    /// `root@web:/# `
    Bash,
    /// `# `
    Dash,
}

impl Typing {
    /// The name of the shell, if it was begun in this container beside its process.
    pub(super) fn begun_in(&self, container: &str) -> Option<&str> {
        (self.container == container && self.is_beside()).then_some(self.name.as_str())
    }

    pub(super) fn is_beside(&self) -> bool {
        matches!(self.to, To::Beside(_))
    }
}
