//! The debugger: a session over a running cluster. It knows no screen.
//!
//! A session steps the cluster, keeps every step that ran, and answers questions about them. The terminal is one face
//! of it; everything that a face shows comes from here.
//!
//! - [`session`]: stepping, history, causes. [`moves`]: where a move forward ends.
//! - [`mod@breakpoint`]: where else it stops. [`facts`]: what is asked of a step; [`expression`]: conditions.
//! - [`explore`]: every order of delivery within a bound.
//! - [`causes`], [`changes`], [`timeline`], [`inspect`], [`spine`], [`explain`]: questions and their answers, about
//!   objects that [`target`] finds, and components that [`holder`] finds; [`chapters`]: where the book tells more.
//! - [`choice`]: what a user decides and breaks. [`mod@file`]: a session saved; [`journal`]: one written as it goes;
//!   [`digest`]: by which runs are known again.
//! - [`value`]: what an expression, or an object's field, comes to at a stop.
//! - [`stop`]: everything there is to see at a stop. [`describe`]: one event, or one task, in words.
//! - [`compare`]: two courses of events side by side.
//! - [`diff`]: what changed between two versions of an object, field by field.
//! - [`properties`]: what must hold in every run.
//! - [`quiz`]: questions about what comes next. [`tour`]: a scenario's narration. [`case`]: whether a broken cluster is right
//!   again.
//! - [`record`]: a run as files. [`scene`]: a part of a run as pictures are drawn from it.
//! - [`travel`]: going back, choices, branches; `saves`: from where.
//! - [`source`]: the lines of code at which a component waits.
//!
//! Must hold:
//! - Looking changes nothing. Kept by `questions_are_about_what_happens` and `any_way_leads_to_the_same_end`.
//! - The same commands on the same scenario give the same stops. Kept by `transcripts_hold` and
//!   `stops_of_the_past_are_those_of_the_way_there`.

pub mod audit;
pub mod breakpoint;
pub mod case;
pub mod causes;
pub mod changes;
pub mod chapters;
pub mod choice;
pub mod compare;
pub mod describe;
pub mod diff;
pub mod digest;
pub mod explain;
pub mod explore;
pub mod expression;
pub mod facts;
pub mod file;
pub mod holder;
pub mod inspect;
pub mod journal;
pub mod makers;
pub mod moves;
pub mod properties;
pub mod quiet;
pub mod quiz;
pub mod record;
mod saves;
pub mod scene;
pub mod session;
pub mod source;
pub mod spine;
pub mod stop;
pub mod target;
pub mod timeline;
pub mod tour;
pub mod travel;
pub mod value;

pub use choice::Choice;
pub use moves::{Goal, StopAt};
pub use session::{Advance, Session};
pub use stop::Stop;
pub use travel::{Branch, Called, Chosen};
