//! What the API server knows of each kind.

pub mod defaults;
pub mod printers;
pub mod registry;
pub mod strategy;
pub mod validation;
pub mod warnings;
