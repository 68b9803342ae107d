//! `mutants EXERCISE N`: answers the grader as the Nth wrong or other right solution of an exercise.

include!(concat!(env!("OUT_DIR"), "/all.rs"));

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, name, n] = words.as_slice() else { panic!("mutants EXERCISE N") };
    run(name, n.parse().expect("N is a number"));
}
