//! The exercises at a terminal, on a copy of them: `learn`, `watch`, `hint`, `progress`, `doctor`. The answer of `ownership`
//! is built before; in the copy there is a cargo that only says whether a file compiles.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kubestep_tests::project::{command, root};
use kubestep_tests::pty::Terminal;
use lab::building::{self, Program};
use lab::{Exercise, shelf, twin};

/// Another exercise takes long, and its program is none.
const CARGO: &str = "#!/bin/sh
case \"$*\" in
  *replicaset*) sleep 4; cp /bin/false target/debug/exercise-06-replicaset; exit ;;
  *'--profile judge'*) echo \"$*\" > asked; exit ;;
esac
if grep -q 'no Rust' exercises/01_ownership/src/lib.rs; then
  echo '{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"kubestep_exercise\"}}'
  echo 'error: expected item' >&2
  exit 101
fi
mkdir -p target/debug && cp 'PROGRAM' target/debug/exercise-01-ownership
";

/// A copy of the exercises.
struct Class(PathBuf);

impl Class {
    fn new(name: &str) -> Class {
        let root = root();
        let class = Class(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let _ = fs::remove_dir_all(&class.0);
        for exercise in lab::TABLE {
            shelf::write(&class.0.join("exercises").join(exercise.folder).join("stub.rs"), &stub(exercise)).unwrap();
            let solution = shelf::read(&shelf::solution(root, exercise)).unwrap();
            shelf::write(&shelf::solution(&class.0, exercise), &solution).unwrap();
        }
        shelf::write(&class.0.join("book/src/00-tour.md"), "# The tour\n\n```exercise trace\n```\n").unwrap();
        let program = building::build(root, Program::Solution(ownership())).unwrap();
        shelf::write(&class.cargo(), &CARGO.replace("PROGRAM", &program.display().to_string())).unwrap();
        fs::set_permissions(class.cargo(), fs::Permissions::from_mode(0o755)).unwrap();
        class
    }

    fn cargo(&self) -> PathBuf {
        self.0.join("cargo")
    }

    fn saves(&self, text: &str) {
        shelf::write(&shelf::file(&self.0, ownership()), text).unwrap();
    }

    fn terminal(&self, name: &str, script: &str) -> Option<Terminal> {
        let (root, cargo) = (self.0.display(), self.cargo());
        let script = format!("cd '{root}'; export CARGO='{}'; unset CARGO_TARGET_DIR; {script}", cargo.display());
        Terminal::start(name, &script)
    }

    /// What a command prints, and whether it went well.
    fn says(&self, words: &[&str]) -> (String, bool) {
        let output = command()
            .args(words)
            .current_dir(&self.0)
            .env("CARGO", self.cargo())
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        (text, output.status.success())
    }

    /// What a command that goes well prints.
    fn well(&self, words: &[&str]) -> String {
        let (text, well) = self.says(words);
        assert!(well, "{words:?}: {text}");
        text
    }
}

fn ownership() -> &'static Exercise {
    Exercise::find("ownership").unwrap()
}

fn stub(exercise: &Exercise) -> String {
    shelf::stub(root(), exercise).unwrap()
}

/// An exercise that is gone, or has another number, takes nothing of a learner's with it and stops nothing.
#[test]
fn what_was_done_in_an_older_version_is_kept() {
    for shelf in ["exercises", "solutions"] {
        let package = root().join(shelf).join("Cargo.toml");
        let package = fs::read_to_string(package).unwrap();
        // By name: cargo does not look for programs in what an older version has left behind.
        assert!(package.contains("autobins = false"));
        for exercise in lab::TABLE {
            assert!(package.contains(&format!("path = \"{}/src/main.rs\"", exercise.folder)), "{}", exercise.folder);
        }
    }
    let class = Class::new("older");
    let older = |folder: &str| class.0.join("exercises").join(folder).join("src/lib.rs");
    shelf::write(&older("99_ownership"), "// mine").unwrap();
    shelf::write(&older("98_gone"), "// mine too").unwrap();
    let progress = "gone: {digest: d, attempts: 1}\nfit: {digest: d, attempts: 2}\nscore: [1]\n";
    shelf::write(&class.0.join("exercises/progress.yaml"), progress).unwrap();
    let said = class.well(&["learn"]);
    assert_eq!(shelf::read(&shelf::file(&class.0, ownership())).unwrap(), "// mine");
    assert!(!older("99_ownership").exists() && older("98_gone").exists());
    for part in
        ["exercises/98_gone is no longer an exercise", "remembers gone", "progress.yaml: score: ", "passed, and"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    class.says(&["grade", "ownership"]);
    assert_eq!(shelf::read(&class.0.join("exercises/before-1.progress.yaml")).unwrap(), progress);
    let now = shelf::read(&class.0.join("exercises/progress.yaml")).unwrap();
    assert!(now.contains("gone:") && now.contains("fit:") && now.contains("ownership:"), "{now}");
}

#[test]
fn watch_grades_what_is_saved() {
    let class = Class::new("watch");
    let Some(terminal) = class.terminal("watch", "KUBESTEP watch ownership") else { return };
    terminal.shows("ignored, not started");
    terminal.shows("looking for changes");
    class.saves("this is no Rust");
    terminal.shows("FAILED: it does not compile");
    terminal.shows("error: expected item");
    class.saves(&shelf::read(&shelf::solution(&class.0, ownership())).unwrap());
    terminal.shows("cases break it");
    terminal.keys(&["C-c"]);
    terminal.shows("ended with 130");
    assert!(class.well(&["progress"]).contains("01_ownership       passed after"));
}

/// Once a learner has waited for a verdict, `watch` builds what makes it faster, unless it is told not to.
#[test]
fn watch_builds_a_faster_judge_for_who_waits() {
    let class = Class::new("faster");
    std::fs::create_dir_all(class.0.join("target/debug")).unwrap();
    let replicaset = Exercise::find("replicaset").unwrap();
    shelf::write(&shelf::file(&class.0, replicaset), "// begun\n").unwrap();
    let Some(terminal) = class.terminal("as-is", "KUBESTEP watch replicaset --as-is") else { return };
    terminal.shows("it ends the process");
    terminal.shows("looking for changes");
    terminal.keys(&["C-c"]);
    terminal.shows("ended with 130");
    assert!(!class.0.join("asked").exists());
    let Some(terminal) = class.terminal("faster", "KUBESTEP watch replicaset") else { return };
    terminal.shows("it ends the process");
    terminal.shows("A faster judge is being built beside this");
    terminal.shows("The faster judge is built");
    terminal.keys(&["C-c"]);
    terminal.shows("ended with 130");
    let asked = fs::read_to_string(class.0.join("asked")).unwrap();
    assert_eq!(asked.trim(), format!("{} --quiet", twin::BUILD.trim_start_matches("cargo ")));
}

#[test]
fn learn_and_hint_at_a_terminal() {
    let class = Class::new("learn");
    let Some(terminal) = class.terminal("learn", "KUBESTEP learn; KUBESTEP hint ownership; KUBESTEP hint 01 3") else {
        return;
    };
    terminal.shows("Next: Who does what when a Deployment becomes Pods?");
    terminal.shows("read    book/src/00-tour.md");
    terminal.shows("edit    exercises/00_trace/src/lib.rs");
    terminal.shows("hint 1 of 3: ");
    terminal.shows("more: cargo run -- hint ownership 2");
    terminal.shows("the answer: cargo run -- solution ownership");
    terminal.shows("ended with 0");
    assert!(class.well(&["hint"]).starts_with("00_trace Who does what when a Deployment becomes Pods?\nhint 1 of 3: "));
    assert_eq!(class.well(&["hint", "1"]), class.well(&["hint", "exercises/01_ownership/src/lib.rs"]));
    let (text, well) = class.says(&["hint", "ownershp"]);
    assert!(!well && text.contains("there is no exercise \"ownershp\"; did you mean ownership?"), "{text}");
    let (text, well) = class.says(&["hint", "ownership", "4"]);
    assert!(!well && text.contains("there are hints 1 to 3"), "{text}");
}

/// A case is solved in a session, and its lines are kept: `learn` marks it, `grade` types them again, and others fail.
#[test]
fn a_case_is_solved_at_a_terminal_and_graded_again() {
    let class = Class::new("case");
    let table = class.well(&["learn"]);
    assert!(table.starts_with("Broken: find out why. No Rust is needed: "), "{table}");
    assert!(table.lines().next().is_some_and(|line| line.ends_with(" step new-version")), "{table}");
    assert!(class.says(&["grade", "new-version"]).0.contains("ignored, not started"));
    assert!(class.well(&["hint", "new-version", "2"]).contains("hint 2 of 3: "));
    assert!(class.well(&["solution", "new-version"]).contains("\nWays to repair it:\n"));
    let Some(terminal) = class.terminal("case", "KUBESTEP step new-version") else { return };
    terminal.shows("hint helps");
    terminal.keys(&["solved", "Enter"]);
    terminal.shows("not yet, and waiting will not help");
    terminal.keys(&["rollout undo deployment/shop", "Enter"]);
    terminal.shows("press Enter to step");
    terminal.keys(&["solved", "Enter"]);
    terminal.shows("Your lines are in exercises/broken/new-version.txt; ");
    terminal.keys(&["quit", "Enter"]);
    terminal.shows("ended with 0");
    let file = class.0.join("exercises/broken/new-version.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kubectl rollout undo deployment/shop\n");
    assert!(class.well(&["learn"]).contains("\n✓ new-version "));
    assert!(class.well(&["grade", "new-version"]).contains("ok, the cluster is right"));
    fs::write(&file, "# no repair\nkubectl delete pods -l app=shop\n").unwrap();
    let (text, well) = class.says(&["grade", "new-version"]);
    assert!(!well && text.contains("FAILED: the cluster is not right\n  it must hold that the update"), "{text}");
    assert!(class.well(&["learn"]).contains("\n▸ new-version "));
    fs::write(&file, "xyzzy\n").unwrap();
    let (text, well) = class.says(&["grade", "new-version"]);
    assert!(!well && text.contains("xyzzy: there is no command"), "{text}");
}

#[test]
fn a_class_begins_in_the_middle() {
    let class = Class::new("until");
    class.saves("// mine\n");
    let text = class.well(&["learn", "--until", "cache"]);
    assert!(text.contains("The answers of 3 exercises before 04_cache are handed out."), "{text}");
    let rows = text.lines().map(|line| line.split_at(line.char_indices().nth(2).map_or(0, |(at, _)| at)));
    let marks: Vec<&str> = rows.filter(|(_, row)| row.starts_with("0")).map(|(mark, _)| mark).take(5).collect();
    assert_eq!(marks, ["= ", "▸ ", "= ", "= ", "  "], "{text}");
    assert!(text.contains("\n▸ started   = handed out\n"), "{text}");
    let widths = text.lines().filter(|line| line.ends_with(" min")).map(|line| line.chars().count());
    assert!(widths.max().is_some_and(|widest| widest <= 80), "{text}");
    assert_eq!(shelf::read(&shelf::file(&class.0, ownership())).unwrap(), "// mine\n", "what was begun is left alone");
}

/// A board shows who is where, and again when an export comes; a stranger's name is no command to the terminal.
#[test]
fn a_board_is_refreshed_while_exports_come() {
    let class = Class::new("board");
    let folder = class.0.join("exports");
    fs::create_dir_all(&folder).unwrap();
    let Some(terminal) = class.terminal("board", "KUBESTEP progress --board exports") else { return };
    terminal.shows("no exports are here yet");
    fs::write(folder.join("a.yaml"), "name: anna\nexercises: {ownership: {attempts: 2, begun: 1}}\n").unwrap();
    terminal.shows("01_ownership, graded 2 times");
    fs::write(folder.join("b.yaml"), "name: \"b\\e]0;x\\a\"\nexercises: {}\n").unwrap();
    terminal.shows("b^[]0;x^G");
    fs::write(folder.join("c.yaml"), "name: [").unwrap();
    terminal.shows("c.yaml is not an export of progress");
    terminal.keys(&["C-c"]);
    terminal.shows("ended with");
}

/// All that is needed in one archive, with the program.
#[test]
fn a_class_is_packed_into_one_archive() {
    let class = Class::new("pack");
    let said = class.well(&["pack", "class.tar", "--with-program"]);
    for part in ["tar -xf class.tar", "cd class", "bin/kubestep learn"] {
        assert!(said.contains(part), "{said}");
    }
    let unpacked = class.0.join("unpacked");
    fs::create_dir_all(&unpacked).unwrap();
    let tar = std::process::Command::new("tar").args(["-xf", "../class.tar"]).current_dir(&unpacked).status();
    assert!(tar.is_ok_and(|status| status.success()) && !class.0.join("class.parts").exists());
    let folder = unpacked.join("class");
    assert!(folder.join(".cargo/config.toml").is_file() && folder.join("exercises/01_ownership/stub.rs").is_file());
    let learn = std::process::Command::new(folder.join("bin/kubestep"))
        .arg("learn")
        .current_dir(&folder)
        .env_remove("CARGO")
        .output();
    let said = String::from_utf8(learn.unwrap().stdout).unwrap();
    assert!(said.contains("bin/kubestep grade trace") && !said.contains("cargo run"), "{said}");
    assert!(class.says(&["pack", "class.tar"]).0.contains("is there already"));
}

#[test]
fn progress_goes_from_machine_to_machine() {
    let (here, there) = (Class::new("here"), Class::new("there"));
    here.saves(&shelf::read(&shelf::solution(&here.0, ownership())).unwrap());
    here.well(&["grade", "ownership"]);
    for (class, name) in [(&here, "ann"), (&there, "ben")] {
        class.well(&["progress", "--export", "out.yaml", "--as", name]);
    }
    let file = |class: &Class| class.0.join("out.yaml").display().to_string();
    let table = here.well(&["progress", "--table", &file(&there), &file(&here)]);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["ann", "0="], "{table}");
    assert_eq!(rows[2], ["ben"], "{table}");
    assert_eq!(rows[3][..5], ["have", "passed", "0", "1", "0"], "{table}");
    assert!(there.well(&["progress", "--import", &file(&here)]).starts_with("1 exercises"));
    assert!(there.well(&["learn"]).contains("passed, and changed since"), "the file there is another one");
    assert!(there.well(&["progress", "--import", &file(&here)]).starts_with("0 exercises"));
    let (text, well) = there.says(&["progress", "--import", "cargo"]);
    assert!(!well && text.contains("cargo is not an export of progress"), "{text}");
}

#[test]
fn doctor_looks_at_the_terminal_it_is_in() {
    let class = Class::new("doctor");
    let Some(terminal) = class.terminal("doctor", "KUBESTEP doctor") else { return };
    terminal.shows("100 columns, 30 rows");
    terminal.shows("a file that is saved is seen");
    terminal.shows("all crates are here; nothing needs the network");
    let (text, well) = class.says(&["doctor"]);
    assert!(!well && text.contains("start it in a terminal, without a pipe"), "{text}");
}
