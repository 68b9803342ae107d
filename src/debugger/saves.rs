//! Where a run is saved: close together around the present, and further apart the further away.

/// At least so many steps lie between two saves.
const SPACING: u64 = 50;
/// A save is given up if its neighbours are closer together than this part of the way to them.
const SPARSER: u64 = 24;

/// What was saved, each with how many steps had run, in their order.
pub(super) struct Saves<W>(Vec<(u64, W)>);

impl<W> Default for Saves<W> {
    fn default() -> Saves<W> {
        Saves(Vec::new())
    }
}

impl<W> Saves<W> {
    /// One stands after so many steps. Keeps a save, if it is time for one and `save` can make one.
    pub(super) fn keep(&mut self, steps: u64, save: impl FnOnce() -> Option<W>) {
        let place = self.0.partition_point(|(at, _)| *at <= steps);
        let mut around = self.0[place.saturating_sub(1)..].iter().take(2);
        if around.any(|(at, _)| at.abs_diff(steps) < SPACING) {
            return;
        }
        let Some(saved) = save() else { return };
        self.0.insert(place, (steps, saved));
        let mut i = 1;
        while i + 1 < self.0.len() {
            let away = self.0[i].0.abs_diff(steps);
            let gap = self.0[i + 1].0 - self.0[i - 1].0;
            if gap * SPARSER < away {
                self.0.remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// The last one that was made after so many steps or before.
    pub(super) fn before(&self, steps: u64) -> Option<&(u64, W)> {
        self.0[..self.0.partition_point(|(at, _)| *at <= steps)].last()
    }

    /// Forgets those that were made later.
    pub(super) fn forget_after(&mut self, steps: u64) {
        self.0.retain(|(at, _)| *at <= steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far it is from the nearest save to here.
    fn way(saves: &Saves<()>, steps: u64) -> u64 {
        steps - saves.before(steps).map_or(0, |(at, ())| *at)
    }

    #[test]
    fn saves_are_few_and_stand_close_together_where_one_is() {
        let mut saves = Saves::default();
        (0..=1_000_000).for_each(|steps| saves.keep(steps, || Some(())));
        assert!(saves.0.len() < 300, "{}", saves.0.len());
        assert!(saves.0.is_sorted_by(|(one, ()), (next, ())| one + SPACING <= *next));
        for steps in [999_999, 999_000, 990_000, 900_000, 500_000, 3] {
            assert!(way(&saves, steps) <= SPACING + (1_000_000 - steps) / SPARSER, "{steps}: {}", way(&saves, steps));
        }

        // Back to where they are sparse: what runs on the way is saved too.
        let from = 500_000 - way(&saves, 500_000);
        (from..=500_000).for_each(|steps| saves.keep(steps, || Some(())));
        assert!(way(&saves, 499_900) <= SPACING);
        assert!(saves.0.len() < 400, "{}", saves.0.len());
        saves.forget_after(499_900);
        assert!(saves.before(1_000_000).is_some_and(|(at, ())| *at <= 499_900));
    }

    #[test]
    fn where_none_can_be_made_there_is_none() {
        let mut saves = Saves::default();
        assert!(saves.before(7).is_none());
        for steps in 0..1_000 {
            saves.keep(steps, || (steps % 90 == 7).then_some(()));
        }
        assert!(saves.before(6).is_none());
        assert_eq!(saves.0.iter().map(|(at, ())| *at).take(3).collect::<Vec<_>>(), [7, 97, 187]);
    }
}
