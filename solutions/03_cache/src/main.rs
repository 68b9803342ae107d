//! Answers the grader's questions with the function in `lib.rs`. There is nothing to do in this file.

fn main() {
    kubestep_exercise::cache::answer(solution_03_cache::apply);
}
