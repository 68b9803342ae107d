//! The course: an mdBook whose scenes, transcripts, code and diagrams are computed from this program when it is built.
//!
//! A chapter is Markdown with directives: fenced blocks that say what is to be shown ([`mod@block`]; `book/README.md`
//! tells writers how). A directive is carried out by running the thing: a scenario ([`scene`], [`svg`]), this program
//! ([`transcript`]), a look into the source ([`code`], with [`notes`], [`fold`]ed to the width of a page) or into the grader's table
//! ([`exercise`]), at a broken cluster ([`case`]), or into a recording of a real one ([`kind`]); [`poster`] draws a whole run on one
//! page, and [`icon`] has what each kind of object looks like. What no longer is as a chapter says fails the build, with the
//! chapter's line. So the book cannot rot. [`leader`] has the notes of those who lead a workshop, and [`minutes`] says how long a
//! page takes.
//!
//! [`build`] makes the whole book with mdBook as a library; [`mdbook`] does its part for a stock `mdbook build`.
//! Both come to [`directives`]. [`command`] is `kubestep book`, [`serve`] its
//! server, and [`site`] what any other server can serve, with the cluster in it.
//!
//! Must hold:
//! - The same sources give the same bytes. Kept by `the_same_chapters_give_the_same_bytes`.
//! - Pages need no network and, but for stepping, no script. Kept by `the_course_builds_and_every_link_resolves` and
//!   `a_page_is_whole_without_a_script_and_on_paper`.

pub mod block;
pub mod build;
pub mod case;
pub mod code;
pub mod command;
pub mod directives;
pub mod exercise;
pub mod fold;
pub mod html;
pub mod icon;
pub mod kind;
pub mod leader;
pub mod links;
pub mod mdbook;
pub mod minutes;
pub mod notes;
pub mod numbers;
pub mod poster;
pub mod quiz;
pub mod scene;
pub mod serve;
pub mod site;
pub mod source;
pub mod svg;
pub mod transcript;
