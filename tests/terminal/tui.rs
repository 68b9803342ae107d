//! The full screen: it shows what the prompt shows, at any size, and gives the terminal back.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::Session;
use kubestep::cli::tui::app::{App, Pane, Target};
use kubestep::cli::tui::draw::draw;
use kubestep::cli::tui::keys::Keys;
use kubestep::cli::tui::panes;
use kubestep_tests::project::{command, program};
use kubestep_tests::skip;
use object::random::Random;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use stepper::{Stepper, commands, lines};

fn stepper() -> Stepper {
    // A developer who runs this at a terminal would get colours.
    console::set_colors_enabled(false);
    let mut stepper = Stepper::new(Session::of(Scenario::find("unschedulable").expect("it is shipped")), false);
    stepper.columns = Some(100);
    stepper
}

fn press(app: &mut App, code: KeyCode) {
    app.handle(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

fn type_line(app: &mut App, line: &str) {
    line.chars().for_each(|c| press(app, KeyCode::Char(c)));
    press(app, KeyCode::Enter);
}

fn mouse(app: &mut App, kind: MouseEventKind, column: u16, row: u16) {
    app.handle(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

fn click(app: &mut App, column: u16, row: u16) {
    mouse(app, MouseEventKind::Down(MouseButton::Left), column, row);
}

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test backend always works");
    terminal.draw(|frame| draw(app, frame)).expect("a test backend always works");
    terminal.backend().to_string()
}

/// What stands in a pane, wherever lines are broken.
fn text(app: &App, pane: Pane) -> String {
    app.rows[&pane].iter().flat_map(|row| row.text.chars()).filter(|c| !c.is_whitespace()).collect()
}

fn joined(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Where a terminal has F1 and F10 for itself, letters with Alt do the same, and the bar says which: they are in the names.
#[test]
fn every_key_of_the_bar_has_a_letter() {
    let mut seen = std::collections::BTreeSet::new();
    for key in Keys::default().bar() {
        let letter = key.letter().expect("each has one");
        assert!(key.command.contains(letter) && seen.insert(letter), "{key:?}");
    }
    let mut app = App::new(stepper(), "");
    let shown = screen(&mut app, 80, 24);
    assert!(shown.contains("F1menu") && shown.contains("F10quit"), "all of it has room:\n{shown}");
    let mut alt = |letter| app.handle(Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::ALT)));
    alt('i');
    alt('m');
    assert_eq!((app.stepper.session.history().len(), app.menu), (1, Some(0)));
    type_line(&mut app, "xyzzy");
    assert_eq!(app.menu, None);
}

/// The user's file gives commands other keys, and the bar shows them.
#[test]
fn keys_are_those_of_the_file() {
    let mut app = App::new(stepper(), "");
    app.keys = Keys::read("menu: F9\nget nodes: F1 Ctrl-g\nquit: !\n").expect("it is right");
    let shown = screen(&mut app, 100, 24);
    assert!(shown.contains("F9menu") && shown.contains("!quit") && shown.contains("F1get nodes"), "{shown}");
    let has = |app: &App| text(app, Pane::Output).contains("node-1");
    press(&mut app, KeyCode::F(10));
    press(&mut app, KeyCode::F(1));
    assert_eq!((app.stepper.done, app.menu, has(&app)), (false, None, true), "F1 is another command");
    press(&mut app, KeyCode::F(9));
    assert_eq!(app.menu, Some(0));
    press(&mut app, KeyCode::Esc);
    // While something is typed a sign is text.
    "a!".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    assert_eq!((app.input.text().as_str(), app.stepper.done), ("a!", false));
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Char('!'));
    assert!(app.stepper.done);
}

/// `keys` prints them, and names the line that is wrong.
#[test]
fn the_file_of_keys_is_found_and_checked() {
    let folder = std::env::temp_dir().join(format!("kubestep-keys-{}", std::process::id()));
    let file = folder.join("kubestep/keys");
    fs::create_dir_all(folder.join("kubestep")).expect("there is room");
    let keys = || {
        let output = command().arg("keys").env("XDG_CONFIG_HOME", &folder).output().expect("it is built");
        let [said, wrong] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.success(), said, wrong)
    };
    let (well, said, _) = keys();
    assert!(well && said.contains("\nmenu: F1 Alt-m\n") && said.contains(&format!("{}", file.display())), "{said}");
    // What is printed is a file that changes nothing.
    fs::write(&file, &said).expect("there is room");
    assert_eq!(keys(), (true, said, String::new()));
    fs::write(&file, "# mine\nmenu: F9\nquit: F99\n").expect("there is room");
    let (well, _, wrong) = keys();
    fs::remove_dir_all(&folder).expect("it is there");
    assert!(!well && wrong.contains(&format!("{}:3: there is no key \"F99\"", file.display())), "{wrong}");
}

/// A menu in which nothing is left says why, and how to go on.
#[test]
fn an_empty_menu_says_so() {
    let mut app = App::new(stepper(), "");
    press(&mut app, KeyCode::F(1));
    "xyzzy".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    let shown = screen(&mut app, 80, 24);
    assert!(shown.contains("no command has \"xyzzy\" in it: Backspace takes a letter away, Esc closes"), "{shown}");
    "xyzzy".chars().for_each(|_| press(&mut app, KeyCode::Backspace));
    assert!(!screen(&mut app, 80, 24).contains("no command has"));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.menu, None);
}

/// Both faces through the same session.
#[test]
fn both_faces_show_the_same_facts() {
    for (width, height) in [(80, 24), (200, 60)] {
        let (mut lines, mut app) = (stepper(), App::new(stepper(), ""));
        screen(&mut app, width, height);
        let mut stops = 0;
        let typed = [
            "",
            "step 4",
            "stepi 7",
            "break pods/binding",
            "run",
            "back",
            "goto 120",
            "show",
            "stpe",
            "why",
            "hold kube-scheduler",
            "stepi",
            "crash kube-scheduler",
            "show 30",
        ];
        for line in typed {
            let answer = lines.answer(line);
            type_line(&mut app, line);
            let shown = screen(&mut app, width, height);
            let has = |pane: Pane, part: &str| {
                assert!(text(&app, pane).contains(&joined(part)), "{line:?}: {pane:?} lacks {part:?}:\n{shown}");
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    has(Pane::Output, &error);
                    continue;
                }
            };
            has(Pane::Output, &answer.printed);
            if !["why"].contains(&line) {
                has(Pane::Output, &answer.text);
            }
            assert_eq!(
                format!("{:?}", lines.session.history()),
                format!("{:?}", app.stepper.session.history()),
                "{line:?}"
            );
            let Some(stop) = answer.stop else { continue };
            stops += 1;
            assert_eq!(app.stop.as_ref(), Some(&*stop), "{line:?}: it is the same stop");
            assert!(shown.contains(&format!("step {}", stop.step)), "{line:?}:\n{shown}");
            let what: String = stop.event.what.chars().take(60).collect();
            assert!(shown.contains(&what), "{line:?}: {what:?} is not on the screen:\n{shown}");
            for fact in &stop.facts {
                has(Pane::Stop, &format!("{}: {}", fact.topic, fact.text));
            }
            if let Some(change) = &stop.change {
                has(Pane::Stop, &change.object);
                change.fields.iter().for_each(|field| has(Pane::Stop, &field.path));
                change.summary.iter().for_each(|(name, _)| has(Pane::Stop, name));
            }
            stop.hits.iter().for_each(|hit| has(Pane::Stop, hit));
            if let Some(why) = &stop.why {
                has(Pane::Stop, &why.what);
            }
            for waiting in &stop.waiting {
                has(Pane::Source, &format!("{} waits for {}", waiting.task, waiting.awaits));
            }
            if stop.pending_total > 0 {
                for event in &stop.pending {
                    has(Pane::Pending, &event.event);
                    has(Pane::Pending, &event.what.chars().take(12).collect::<String>());
                }
            }
            // And what the prompt says of the stop is among it: its heads are topics of facts.
            let at_the_prompt = lines::text(&lines.shown(), &lines.view());
            assert!(at_the_prompt.contains("why "), "{at_the_prompt}");
        }
        assert!(stops >= 8, "only {stops} stops were compared");
    }
}

#[test]
fn any_size_is_drawn() {
    let mut app = App::new(stepper(), "welcome");
    type_line(&mut app, "step 9");
    for (width, height) in [(1, 1), (5, 200), (79, 24), (80, 23), (80, 24), (149, 30), (150, 24), (200, 60), (500, 200)]
    {
        let shown = screen(&mut app, width, height);
        let small = width < 80 || height < 24;
        assert_eq!(shown.contains("timeline"), !small, "{width}×{height}:\n{shown}");
    }
    // A window that is being resized: a storm of sizes, with keys in between.
    let mut random = Random::new(3);
    for _ in 0..300 {
        let (width, height) = (1 + random.below(260) as u16, 1 + random.below(90) as u16);
        app.handle(Event::Resize(width, height));
        press(&mut app, [KeyCode::PageDown, KeyCode::Tab, KeyCode::F(1), KeyCode::Esc][random.below(4) as usize]);
        screen(&mut app, width, height);
        mouse(&mut app, MouseEventKind::ScrollDown, random.below(300) as u16, random.below(100) as u16);
    }
}

/// The sender and the receiver of the last message have heavy frames, the message stands between them, its write is marked.
#[test]
fn the_map_shows_where_a_message_goes() {
    let at = |scenario: &str, lines: &[&str]| {
        let session = Session::of(Scenario::find(scenario).expect("it is shipped"));
        let mut app = App::new(Stepper::new(session, false), "");
        console::set_colors_enabled(false);
        lines.iter().for_each(|line| type_line(&mut app, line));
        app
    };
    let map = |app: &App, width: usize| -> Vec<String> {
        panes::map(&app.stepper.session, width).into_iter().map(|row| row.text).collect()
    };
    let has = |app: &App, wanted: &[&str]| {
        let map = map(app, 80).join("\n");
        wanted.iter().for_each(|wanted| assert!(map.contains(wanted), "{wanted}:\n{map}"));
    };
    let created = at("deployment", &["break create deployments request", "continue"]);
    has(
        &created,
        &["┏ user ━", "▼ create deployments default/web", "┏ kube-apiserver and etcd ━", "┌ kube-scheduler ─"],
    );
    has(&created, &["▸Deployment web 0/2 ready", "✓ authorization", "✓ answer                 201 to user/kubectl"]);
    let bound = at("deployment", &["break create pods/binding request", "continue", "continue"]);
    has(&bound, &["┏ kube-scheduler ━", "│▸○ web-"]);
    // Two API servers share etcd.
    let servers = at("api-servers", &["step 40"]);
    has(&servers, &["┏ kube-apiserver/1 ━", "┌ kube-apiserver/2 ─", "┏ etcd ━", "▲ MODIFIED StatefulSet default/db"]);
    let packet = at("cross-node", &["break packet", "continue", "continue", "continue", "continue", "continue"]);
    has(&packet, &["── packet ──", "● eth0", "Pod default/client", "◆ "]);
    for width in 10..130 {
        for row in [&created, &servers, &packet].into_iter().flat_map(|app| map(app, width)) {
            assert!(console::measure_text_width(&row) <= width, "{width}: {row:?}");
        }
    }
}

#[test]
fn every_command_is_in_the_menu() {
    for (n, command) in commands::all().enumerate() {
        let mut app = App::new(stepper(), "");
        press(&mut app, KeyCode::F(1));
        (0..n).for_each(|_| press(&mut app, KeyCode::Down));
        let shown = screen(&mut app, 80, 24);
        assert!(shown.contains(command.about), "{}:\n{shown}", command.usage);
        press(&mut app, KeyCode::Enter);
        assert_eq!((app.input.text().trim(), app.menu), (command.names[0], None));
    }
    // With the mouse: a click takes what it meets.
    let mut app = App::new(stepper(), "");
    press(&mut app, KeyCode::F(1));
    screen(&mut app, 80, 24);
    let entry = app.areas.iter().find(|(_, target)| *target == Target::Entry(3)).expect("the menu is open").0;
    click(&mut app, entry.x + 2, entry.y);
    assert_eq!(app.input.text().trim(), commands::all().nth(3).expect("there are more").names[0]);
}

#[test]
fn clicks_reach_what_they_meet() {
    let mut app = App::new(stepper(), "");
    screen(&mut app, 120, 40);
    let button = |app: &App, name: &str| {
        let at = app.keys.bar().position(|key| key.command == name).expect("it has a key");
        app.areas.iter().find(|(_, target)| *target == Target::Button(at)).expect("the bar has it").0
    };
    let step = button(&app, "step");
    click(&mut app, step.x, step.y);
    screen(&mut app, 120, 40);
    let stepi = button(&app, "stepi");
    click(&mut app, stepi.x, stepi.y);
    screen(&mut app, 120, 40);
    let here = app.stepper.session.history().len();
    assert!(here > 5);
    let pane = |app: &App, pane: Pane| {
        app.areas.iter().find(|(_, target)| *target == Target::Pane(pane)).expect("it is drawn").0
    };
    let pending = pane(&app, Pane::Pending);
    click(&mut app, pending.x + 4, pending.y);
    assert!(app.input.text().starts_with("choose e") && app.focus == Pane::Pending, "{}", app.input.text());
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.stepper.session.history().len(), here + 1);
    screen(&mut app, 120, 40);
    let timeline = pane(&app, Pane::Timeline);
    click(&mut app, timeline.x + 6, timeline.y + 4);
    assert!(app.input.text().starts_with("goto "), "{}", app.input.text());
    press(&mut app, KeyCode::Enter);
    assert!(app.stepper.session.history().len() < here);
    // The wheel scrolls the pane under it.
    type_line(&mut app, "help all");
    screen(&mut app, 120, 40);
    let (output, before) = (pane(&app, Pane::Output), app.scroll[&Pane::Output]);
    mouse(&mut app, MouseEventKind::ScrollUp, output.x + 1, output.y + 1);
    screen(&mut app, 120, 40);
    assert_eq!(app.scroll[&Pane::Output], before - 3);
}

#[test]
fn lines_can_be_edited_recalled_and_completed() {
    let mut app = App::new(stepper(), "");
    "pend".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.input.text(), "pending ", "the next word may follow");
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Backspace);
    assert_eq!(app.input.text(), "pendin");
    press(&mut app, KeyCode::Esc);
    type_line(&mut app, "step 2");
    type_line(&mut app, "stack");
    press(&mut app, KeyCode::Up);
    press(&mut app, KeyCode::Up);
    assert_eq!(app.input.text(), "step 2");
    press(&mut app, KeyCode::Down);
    assert_eq!(app.input.text(), "stack");
    // The cursor moves, as at the prompt, and what is ambiguous is listed.
    for code in [KeyCode::Home, KeyCode::Delete, KeyCode::Right, KeyCode::Char('-')] {
        press(&mut app, code);
    }
    assert_eq!(app.input.text(), "t-ack");
    app.handle(Event::Key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL)));
    assert_eq!(app.input.text(), "ack");
    press(&mut app, KeyCode::Esc);
    "ste".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.input.text(), "step");
    screen(&mut app, 120, 40);
    assert!(text(&app, Pane::Output).ends_with("stepstepi"), "{}", text(&app, Pane::Output));
    app.handle(Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(app.stepper.done);
}

/// In a real terminal: from 80×24 to 200×60 and back, and the shell's screen is there again afterwards.
#[test]
fn at_a_terminal() {
    if Command::new("tmux").arg("-V").output().is_err() {
        skip::skipped("tmux");
        return;
    }
    let socket = format!("kubestep-tui-{}", std::process::id());
    let state = std::env::temp_dir().join(&socket);
    let tmux = |arguments: &[&str]| {
        let output = Command::new("tmux").args(["-L", &socket, "-f", "/dev/null"]).args(arguments).output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    };
    let shows = |text: &str| {
        for _ in 0..200 {
            if tmux(&["capture-pane", "-p", "-t", "t"]).contains(text) {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("the screen never shows {text:?}:\n{}", tmux(&["capture-pane", "-p", "-t", "t"]));
    };
    let program = program();
    let script = format!(
        "echo long before; XDG_STATE_HOME={} {program} step pod --tui; echo back again; exec cat",
        state.display()
    );
    tmux(&["new-session", "-d", "-s", "t", "-x", "80", "-y", "24", "sh", "-c", &script]);
    shows("F1menu");
    tmux(&["send-keys", "-t", "t", "Enter"]);
    shows("ADDED Pod default/web");
    for (width, height) in [("200", "60"), ("20", "5"), ("80", "24"), ("132", "43")] {
        tmux(&["resize-window", "-t", "t", "-x", width, "-y", height]);
        shows(if width == "20" { "too small" } else { "queues and caches" });
    }
    for n in 0..40 {
        let width = (80 + n * 3).to_string();
        tmux(&["resize-window", "-t", "t", "-x", &width, "-y", "30"]);
    }
    tmux(&["send-keys", "-t", "t", "why", "Enter"]);
    shows("the scenario typed: kubectl run web");
    tmux(&["send-keys", "-t", "t", "quit", "Enter"]);
    shows("back again");
    let screen = tmux(&["capture-pane", "-p", "-t", "t"]);
    assert!(screen.contains("long before") && !screen.contains("timeline"), "the shell's screen is back:\n{screen}");
    tmux(&["kill-server"]);
    let _ = fs::remove_dir_all(state);
}

#[test]
fn without_a_terminal_it_says_so() {
    let output = command().args(["step", "pod", "--tui"]).output().expect("it was built");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("--tui needs a terminal"), "{error}");
}

#[test]
fn a_shell_in_a_container_has_the_prompt() {
    let mut app = App::new(stepper(), "");
    screen(&mut app, 100, 30);
    for line in ["run", "kubectl run box --image=busybox -- sleep 100000", "run", "kubectl exec -it box -- sh", "run"] {
        type_line(&mut app, line);
    }
    assert!(screen(&mut app, 100, 30).contains("\"/ # "), "{}", screen(&mut app, 100, 30));
    let steps = app.stepper.session.history().len();
    type_line(&mut app, "");
    assert_eq!(app.stepper.session.history().len(), steps, "an empty line does nothing there");
    type_line(&mut app, "cd /tmp");
    type_line(&mut app, "echo a$((40 + 2))");
    let shown = screen(&mut app, 100, 30);
    assert!(text(&app, Pane::Output).contains("/tmp#echoa$((40+2))a42") && shown.contains("\"/tmp # "), "{shown}");
    press(&mut app, KeyCode::F(4));
    assert!(app.stepper.session.history().len() < steps, "keys are the stepper's");
    type_line(&mut app, "goto 100000");
    type_line(&mut app, ":quit");
    assert!(app.stepper.done);
}
