//! The program at a terminal and without one: what it prints, draws, keeps, and what it says of wrong input.

mod hostile;
mod journal;
mod screens;
mod step;
mod tui;
