//! Rules that users write: kinds of their own, admission policies, webhooks, and roles.
//!
//! All of it is functions of values: a definition, a policy, a request and what can be read about it. What the API server does
//! with what they find is in `apiserver/`.
//!
//! - [`cel`]: the language of rules, and of policies.
//! - [`apiextensions`]: kinds that users define; their schemas, and the rules in those.
//! - [`question`]: a request as policies and webhooks see it; [`matching`]: which requests they are about.
//!   [`expression`]: what their expressions may use.
//! - [`policy`]: admission policies. [`webhook`]: admission webhooks; [`json_patch`]: what these two make.
//! - [`rbac`]: which rules of roles cover which.
//! - [`scale`]: the replica count of an object, seen alone.
//! - [`type_checking`]: whether policies fit the kinds that they are about.
//!
//! Must hold:
//! - Nothing here knows the API server; what it finds follows from what it is given. Kept by
//!   `the_picture_of_the_crates_is_as_they_are`.

pub mod cel;

pub mod apiextensions;

pub mod scale;

pub mod expression;

pub mod question;

pub mod matching;

pub mod policy;

pub mod webhook;

pub mod json_patch;

pub mod rbac;

pub mod type_checking;
