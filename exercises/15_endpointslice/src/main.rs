//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

fn main() {
    kubestep_exercise::endpointslice::answer(exercise_15_endpointslice::reconcile);
}
