//! What the system tells the program: Ctrl-C, and to end. The terminal's owner listens, so that it is given back first.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A process has its signals once.
static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// What was heard.
#[derive(Clone, Default)]
pub struct Signals {
    interrupt: Arc<AtomicBool>,
    /// The signal by which the program was told to end; 0: it was not.
    end: Arc<AtomicUsize>,
    /// The program does not listen: a signal to end ends it at once.
    unheard: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on. A second Ctrl-C ends the program if the first has not been taken up.
    pub fn listen() -> io::Result<Signals> {
        let signals = match SIGNALS.get() {
            Some(signals) => signals.clone(),
            None => {
                let signals = Signals::default();
                signals.register()?;
                SIGNALS.get_or_init(|| signals).clone()
            }
        };
        signals.unheard.store(false, Ordering::Relaxed);
        signals.interrupt.store(false, Ordering::Relaxed);
        Ok(signals)
    }

    #[cfg(unix)]
    fn register(&self) -> io::Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::flag;
        flag::register_conditional_default(SIGINT, self.interrupt.clone())?;
        flag::register(SIGINT, self.interrupt.clone())?;
        for signal in [SIGTERM, SIGHUP] {
            flag::register_conditional_default(signal, self.unheard.clone())?;
            flag::register_usize(signal, self.end.clone(), usize::try_from(signal).unwrap_or_default())?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn register(&self) -> io::Result<()> {
        Ok(())
    }

    /// Ctrl-C, and being told to end, end the program again, as they do one that does not listen.
    pub fn leave(&self) {
        self.unheard.store(true, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// Whether Ctrl-C was pressed since this was last asked.
    pub fn interrupted(&self) -> bool {
        self.interrupt.swap(false, Ordering::Relaxed)
    }

    /// Whether the program is to end (SIGTERM), or its terminal has gone (SIGHUP).
    pub fn ended(&self) -> bool {
        self.end.load(Ordering::Relaxed) != 0
    }
}

/// What a program returns that was told to end, and has done so: as a shell says it of one that the signal has ended, 143 for
/// SIGTERM. None: it was not told to.
pub fn code() -> Option<u8> {
    let signal = SIGNALS.get()?.end.load(Ordering::Relaxed);
    u8::try_from(128 + signal).ok().filter(|_| signal != 0)
}
