//! The kinds of `autoscaling`.

pub mod horizontal_pod_autoscaler;
