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

impl Clock {
    /// Each with its name, and what it does.
    pub const ALL: [(&str, Clock, &str); 3] = [
        ("running", Clock::Running, "Virtual time follows the clock on the wall"),
        ("stepped", Clock::Stepped, "Time stands until the user steps"),
        ("fast", Clock::Fast, "Each request is answered, and all that follows happens, at once"),
    ];

    /// The clock of this name.
    pub fn parse(name: &str) -> Option<Clock> {
        Clock::ALL.iter().find(|(known, ..)| *known == name).map(|(_, clock, _)| *clock)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Clock::ALL.iter().find(|(_, clock, _)| *clock == self).map_or("", |(name, ..)| name)
    }
}
