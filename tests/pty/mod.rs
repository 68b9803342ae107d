//! A terminal to try programs in.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::project::program;
use crate::skip::skipped;

/// A terminal of tmux's.
pub struct Terminal(String);

impl Terminal {
    /// One in which a shell runs a script and says with what code it ended; None without tmux.
    pub fn start(name: &str, script: &str) -> Option<Terminal> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skipped("tmux");
            return None;
        }
        let terminal = Terminal(format!("kubestep-{name}-{}", std::process::id()));
        let state = std::env::temp_dir().join(&terminal.0);
        let program = format!("XDG_STATE_HOME={} {}", state.display(), program());
        let script = format!("trap : INT; {}; echo ended with $?; exec cat", script.replace("KUBESTEP", &program));
        terminal.tmux(&["new-session", "-d", "-s", "t", "-x", "100", "-y", "30", "sh", "-c", &script]);
        Some(terminal)
    }

    /// Asks tmux something.
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.0, "-f", "/dev/null"]).args(arguments).output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    }

    /// What stands there now, with its colours.
    pub fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", "t"])
    }

    /// Sends a signal to the program that the shell runs.
    pub fn signal(&self, signal: &str) {
        let shell = self.tmux(&["display-message", "-p", "-t", "t", "#{pane_pid}"]);
        let sent = Command::new("pkill").args([signal, "-P", shell.trim(), "kubestep"]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{signal} reaches it");
    }

    /// Types.
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "t"], keys].concat());
    }

    /// Waits until this stands there.
    pub fn shows(&self, text: &str) {
        for _ in 0..300 {
            if self.tmux(&["capture-pane", "-p", "-S", "-200", "-t", "t"]).contains(text) {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("the screen never shows {text:?}:\n{}", self.tmux(&["capture-pane", "-p", "-S", "-200", "-t", "t"]));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        let _ = std::fs::remove_dir_all(std::env::temp_dir().join(&self.0));
    }
}
