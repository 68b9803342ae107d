//! Answers the grader's questions with the function in `lib.rs`. There is nothing to do in this file.

#[path = "lib.rs"]
mod code;

fn main() {
    kubestep_exercise::conditions::answer(code::report);
}
