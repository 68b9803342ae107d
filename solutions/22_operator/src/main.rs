//! Runs the controller in `lib.rs` for the cluster. There is nothing to do in this file.

#[path = "lib.rs"]
mod code;

fn main() {
    kubestep_exercise::operator::answer(code::reconcile);
}
