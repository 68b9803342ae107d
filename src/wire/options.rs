//! How a request is meant: query parameters, and how to delete.

/// `metav1.DeleteOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds; absent means the object's own.
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// `orphanDependents=false`, as it was said before there were policies: `Background`. Its sender learns from a 202
    /// that the object is not gone yet.
    pub says_orphan_not: bool,
    /// Precondition: this uid.
    pub uid: Option<String>,
    /// Precondition: this resourceVersion.
    pub resource_version: Option<String>,
}

/// `metav1.DeletionPropagation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents stay.
    Orphan,
    /// The object goes at once, dependents follow.
    Background,
    /// Dependents go first.
    Foreground,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// Say so in a Warning header: the server's default.
    #[default]
    Warn,
    /// Refuse: kubectl's default.
    Strict,
}

/// Query parameters.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `app=web,tier in (a,b)`.
    pub label_selector: String,
    /// `spec.nodeName=node-1`.
    pub field_selector: String,
    /// For get, list and watch; empty means the newest.
    pub resource_version: String,
    /// `Exact` or `NotOlderThan`.
    pub resource_version_match: String,
    /// How to treat unknown fields.
    pub field_validation: FieldValidation,
    /// Fields that a patch has twice, or that no patch has.
    pub patch_problems: Vec<String>,
    /// Do all but store.
    pub dry_run: bool,
    /// Who manages the fields written.
    pub field_manager: String,
    /// An apply patch takes fields from others.
    pub force: bool,
    /// The answer tells who manages which fields. Components throw that away, so they need not ask.
    pub managed_fields: bool,
    /// Page size of a list; 0 means all.
    pub limit: u64,
    /// Where the next page starts.
    pub continue_token: String,
    /// A watch begins with the state so far, or with what happens from now on. If nothing is said, it begins with the
    /// state where no version to go on from is named.
    pub send_initial_events: Option<bool>,
    /// A watch may carry bookmarks.
    pub allow_watch_bookmarks: bool,
}
