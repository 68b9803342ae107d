//! The course: what is built from its chapters, what is served, and what a browser makes of it.
//!
//! - `build`: pages, links, weights, mistakes with their lines.
//! - `hostile`: what strangers have written, in a page.
//! - `references`: links out of the book.
//! - `parts`: what every chapter has. `order`: one order, and minutes that add up.
//! - `live`: the server: who gets pages, who gets sessions.
//! - `browser`: the player in a real Chromium; without one these say "skipped: needs chromium".
//! - `paper`: what is printed.
//! - `screens`: small and zoomed screens, keys alone, no motion, axe.
//! - `site`: the static site with the cluster in its pages.
mod browser;
mod build;
mod chromium;
mod hostile;
mod live;
mod order;
mod paper;
mod parts;
mod project;
mod references;
mod screens;
mod server;
mod site;
#[path = "../skip/mod.rs"]
mod skip;
