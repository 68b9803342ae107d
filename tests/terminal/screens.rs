//! Terminals as they should not be: none at all, one without columns, one that is being resized, one whose reader leaves.

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;
use stepper::palette::COLOURS;

use kubestep_tests::project::program;
use kubestep_tests::pty::Terminal;
use kubestep_tests::skip;

fn sh(script: &str) -> Output {
    let script = script.replace("KUBESTEP", program());
    Command::new("sh").args(["-c", &script]).output().expect("a shell runs")
}

/// Windows has none.
fn has_shell() -> bool {
    let has = cfg!(unix);
    if !has {
        skip::skipped("sh");
    }
    has
}

fn calm(script: &str) -> Output {
    let output = sh(script);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("panicked") && output.status.code() != Some(101), "{script}: {error}");
    output
}

#[test]
fn without_any_terminal() {
    if !has_shell() {
        return;
    }
    for script in [
        "KUBESTEP step pod <&-",
        "KUBESTEP step <&-",
        "echo step | KUBESTEP step pod >&-",
        "echo step | KUBESTEP step pod 2>&-",
        "KUBESTEP step pod --json <&- ",
        "echo step | KUBESTEP step pod --json >&-",
        "KUBESTEP step pod --tui <&- >&-",
        "KUBESTEP run pod <&- >&-",
        "printf 'step\\nrun\\nwhy\\ntimeline\\n' | env -u HOME -u XDG_STATE_HOME TERM=dumb COLUMNS=0 LINES=0 KUBESTEP step pod",
        "printf 'step\\n' | TERM= KUBESTEP step pod --color always",
        "KUBESTEP step nope 2>/dev/full",
        "KUBESTEP step --replay /dev/null 2>/dev/full",
    ] {
        calm(script);
    }
    let output = calm("KUBESTEP step < /dev/null");
    assert!(output.status.success(), "without a terminal nothing is asked");
    assert!(String::from_utf8_lossy(&output.stdout).contains("A Deployment becomes Pods"));
}

#[test]
fn a_reader_that_leaves_ends_it() {
    if !has_shell() {
        return;
    }
    for face in ["", "--json"] {
        for lines in ["1", "2", "30"] {
            let script =
                format!("yes step | head -n 400 | KUBESTEP step deployment {face} | head -n {lines} > /dev/null");
            let output = calm(&script);
            let error = String::from_utf8_lossy(&output.stderr);
            // `yes` and `head` may complain about a closed pipe; kubestep says nothing.
            assert!(!error.contains("kubestep") && !error.contains("error:"), "{script}: {error}");
        }
    }
}

#[test]
fn a_terminal_without_columns() {
    for (name, face) in [("zero", ""), ("zero-tui", "--tui")] {
        let script = format!("stty cols 0 rows 0; KUBESTEP step pod {face}");
        let Some(terminal) = Terminal::start(name, &script) else { return };
        sleep(Duration::from_millis(800));
        terminal.keys(&["step", "Enter"]);
        terminal.keys(&["timeline", "Enter"]);
        terminal.keys(&["run", "Enter"]);
        terminal.keys(&["quit", "Enter"]);
        terminal.shows("ended with 0");
    }
}

#[test]
fn a_storm_of_sizes() {
    for (name, face) in [("storm", ""), ("storm-tui", "--tui")] {
        let Some(terminal) = Terminal::start(name, &format!("KUBESTEP step deployment {face}")) else { return };
        terminal.shows(if face.is_empty() { "(kubestep)" } else { "F1menu" });
        let shell = terminal.tmux(&["display-message", "-p", "-t", "t", "#{pane_pid}"]);
        let storm = format!("for n in $(seq 300); do pkill -WINCH -P {}; done", shell.trim());
        let mut storming = Command::new("sh").args(["-c", &storm]).spawn().expect("a shell runs");
        for n in 0..25 {
            let (width, height) = ((20 + n * 7).to_string(), (5 + n * 2).to_string());
            terminal.tmux(&["resize-window", "-t", "t", "-x", &width, "-y", &height]);
            if n % 5 == 0 {
                terminal.keys(&["step", "Enter"]);
            }
        }
        storming.wait().expect("it ends");
        terminal.keys(&["why", "Enter"]);
        terminal.shows("the scenario typed: kubectl apply");
        terminal.keys(&["quit", "Enter"]);
        terminal.shows("ended with 0");
    }
}

/// Minutes of a large cluster take a while; a user who has enough of it comes back to the prompt, and can go on.
#[test]
fn a_long_move_can_be_stopped() {
    for (name, face, key) in [("stop", "", "C-c"), ("stop-tui", "--tui", "Escape")] {
        let script = format!("KUBESTEP step deployment --nodes 400 {face}");
        let Some(terminal) = Terminal::start(name, &script) else { return };
        terminal.shows(if face.is_empty() { "(kubestep)" } else { "F1menu" });
        terminal.keys(&["wait 100000", "Enter"]);
        terminal.shows("stops here");
        terminal.keys(&[key]);
        terminal.shows("stopped on the way");
        // Its answer is short wherever the move was stopped: a long one would wait for a key at the end of a page.
        terminal.keys(&["help quit", "Enter"]);
        terminal.shows("the end");
        terminal.keys(&["quit", "Enter"]);
        terminal.shows("ended with 0");
    }
}

/// Nothing of a line that goes on is done if it is given up; and a very long one is taken as fast as it is pasted.
#[test]
fn a_line_can_be_given_up() {
    let Some(terminal) = Terminal::start("given-up", "KUBESTEP step deployment") else { return };
    terminal.shows("(kubestep)");
    terminal.keys(&["kubectl create namespace shop \\", "Enter"]);
    terminal.shows("shop \\\n>");
    terminal.keys(&["C-c"]);
    terminal.keys(&["continue", "Enter"]);
    terminal.shows("deployment.apps/web created");
    let screen = terminal.tmux(&["capture-pane", "-p", "-S", "-200", "-t", "t"]);
    assert!(!screen.contains("namespace/shop"), "{screen}");
    terminal.keys(&[("#".to_owned() + &"x".repeat(3000) + "y").as_str()]);
    terminal.shows("xxxy");
    terminal.keys(&["Enter"]);
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("ended with 0");
}

#[test]
fn who_is_told_to_end_on_a_long_move_ends() {
    let Some(terminal) = Terminal::start("term-move", "KUBESTEP step deployment --nodes 400") else { return };
    terminal.shows("(kubestep)");
    terminal.keys(&["wait 100000", "Enter"]);
    terminal.shows("stops here");
    terminal.signal("-TERM");
    terminal.shows("ended with 143");
}

#[test]
fn who_is_told_to_end_gives_the_terminal_back() {
    for (name, face) in [("term", ""), ("term-tui", "--tui")] {
        for signal in ["-TERM", "-HUP"] {
            let script = format!("echo before; KUBESTEP step deployment {face}; code=$?; stty -a; (exit $code)");
            let Some(terminal) = Terminal::start(&format!("{name}{signal}"), &script) else { return };
            terminal.shows(if face.is_empty() { "(kubestep)" } else { "F1menu" });
            terminal.keys(&["step", "Enter"]);
            terminal.shows("ADDED Deployment default/web");
            terminal.signal(signal);
            terminal.shows(if signal == "-TERM" { "ended with 143" } else { "ended with 129" });
            let screen = terminal.tmux(&["capture-pane", "-p", "-S", "-200", "-t", "t"]);
            let cooked = screen.contains(" icanon") && screen.contains(" echo ");
            assert!(cooked && screen.contains("before") && !screen.contains("queues and caches"), "{screen}");
        }
    }
}

#[test]
fn a_menu_gives_the_terminal_back_too() {
    for signal in ["-TERM", "-HUP"] {
        let Some(terminal) = Terminal::start(&format!("menu{signal}"), "KUBESTEP step; code=$?; stty -a; (exit $code)")
        else {
            return;
        };
        terminal.shows("Which scenario");
        terminal.signal(signal);
        terminal.shows(if signal == "-TERM" { "ended with 143" } else { "ended with 129" });
        let cursor = terminal.tmux(&["display-message", "-p", "-t", "t", "#{cursor_flag}"]);
        let screen = terminal.tmux(&["capture-pane", "-p", "-t", "t"]);
        assert!(screen.contains(" icanon") && screen.contains(" echo ") && cursor.trim() == "1", "{cursor}{screen}");
    }
}

/// The keys that work in every shell: Tab, arrows, Ctrl-U, and Ctrl-D on an empty line.
#[test]
fn a_line_is_typed_as_in_a_shell() {
    let Some(terminal) = Terminal::start("typing", "KUBESTEP step deployment") else { return };
    terminal.shows("(kubestep)");
    terminal.keys(&["who node/", "Tab"]);
    terminal.shows("(kubestep) who node/node-");
    terminal.keys(&["Tab"]);
    terminal.shows("node/node-1 node/node-2 node/node-3");
    terminal.keys(&["C-u", "stap 3", "Left", "Left", "Left", "BSpace", "e", "F1", "Enter"]);
    terminal.shows("replicaset informer in kube-scheduler");
    terminal.keys(&["nonsense", "C-u", "Up", "Home", "C-k", "why", "Enter"]);
    terminal.shows("the scenario typed: kubectl apply");
    terminal.keys(&["C-d"]);
    terminal.shows("ended with 0");
}

/// A shell in a container: its prompt, its keys, and what is left when the program is killed.
#[test]
fn a_shell_in_a_container_has_the_terminal() {
    let Some(terminal) = Terminal::start("shell", "KUBESTEP step pod; KUBESTEP step pod") else {
        return;
    };
    terminal.shows("(kubestep)");
    for line in ["run", "kubectl run box --image=busybox -- sleep 100000", "run", "kubectl exec -it box -- sh", "run"] {
        terminal.keys(&[line, "Enter"]);
    }
    terminal.shows("a shell in box");
    terminal.keys(&["Enter", "cd /tmp", "Enter", "Up", "Up", "C-u", "echo a$((40 + 2))", "Enter"]);
    terminal.shows("/tmp # echo a$((40 + 2))\na42");
    terminal.keys(&["half a line", "C-c", "echo code $?", "Enter"]);
    terminal.shows("code 130");
    terminal.keys(&[":get pod/b", "Tab", "Enter"]);
    terminal.shows("/tmp # :get pod/box\nNAME");
    terminal.signal("-KILL");
    terminal.shows("A session was not ended");
    terminal.keys(&["Enter"]);
    terminal.keys(&["pwd; echo again; false", "Enter"]);
    terminal.shows("/tmp\nagain\n/tmp #");
    sleep(Duration::from_millis(300));
    terminal.keys(&["C-d"]);
    terminal.shows("command terminated with exit code 1\n(kubestep)");
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("ended with 0");
}

/// What is longer than the screen comes in pages, and Ctrl-C ends them, or a command that goes on.
#[test]
fn long_output_waits_and_a_command_that_goes_on_is_ended() {
    let Some(terminal) = Terminal::start("pages", "KUBESTEP step playground") else { return };
    terminal.shows("(kubestep)");
    terminal.keys(&["help all", "Enter"]);
    terminal.shows("-- Space: the next page");
    terminal.keys(&["Space"]);
    sleep(Duration::from_millis(300));
    terminal.keys(&["C-c"]);
    sleep(Duration::from_millis(300));
    terminal.keys(&["option pager off", "Enter"]);
    terminal.shows("pager    off");
    terminal.keys(&["help all", "Enter", "get pods -w --request-timeout=1h", "Enter", "wait 2", "Enter"]);
    terminal.shows("events, now at 2.000s");
    terminal.keys(&["C-c"]);
    terminal.shows("ended: kubectl get pods -w");
    terminal.keys(&["C-c"]);
    terminal.shows("quit ends the session; Ctrl-C once more leaves it for later");
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("to come back here:");
    terminal.shows("ended with 0");
}

/// The full screen has the colours of the prompt, and none where they are not wanted.
#[test]
fn colours_are_as_the_user_wants_them() {
    for (name, script, coloured) in [
        ("colours", "KUBESTEP step deployment", true),
        ("colours-tui", "KUBESTEP step deployment --tui", true),
        ("no-color", "NO_COLOR=1 KUBESTEP step deployment --tui", false),
        ("never", "KUBESTEP step deployment --tui --color never", false),
    ] {
        let Some(terminal) = Terminal::start(name, script) else { return };
        terminal.shows(if name == "colours" { "(kubestep)" } else { "F1menu" });
        terminal.keys(&["step", "Enter"]);
        terminal.shows("ADDED Deployment default/web");
        let screen = terminal.colours();
        // A colour may be named in either way.
        let has = |color: u8| ["3", "38;5;"].iter().any(|way| screen.contains(&format!("\u{1b}[{way}{color}m")));
        assert_eq!(has(63), coloured, "{name}: the API server is blue: {screen:?}");
        assert_eq!(COLOURS.into_iter().any(has), coloured, "{name}: {screen:?}");
        assert!(!(1..8).any(has), "{name}: a named colour is the theme's: {screen:?}");
        terminal.keys(&["quit", "Enter"]);
        terminal.shows("ended with 0");
    }
}

#[test]
fn an_object_is_changed_in_an_editor() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edit");
    std::fs::create_dir_all(&folder).expect("there is room");
    let editor = folder.join("editor.sh");
    // Asks for five; asked again, for what cannot be; and then knows no better.
    let script = "if grep -q 'replicas: 5' $1; then sed -i 's/replicas: 5/replicas: -1/' $1\n\
        else sed -i '/^#/!s/replicas: [0-9].*/replicas: 5/' $1; fi\n";
    std::fs::write(&editor, script).expect("it can be written");
    let script = format!("TMPDIR={} EDITOR='sh {}' KUBESTEP step deployment", folder.display(), editor.display());
    let script = script.replace("KUBESTEP", "env KUBESTEP");
    let Some(terminal) = Terminal::start("edit", &script) else { return };
    terminal.shows("(kubestep)");
    terminal.keys(&["run", "Enter"]);
    terminal.shows("nothing is left to do");
    terminal.keys(&["edit deployment web", "Enter"]);
    terminal.shows("kubectl patch deployment web -p");
    terminal.keys(&["run", "Enter"]);
    terminal.shows("deployment.apps/web patched");
    terminal.keys(&["edit deployment web", "Enter"]);
    terminal.shows("A copy of your changes has been stored to");
    terminal.shows("Edit cancelled, no valid changes were saved.");
    terminal.keys(&["edit configmap kube-root-ca.crt", "Enter"]);
    terminal.shows("Edit cancelled, no changes made.");
    terminal.keys(&["edit deployment nobody", "Enter"]);
    terminal.shows("deployments.apps \"nobody\" not found");
    terminal.keys(&["choices", "Enter"]);
    terminal.shows("type kubectl patch deployment web");
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("ended with 0");
}

#[test]
fn the_full_screen_is_lent_to_an_editor_and_taken_back() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edit-tui");
    std::fs::create_dir_all(&folder).expect("there is room");
    let editor = folder.join("editor.sh");
    // Waits for a key on a terminal that is its own, in lines.
    let script =
        "head -n 3 $1; echo which number; read number; sed -i \"/^#/!s/replicas: [0-9].*/replicas: $number/\" $1\n";
    std::fs::write(&editor, script).expect("it can be written");
    let script = format!("KUBE_EDITOR='sh {}' EDITOR=false KUBESTEP step deployment --tui", editor.display());
    let script = script.replace("KUBESTEP", "env KUBESTEP");
    let Some(terminal) = Terminal::start("edit-tui", &script) else { return };
    terminal.shows("F1menu");
    terminal.keys(&["run", "Enter"]);
    terminal.shows("nothing is left to do");
    terminal.keys(&["edit deployment web", "Enter"]);
    terminal.shows("which number");
    terminal.keys(&["7", "Enter"]);
    terminal.shows("F1menu");
    terminal.shows("kubectl patch deployment web -p");
    terminal.keys(&["run", "Enter"]);
    terminal.shows("deployment.apps/web patched");
    terminal.keys(&["get deployment web", "Enter"]);
    terminal.shows("7/7");
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("ended with 0");
}

#[test]
fn a_quiz_asks_counts_and_is_gone_on_with() {
    let Some(terminal) = Terminal::start("quiz", "KUBESTEP step deployment --quiz; KUBESTEP step deployment") else {
        return;
    };
    terminal.shows("--quiz=false would not");
    terminal.keys(&["Enter"]);
    terminal.shows("Type a number, or look around first.");
    terminal.keys(&["9", "Enter"]);
    terminal.shows("9 is not one of the choices");
    terminal.keys(&["1", "Enter"]);
    terminal.shows("── step");
    terminal.keys(&["step", "Enter"]);
    terminal.shows("Who writes to the store next");
    terminal.keys(&["step", "Enter"]);
    terminal.shows("it is deployment-controller");
    terminal.signal("-KILL");
    terminal.shows("go on with deployment");
    terminal.keys(&["Enter"]);
    terminal.shows("(kubestep)");
    terminal.keys(&["step", "Enter"]);
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("of 1 predicted rightly");
    terminal.shows("ended with 0");
}
