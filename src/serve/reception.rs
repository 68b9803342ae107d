//! Clients and the session: requests go in, answers come out, and time passes as the clock says. All on the thread that has the
//! session; the front end is the other end of a channel.
//!
//! What comes is typed into the session as a line (`arrive …`, `hang-up 12`), so it is a choice, and stands in the journal. Going
//! back cuts every connection off: each is of a course that was left, and real clients list again. As long as the session stands
//! in the past, what comes waits, since it would part from what was.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant as WallInstant};

use cluster::clients::{Arrival, ExchangeId, Sent};
use k8s_openapi::ByteString;

use debugger::{Advance, Choice, Goal};
use engine::EventId;
use kubestep::cli::serve::{Bell, Clients};
use object::time::Instant;
use stepper::{Clock, Stepper, Typed, lines};

use super::front::Sockets;
use super::line::{Incoming, Outlet, Ticket};
use super::page;

/// So many steps are taken between two looks at the clock.
const STRIDE: u64 = 64;
/// After so long, clients are looked after again, if there is still more to do.
const SLICE: Duration = Duration::from_millis(20);
/// A cluster whose next event falls so far behind the clock on the wall goes on from where it is.
const BEHIND: Duration = Duration::from_secs(2);
/// The fast clock jumps so far at most after a request: a container that crashes over and over is never done.
const JUMP: Duration = Duration::from_secs(600);
/// One request is led to its answer in so many steps at most.
const AT_ONCE: usize = 32;

/// What the session does with clients outside.
pub struct Reception {
    sockets: Sockets,
    greeting: String,
    speed: f64,
    /// A moment of the clock on the wall, and the virtual time at it.
    anchor: Option<(WallInstant, Instant)>,
    /// Until when the fast clock jumps.
    jumps_until: Instant,
    /// What has come and is not taken in yet.
    waiting: VecDeque<Waiting>,
    /// The user was told that something waits.
    has_told: bool,
    /// Clients with an exchange under way.
    live: BTreeMap<ExchangeId, Live>,
    /// Exchanges may be under way that have no client any more.
    has_strays: bool,
}

struct Waiting {
    ticket: Ticket,
    arrival: Box<Arrival>,
    outlet: Outlet,
}

struct Live {
    ticket: Ticket,
    outlet: Outlet,
    /// `kubectl: GET /api/v1/pods`.
    label: String,
}

impl Reception {
    /// A reception for what comes by these sockets, for `stepper`'s session. The clock runs so many times faster than that on
    /// the wall.
    pub fn new(sockets: Sockets, greeting: String, speed: f64) -> Reception {
        Reception {
            sockets,
            greeting,
            speed,
            anchor: None,
            jumps_until: Instant::default(),
            waiting: VecDeque::new(),
            has_told: false,
            live: BTreeMap::new(),
            has_strays: true,
        }
    }

    /// Takes what the front end has sent.
    fn hear(&mut self, stepper: &mut Stepper) {
        let (mut gone, mut data) = (Vec::new(), Vec::new());
        while let Ok(incoming) = self.sockets.incoming.try_recv() {
            match incoming {
                Incoming::Request(ticket, arrival, outlet) => {
                    self.waiting.push_back(Waiting { ticket, arrival, outlet });
                }
                Incoming::HangUp(ticket) => gone.push(ticket),
                Incoming::Data(ticket, frame) => data.push((ticket, frame)),
                // A browser that has left needs no page.
                Incoming::Page(reply) => drop(reply.send(page::html(stepper))),
            }
        }
        for (ticket, frame) in data {
            if let Some(exchange) = self.exchange_of(ticket) {
                let line = Choice::Data(exchange, ByteString(frame)).to_string();
                // To a command that has ended, nothing can be said.
                let _ = stepper.carry_out(&Typed::read(&line));
                self.jumps_until = stepper.session.cluster.engine.now() + JUMP;
            }
        }
        for ticket in gone {
            self.waiting.retain(|waiting| waiting.ticket != ticket);
            if let Some(exchange) = self.exchange_of(ticket) {
                self.live.remove(&exchange);
                hang_up(stepper, exchange);
            }
        }
    }

    /// The exchange under way that a request has begun.
    fn exchange_of(&self, ticket: Ticket) -> Option<ExchangeId> {
        self.live.iter().find_map(|(exchange, live)| (live.ticket == ticket).then_some(*exchange))
    }

    /// Takes a request into the session. What is said of it.
    fn take_in(&mut self, stepper: &mut Stepper, Waiting { ticket, arrival, outlet }: Waiting) -> String {
        let (label, passes) = (format!("{}: {}", arrival.program(), arrival.label()), passes_at_once(&arrival));
        let first = stepper.session.cluster.engine.next_event();
        let line = Choice::Arrive(arrival).to_string();
        let said = match stepper.carry_out(&Typed::read(&line)) {
            Ok(answer) => answer.text,
            // A request that has been read can be made.
            Err(error) => return format!("{label} cannot be taken in: {error}\n"),
        };
        let exchange = stepper.session.cluster.clients.last_exchange();
        self.live.insert(exchange, Live { ticket, outlet, label });
        match stepper.clock {
            Some(Clock::Stepped) if passes => {
                lead_to_answer(stepper, exchange, first);
                String::new()
            }
            Some(Clock::Stepped) => said,
            _ => {
                self.jumps_until = stepper.session.cluster.engine.now() + JUMP;
                String::new()
            }
        }
    }

    /// Lets time pass as far as the clock on the wall has come. What is said where that ends sooner.
    fn run(&mut self, stepper: &mut Stepper) -> String {
        let begun = wall();
        let target = loop {
            let (target, jumps) = self.target(stepper);
            let next = stepper.session.cluster.engine.peek();
            if !jumps && next.is_none_or(|event| event.due > target) {
                break target;
            }
            let end = match jumps {
                true => stepper.elapse(&mut Goal::Idle, STRIDE),
                false => stepper.elapse(&mut Goal::Time(target), STRIDE),
            };
            if jumps {
                self.anchor = None;
            }
            match end {
                Advance::Breakpoint | Advance::Crashed => {
                    stepper.clock = Some(Clock::Stepped);
                    let shown = lines::text(&stepper.stopped(), &stepper.view());
                    return format!("{shown}the clock is stepped; go lets time run on\n");
                }
                Advance::Quiet => break target,
                Advance::Stopped | Advance::Limit | Advance::Shell => {}
            }
            if begun.elapsed() > SLICE {
                break target;
            }
        };
        if stepper.session.cluster.engine.peek().is_some_and(|next| target - next.due > BEHIND) {
            self.anchor = None;
        }
        String::new()
    }

    /// The virtual time that it is by the clock on the wall, and whether the next event comes at once all the same.
    fn target(&mut self, stepper: &Stepper) -> (Instant, bool) {
        let engine = &stepper.session.cluster.engine;
        let jumps = stepper.clock == Some(Clock::Fast)
            && engine.foreground() > 0
            && engine.peek().is_some_and(|event| event.due <= self.jumps_until);
        let now = engine.now();
        let (then, at) = *self.anchor.get_or_insert_with(|| (wall(), now));
        let target = at + then.elapsed().mul_f64(self.speed);
        if now > target {
            // The user has stepped ahead.
            self.anchor = Some((wall(), now));
            return (now, jumps);
        }
        (target, jumps)
    }

    /// Takes in what has come, for a caller that lets time pass itself. How many requests there were.
    pub fn receive(&mut self, stepper: &mut Stepper) -> usize {
        self.hear(stepper);
        let count = self.waiting.len();
        while let Some(waiting) = self.waiting.pop_front() {
            self.take_in(stepper, waiting);
        }
        count
    }

    /// Hangs up for every client, and takes nothing of what they have sent since: they were killed.
    pub fn hang_up(&mut self, stepper: &mut Stepper) {
        self.live.clear();
        self.waiting.clear();
        while self.sockets.incoming.try_recv().is_ok() {}
        self.hang_up_strays(stepper);
    }

    /// Ends what no client waits for any more: their connections were cut off, or were another program's.
    fn hang_up_strays(&mut self, stepper: &mut Stepper) {
        let cluster = &stepper.session.cluster;
        for exchange in cluster.clients.exchanges(&cluster.engine) {
            if !self.live.contains_key(&exchange.number) {
                hang_up(stepper, exchange.number);
            }
        }
    }

    /// Sends to clients what the session has for them. What is said of it.
    pub fn send(&mut self, stepper: &mut Stepper) -> String {
        let mut said = String::new();
        let tells = stepper.clock != Some(Clock::Stepped);
        let cluster = &stepper.session.cluster;
        for (exchange, sent) in cluster.clients.take_sent(&cluster.engine) {
            let Some(live) = self.live.get(&exchange) else { continue };
            let code = match &sent {
                Sent::Answer(answer) => Some(answer.code),
                Sent::Begins(_) => Some(200),
                Sent::Upgraded(_) => Some(101),
                _ => None,
            };
            if let Some(code) = code.filter(|_| tells) {
                let now = stepper.session.time(stepper.session.cluster.engine.now());
                said += &format!("{now}  {code}  {}\n", live.label);
            }
            let is_last = matches!(sent, Sent::Answer(_) | Sent::Ends | Sent::Closed);
            let is_heard = live.outlet.send(sent);
            if is_last || !is_heard {
                self.live.remove(&exchange);
            }
            if !is_heard && !is_last {
                hang_up(stepper, exchange);
            }
        }
        said
    }
}

impl Clients for Reception {
    fn tend(&mut self, stepper: &mut Stepper) -> String {
        if !stepper.session.cluster.clients.are_served() {
            // The session has gone back, or is another one.
            self.live.clear();
            self.has_strays = true;
            self.anchor = None;
            stepper.session.cluster.clients.serve(true);
        }
        self.hear(stepper);
        let mut said = String::new();
        let runs = matches!(stepper.clock, Some(Clock::Running | Clock::Fast));
        if stepper.session.is_in_past() {
            self.anchor = None;
            if !self.waiting.is_empty() && !self.has_told {
                said += "a client waits: the session is at an earlier step. Step on to where the run has come to, or write go, which starts a \
                    new branch here\n";
            }
            self.has_told = !self.waiting.is_empty();
        } else {
            self.has_told = false;
            if self.has_strays && (runs || !self.waiting.is_empty()) {
                self.has_strays = false;
                self.hang_up_strays(stepper);
            }
            if runs {
                said += &self.run(stepper);
            } else {
                self.anchor = None;
            }
            while let Some(waiting) = self.waiting.pop_front() {
                said += &self.take_in(stepper, waiting);
            }
            if stepper.clock == Some(Clock::Fast) {
                said += &self.run(stepper);
            }
        }
        said += &self.send(stepper);
        stepper.printed() + &said
    }

    fn rest(&self, stepper: &Stepper) -> Option<Duration> {
        let engine = &stepper.session.cluster.engine;
        let runs = matches!(stepper.clock, Some(Clock::Running | Clock::Fast)) && !stepper.session.is_in_past();
        let next = engine.peek().filter(|_| runs)?;
        if stepper.clock == Some(Clock::Fast) && engine.foreground() > 0 && next.due <= self.jumps_until {
            return Some(Duration::ZERO);
        }
        let (then, at) = self.anchor?;
        Some((next.due - at).div_f64(self.speed).saturating_sub(then.elapsed()))
    }

    fn bell(&self) -> Arc<Bell> {
        self.sockets.bell.clone()
    }

    fn greeting(&self) -> &str {
        &self.greeting
    }
}

/// Types that a client has gone, if it has anything under way.
fn hang_up(stepper: &mut Stepper, exchange: ExchangeId) {
    if stepper.session.cluster.clients.is_under_way(exchange) {
        // It is under way, so it can be ended.
        let _ = stepper.carry_out(&Typed::read(&Choice::HangUp(exchange).to_string()));
    }
}

/// Whether a request is not worth a stop: what a client asks to find its way, and changes nothing.
fn passes_at_once(arrival: &Arrival) -> bool {
    let path = arrival.target.split('?').next().unwrap_or_default().trim_end_matches('/');
    let mut parts = path.split('/').skip(1);
    let (first, rest) = (parts.next().unwrap_or_default(), parts.count());
    match first {
        "api" => rest <= 1,
        "apis" => rest <= 2,
        "openapi" | "version" | "healthz" | "livez" | "readyz" | "metrics" => true,
        _ => false,
    }
}

/// Delivers what leads from a request to its answer, and nothing else.
fn lead_to_answer(stepper: &mut Stepper, exchange: ExchangeId, first: EventId) {
    let mut next = VecDeque::from([first]);
    for _ in 0..AT_ONCE {
        let is_answered = !stepper.session.cluster.clients.is_under_way(exchange);
        let Some(event) = next.pop_front().filter(|_| !is_answered) else { return };
        if stepper.session.cluster.engine.in_flight(event).is_none() {
            continue;
        }
        // It is in flight, so it can be delivered.
        let _ = stepper.carry_out(&Typed::read(&Choice::Deliver(event).to_string()));
        next.extend(stepper.session.current().into_iter().flat_map(|step| step.sent.clone()));
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the clock on the wall says how far time has come; what follows is a choice"
)]
fn wall() -> WallInstant {
    WallInstant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_the_way_is_no_stop() {
        let passes = |target: &str| passes_at_once(&Arrival { target: target.to_owned(), ..Arrival::default() });
        for target in ["/api", "/api/", "/api/v1", "/apis", "/apis/apps/v1?timeout=32s", "/openapi/v3", "/version/"] {
            assert!(passes(target), "{target}");
        }
        for target in ["/api/v1/pods", "/apis/apps/v1/deployments", "/apis/metrics.k8s.io/v1beta1/nodes", "/"] {
            assert!(!passes(target), "{target}");
        }
    }
}
