//! `kubestep explore` at the command line: what it prints, and that the command it names opens what it found.

use std::path::PathBuf;
use std::process::Output;

use kubestep_tests::project::{command, from_root, root};
use kubestep_tests::wrong;

fn kubestep(folder: &PathBuf, words: &[&str]) -> Output {
    command().args(words).current_dir(folder).output().expect("it can be run")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("there is room");
    folder
}

#[test]
fn what_is_found_is_saved_and_can_be_opened_with_the_command_that_is_named() {
    let folder = folder("explore-found");
    let found = kubestep(&folder, &["explore", "half-done"]);
    assert_eq!(found.status.code(), Some(1));
    assert!(text(&found.stderr).contains("the server comes to have the size"), "{}", text(&found.stderr));
    let said = text(&found.stdout);
    assert!(said.contains("crash database-operator"), "{said}");
    let (_, command) = said.split_once("open it there with: cargo run -- ").expect("a command is named");
    let words: Vec<&str> = command.split_whitespace().collect();
    let step = words.last().expect("it ends with the step");
    let opened = kubestep(&folder, &words);
    assert!(opened.status.success(), "{}", text(&opened.stderr));
    let shown = text(&opened.stdout);
    assert!(shown.contains(&format!("step {step} ")), "{shown}");
    assert!(shown.contains(&format!("at step {step} breaks: the server comes to have the size")), "{shown}");
}

#[test]
fn a_clean_search_says_how_far_it_went() {
    let folder = folder("explore-clean");
    let clean = kubestep(&folder, &["explore", "half-done", "--fixed"]);
    assert!(clean.status.success(), "{}", text(&clean.stderr));
    let said = text(&clean.stdout);
    for part in
        ["none breaks a property", "distinct states", "the bound is exhausted", "one message late and one fault"]
    {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_search_is_kept_in_a_file() {
    let folder = folder("explore-kept");
    let _ = std::fs::remove_file(folder.join("search.json"));
    let go = || {
        text(
            &kubestep(&folder, &["explore", "lost-update", "--fixed", "--resume", "search.json", "--schedules", "60"])
                .stdout,
        )
    };
    assert!(go().contains("the bound is not exhausted"));
    assert!(go().contains("the bound is exhausted"));
    let other = kubestep(&folder, &["explore", "half-done", "--fixed", "--resume", "search.json"]);
    assert!(text(&other.stderr).contains("another scenario"), "{}", text(&other.stderr));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder("explore-wrong");
    for (words, says) in [
        (vec!["explore"], "say what to explore"),
        (vec!["explore", "deployment", "--fixed"], "shows no bug"),
        (vec!["explore", "deployment", "--nodes", "60", "--schedules", "1"], "take fewer: --nodes 50"),
        (vec!["explore", "half-done", "--kinds", "explode"], "is no fault to try"),
        (vec!["explore", "half-done", "--property", "nothing"], "the scenario states"),
        (vec!["explore", "half-done", "--at", "x pots"], "there is no kind"),
        (vec!["explore", "half-done", "--at", "nobody"], "there are kube-apiserver, "),
        (vec!["explore", "deployment", "--at", "kubelet"], "kubelet/* means them all"),
        (vec!["explore", "deployment", "--at", "kublet/node-1"], "did you mean kubelet/node-1?"),
        (vec!["explore", "deployment", "--at", "kubelet/node-5"], "there is no component"),
    ] {
        let output = kubestep(&folder, &words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(text(&output.stderr).contains(says), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_node_that_joins_later_has_components() {
    let words =
        ["explore", "unschedulable", "--late", "0", "--faults", "1", "--kinds", "hold", "--at", "kubelet/node-5"];
    let output = kubestep(&folder("explore-joins"), &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    assert!(found.contains("none breaks a property") && !found.starts_with("1 schedule,"), "{found}");
}

#[test]
fn bugs_are_listed_apart() {
    let listed = text(&kubestep(&folder("explore-list"), &["scenarios"]).stdout);
    let (walks, bugs) = listed.split_once("With a bug that real clusters had").expect("they stand apart");
    assert!(walks.contains("deployment ") && bugs.contains("ghost-node ") && !walks.contains("ghost-node"));
}

#[test]
fn what_is_found_lies_in_the_users_folder() {
    let folder = folder("explore-home");
    let found = command()
        .args(["explore", "half-done"])
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(&folder)
        .output()
        .expect("it can be run");
    let file = folder.join("state").join("kubestep").join("found").join("half-done.kubestep");
    let shown = file.display().to_string().replace('\\', "/");
    assert!(text(&found.stdout).contains(&format!("it is saved in {shown}")), "{}", text(&found.stdout));
    assert!(file.is_file() && !folder.join("half-done.kubestep").exists());
}

/// Each exercise that is a controller has trials, which are searched by name.
#[test]
fn a_learners_controller_is_explored_in_its_trials() {
    let folder = folder("explore-exercise");
    let unknown = kubestep(&folder, &["explore", "deployment", "--exercise", "nothing"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("no exercise"), "{}", text(&unknown.stderr));
    let function = kubestep(&folder, &["explore", "--exercise", "ownership"]);
    assert!(text(&function.stderr).contains("which has no schedules"), "{}", text(&function.stderr));
    // All its trials, in the learner's own code, which is not written yet.
    for part in ["exercises", "solutions"] {
        std::fs::create_dir_all(folder.join(part)).expect("there is room");
    }
    for exercise in std::fs::read_dir(from_root("exercises")).expect("they are here") {
        let exercise = exercise.expect("it can be listed");
        if !exercise.path().is_dir() {
            // What a learner has done so far is kept beside them.
            continue;
        }
        let copy = folder.join("exercises").join(exercise.file_name());
        std::fs::create_dir_all(&copy).expect("there is room");
        std::fs::copy(exercise.path().join("stub.rs"), copy.join("stub.rs")).expect("each has its stub");
    }
    let stub = kubestep(&folder, &["explore", "--exercise", "replicaset"]);
    assert!(text(&stub.stderr).contains("replicaset is not started"), "{}", text(&stub.stderr));
}

/// A shelf on which a learner's ReplicaSet controller is written and built already: `cargo` only hands the program over.
#[cfg(unix)]
fn written(name: &str, program: &str) -> PathBuf {
    use lab::{Exercise, shelf};
    use std::os::unix::fs::PermissionsExt;
    let (root, folder) = (root(), folder(name));
    for exercise in lab::TABLE {
        let stub = shelf::stub(root, exercise).expect("each has its stub");
        let place = folder.join("exercises").join(exercise.folder).join("stub.rs");
        shelf::write(&place, &stub).expect("there is room");
    }
    std::fs::create_dir_all(folder.join("solutions")).expect("there is room");
    let replicaset = Exercise::find("replicaset").expect("it is one");
    let solution = shelf::read(&shelf::solution(root, replicaset)).expect("it has an answer");
    shelf::write(&shelf::file(&folder, replicaset), &solution).expect("there is room");
    let executable = |path: PathBuf, text: String| {
        shelf::write(&path, &text).expect("there is room");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    executable(folder.join("target/debug/exercise-06-replicaset"), format!("#!/bin/sh\nexec {program}\n"));
    executable(folder.join("cargo"), "#!/bin/sh\n".to_owned());
    folder
}

/// The right one goes through every trial, and one trial searches all that may come late; of a wrong one what it does is
/// found, and the replay of it is saved.
#[cfg(unix)]
#[test]
fn a_right_controller_is_clean_and_a_wrong_one_is_found() {
    use lab::Exercise;
    use lab::building::{self, Program};
    let root = root();
    let solution = Exercise::find("replicaset").expect("it is one");
    let solution = building::build(root, Program::Solution(solution)).expect("it compiles");
    let explored = |folder: &PathBuf| {
        command()
            .args(["explore", "--exercise", "replicaset", "--schedules", "40"])
            .current_dir(folder)
            .env("CARGO", folder.join("cargo"))
            .env("XDG_STATE_HOME", folder.join("state"))
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .expect("it can be run")
    };
    let right = explored(&written("explore-right", &solution.display().to_string()));
    let said = text(&right.stdout);
    assert!(right.status.success(), "{said}{}", text(&right.stderr));
    let trials = std::fs::read_dir(from_root("scenarios/exercises/replicaset")).expect("it has trials").count();
    assert_eq!(said.matches("none breaks a property").count(), trials, "{said}");
    assert!(said.contains("the bound is exhausted"), "{said}");

    let mutants =
        std::fs::read_to_string(from_root("solutions/06_replicaset/mutants.yaml")).expect("there are wrong ones");
    let mut names = mutants.lines().filter_map(|line| line.strip_prefix("- mistake: "));
    let number = names.position(|name| name == "counts_cache").expect("one counts the Pods of its cache");
    let folder = written("explore-wrong-one", &format!("{} 06_replicaset {number}", wrong::MUTANTS.display()));
    let wrong = explored(&folder);
    let said = text(&wrong.stdout);
    assert_eq!(wrong.status.code(), Some(1), "{said}{}", text(&wrong.stderr));
    assert!(
        said.contains("one breaks a property") && said.contains("open it there with: cargo run -- step --replay"),
        "{said}"
    );
    assert!(folder.join("state/kubestep/found").read_dir().is_ok_and(|mut files| files.next().is_some()));
}

/// README's search with a fault is one that a reader waits for: it comes to its end.
#[test]
#[allow(clippy::disallowed_methods, reason = "how long a reader waits is the question")]
fn what_the_readme_explores_comes_to_its_end() {
    let readme = std::fs::read_to_string(from_root("README.md")).expect("it is there");
    let line = readme.lines().find(|line| line.contains("--faults 1")).expect("it shows one");
    let (command, said) = line.split_once(" # ").expect("it says how long that takes");
    let words = command.trim().strip_prefix("cargo run -- ").expect("it is a command").split_whitespace();
    let begun = std::time::Instant::now();
    let output = kubestep(&folder("explore-readme"), &words.collect::<Vec<_>>());
    let text = text(&output.stdout);
    assert!(output.status.success() && text.contains("the bound is exhausted"), "{text}");
    assert!(text.starts_with("8 schedules") && said.contains("eight"), "{said}: {text}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}
