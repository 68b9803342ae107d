//! Hands the answers in `lib.rs` to the grader. There is nothing to do in this file.

#[path = "lib.rs"]
mod code;

fn main() {
    kubestep_exercise::trace::answer(code::answers);
}
