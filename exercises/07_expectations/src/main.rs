//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::expectations::answer(exercise_07_expectations::observe, exercise_07_expectations::reconcile);
}
