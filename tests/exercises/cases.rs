//! The cases of "Broken: find out why": each starts broken and stays so, what does not repair it is refused, and each of its
//! repairs, two at least, is accepted.

use std::sync::Mutex;

use cluster::scenario::{Case, Scenario};
use kubestep::cli::broken::{self, Verdict};
use lab::Exercise;

use kubestep_tests::project::root;
use kubestep_tests::threads;

/// A case and one attempt: what is typed, and whether it repairs the cluster.
type Attempt<'a> = (&'a Scenario, Vec<String>, bool);

#[test]
fn every_case_is_what_it_says() {
    let cases = broken::all();
    let mut attempts: Vec<Attempt> = Vec::new();
    for scenario in &cases {
        let Case { hints, fixes, refused, .. } = scenario.case.as_ref().expect("a case has its part");
        assert!(fixes.len() >= 2 && refused.len() >= 2 && hints.len() == 3, "{}", scenario.name);
        assert!(Exercise::find(&scenario.name).is_err(), "{} is an exercise, too", scenario.name);
        assert!(!scenario.title.is_empty() && scenario.tour.is_empty(), "{}", scenario.name);
        attempts.push((scenario, vec!["wait 600".to_owned()], false));
        attempts.extend(fixes.iter().map(|lines| (scenario, lines.clone(), true)));
        attempts.extend(refused.iter().map(|refused| (scenario, refused.lines.clone(), false)));
    }
    let wrong = Mutex::new(Vec::new());
    threads::share(&attempts, |(scenario, lines, solves)| {
        let verdict = broken::judge(root(), scenario, &lines.join("\n"));
        if (verdict == Verdict::Solved) != *solves {
            wrong.lock().expect("no thread panics").push(format!("{}: {lines:?}: {verdict:?}", scenario.name));
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
