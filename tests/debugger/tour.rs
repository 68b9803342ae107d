//! Narration and questions: what is told happens, and what is asked has an answer.

use cluster::scenario::Scenario;
use debugger::quiz::Quiz;
use debugger::{Goal, Session, StopAt, tour};
use stepper::Stepper;

fn stepper(scenario: &str, seed: u64) -> Stepper {
    let mut scenario = Scenario::find(scenario).expect("it is shipped");
    scenario.seed = seed;
    Stepper::new(Session::of(scenario), false)
}

#[test]
fn every_place_is_come_by() {
    // Where nothing happens by itself, there is nothing to tell.
    let happens = |scenario: &Scenario| !scenario.timeline.is_empty();
    for scenario in Scenario::shipped().into_iter().chain(Scenario::bugs()).filter(happens) {
        assert!(scenario.tour.len() >= 3, "{} has its story", scenario.name);
        let mut stepper = stepper(&scenario.name, scenario.seed);
        let mut last = 0;
        for (n, place) in (1..).zip(&scenario.tour) {
            let answer = stepper.answer("tour").unwrap_or_else(|error| panic!("{} {n}: {error}", scenario.name));
            assert!(
                answer.narration.starts_with(&format!("{n}/")),
                "{}: {:?} is not reached: {:?} {}",
                scenario.name,
                place.until,
                answer.narration,
                answer.text
            );
            let step = stepper.session.history().len();
            assert!(step > last || n == 1, "{}: {:?} is where one stood already", scenario.name, place.until);
            last = step;
        }
        assert!(stepper.answer("tour").is_err_and(|error| error.contains("the tour is over")));
    }
}

#[test]
fn a_tour_can_be_taken_again() {
    let mut stepper = stepper("deployment", 0);
    for _ in 0..6 {
        stepper.answer("tour").expect("there is a place");
    }
    let sixth = stepper.session.history().len() as u64;
    stepper.answer("goto 8").expect("it was there");
    let again = stepper.answer("tour").expect("there is a place");
    assert!(again.narration.starts_with("4/"), "{}", again.narration);
    stepper.answer("tour").expect("there is a place");
    stepper.answer("tour").expect("there is a place");
    assert_eq!(stepper.session.history().len() as u64, sixth);
}

#[test]
fn a_tour_goes_on_where_it_was_left() {
    let mut stepper = stepper("deployment", 0);
    stepper.answer("step 5").expect("there are steps");
    let begun = stepper.answer("tour").expect("there is a place");
    assert!(begun.narration.starts_with("1/"), "{}", begun.narration);
    assert_eq!(stepper.session.history().len(), 0, "the story begins at its beginning");
    for number in 2..=14 {
        let told = stepper.answer("tour").expect("there is a place");
        assert!(told.narration.starts_with(&format!("{number}/")), "{}", told.narration);
        stepper.answer("step 4").expect("looking around leads past no place");
    }
}

#[test]
fn what_this_run_does_not_come_by_is_left_out() {
    for seed in 1..6 {
        let mut stepper = stepper("deployment", seed);
        let mut told = 0;
        while let Ok(answer) = stepper.answer("tour") {
            told += u32::from(!answer.narration.is_empty());
        }
        assert!((10..=14).contains(&told), "seed {seed}: {told} places");
    }
}

#[test]
fn scenarios_without_narration_say_who_has_one() {
    let untold = Scenario { tour: Vec::new(), ..Scenario::find("lost-update").expect("it is shipped") };
    let error = Stepper::new(Session::of(untold), false).answer("tour").expect_err("nobody tells of it");
    assert!(error.contains("deployment"), "{error}");
}

#[test]
fn a_condition_that_cannot_be_read_is_found_before_anybody_takes_the_tour() {
    let mut scenario = Scenario::find("pod").expect("it is shipped");
    assert_eq!(tour::check(&Session::of(scenario.clone())), Ok(()));
    scenario.tour[1].until = "notifcation pod".to_owned();
    let error = tour::check(&Session::of(scenario)).expect_err("there is no such word");
    assert!(error.starts_with("tour: until: notifcation pod: ") && error.contains("notification"), "{error}");
}

/// A quiz changes nothing, is the same every time, and its answers are what happens then.
#[test]
fn questions_are_about_what_happens() {
    for scenario in ["deployment", "unschedulable", "self-heal"] {
        let run = |number: &str| {
            let mut stepper = stepper(scenario, 0);
            stepper.quiz = Some(Quiz::default());
            let mut asked = Vec::new();
            for _ in 0..30 {
                let Ok(answer) = stepper.answer("step") else { break };
                let Some(question) = answer.question else { continue };
                assert!((1..=4).contains(&question.choices.len()), "{question:?}");
                asked.push(question);
                let answer = stepper.answer(number).or_else(|_| stepper.answer("1")).expect("there is such a choice");
                assert!(answer.text.starts_with("right: ") || answer.text.starts_with("no: "), "{}", answer.text);
                if let (Some(stop), true) = (&answer.stop, answer.text.contains(" → ")) {
                    let happened = format!("{} ─ {} → {}", stop.event.from, stop.event.what, stop.event.to);
                    // It is broken between words.
                    let said = answer.text.replace('\n', " ");
                    assert!(said.contains(&happened), "{scenario}: {said} but {happened}");
                }
            }
            let quiz = stepper.quiz.take().expect("it is a quiz");
            (asked, quiz.answered, quiz.right, format!("{:?}", stepper.session.history()))
        };
        let (first, answered, _, _) = run("1");
        assert!(answered > 15, "{scenario}: {answered} questions");
        assert_eq!(run("1").0, first, "the same questions in the same order");
        let right: u32 = ["1", "2", "3", "4"].iter().map(|number| run(number).2).sum();
        assert!(right >= answered, "{scenario}: each question has a right choice");
        let mut plain = stepper(scenario, 0);
        for _ in 0..30 {
            plain.answer("step").ok();
        }
        assert_eq!(format!("{:?}", plain.session.history()), run("2").3, "{scenario}: asking changes nothing");
    }
}

#[test]
fn choices_made_just_before_a_question_hold() {
    let mut stepper = stepper("deployment", 0);
    stepper.answer("goto 40").expect("it can be gone to");
    stepper.quiz = Some(Quiz::default());
    stepper.answer("hold kube-scheduler").expect("it runs");
    stepper.answer("step").expect("something comes");
    assert_eq!(stepper.session.cluster.engine.controls().holds.len(), 1);
    stepper.answer("seed 7").expect("it can be done");
    assert_eq!(stepper.session.choices().len(), 2);
    assert!(stepper.session.branches().is_empty(), "looking ahead is no course of events");
    stepper.session.go(&mut Goal::Stop(StopAt::Notification), 0);
    assert_eq!(stepper.session.cluster.engine.controls().holds.len(), 1);
}
