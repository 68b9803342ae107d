//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::finalizer::answer(exercise_20_finalizer::reconcile);
}
