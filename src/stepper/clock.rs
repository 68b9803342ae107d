//! How time passes while clients outside wait.

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Virtual time follows the clock on the wall.
    Running,
    /// Time stands until the user steps.
    Stepped,
    /// Each request is answered, and all that follows happens, at once.
    Fast,
}

/// Each with its name.
const NAMES: [(&str, Clock); 3] = [("running", Clock::Running), ("stepped", Clock::Stepped), ("fast", Clock::Fast)];

impl Clock {
    /// The clock of this name.
    pub fn parse(name: &str) -> Option<Clock> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, clock)| *clock)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, clock)| *clock == self).map_or("", |(name, _)| name)
    }
}
