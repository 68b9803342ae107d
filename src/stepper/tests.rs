//! Sessions in lines: what is typed, and a part of what is said.

use cluster::scenario::Scenario;
use debugger::Session;
use debugger::file::{self, File};

use super::Stepper;
use super::lines::text;

fn stepper(scenario: &str) -> Stepper {
    Stepper::new(Session::of(Scenario::find(scenario).unwrap()), false)
}

fn says(stepper: &mut Stepper, line: &str) -> String {
    let typed = stepper.read(line);
    let answer = stepper.carry_out(&typed);
    answer.map_or_else(|error| error, |answer| text(&answer, &stepper.view()))
}

/// Types lines. The answer to each must contain its text, or with `!` before it must not.
fn hold(scenario: &str, lines: &[(&str, &str)]) {
    let mut stepper = stepper(scenario);
    for (line, part) in lines {
        let said = says(&mut stepper, line);
        let (part, must) = part.strip_prefix('!').map_or((*part, true), |part| (part, false));
        assert_eq!(said.contains(part), must, "{line} should say {part:?}: {must}\n{said}");
    }
}

#[test]
fn logpoints_print_where_they_happen() {
    let mut stepper = stepper("deployment");
    says(&mut stepper, "break create deployments print LOG {new.metadata.name}");
    let said = says(&mut stepper, "run");
    let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("{part} is not said:\n{said}"));
    assert!(at("$ kubectl apply") < at("LOG web") && at("LOG web") < at("deployment.apps/web created"), "{said}");
    assert!(at("created") < at("successfully rolled out"), "{said}");
}

#[test]
fn a_condition_on_an_object_stops_at_the_write_that_makes_it_true() {
    let mut stepper = stepper("deployment");
    says(&mut stepper, "break pod if new.status.phase == \"Running\"");
    let mut hits = 0;
    while says(&mut stepper, "run").contains("breakpoint 1") {
        hits += 1;
    }
    assert_eq!(hits, 2, "each of the two Pods comes to run once");
    hold(
        "deployment",
        &[
            ("break pod notification if new.status.phase == \"Running\"", "1   break"),
            ("run", "breakpoint 1"),
            ("show", "MODIFIED Pod"),
            ("unbreak 1", "removed 1: break pod notification"),
        ],
    );
}

#[test]
fn courses_keep_their_numbers_and_have_names() {
    hold(
        "deployment",
        &[
            ("run", "nothing is left to do"),
            ("goto 8", "step 8"),
            ("crash kube-scheduler", "kube-scheduler"),
            ("run", "nothing is left to do"),
            ("branches", "* 2"),
            ("branch crashed", "* 2  crashed:"),
            ("branch 7", "would be taken for one"),
            ("switch 1", "step"),
            ("branches", "* 1"),
            ("branches", "  2  crashed:"),
            ("compare crashed", "they part in step"),
            ("compare crashed", "!uid"),
            ("compare crashed", "!Time:"),
            ("switch crashed", "step"),
            ("switch 2", "is this course"),
            ("switch 9", "neither the number nor the name"),
            ("goto 4", "step 4"),
            ("run", "done again, as you chose here before: crash kube-scheduler"),
            ("goto 4 --fresh", "left as a branch"),
            ("run", "!done again"),
            ("branches", "* 3"),
        ],
    );
}

#[test]
fn any_answer_goes_through_a_pipe_and_any_command_to_its_end() {
    hold(
        "playground",
        &[
            ("!kubectl create deployment web --image=nginx", "deployment.apps/web created"),
            ("get deploy", "web"),
            ("run", "nothing is left to do"),
            ("timeline | grep -c create", "!create"),
            ("history deploy/web | head -1 | wc -l", "1"),
            ("history deploy/web | less", "Deployment default/web"),
            ("scale deploy web --replicas=2 !", "deployment.apps/web scaled"),
            ("cat nothing.yaml", "cat: "),
        ],
    );
    hold(
        "deployment",
        &[
            ("cat web.yaml", "kind: Deployment"),
            ("pending", "!cat"),
            ("run", "rolled out"),
            ("why", "the scenario typed"),
        ],
    );
}

#[test]
fn a_tour_goes_on_with_enter_and_says_that_it_goes_back() {
    let mut stepper = stepper("deployment");
    assert!(says(&mut stepper, "tour").contains("1/"));
    assert!(says(&mut stepper, "").contains("2/"));
    assert!(!says(&mut stepper, "stepi").contains("3/"));
    assert!(!says(&mut stepper, "").contains("3/"), "Enter steps again");
    let said = says(&mut stepper, "tour");
    assert!(said.contains("where the story was left") && said.contains("3/"), "{said}");
}

#[test]
fn a_session_may_run_what_is_typed_to_its_end() {
    hold(
        "playground",
        &[
            ("create configmap a", "press Enter to step"),
            ("option", "to-end   off"),
            ("option to-end on", "to-end   on"),
            ("create configmap b", "configmap/b created"),
            ("kubectl get cm -o name > names; cat names", "configmap/a"),
            ("crash kube-scheduler", ""),
            ("option to-end off", "to-end   off"),
            ("delete configmap b", "press Enter to step"),
            ("option colour on", "there is no option \"colour\"; there are to-end, pager"),
            ("option to-end perhaps", "neither on nor off"),
        ],
    );
}

#[test]
fn what_goes_on_is_ended_and_ends_again_when_it_is_repeated() {
    let mut stepper = stepper("playground");
    for (line, part) in [
        ("interrupt", "no command runs that was typed at the prompt"),
        ("!run web --image=nginx", "pod/web created"),
        ("run", "nothing is left to do"),
        ("get pods -w --request-timeout=1h", "press Enter to step"),
        ("wait 2", "web"),
        ("interrupt", "ended: kubectl get pods -w --request-timeout=1h"),
        ("interrupt", "no command runs"),
        ("!delete pod web --now", "pod \"web\" deleted"),
        ("for n in 1 2 3; do kubectl wait --for=delete ns/default; done", "press Enter to step"),
        ("wait 5", ""),
        ("interrupt", "ended: for n in 1 2 3"),
        ("!kubectl get ns default -o name > name", ""),
        ("cat name", "namespace/default"),
    ] {
        let said = says(&mut stepper, line);
        assert!(said.contains(part), "{line}: {said}");
    }
    let saved = file::save(&stepper.session);
    assert_eq!(saved.matches("interrupt").count(), 2, "{saved}");
    let again = File::read(&saved).and_then(|file| file.open(None)).expect("it comes to the same");
    assert_eq!(again.history().len(), stepper.session.history().len());
}

#[test]
fn looking_at_files_is_no_line_of_the_timeline() {
    let mut stepper = stepper("deployment");
    let before = stepper.session.choices().len();
    for (line, part) in [
        ("ls", "web.yaml\n"),
        ("files | grep -c web.yaml", "1\n"),
        ("cat web.yaml | grep -c kind", "1\n"),
        ("ls nothing", "ls: cannot access 'nothing'"),
    ] {
        let said = says(&mut stepper, line);
        assert!(said.contains(part), "{line}: {said}");
    }
    assert_eq!(stepper.session.choices().len(), before);
    // Right behind a line that may write them, it comes after that.
    says(&mut stepper, "kubectl get ns -o name > names");
    says(&mut stepper, "cat names | head -1");
    assert!(says(&mut stepper, "run").contains("$ cat names | head -1\nnamespace/default\n"));
}
