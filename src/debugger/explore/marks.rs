//! The usual course of a subject, with marks to come back to: a run that deviates late has the same beginning, and does not
//! run it again.

use std::collections::BTreeMap;

use crate::properties::Property;
use cluster::{Cluster, Saved};

use super::run::{Course, Running, Schedule};
use super::trace::Trace;

/// More marks are not kept: then every other one goes, and they are left twice as far apart.
const MARKS: usize = 64;

/// The course without any deviation.
#[derive(Default)]
pub(super) struct Usual {
    /// Before which step each event came, by who it is.
    places: BTreeMap<u64, usize>,
    marks: Vec<Mark>,
    /// So many steps are between two marks at least.
    apart: usize,
}

/// A moment of the usual course at which no task was in flight.
pub(super) struct Mark {
    /// How many steps had run.
    place: usize,
    world: Saved,
    course: Course,
    properties: Vec<Box<dyn Property>>,
}

fn copies(properties: &[Box<dyn Property>]) -> Vec<Box<dyn Property>> {
    properties.iter().map(|property| property.copied()).collect()
}

impl Mark {
    /// Brings the moment back.
    pub fn back(&self, cluster: &mut Cluster) -> Running {
        cluster.restore(&self.world);
        Running { course: self.course.clone(), properties: copies(&self.properties) }
    }
}

impl Usual {
    /// Leaves a mark, if there is none near.
    pub fn mark(&mut self, cluster: &Cluster, course: &Course, properties: &[Box<dyn Property>]) {
        let place = course.trace.steps.len();
        let next = self.marks.last().map_or(0, |mark| mark.place) + self.apart.max(1);
        if place < next {
            return;
        }
        let Some(world) = cluster.save() else { return };
        self.marks.push(Mark { place, world, course: course.clone(), properties: copies(properties) });
        if self.marks.len() > MARKS {
            let mut n = 0;
            self.marks.retain(|_| {
                n += 1;
                n % 2 == 0
            });
            self.apart = 2 * self.apart.max(1);
        }
    }

    /// It has come to its end.
    pub fn ended(&mut self, trace: &Trace) {
        self.places = (0..).zip(&trace.steps).map(|(place, step)| (step.identity, place)).collect();
    }

    /// The last mark before anything of this schedule deviates. An event that the usual course does not have comes about by
    /// an earlier deviation.
    pub fn mark_before(&self, schedule: &Schedule) -> Option<&Mark> {
        let first = schedule.iter().filter_map(|deviation| self.places.get(&deviation.on)).min()?;
        self.marks.iter().rev().find(|mark| mark.place <= *first)
    }
}
