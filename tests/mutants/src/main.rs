//! `mutants EXERCISE N`: answers the grader as the Nth wrong or other right solution of an exercise.
//! `mutants misbehaving NAME`: answers it as one that does what it should not.

#[allow(dead_code)]
mod misbehaving;

include!(concat!(env!("OUT_DIR"), "/all.rs"));

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, name, n] = words.as_slice() else { panic!("mutants EXERCISE N") };
    if name == "misbehaving" {
        return misbehaving::run(n);
    }
    run(name, n.parse().expect("N is a number"));
}
