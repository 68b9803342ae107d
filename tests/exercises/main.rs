//! The exercises: they are handed out, judged rightly, and what is told of them is true.

mod cases;
mod learn;
mod verdicts;
