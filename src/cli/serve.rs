//! `kubestep serve`, and `step --serve`: the cluster for real clients.
//!
//! HTTP takes crates that a session at a terminal does without. So the front end is in a program of its own, as the course is
//! ([`super::course`]); what it gives this one is a value that is [`Clients`].

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use stepper::{Clock, Stepper};

use super::elsewhere::{self, Program};
use super::out::print;
use super::prompt;
use super::signals::Signals;

/// Where the API is served unless another port is given.
pub const PORT: u16 = 6445;
/// A signal is heard at the latest after so long.
const SIGNALS: Duration = Duration::from_millis(200);

/// How clients reach the cluster.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// How time passes: with the clock on the wall, not until you step, or as fast as possible.
    #[arg(long, value_name = "CLOCK", value_parser = clock())]
    pub clock: Option<Clock>,
    /// How many times faster than the clock on the wall; 1 unless given.
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub speed: Option<f64>,
    /// Serve at this port of 127.0.0.1; 0 takes any that is free. 6445 unless given.
    #[arg(long)]
    pub port: Option<u16>,
    /// Serve at this address of the machine, for other machines too; needs --tls. 0.0.0.0 is every address.
    #[arg(long, value_name = "ADDRESS", requires = "tls")]
    pub listen: Option<Ipv4Addr>,
    /// Speak TLS: the kubeconfigs have certificates, and tokens are sent.
    #[arg(long)]
    pub tls: bool,
    /// Write the kubeconfig here; unless given, into the user's own folder for such things.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// One more kubeconfig, for this user, beside the administrator's; may be given several times.
    #[arg(long = "as", value_name = "NAME[:GROUP…]")]
    pub users: Vec<String>,
}

impl Arguments {
    /// The first of these that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.clock.is_some(), "--clock"),
            (self.speed.is_some(), "--speed"),
            (self.port.is_some(), "--port"),
            (self.listen.is_some(), "--listen"),
            (self.tls, "--tls"),
            (self.kubeconfig.is_some(), "--kubeconfig"),
            (!self.users.is_empty(), "--as"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// Lets clients reach a session, with this clock unless the arguments name one.
///
/// # Errors
/// What cannot be done: the port is taken, the kubeconfig cannot be written.
pub type Open = fn(&Arguments, Clock, &mut Stepper) -> anyhow::Result<Box<dyn Clients>>;

/// Has the program built that can let clients in, and becomes it.
///
/// # Errors
/// See [`elsewhere::become_program`].
pub(super) fn elsewhere() -> anyhow::Result<()> {
    let what = "The front end for real clients";
    elsewhere::become_program(&Program { package: "kubestep-serve", folder: "src/serve", what })
}

/// A clock by its name on the command line.
fn clock() -> impl TypedValueParser<Value = Clock> {
    let names = Clock::ALL.map(|(name, _, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|name| Clock::parse(&name).ok_or("it is no clock"))
}

/// A factor between a thousandth and a thousand.
fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.001..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("write a number from 0.001 to 1000".to_owned()),
    }
}

/// Clients outside, as a face of the session has them.
pub trait Clients {
    /// Takes in what has come, lets time pass as the clock says, and sends what is to be sent. What to tell the user.
    fn tend(&mut self, stepper: &mut Stepper) -> String;

    /// How long nothing is to be done unless something comes; none: for ever.
    fn rest(&self, stepper: &Stepper) -> Option<Duration>;

    /// What rings when something comes.
    fn bell(&self) -> Arc<Bell>;

    /// How a client gets in, for the user.
    fn greeting(&self) -> &str;
}

/// Wakes a thread that waits for more than one thing.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Something has come.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits until it rings, or for so long.
    pub fn wait(&self, at_most: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut rung, _) =
            self.changed.wait_timeout_while(rung, at_most, |rung| !*rung).unwrap_or_else(PoisonError::into_inner);
        *rung = false;
    }
}

/// Serves clients without a prompt until the program is told to end.
pub(super) fn run(mut stepper: Stepper, mut clients: Box<dyn Clients>) -> io::Result<()> {
    let signals = Signals::listen()?;
    let bell = clients.bell();
    while !signals.ended() && !signals.interrupted() {
        print(&clients.tend(&mut stepper))?;
        bell.wait(clients.rest(&stepper).unwrap_or(SIGNALS).min(SIGNALS));
    }
    print(&prompt::kept(&stepper))?;
    stepper.end();
    Ok(())
}
