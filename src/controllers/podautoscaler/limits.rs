//! From what the metrics ask for to what is asked of the target: remembered recommendations, the rate, the bounds.
//!
//! Mirrors `normalizeDesiredReplicas`, `normalizeDesiredReplicasWithBehaviors` and what they call in
//! `pkg/controller/podautoscaler/horizontal.go`.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior};

use object::time::Instant;

/// So long a scale down waits for a higher recommendation. `--horizontal-pod-autoscaler-downscale-stabilization`.
const DOWNSCALE_STABILIZATION: Duration = Duration::from_secs(300);

/// What the controller remembers of one autoscaler. It is lost when the controller restarts.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// What the metrics asked for, and when.
    pub recommendations: Vec<(Instant, i32)>,
    /// By how much the target was scaled up, and when.
    pub ups: Vec<(Instant, i32)>,
    /// By how much it was scaled down.
    pub downs: Vec<(Instant, i32)>,
}

/// What is known when the metrics have been read.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// What is asked of the target now.
    pub current: i32,
    /// What the metrics ask for.
    pub desired: i32,
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
    /// Now.
    pub now: Instant,
}

/// A reason and a message, for a condition.
pub type Why = (&'static str, &'static str);

/// What is asked of the target, and how that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How many Pods.
    pub replicas: i32,
    /// For the condition AbleToScale.
    pub able: Why,
    /// For the condition ScalingLimited, and whether it is True.
    pub limited: (bool, Why),
}

const READY: Why = ("ReadyForNewScale", "recommended size matches current size");
const UP_STABILIZED: Why = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const DOWN_STABILIZED: Why = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const WITHIN: Why = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FEW: Why = ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const TOO_MANY: Why = ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const UP_LIMIT: Why = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const DOWN_LIMIT: Why =
    ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");

impl Past {
    /// Before the first recommendation stands what was there.
    pub fn begin(&mut self, current: i32, now: Instant) {
        if self.recommendations.is_empty() {
            self.recommendations.push((now, current));
        }
    }

    /// How many Pods are asked of the target. The wish is remembered as it was, before anything was made of it.
    pub fn decide(&mut self, wish: Wish, behavior: Option<&HorizontalPodAutoscalerBehavior>) -> Decision {
        let rules = behavior.map(Rules::of);
        let (stabilized, why) = match &rules {
            None => (self.stabilized(wish), DOWN_STABILIZED),
            Some(rules) => {
                let why = if wish.desired >= wish.current { UP_STABILIZED } else { DOWN_STABILIZED };
                (self.stabilized_by(rules, wish), why)
            }
        };
        let able = if stabilized == wish.desired { READY } else { why };
        let wish = Wish { desired: stabilized, ..wish };
        let (replicas, why) = rules.map_or_else(|| within_bounds(wish), |rules| self.within_rate(&rules, wish));
        Decision { replicas, able, limited: (replicas != stabilized, why) }
    }

    /// The highest wish of the last five minutes. Mirrors `stabilizeRecommendation`.
    fn stabilized(&mut self, wish: Wish) -> i32 {
        let recent = |(at, _): &&(Instant, i32)| *at + DOWNSCALE_STABILIZATION >= wish.now;
        let highest = self.recommendations.iter().filter(recent).map(|(_, wished)| *wished).max();
        self.remember(wish, DOWNSCALE_STABILIZATION);
        highest.map_or(wish.desired, |highest| highest.max(wish.desired))
    }

    /// What lies between the lowest wish of the one window and the highest of the other, and is nearest to what is there.
    /// Mirrors `stabilizeRecommendationWithBehaviors`.
    fn stabilized_by(&mut self, rules: &Rules, wish: Wish) -> i32 {
        let within = |window: Duration| {
            self.recommendations.iter().filter(move |(at, _)| *at + window > wish.now).map(|(_, wished)| *wished)
        };
        let lowest = within(rules.up.window).fold(wish.desired, i32::min);
        let highest = within(rules.down.window).fold(wish.desired, i32::max);
        self.remember(wish, rules.up.window.max(rules.down.window));
        wish.current.max(lowest).min(highest)
    }

    fn remember(&mut self, wish: Wish, window: Duration) {
        self.recommendations.retain(|(at, _)| *at + window >= wish.now);
        self.recommendations.push((wish.now, wish.desired));
    }

    /// The target was scaled: that counts against the rates.
    pub fn scaled(&mut self, wish: Wish, replicas: i32, behavior: Option<&HorizontalPodAutoscalerBehavior>) {
        let Some(rules) = behavior.map(Rules::of) else { return };
        let (events, policies, change) = match replicas > wish.current {
            true => (&mut self.ups, rules.up.policies, replicas - wish.current),
            false => (&mut self.downs, rules.down.policies, wish.current - replicas),
        };
        let longest = policies.iter().map(period).max().unwrap_or_default();
        events.retain(|(at, _)| *at + longest >= wish.now);
        events.push((wish.now, change));
    }

    /// Mirrors `convertDesiredReplicasWithBehaviorRate`.
    fn within_rate(&self, rules: &Rules, wish: Wish) -> (i32, Why) {
        if wish.desired > wish.current {
            let rate = self.up_limit(&rules.up, wish).max(wish.current);
            let (most, why) = if wish.max > rate { (rate, UP_LIMIT) } else { (wish.max, TOO_MANY) };
            if wish.desired > most {
                return (most, why);
            }
        } else if wish.desired < wish.current {
            let rate = self.down_limit(&rules.down, wish).min(wish.current);
            let (least, why) = if wish.min < rate { (rate, DOWN_LIMIT) } else { (wish.min, TOO_FEW) };
            if wish.desired < least {
                return (least, why);
            }
        }
        (wish.desired, WITHIN)
    }

    /// How many there were when the policy's period began.
    fn at_start(&self, policy: &HPAScalingPolicy, wish: Wish) -> i32 {
        let within = |events: &[(Instant, i32)]| -> i32 {
            events.iter().filter(|(at, _)| *at + period(policy) > wish.now).map(|(_, change)| change).sum()
        };
        wish.current - within(&self.ups) + within(&self.downs)
    }

    /// Mirrors `calculateScaleUpLimitWithScalingRules`.
    fn up_limit(&self, rules: &Direction, wish: Wish) -> i32 {
        let limit = |policy: &HPAScalingPolicy| {
            let start = self.at_start(policy, wish);
            match policy.type_.as_str() {
                "Pods" => start.saturating_add(policy.value),
                _ => (f64::from(start) * (1.0 + f64::from(policy.value) / 100.0)).ceil() as i32,
            }
        };
        let limits = rules.policies.iter().map(limit);
        match rules.select {
            "Disabled" => wish.current,
            "Min" => limits.min().unwrap_or(wish.current),
            _ => limits.max().unwrap_or(wish.current),
        }
    }

    /// Mirrors `calculateScaleDownLimitWithBehaviors`.
    fn down_limit(&self, rules: &Direction, wish: Wish) -> i32 {
        let limit = |policy: &HPAScalingPolicy| {
            let start = self.at_start(policy, wish);
            match policy.type_.as_str() {
                "Pods" => start.saturating_sub(policy.value),
                _ => (f64::from(start) * (1.0 - f64::from(policy.value) / 100.0)) as i32,
            }
        };
        let limits = rules.policies.iter().map(limit);
        match rules.select {
            "Disabled" => wish.current,
            // The least change is the highest number.
            "Min" => limits.max().unwrap_or(wish.current),
            _ => limits.min().unwrap_or(wish.current),
        }
    }
}

/// Within min and max, and no more than twice as many, or four, at a time. Mirrors `convertDesiredReplicasWithRules`.
fn within_bounds(wish: Wish) -> (i32, Why) {
    let rate = wish.current.saturating_mul(2).max(4);
    let (most, why) = if wish.max > rate { (rate, UP_LIMIT) } else { (wish.max, TOO_MANY) };
    if wish.desired < wish.min {
        (wish.min, TOO_FEW)
    } else if wish.desired > most {
        (most, why)
    } else {
        (wish.desired, WITHIN)
    }
}

/// `spec.behavior`, with the defaults that the API server has filled in.
struct Rules<'a> {
    up: Direction<'a>,
    down: Direction<'a>,
}

struct Direction<'a> {
    window: Duration,
    select: &'a str,
    policies: &'a [HPAScalingPolicy],
}

impl Rules<'_> {
    fn of(behavior: &HorizontalPodAutoscalerBehavior) -> Rules<'_> {
        Rules {
            up: Direction::of(behavior.scale_up.as_ref(), Duration::ZERO),
            down: Direction::of(behavior.scale_down.as_ref(), DOWNSCALE_STABILIZATION),
        }
    }
}

impl Direction<'_> {
    fn of(rules: Option<&HPAScalingRules>, window: Duration) -> Direction<'_> {
        let asked = rules.and_then(|rules| rules.stabilization_window_seconds);
        Direction {
            window: asked.map_or(window, |seconds| Duration::from_secs(seconds.max(0) as u64)),
            select: rules.and_then(|rules| rules.select_policy.as_deref()).unwrap_or_default(),
            policies: rules.and_then(|rules| rules.policies.as_deref()).unwrap_or_default(),
        }
    }
}

fn period(policy: &HPAScalingPolicy) -> Duration {
    Duration::from_secs(policy.period_seconds.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn wish(current: i32, desired: i32, seconds: u64) -> Wish {
        Wish { current, desired, min: 2, max: 10, now: Instant(seconds * 1_000_000_000) }
    }

    fn behavior(of: Value) -> HorizontalPodAutoscalerBehavior {
        serde_json::from_value(of).unwrap()
    }

    #[test]
    fn bounds_and_the_plain_rate() {
        for (current, desired, want, limited) in [
            (3, 5, 5, (false, WITHIN)),
            (3, 9, 6, (true, UP_LIMIT)),
            (2, 9, 4, (true, UP_LIMIT)),
            (8, 12, 10, (true, TOO_MANY)),
            (8, 0, 2, (true, TOO_FEW)),
            (8, 3, 3, (false, WITHIN)),
        ] {
            let got = Past::default().decide(wish(current, desired, 0), None);
            assert_eq!((got.replicas, got.limited, got.able), (want, limited, READY), "{current} {desired}");
        }
    }

    #[test]
    fn a_scale_down_waits_five_minutes_for_a_higher_wish() {
        let mut past = Past::default();
        past.begin(6, Instant(0));
        for (seconds, desired, want, able) in [
            (15, 6, 6, READY),
            (30, 2, 6, DOWN_STABILIZED),
            (200, 3, 6, DOWN_STABILIZED),
            (315, 2, 6, DOWN_STABILIZED),
            (316, 2, 3, DOWN_STABILIZED),
            (500, 2, 3, DOWN_STABILIZED),
            (501, 2, 2, READY),
        ] {
            let got = past.decide(wish(6, desired, seconds), None);
            assert_eq!((got.replicas, got.able), (want, able), "{seconds}");
        }
        assert!(past.recommendations.len() < 5, "what is too old is forgotten: {:?}", past.recommendations);
    }

    #[test]
    fn a_behavior_sets_the_windows() {
        let rules = behavior(json!({
            "scaleUp": {"stabilizationWindowSeconds": 60, "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 9, "periodSeconds": 15}]},
            "scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 9, "periodSeconds": 15}]},
        }));
        let mut past = Past::default();
        past.begin(4, Instant(0));
        for (seconds, current, desired, want, able) in [
            (15, 4, 8, 4, UP_STABILIZED),
            (45, 4, 6, 4, UP_STABILIZED),
            (61, 4, 7, 6, UP_STABILIZED),
            (80, 6, 3, 3, READY),
        ] {
            let got = past.decide(wish(current, desired, seconds), Some(&rules));
            assert_eq!((got.replicas, got.able), (want, able), "{seconds}");
        }
    }

    #[test]
    fn a_behavior_sets_the_rates() {
        let policies = json!([
            {"type": "Pods", "value": 1, "periodSeconds": 60}, {"type": "Percent", "value": 50, "periodSeconds": 60},
        ]);
        #[rustfmt::skip]
        let cases = [
            // Of 4, the policies allow 5 or 6 up, 3 or 2 down; of 2 that were just added, the first two count.
            ("Max", 4, 9, 0, (6, UP_LIMIT)), ("Min", 4, 9, 0, (5, UP_LIMIT)), ("Disabled", 4, 9, 0, (4, UP_LIMIT)),
            ("Max", 8, 2, 0, (4, DOWN_LIMIT)), ("Min", 8, 2, 0, (7, DOWN_LIMIT)), ("Disabled", 8, 2, 0, (8, DOWN_LIMIT)),
            ("Max", 4, 9, 2, (4, UP_LIMIT)), ("Max", 4, 9, 1, (5, UP_LIMIT)), ("Max", 4, 5, 0, (5, WITHIN)),
            ("Max", 9, 12, 0, (10, TOO_MANY)), ("Max", 3, 0, 0, (2, TOO_FEW)), ("Max", 2, 0, 0, (2, TOO_FEW)),
        ];
        for (select, current, desired, added, want) in cases {
            let direction = json!({"stabilizationWindowSeconds": 0, "selectPolicy": select, "policies": policies});
            let rules = behavior(json!({"scaleUp": direction, "scaleDown": direction}));
            let mut past = Past::default();
            if added > 0 {
                past.scaled(wish(current - added, current, 30), current, Some(&rules));
            }
            let got = past.decide(wish(current, desired, 60), Some(&rules));
            assert_eq!((got.replicas, got.limited.1), want, "{select} {current} {desired} {added}");
        }
    }

    #[test]
    fn what_was_scaled_is_forgotten_after_the_period() {
        let direction = json!({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}], "selectPolicy": "Max"});
        let rules = behavior(json!({"scaleUp": direction, "scaleDown": direction}));
        let mut past = Past::default();
        past.scaled(wish(2, 4, 0), 4, Some(&rules));
        assert_eq!(past.decide(wish(4, 9, 59), Some(&rules)).replicas, 4);
        assert_eq!(past.decide(wish(4, 9, 60), Some(&rules)).replicas, 6);
        past.scaled(wish(4, 6, 61), 6, Some(&rules));
        assert_eq!(past.ups, [(Instant(61_000_000_000), 2)]);
    }
}
