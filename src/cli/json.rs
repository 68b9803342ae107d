//! `--json`: a session for programs. Commands are lines of standard input; each is answered by one line of JSON.
//! `docs/json.md` is the schema; `tests/debugger/json.rs` holds sessions against it.

use std::io::{self, Write};

use stepper::{Stepper, json};

use super::input::read_line;
use super::prompt::Worked;
use super::signals::Signals;
use super::watch::Silent;

/// Takes commands until the end of the input or `quit`. `text` is said at first. SIGINT ends a long move, whose stop is told
/// then; where none is under way it ends the program.
pub fn run(mut stepper: Stepper, text: &str) -> io::Result<Worked> {
    let mut worked = Worked::default();
    console::set_colors_enabled(false);
    stepper.columns = Some(json::COLUMNS);
    print(&json::hello(&stepper, text)?)?;
    while !stepper.done {
        let Some(command) = read_line()? else { break };
        let signals = Signals::listen()?;
        stepper.watch = Some(Box::new(Silent(signals.clone())));
        let (answer, done) = json::answer(&mut stepper, &command)?;
        worked.note(done);
        signals.leave();
        print(&answer)?;
        // It may have been told to while a long move was under way.
        if signals.ended() {
            return Ok(worked);
        }
    }
    print(&json::end(&stepper)?)?;
    stepper.end();
    Ok(worked)
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
