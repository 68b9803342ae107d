//! Clients outside: who is connected, and how time passes for them.

use debugger::{Choice, Session};

use super::super::Clock;

/// What is said where no client can come.
const CLOSED: &str =
    "no client outside can reach this cluster: start the program with --serve, or with serve in place of step";
/// So many of the last requests are listed.
const LAST: usize = 10;

/// Which clock it is, or the one of the given name from now on.
///
/// # Errors
/// No client can come, or there is no such clock.
pub(super) fn clock(clock: &mut Option<Clock>, words: &[&str]) -> Result<String, String> {
    if words.is_empty() {
        return clock.map(|clock| format!("the clock is {}\n", clock.name())).ok_or_else(|| CLOSED.to_owned());
    }
    let named = words.first().filter(|_| words.len() == 1).and_then(|name| Clock::parse(name));
    set(clock, named.ok_or("write clock running, clock stepped, or clock fast")?)
}

/// Takes another clock.
///
/// # Errors
/// No client can come.
pub(super) fn set(clock: &mut Option<Clock>, to: Clock) -> Result<String, String> {
    let clock = clock.as_mut().ok_or(CLOSED)?;
    *clock = to;
    Ok(format!("the clock is {}\n", to.name()))
}

/// The requests under way, and the last that came.
pub(super) fn list(session: &Session) -> String {
    let under_way = session.cluster.clients.exchanges(&session.cluster.engine);
    let choices = session.choices();
    let arrivals = choices.iter().filter_map(|chosen| match &chosen.choice {
        Choice::Arrive(arrival) => Some((chosen.after, arrival)),
        _ => None,
    });
    let last: Vec<String> = arrivals
        .rev()
        .take(LAST)
        .map(|(after, arrival)| {
            format!("  after {:<7} {} {}\n", format!("#{after}"), arrival.program(), arrival.label())
        })
        .collect();
    if last.is_empty() {
        return "no client outside has sent anything yet\n".to_owned();
    }
    let under_way: String = under_way
        .iter()
        .map(|exchange| {
            let state = if exchange.is_watch { "watch" } else { "waits" };
            format!("  {:<5} {state}  {} {}\n", exchange.number, exchange.client, exchange.label)
        })
        .collect();
    let under_way = if under_way.is_empty() { "  none\n".to_owned() } else { under_way };
    format!("under way:\n{under_way}the last requests:\n{}", last.into_iter().rev().collect::<String>())
}
