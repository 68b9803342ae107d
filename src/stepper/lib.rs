//! The language of a session: lines go in, answers come out. A terminal speaks it, and so do programs and pages.
//!
//! A face reads a line and hands it to [`Stepper::read`], which says what it is at this prompt; [`Stepper::carry_out`] does
//! it and gives an [`Answer`](commands::Answer), which the face shows: as text by [`lines`], or as a line of [`json`].
//!
//! - [`Stepper`]: a session that takes lines, as its [`options`] say. [`outside`]: what it needs of the world around it, which its face has.
//! - [`typed`]: what a line is, read once. [`shell`]: lines that a shell has to read.
//! - [`commands`]: what can be typed, one file a group; [`complete`]: what Tab makes of it; [`edit`]: `edit`, around an
//!   editor that the face opens; [`paths`]: names of files on Windows; [`script`]: lines of a text, one after another.
//! - [`case`]: a broken cluster to repair, in words.
//! - [`lines`]: an answer as text. [`view`]: what a stop looks like; [`sequence`]: a timeline as a diagram; [`palette`],
//!   [`wrap`]: colours and line ends.
//! - [`json`], [`told`]: answers as values, for programs.
//!
//! Deliberately absent: a terminal, a file system, a thread, a clock, a process. So the crate compiles to WebAssembly, and a
//! page can be a face. Whether texts are coloured the face says too (`console::set_colors_enabled`).

pub mod case;
mod clock;
pub mod commands;
pub mod complete;
pub mod edit;
pub mod json;
pub mod lines;
pub mod options;
pub mod outside;
pub mod palette;
pub mod paths;
pub mod script;
pub mod sequence;
pub mod shell;
mod stepper;
#[cfg(test)]
mod tests;
pub mod told;
pub mod typed;
pub mod view;
pub mod wrap;

pub use clock::Clock;
pub use stepper::Stepper;
pub use typed::{Typed, What};
