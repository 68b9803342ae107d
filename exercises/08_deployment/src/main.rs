//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::deployment::answer(exercise_08_deployment::reconcile);
}
