//! The status of an autoscaler and its three conditions.

use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus, MetricStatus,
};

use object::time::Instant;

/// The target's scale can be read and written, and nothing is waited for.
pub(super) const ABLE_TO_SCALE: &str = "AbleToScale";
/// The metrics can be read, and autoscaling is not switched off.
pub(super) const SCALING_ACTIVE: &str = "ScalingActive";
/// The metrics ask for more or less than is allowed.
pub(super) const SCALING_LIMITED: &str = "ScalingLimited";

/// Sets a condition. The time of its last transition moves only when its value does. Mirrors `setConditionInList`.
pub(super) fn say(
    hpa: &mut HorizontalPodAutoscaler,
    type_: &str,
    value: bool,
    reason: &str,
    message: impl Into<String>,
    now: Instant,
) {
    let conditions = hpa.status.get_or_insert_default().conditions.get_or_insert_default();
    let value = if value { "True" } else { "False" };
    let before = conditions.iter().position(|there| there.type_ == type_);
    let since = before.map(|at| &conditions[at]).filter(|there| there.status == value);
    let new = HorizontalPodAutoscalerCondition {
        type_: type_.to_owned(),
        status: value.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
        last_transition_time: since.map_or_else(|| Some(now.time()), |there| there.last_transition_time.clone()),
    };
    match before {
        Some(at) => conditions[at] = new,
        None => conditions.push(new),
    }
}

/// Sets the rest. Mirrors `setStatus`.
pub(super) fn set(
    hpa: &mut HorizontalPodAutoscaler,
    current: i32,
    desired: i32,
    metrics: Vec<MetricStatus>,
    scaled: Option<Instant>,
) {
    let before = hpa.status.take().unwrap_or_default();
    hpa.status = Some(HorizontalPodAutoscalerStatus {
        current_replicas: Some(current).filter(|n| *n != 0),
        desired_replicas: desired,
        current_metrics: Some(metrics).filter(|metrics| !metrics.is_empty()),
        last_scale_time: scaled.map(Instant::time).or(before.last_scale_time),
        conditions: before.conditions,
        observed_generation: before.observed_generation,
    });
}
