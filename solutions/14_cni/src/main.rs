//! Answers the grader's questions with the function in `lib.rs`. There is nothing to do in this file.

fn main() {
    kubestep_exercise::cni::answer(solution_14_cni::run);
}
