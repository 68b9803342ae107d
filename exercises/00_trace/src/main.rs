//! Hands the answers in `lib.rs` to the grader. There is nothing to do in this file.

fn main() {
    kubestep_exercise::trace::answer(exercise_00_trace::answers);
}
