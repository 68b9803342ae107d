//! `logs --follow`: what containers print from now on, line by line, until all of them have ended.
//!
//! The real one goes on for as long as a container runs. Here a command has to end, or nothing after it would ever be typed:
//! as with [`get --watch`](super::super::watch) it does when nothing was printed for [`STILL`].
//!
//! Left out: a container that is started again; the kubelet ends the stream with its process, and so does this.

use std::time::Duration;

use super::super::watch::STILL;
use super::Lines;
use crate::kubectl::Kubectl;
use crate::log::Reading;

/// How often a file is looked at.
const TICK: Duration = Duration::from_secs(1);

/// Prints what comes, until all logs are at their end or nothing comes any more.
pub(super) async fn follow(mut open: Vec<Reading>, lines: &Lines, cx: &Kubectl) {
    let clock = cx.clock();
    let mut last = cx.client.now();
    loop {
        let mark = cx.printed();
        open.retain_mut(|log| {
            lines.print(log, cx);
            log.goes_on(&*cx.nodes)
        });
        let now = cx.client.now();
        if cx.printed() > mark {
            last = now;
        }
        if open.is_empty() || now >= last + STILL {
            return;
        }
        let next = open.iter().filter_map(|log| log.next(&*cx.nodes, cx.client.now())).min();
        clock.next_within(next.map_or(TICK, |wait| wait.min(TICK))).await;
    }
}
