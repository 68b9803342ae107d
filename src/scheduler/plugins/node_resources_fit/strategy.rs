//! What makes a node better: more room, less of it, or what a curve says. Mirrors
//! `plugins/noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio}.go`.

use crate::framework::MAX_NODE_SCORE;

/// Which of two nodes is better. `scoringStrategy.type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The one with more room: pods spread.
    #[default]
    LeastAllocated,
    /// The one with less room: pods are packed, and other nodes stay empty.
    MostAllocated,
    /// The one to which a curve gives more points for the share of it that is used.
    RequestedToCapacityRatio(Vec<ShapePoint>),
}

/// A resource, and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// `cpu`.
    pub name: String,
    /// 1 to 100.
    pub weight: i64,
}

/// A point of the curve; between two of them it is straight, and before the first and after the last it is level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// How many of a hundred parts are used.
    pub utilization: i64,
    /// 0 to 100.
    pub score: i64,
}

/// One resource of one node, with the pod there.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// How much the resource counts.
    pub weight: i64,
    /// What the node has.
    pub allocatable: i64,
    /// What would be asked for.
    pub requested: i64,
}

impl Strategy {
    /// How good the node is. What it has nothing of does not count.
    pub fn score(&self, uses: &[Use]) -> i64 {
        let uses = uses.iter().filter(|of| of.allocatable != 0);
        match self {
            Strategy::LeastAllocated => average(uses.map(|of| (share(of.allocatable - used(of), of), of.weight))),
            Strategy::MostAllocated => average(uses.map(|of| (share(used(of), of), of.weight))),
            Strategy::RequestedToCapacityRatio(shape) => {
                let scores = uses.map(|of| (on_curve(shape, share(used(of), of)), of.weight));
                rounded_average(scores.filter(|(score, _)| *score > 0))
            }
        }
    }
}

fn used(of: &Use) -> i64 {
    of.requested.min(of.allocatable)
}

fn share(part: i64, of: &Use) -> i64 {
    part * MAX_NODE_SCORE / of.allocatable
}

fn sums(scores: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    scores.fold((0, 0), |(sum, weights), (score, weight)| (sum + score * weight, weights + weight))
}

fn average(scores: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = sums(scores);
    sum.checked_div(weights).unwrap_or(0)
}

fn rounded_average(scores: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = sums(scores);
    if weights == 0 { 0 } else { (sum as f64 / weights as f64).round() as i64 }
}

/// Mirrors `helper.BuildBrokenLinearFunction`.
fn on_curve(shape: &[ShapePoint], utilization: i64) -> i64 {
    let Some(next) = shape.iter().position(|point| utilization <= point.utilization) else {
        return shape.last().map_or(0, |point| point.score);
    };
    let to = shape[next];
    let Some(from) = next.checked_sub(1).map(|before| shape[before]) else { return to.score };
    from.score + (to.score - from.score) * (utilization - from.utilization) / (to.utilization - from.utilization)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_straight_between_its_points_and_level_beyond_them() {
        let point = |(utilization, score)| ShapePoint { utilization, score };
        let shape = [(10, 0), (50, 100), (90, 40)].map(point);
        for (utilization, score) in [(0, 0), (10, 0), (20, 25), (50, 100), (60, 85), (90, 40), (100, 40)] {
            assert_eq!(on_curve(&shape, utilization), score, "{utilization}");
        }
    }

    #[test]
    fn what_scores_nothing_on_the_curve_does_not_count() {
        let point = |(utilization, score)| ShapePoint { utilization, score };
        let packing = Strategy::RequestedToCapacityRatio([(0, 0), (100, 100)].map(point).to_vec());
        let of = |weight, allocatable, requested| Use { weight, allocatable, requested };
        assert_eq!(packing.score(&[of(1, 4, 1), of(1, 8, 4)]), 38, "37.5 is rounded");
        assert_eq!(packing.score(&[of(3, 4, 1), of(1, 8, 0)]), 25);
        assert_eq!(packing.score(&[of(1, 4, 9)]), 100, "more than there is counts as all");
        assert_eq!(packing.score(&[of(1, 0, 1)]), 0);
    }
}
