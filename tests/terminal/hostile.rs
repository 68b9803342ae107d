//! Files and lines that are made to do harm, or to take for ever.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use super::step::{Scratch, printed, run};

/// A title that sets the terminal's, a clipboard that is written, a colour that is none of ours.
const OBEYED: &str = r"T\e]0;pwn\a\e[31mRED\e]52;c;ZXZpbA==\a";
const SHOWN: &str = "T^[]0;pwn^G^[[31mRED^[]52;c;ZXZpbA==^G";

#[test]
fn nothing_that_a_file_says_is_a_command_to_the_terminal() {
    let scratch = Scratch::new("hostile");
    let pod = r#"{apiVersion: v1, kind: Pod, metadata: {name: img}, spec: {containers: [{name: a, image: \"ng\\e]0;pwn\\ax\"}]}}"#;
    let text = format!(
        "title: \"{OBEYED}\"\nstory: \"{OBEYED}\"\nnodes: 1\ntimeline:\n- kubectl apply -f m.yaml\n\
         - kubectl describe pod img\ntour:\n- {{until: pod, text: \"{OBEYED}\"}}\nfiles: {{m.yaml: \"{pod}\"}}\n"
    );
    let scenario = scratch.file("hostile.yaml", text.as_bytes());
    let saved = scratch.0.join("saved.kubestep").display().to_string();
    let lines =
        format!("tour\nrun\nget pods\ndescribe pod img\nlog pod \\u001b[31m\nbreak \u{1b}]0;x\u{7}\nsave {saved}\n");
    for color in ["never", "always"] {
        let step = run(&["step", &scenario, "--color", color], &lines);
        let replay = run(&["step", "--replay", &saved, "--color", color], "why\n");
        let run = run(&["run", &scenario, "--color", color], "");
        for output in [&step, &replay, &run] {
            let said = printed(output) + &String::from_utf8_lossy(&output.stderr);
            let harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}');
            assert!(!said.contains(harmful) && !said.contains("\u{1b}]") && !said.contains("\u{1b}[31mRED"), "{said}");
            assert!(color == "always" || !said.contains('\u{1b}'), "{said}");
        }
        assert_eq!(printed(&step).matches(SHOWN).count(), 3, "title, story and tour: {}", printed(&step));
        assert!(printed(&run).contains("Image:          ng^[]0;pwn^Gx"), "{}", printed(&run));
    }
}

#[test]
fn a_session_is_bound_to_a_folder() {
    let scratch = Scratch::new("bound");
    let folder = scratch.0.display().to_string();
    let outside = std::env::temp_dir().join(format!("kubestep-outside-{}", std::process::id())).display().to_string();
    let inside = scratch.0.join("ok.kubestep").display().to_string();
    let lines = format!(
        "create configmap a --from-file=/etc/passwd\nsave {outside}\nload /etc/passwd\nsave {inside}\nload {inside}\n\
         create configmap b --from-file=/etc/passwd\nwait 1\nget configmaps\nwait 1\n"
    );
    let said = printed(&run(&["step", "pod", "--within", &folder], &lines));
    assert_eq!(said.matches("this session sees no files outside of its own folder").count(), 4, "{said}");
    assert!(!fs::exists(&outside).unwrap() && fs::exists(&inside).unwrap(), "{said}");
}

#[test]
fn the_exit_code_says_whether_anything_could_be_done() {
    let scratch = Scratch::new("codes");
    let failing =
        scratch.file("failing.yaml", b"title: x\nnodes: 1\ntimeline:\n- kubectl get nonsense\n- kubectl get nodes\n");
    let fine = scratch.file("fine.yaml", b"title: x\nnodes: 1\ntimeline:\n- kubectl get nodes\n");
    for (arguments, lines, code) in [
        (vec!["step", "pod"], "nonsense\nwhat is\n", 1),
        (vec!["step", "pod"], "nonsense\nstep\n", 0),
        (vec!["step", "pod"], "", 0),
        (vec!["step", "pod", "--json"], "nonsense\n", 1),
        (vec!["step", "pod", "--json"], "step\n", 0),
        (vec!["run", &failing], "", 1),
        (vec!["run", &fine], "", 0),
    ] {
        let output = run(&arguments, lines);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}, {lines:?}: {}", printed(&output));
    }
}

#[test]
fn a_saved_session_has_an_end() {
    let scratch = Scratch::new("sessions");
    let saved = scratch.0.join("saved.kubestep").display().to_string();
    run(&["step", "pod"], &format!("step 5\nsave {saved}\n"));
    let text = fs::read_to_string(&saved).unwrap();
    let steps = text.lines().find(|line| line.starts_with("steps: ")).expect("it says how many");
    let long = scratch.file("long.kubestep", text.replace(steps, "steps: 1000000000").as_bytes());
    let error = String::from_utf8(run(&["step", "--replay", &long], "").stderr).unwrap();
    assert!(error.contains("the file was cut off: it speaks of 1000000000 steps"), "{error}");
    let nested = scratch.file("nested.kubestep", ("kubestep: ".to_owned() + &"[".repeat(200_000)).as_bytes());
    let error = String::from_utf8(run(&["step", "--replay", &nested], "").stderr).unwrap();
    assert!(error.contains("exceeded max depth of 10000"), "{error}");
}

/// Only its owner can read what was typed.
#[cfg(unix)]
#[test]
fn journals_are_their_owners_alone() {
    let scratch = Scratch::new("journals");
    let folder = scratch.0.join("a/b");
    // The end of the input ends the session, and with it the journal: the folder stays.
    run(&["step", "pod", "--journal", &folder.display().to_string()], "step\n");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
}

/// A chain of 100,000 terms, which may take twice as long as one of half as many and no longer, and what follows from the
/// largest number of replicas.
#[test]
#[allow(clippy::disallowed_methods, reason = "whether it hangs is the question")]
fn large_inputs_are_taken() {
    for word in ["and", "or"] {
        let chain = format!("break pod if {}step == 1\nrun\n", format!("step == 0 {word} ").repeat(100_000));
        let begun = std::time::Instant::now();
        let output = run(&["step", "deployment"], &chain);
        assert!(output.status.success(), "{:?}", output.status);
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{word}: {:?}", begun.elapsed());
    }
    let lines = "create deployment web --image=nginx:1.26 --replicas=2147483647\nwait 1\n\
                 set image deployment/web nginx=nginx:1.27\nwait 1\nscale deployment web --replicas=65536\nwait 1\n\
                 describe deployment web\nwait 1\n";
    let output = run(&["step", "playground"], lines);
    let said = printed(&output);
    assert!(output.status.success() && said.contains("65536 desired"), "{said}");
}
