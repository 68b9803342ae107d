//! Answers the grader's questions with the function in `lib.rs`. There is nothing to do in this file.

fn main() {
    kubestep_exercise::update::answer(solution_02_update::count);
}
