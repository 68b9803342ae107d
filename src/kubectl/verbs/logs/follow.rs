//! `logs --follow`: what containers print from now on, line by line, until all of them have ended.
//!
//! The real one goes on for as long as a container runs. Here a command has to end, or nothing after it would ever be typed:
//! as with [`get --watch`](super::super::watch) it does when nothing was printed for [`STILL`].
//!
//! Left out: a container that is started again; the kubelet ends the stream with its process, and so does this.

use std::time::Duration;

use super::super::watch::STILL;
use super::{Lines, Open};
use crate::kubectl::Kubectl;
use crate::nodes::Log;

/// How often a file is looked at.
const TICK: Duration = Duration::from_secs(1);

/// Prints what comes, until all logs are at their end or nothing comes any more.
pub(super) async fn follow(mut open: Vec<Open>, wanted: &Lines, cx: &Kubectl) {
    let clock = cx.clock();
    let mut last = cx.client.now();
    loop {
        let mark = cx.printed();
        open.retain_mut(|log| log.goes_on(wanted, cx));
        let now = cx.client.now();
        if cx.printed() > mark {
            last = now;
        }
        if open.is_empty() || now >= last + STILL {
            return;
        }
        let next = open.iter().filter_map(|log| log.next(cx)).min();
        clock.next_within(next.map_or(TICK, |wait| wait.min(TICK))).await;
    }
}

impl Open {
    fn file(&self, cx: &Kubectl) -> Option<Log> {
        cx.nodes.log(&self.pod, &self.container).filter(|log| *log.pod_uid == *self.pod_uid)
    }

    /// Prints what is new. False: nothing more will come.
    fn goes_on(&mut self, wanted: &Lines, cx: &Kubectl) -> bool {
        let Some(log) = self.file(cx) else { return false };
        let Some(lines) = log.of(self.attempt) else { return false };
        self.print(lines, wanted, cx);
        self.left > 0 && log.attempt == self.attempt && !log.ended
    }

    /// How long it takes until its next line, if that is known.
    fn next(&self, cx: &Kubectl) -> Option<Duration> {
        let (now, log) = (cx.client.now(), self.file(cx)?);
        let (at, _) = log.lines.iter().find(|(at, _)| *at > now)?;
        Some(*at - now)
    }
}
