//! Answers the grader's questions with the function in `lib.rs`. There is nothing to do in this file.

fn main() {
    kubestep_exercise::queue::answer(exercise_04_queue::new);
}
