//! Sessions in lines: what is typed, and a part of what is said.

use cluster::scenario::Scenario;
use debugger::Session;

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
