//! Every number of the kubelet in one place, with the field or constant of Kubernetes that it stands for.

use std::time::Duration;

/// `pkg/kubelet/kubelet.go` `plegRelistPeriod` of `genericPlegRelistPeriod`: the runtime is listed this often.
pub const RELIST_PERIOD: Duration = Duration::from_secs(1);
/// `backOffPeriod`: how soon a failed sync is tried again (plus up to half of it).
pub const BACK_OFF_PERIOD: Duration = Duration::from_secs(10);
/// A back-off carried by the error counts up to here (`pod_workers.go` `completeWork`).
pub const CARRIED_BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// `MaxCrashLoopBackOff` and `imageBackOff`: the first delay.
pub const BACK_OFF_INITIAL: Duration = Duration::from_secs(10);
/// The longest delay between two starts of a container, or two pulls of an image.
pub const BACK_OFF_MAX: Duration = Duration::from_secs(300);
/// `updateRuntimeUp`: the runtime's condition is asked for this often.
pub const RUNTIME_PERIOD: Duration = Duration::from_secs(5);
/// `backOffOnTransientErrorPeriod`: how soon a pod is tried again that could not be connected.
pub const TRANSIENT_BACK_OFF: Duration = Duration::from_secs(1);
/// `nodeStatusUpdateFrequency`: the node's status is computed this often.
pub const NODE_STATUS_PERIOD: Duration = Duration::from_secs(10);
/// `nodeStatusReportFrequency`: an unchanged status is written this often.
pub const NODE_REPORT_PERIOD: Duration = Duration::from_secs(300);
/// `nodeLeaseDurationSeconds`.
pub const LEASE_DURATION_SECONDS: i32 = 40;
/// The lease is renewed after a quarter of its duration.
pub const LEASE_RENEW_PERIOD: Duration = Duration::from_secs(10);
/// `maxUpdateRetries` of the lease controller: so often is a renewal tried at once.
pub const LEASE_TRIES: u32 = 5;
/// `pkg/kubelet/status` `syncPeriod`: statuses that could not be written are tried again this often.
pub const STATUS_SYNC_PERIOD: Duration = Duration::from_secs(10);
/// `reconcilerLoopSleepPeriod` of the volume manager: how long it takes until new volumes are looked at.
pub const VOLUME_RECONCILE_PERIOD: Duration = Duration::from_millis(100);
/// `podAttachAndMountRetryInterval`: the worker looks this often whether its volumes are mounted.
pub const MOUNT_POLL_PERIOD: Duration = Duration::from_millis(300);
/// `podAttachAndMountTimeout`: how long a sync waits for its volumes.
pub const MOUNT_TIMEOUT: Duration = Duration::from_secs(123);
/// First delay after a failed mount, doubling (`pkg/util/goroutinemap/exponentialbackoff`).
pub const MOUNT_RETRY_INITIAL: Duration = Duration::from_millis(500);
/// Longest delay after a failed mount.
pub const MOUNT_RETRY_MAX: Duration = Duration::from_secs(122);
/// `maxProbeRetries`: so often is a probe tried at once that cannot be made.
pub const PROBE_TRIES: u32 = 3;
/// `ContainerGCPeriod`: how often the kubelet looks for what the runtime keeps without need.
pub const GARBAGE_PERIOD: Duration = Duration::from_secs(60);
/// `housekeepingPeriod`: what belongs to no pod any more is looked for this often.
pub const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(2);
/// `evictionMonitoringPeriod`: what is left of memory and disk is looked at this often.
pub const EVICTION_MONITOR_PERIOD: Duration = Duration::from_secs(10);
/// `evictionPressureTransitionPeriod`: so long a node's condition outlasts its cause.
pub const PRESSURE_TRANSITION_PERIOD: Duration = Duration::from_secs(300);
/// `kubeletRestartGracePeriod`: a container that has run for so long when the kubelet starts is an earlier kubelet's.
pub const RESTART_GRACE: Duration = Duration::from_secs(10);
/// How long it takes from the moment the kubelet lets go of the inhibitor lock until the power is off.
pub const POWER_OFF_DELAY: Duration = Duration::from_secs(1);
/// `syncFrequency`: a pod in which nothing changes is synced this often, and up to half as long again.
pub const SYNC_PERIOD: Duration = Duration::from_secs(60);
/// `maxTTL` of the token manager: no token is kept longer than a day.
pub const TOKEN_AGE_MAX: Duration = Duration::from_secs(24 * 3600);
/// First pause between two tries to register the node, doubling up to [`REGISTER_PAUSE_MAX`].
pub const REGISTER_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two tries to register.
pub const REGISTER_PAUSE_MAX: Duration = Duration::from_secs(7);
/// `defaultPodGracePeriod` of the API, used when a pod says nothing.
pub const GRACE_SECONDS: i64 = 30;
/// The shortest grace of a pod that is to end (`calculateEffectiveGracePeriod`).
pub const GRACE_SECONDS_MIN: i64 = 1;
/// `killPodNow`: the least time that the kubelet waits for a pod to end.
pub const KILL_TIMEOUT_MIN: Duration = Duration::from_secs(10);
/// `minimumGracePeriodInSeconds` of the runtime manager: so long a container has between SIGTERM and SIGKILL, however little
/// is left of its grace.
pub const STOP_SECONDS_MIN: i64 = 2;
/// `retryDelay` of the allocation manager: a resize that waits for room is tried again this often.
pub const RESIZE_RETRY_PERIOD: Duration = Duration::from_secs(180);
/// `kubeAPIQPS` and `kubeAPIBurst`.
pub const QPS: u32 = 50;
/// See [`QPS`].
pub const BURST: u32 = 100;
/// `nodeStatusMaxImages`.
pub const IMAGES_REPORTED_MAX: usize = 50;
/// `MaxPodTerminationMessageLogLength`: bytes of last words for all containers of a pod.
pub const TERMINATION_MESSAGES_MAX: usize = 12 * 1024;
/// What the kubelet calls itself in `nodeInfo`.
pub const KUBELET_VERSION: &str = "v1.36.2";
