//! What a learner's process prints: read as it comes, and no more than there is a limit for.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::printed::Printed;

/// Bytes before an answer; more is too much.
pub const PRINTED: usize = 4 << 20;
/// Bytes that the grader has not looked at yet: the program that answers may be many answers ahead of it.
const AHEAD: usize = 64 << 20;
/// Bytes in all.
const IN_ALL: usize = 256 << 20;
/// Of what was printed before answers so much is kept, the end: a panic may be in it.
const KEPT: usize = 64 << 10;
/// How long to wait for what is still in the pipes of a process that has ended.
pub const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a pipe brings, in pieces as they come.
pub struct Pipe {
    pieces: Receiver<Vec<u8>>,
    /// What has come.
    rest: Vec<u8>,
    /// So much of it was looked at: taking that away moves all the rest.
    taken: usize,
    /// How much of what was looked at since the last line that was asked for was not asked for.
    printed: usize,
    /// How much has come that was not taken in.
    ahead: Arc<AtomicUsize>,
    /// The lines of it, since they were taken last.
    lines: Printed,
    /// Whether it has come to its end.
    closed: bool,
}

/// Reads a pipe as long as what comes is taken in, and is not too much.
pub fn read(mut pipe: impl Read + Send + 'static) -> Pipe {
    let (send, pieces) = mpsc::channel();
    let ahead = Arc::<AtomicUsize>::default();
    let is_ahead = ahead.clone();
    std::thread::spawn(move || {
        let (mut buffer, mut all) = (vec![0; 1 << 16], 0);
        while let Ok(count) = pipe.read(&mut buffer) {
            all += count;
            let before = is_ahead.fetch_add(count, Ordering::Relaxed);
            if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
            if before + count >= AHEAD || all >= IN_ALL {
                is_ahead.fetch_add(AHEAD, Ordering::Relaxed);
                return;
            }
        }
    });
    Pipe::new(pieces, ahead)
}

/// Reads a pipe as far as its lines are asked for.
pub fn follow(mut pipe: impl Read + Send + 'static) -> Pipe {
    let (send, pieces) = mpsc::sync_channel(PRINTED >> 16);
    let ahead = Arc::<AtomicUsize>::default();
    let is_ahead = ahead.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count) = pipe.read(&mut buffer) {
            is_ahead.fetch_add(count, Ordering::Relaxed);
            if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    Pipe::new(pieces, ahead)
}

impl Pipe {
    fn new(pieces: Receiver<Vec<u8>>, ahead: Arc<AtomicUsize>) -> Pipe {
        Pipe { pieces, rest: Vec::new(), taken: 0, printed: 0, ahead, lines: Printed::default(), closed: false }
    }

    fn take_in(&mut self, piece: Vec<u8>) {
        self.ahead.fetch_sub(piece.len(), Ordering::Relaxed);
        self.rest.extend(piece);
    }

    /// Takes in what has come beside an answer, and forgets all but its end.
    pub fn skim(&mut self) {
        while let Ok(piece) = self.pieces.try_recv() {
            self.take_in(piece);
            let forgotten = self.rest.len().saturating_sub(KEPT).max(self.taken);
            self.rest.drain(..forgotten);
            self.taken = 0;
        }
    }

    /// Whether nothing more comes.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether too much came unasked: since an answer, or in all.
    pub fn is_too_much(&self) -> bool {
        let ahead = self.ahead.load(Ordering::Relaxed);
        self.printed + self.rest.len() - self.taken >= PRINTED || ahead >= AHEAD
    }

    /// What was printed between the lines that were asked for.
    pub fn take_printed(&mut self) -> Printed {
        std::mem::take(&mut self.lines)
    }

    /// All that came. A grandchild that keeps the pipe open is not waited for, nor listened to without end.
    pub fn last_words(mut self) -> String {
        while self.rest.len() - self.taken < PRINTED
            && let Ok(piece) = self.pieces.recv_timeout(LAST_WORDS)
        {
            self.take_in(piece);
        }
        String::from_utf8_lossy(&self.rest[self.taken..]).into_owned()
    }

    /// What follows `prefix` on the next line that begins with it. None if it does not come by then, or too much else
    /// does.
    #[allow(clippy::disallowed_methods, reason = "a learner's endless loop knows no virtual time")]
    pub fn line_with(&mut self, prefix: &str, until: Instant) -> Option<String> {
        let mut looked = self.taken;
        loop {
            while let Some(end) = self.rest[looked..].iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.rest[self.taken..looked + end]).into_owned();
                looked += end + 1;
                let start = std::mem::replace(&mut self.taken, looked);
                if let Some(answer) = line.trim_end().strip_prefix(prefix) {
                    self.printed = 0;
                    return Some(answer.to_owned());
                }
                self.printed += looked - start;
                self.lines.add(&line);
            }
            self.rest.drain(..std::mem::take(&mut self.taken));
            looked = self.rest.len();
            if self.printed + looked >= PRINTED {
                return None;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.take_in(piece),
                Err(why) => {
                    self.closed |= why == RecvTimeoutError::Disconnected;
                    return None;
                }
            }
        }
    }
}
