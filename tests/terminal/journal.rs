//! Sessions that outlive their terminal.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use kubestep_tests::project::{command, program};
use kubestep_tests::skip;

/// A folder of this test's own, gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kubestep-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Scratch(path)
    }

    /// The journals that lie here.
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        files(&self.0, ending)
    }
}

/// The files in a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    files.sort();
    files
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A session on a pipe that writes a journal.
fn piped(folder: &Path, scenario: &str) -> Child {
    let journal = folder.display().to_string();
    command()
        .args(["step", scenario, "--journal", &journal])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program was built for this test")
}

fn type_into(child: &mut Child, text: &str) {
    child.stdin.as_mut().expect("it is a pipe").write_all(text.as_bytes()).expect("the program reads");
}

/// Waits until something comes true.
fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("it never happens: {what}");
}

fn contains(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|found| found.contains(text))
}

#[test]
fn without_a_terminal_nothing_is_kept_unless_asked() {
    let scratch = Scratch::new("pipe");
    let output = command()
        .args(["step", "pod"])
        .env("XDG_STATE_HOME", &scratch.0)
        .stdin(Stdio::null())
        .output()
        .expect("the program was built for this test");
    assert!(output.status.success() && fs::read_dir(&scratch.0).is_ok_and(|mut files| files.next().is_none()));
    let mut child = piped(&scratch.0, "pod");
    type_into(&mut child, "step 3\n");
    until("the command is written down", || scratch.files("kubestep").iter().any(|f| contains(f, "came: {step: ")));
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    assert!(scratch.files("kubestep").is_empty(), "a session that ends is not kept");
}

#[test]
fn two_at_once_write_two_journals() {
    let scratch = Scratch::new("two");
    let mut children = [piped(&scratch.0, "pod"), piped(&scratch.0, "deployment")];
    for (child, text) in children.iter_mut().zip(["step 2\n", "step 4\nbreak 409\n"]) {
        type_into(child, text);
    }
    // A command that is under way when its session is killed is not done again.
    until("the three commands have come to their ends", || {
        let ends = |file: &PathBuf| fs::read_to_string(file).map_or(0, |text| text.matches("  came: {").count());
        scratch.files("kubestep").iter().map(ends).sum::<usize>() == 3
    });
    for mut child in children {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    let files = scratch.files("kubestep");
    let text: String = files.iter().map(|file| fs::read_to_string(file).expect("it is there")).collect();
    assert_eq!((files.len(), text.matches("do: ").count()), (2, 3), "{text}");
    // What was written opens as any saved session does.
    let deployment = files.iter().find(|file| contains(file, "break 409")).expect("it was written");
    let mut child = command()
        .args(["step", "--replay", &deployment.display().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    type_into(&mut child, "breakpoints\n");
    let said = String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("it prints text");
    assert!(said.contains("break  409") && said.contains("step 18"), "{said}");
}

/// What commands have read is in the journal: a file may be gone when the session is.
#[test]
fn what_was_read_is_kept_with_the_command_that_read_it() {
    let scratch = Scratch::new("files");
    let manifest = scratch.0.join("web.yaml");
    let text =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {text: \"  came: \\n  came: {step: 1}\\n\"}}\n";
    fs::write(&manifest, format!("\n  # a note\n\n---\n{text}")).expect("it can be written");
    let mut child = piped(&scratch.0, "pod");
    type_into(&mut child, &format!("apply -f {}\nstep 3\n", manifest.display()));
    until("both are written", || {
        let done = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.matches("digest: '").count() == 3);
        scratch.files("kubestep").iter().any(done)
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    fs::remove_file(&manifest).expect("it is there");
    let journal = scratch.files("kubestep").pop().expect("it was left");
    let replay = command().args(["step", "--replay", &journal.display().to_string()]).stdin(Stdio::null()).output();
    let replay = replay.expect("the program was built for this test");
    let said = String::from_utf8_lossy(&[replay.stdout, replay.stderr].concat()).into_owned();
    assert!(replay.status.success() && said.contains("ADDED ConfigMap default/web"), "{said}");
}

/// A terminal of tmux's, of this test's own.
struct Terminal<'a> {
    socket: String,
    state: &'a Path,
}

impl Terminal<'_> {
    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket, "-f", "/dev/null"]).args(arguments).output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    }

    fn start(&self, session: &str, scenario: &str) {
        let state = format!("XDG_STATE_HOME={}", self.state.display());
        let program = program();
        self.tmux(&[
            "new-session",
            "-d",
            "-s",
            session,
            "-x",
            "100",
            "-y",
            "40",
            "env",
            &state,
            program,
            "step",
            scenario,
        ]);
    }

    fn keys(&self, session: &str, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", session], keys].concat());
    }

    fn shows(&self, session: &str, text: &str) {
        for _ in 0..600 {
            if self.tmux(&["capture-pane", "-p", "-t", session]).contains(text) {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("the screen never shows {text:?}:\n{}", self.tmux(&["capture-pane", "-p", "-t", session]));
    }

    /// `kill -9`, as the system does when memory is out.
    fn kill(&self, session: &str) {
        let pid = self.tmux(&["display-message", "-p", "-t", session, "#{pane_pid}"]);
        let killed = Command::new("kill").args(["-9", pid.trim()]).status().expect("kill runs");
        assert!(killed.success());
        self.gone(session);
    }

    fn quits(&self, session: &str) {
        self.keys(session, &["quit", "Enter"]);
        self.gone(session);
    }

    fn gone(&self, session: &str) {
        until("the terminal closes", || !self.tmux(&["list-sessions"]).contains(&format!("{session}:")));
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_killed_session_is_offered_again() {
    if Command::new("tmux").arg("-V").output().is_err() {
        skip::skipped("tmux");
        return;
    }
    let scratch = Scratch::new("kill");
    let folder = scratch.0.join("kubestep").join("sessions");
    let inside = Scratch(folder.clone());
    let terminal = Terminal { socket: format!("kubestep-journal-{}", std::process::id()), state: &scratch.0 };
    terminal.start("one", "deployment");
    terminal.shows("one", "nodes are up");
    terminal.keys("one", &["step 5", "Enter"]);
    terminal.shows("one", "step 19");
    terminal.keys("one", &["crash kube-scheduler", "Enter", "break 409", "Enter", "goto 30", "Enter"]);
    terminal.shows("one", "step 30");
    // Another process's session is not offered while it runs.
    terminal.start("two", "pod");
    terminal.shows("two", "nodes are up");
    terminal.kill("one");
    terminal.quits("two");

    // A user who names another scenario gets it by Enter; the session that was left stays.
    terminal.start("other", "pod");
    terminal.shows("other", "go on with deployment");
    terminal.keys("other", &["Enter"]);
    terminal.shows("other", "nodes are up");
    terminal.quits("other");

    terminal.start("three", "deployment");
    terminal.shows("three", "go on with deployment: 4 commands, at step 30, last: goto 30");
    terminal.keys("three", &["Enter"]);
    terminal.shows("three", "step 30");
    terminal.keys("three", &["choices", "Enter", "breakpoints", "Enter"]);
    terminal.shows("three", "crash kube-scheduler");
    terminal.shows("three", "break  409");
    // It goes on being written, in the same file, whose end may have been torn.
    terminal.keys("three", &["goto 31", "Enter"]);
    terminal.shows("three", "step 31");
    terminal.kill("three");
    let file = inside.files("kubestep").pop().expect("it was left again");
    let torn = fs::read_to_string(&file).expect("it is text") + "- do: \"step";
    fs::write(&file, torn).expect("it can be written");

    // A user who leaves the menu leaves the program, and is asked again the next time.
    terminal.start("none", "pod");
    terminal.shows("none", "7 commands, at step 31");
    terminal.keys("none", &["C-c"]);
    terminal.gone("none");

    terminal.start("four", "deployment");
    terminal.shows("four", "7 commands, at step 31");
    terminal.keys("four", &["Enter"]);
    terminal.shows("four", "step 31");
    terminal.quits("four");
    assert!(inside.files("kubestep").is_empty(), "what is quit is not offered again");

    // One in which nothing was done is not worth a question.
    terminal.start("five", "pod");
    terminal.shows("five", "nodes are up");
    terminal.kill("five");
    terminal.start("six", "pod");
    terminal.shows("six", "nodes are up");
    terminal.quits("six");
    assert!(inside.files("kubestep").is_empty(), "and is thrown away");
}

#[test]
fn what_cannot_be_repeated_is_kept_aside() {
    if Command::new("tmux").arg("-V").output().is_err() {
        skip::skipped("tmux");
        return;
    }
    let scratch = Scratch::new("refused");
    let folder = scratch.0.join("kubestep").join("sessions");
    let inside = Scratch(folder.clone());
    let mut child = piped(&folder, "deployment");
    type_into(&mut child, "step 5\n");
    until("it is written", || inside.files("kubestep").iter().any(|file| contains(file, "came: {step: 19")));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let file = inside.files("kubestep").pop().expect("it was left");
    let text = fs::read_to_string(&file).expect("it is text");
    let digest = text.split("digest: '").last().expect("it has one").get(..16).expect("of 16 digits");
    let terminal = Terminal { socket: format!("kubestep-refused-{}", std::process::id()), state: &scratch.0 };
    let other_digest = text.replace(digest, "0123456789abcdef");
    let other_version = text.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    for (n, changed, keys, says) in [
        ("a", other_digest, &["Enter"][..], "led to step 19 when it was typed, and leads to another"),
        // What cannot be read is of no walk: the first choice is to start.
        ("b", other_version, &["Up", "Enter"], "it was written by version 0.0.1"),
    ] {
        fs::write(folder.join(format!("{n}.kubestep")), changed).expect("it can be written");
        fs::remove_file(&file).ok();
        terminal.start(n, "deployment");
        terminal.shows(n, "A session was not ended");
        terminal.keys(n, keys);
        terminal.shows(n, says);
        terminal.shows(n, "nodes are up");
        terminal.quits(n);
        assert!(inside.files("refused").iter().any(|file| file.ends_with(format!("{n}.refused"))), "it is kept aside");
        assert!(inside.files("kubestep").is_empty());
    }
}

/// What was typed is its owner's alone, also while it is written; and so is the session that was ended last.
#[cfg(unix)]
#[test]
fn what_is_kept_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new("modes");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let folder = scratch.0.join("made/here");
    let mut child = piped(&folder, "pod");
    type_into(&mut child, "step 3\n");
    let there = || files(&folder, "kubestep");
    until("the command is written down", || there().iter().any(|file| contains(file, "came: {step")));
    assert_eq!((mode(&folder), mode(&there()[0])), (0o700, 0o600));
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert_eq!(mode(&there()[0]), 0o600, "and when it was left");
}

/// What one types is done on another machine as it comes, with the same answers.
#[test]
fn a_session_is_followed_as_it_goes() {
    let scratch = Scratch::new("lead");
    let (shared, seen) = (scratch.0.join("lesson"), scratch.0.join("seen"));
    let follows = command()
        .args(["step", "--follow"])
        .arg(&shared)
        .stdout(fs::File::create(&seen).expect("there is room"))
        .spawn()
        .expect("the program was built for this test");
    let mut follows = Ended(follows);
    until("it waits", || contains(&seen, "no session is there yet"));
    let mut leads = command()
        .args(["step", "pod", "--lead"])
        .arg(&shared)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program was built for this test");
    type_into(&mut leads, "step 3\nhold kube-scheduler\nrun\nnonsense\n");
    until("it is done there too", || contains(&seen, "(kubestep) nonsense\nthere is no command"));
    assert!(contains(&seen, "(kubestep) hold kube-scheduler\n") && contains(&seen, "── step"));
    type_into(&mut leads, "release\nrun\n");
    until("it goes on", || contains(&seen, "(kubestep) release"));
    drop(leads.stdin.take());
    assert!(leads.wait().expect("it ends").success());
    assert!(shared.is_file(), "others may come to it later");
    // Another session is followed from its beginning.
    let mut again = command()
        .args(["step", "unschedulable", "--lead"])
        .arg(&shared)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program was built for this test");
    type_into(&mut again, "step\n");
    until("another is followed", || {
        fs::read_to_string(&seen).is_ok_and(|text| text.matches("followed as it goes").count() == 2)
    });
    drop(again.stdin.take());
    again.wait().expect("it ends");
    assert!(follows.0.try_wait().expect("it was started").is_none(), "it waits for more");
}

/// A program that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
