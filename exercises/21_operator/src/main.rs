//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::operator::answer(exercise_21_operator::reconcile);
}
