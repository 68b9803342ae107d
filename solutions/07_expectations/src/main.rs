//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::expectations::answer(solution_07_expectations::observe, solution_07_expectations::reconcile);
}
