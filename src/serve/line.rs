//! What passes between the thread that has the sockets and the one that has the session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cluster::clients::{Arrival, Sent};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// So much may wait for a client that does not read. Beyond that it is cut off, as a real server cuts off a watch that falls
/// behind.
const WAITING_MAX: usize = 16 << 20;

/// The number of a request in the front end.
pub type Ticket = u64;

/// From the sockets to the session.
#[derive(Debug)]
pub enum Incoming {
    /// A request, whole.
    Request(Ticket, Box<Arrival>, Outlet),
    /// A frame has come by the connection that a request has become.
    Data(Ticket, Vec<u8>),
    /// The client of a request has gone before all was said.
    HangUp(Ticket),
    /// A browser wants the page.
    Page(oneshot::Sender<String>),
}

/// The way back to a client, on the session's side.
#[derive(Clone, Debug)]
pub struct Outlet {
    sender: UnboundedSender<Sent>,
    waiting: Arc<AtomicUsize>,
}

/// The same on the side of the sockets.
#[derive(Debug)]
pub struct Inlet {
    receiver: UnboundedReceiver<Sent>,
    waiting: Arc<AtomicUsize>,
}

/// A new way back.
pub fn outlet() -> (Outlet, Inlet) {
    let ((sender, receiver), waiting) = (unbounded_channel(), Arc::new(AtomicUsize::new(0)));
    (Outlet { sender, waiting: waiting.clone() }, Inlet { receiver, waiting })
}

impl Outlet {
    /// Sends something. False: the client has gone, or reads too slowly and is to be cut off.
    pub fn send(&self, sent: Sent) -> bool {
        let size = size(&sent);
        let waiting = self.waiting.fetch_add(size, Ordering::Relaxed);
        waiting <= WAITING_MAX && self.sender.send(sent).is_ok()
    }
}

impl Inlet {
    /// The next thing; none: the session has cut the client off.
    pub async fn next(&mut self) -> Option<Sent> {
        let sent = self.receiver.recv().await?;
        self.waiting.fetch_sub(size(&sent), Ordering::Relaxed);
        Some(sent)
    }

    /// The same for a caller that is polled.
    pub fn poll_next(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<Sent>> {
        self.receiver.poll_recv(context).map(|sent| {
            sent.inspect(|sent| {
                self.waiting.fetch_sub(size(sent), Ordering::Relaxed);
            })
        })
    }
}

/// How many bytes of a client's share it takes. An answer is sent at once, and asked for by its client.
fn size(sent: &Sent) -> usize {
    match sent {
        Sent::Line(line) => line.len(),
        Sent::Frame(frame) => frame.len(),
        _ => 0,
    }
}
