//! The sockets: connections, their limits, and HTTP. It runs on a thread of its own and knows nothing of Kubernetes.
//!
//! Each request is read whole and handed to the session; what comes back is written as it comes. A request whose client leaves
//! is taken back ([`Guard`]).

use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use cluster::clients::{Arrival, Identity, Sent};
use kubestep::cli::serve::Bell;
use object::Status;
use object::status::Reason;
use rest::exchange::RawAnswer;
use rest::{Encoding, HttpAnswer};

use super::line::{Incoming, Inlet, Ticket, outlet};
use super::socket;
use super::tls::Tls;
use super::users::{Comes, KnownUser, comes};

/// So many connections are open at a time.
const CONNECTIONS_MAX: usize = 512;
/// A request's line and headers may be so long together.
const HEAD_MAX: usize = 64 << 10;
/// Mirrors `MaxRequestBodyBytes` of the API server.
const BODY_MAX: usize = 3 << 20;
/// A head takes at most so long, and so may a connection be without a request.
const HEAD_TIME: Duration = Duration::from_secs(90);
/// A body takes at most so long.
const BODY_TIME: Duration = Duration::from_secs(60);

/// The headers that say something to an API server. The others are not kept in a session.
const HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "content-type",
    "if-none-match",
    "kubectl-command",
    "sec-websocket-protocol",
    "upgrade",
    "user-agent",
];
const IMPERSONATE: &str = "impersonate-";

/// All that a connection needs to know.
struct Front {
    address: String,
    users: Vec<KnownUser>,
    tls: Option<Tls>,
    to_session: Sender<Incoming>,
    bell: Arc<Bell>,
    tickets: AtomicU64,
}

/// What comes by the sockets. They are closed with it.
pub struct Sockets {
    /// What has come.
    pub incoming: Receiver<Incoming>,
    /// What rings when something comes.
    pub bell: Arc<Bell>,
    #[allow(dead_code, reason = "its end is what is heard")]
    open: oneshot::Sender<()>,
}

/// Serves connections from now on, on a thread of its own, in TLS if there is what it takes.
///
/// # Errors
/// This machine has no thread or no sockets to give.
pub fn open(listener: TcpListener, users: Vec<KnownUser>, tls: Option<Tls>) -> io::Result<Sockets> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ((to_session, incoming), (open, closed)) = (channel(), oneshot::channel());
    let bell = Arc::new(Bell::default());
    let ringing = bell.clone();
    std::thread::Builder::new().name("sockets".to_owned()).spawn(move || {
        let front = Rc::new(Front { address, users, tls, to_session, bell: ringing, tickets: AtomicU64::new(0) });
        tokio::task::LocalSet::new().block_on(&runtime, async {
            tokio::select! {
                () = accept(listener, front) => {}
                _ = closed => {}
            }
        });
    })?;
    Ok(Sockets { incoming, bell, open })
}

async fn accept(listener: TcpListener, front: Rc<Front>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // A client that left while it was connecting, or no more files: the others go on.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        // Answers are small, and are waited for.
        let _ = stream.set_nodelay(true);
        let front = front.clone();
        tokio::task::spawn_local(async move {
            match front.tls.as_ref().map(|tls| TlsAcceptor::from(tls.config.clone())) {
                None => serve(front, stream, None).await,
                Some(acceptor) => {
                    // A client that speaks no TLS, or another authority's, is left alone.
                    if let Ok(Ok(stream)) = timeout(HEAD_TIME, acceptor.accept(stream)).await {
                        let shown = stream.get_ref().1.peer_certificates();
                        let user = front.tls.as_ref().and_then(|tls| tls.user(shown)).cloned();
                        serve(front, stream, user).await;
                    }
                }
            }
            drop(place);
        });
    }
}

/// Serves a connection until it ends. `user` has shown a certificate.
async fn serve(front: Rc<Front>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, user: Option<Identity>) {
    let service = service_fn(move |request| {
        let (front, user) = (front.clone(), user.clone());
        async move { front.answer(request, user).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // How a connection ends is its client's affair.
    let _ = connection.await;
}

/// The session has cut the client off.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection was cut off")
    }
}

impl std::error::Error for Cut {}

impl Front {
    fn tell(&self, incoming: Incoming) {
        // The session is over: so will be the program.
        let _ = self.to_session.send(incoming);
        self.bell.ring();
    }

    async fn answer(
        self: Rc<Front>,
        mut request: Request<hyper::body::Incoming>,
        shown: Option<Identity>,
    ) -> Result<Response<Reply>, Cut> {
        if !self.is_own(request.headers()) {
            return Ok(said(&status(
                Reason::Forbidden,
                "requests for another host, or from another site's page, are refused",
            )));
        }
        let sent = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let (user, target) = match comes(&self.users, &sent) {
            // In TLS a certificate says who comes, or a token, and else the client is anonymous.
            _ if self.tls.is_some() => (shown, sent.clone()),
            Comes::As(identity, path) => (Some(identity.clone()), path.to_owned()),
            Comes::Unknown("/") => return self.page().await,
            Comes::Unknown(path) if request.headers().contains_key(header::AUTHORIZATION) => (None, path.to_owned()),
            Comes::Unknown(_) | Comes::Wrong => return Ok(said(&status(Reason::Unauthorized, "Unauthorized"))),
        };
        // A token says more than the address: only a client that was told to sends one.
        let user = user.filter(|_| !request.headers().contains_key(header::AUTHORIZATION));
        let (method, headers) = (request.method().to_string(), kept(request.headers()));
        let key = request.headers().get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
        let upgrade = key.map(|accept| (accept, hyper::upgrade::on(&mut request)));
        let body = match timeout(BODY_TIME, Limited::new(request.into_body(), BODY_MAX).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let why = format!("Request entity too large: limit is {BODY_MAX}");
                return Ok(said(&status(Reason::RequestEntityTooLarge, &why)));
            }
            // It has left, or sends too slowly.
            Ok(Err(_)) | Err(_) => return Err(Cut),
        };
        let secret = sent.strip_suffix(&*target).map_or(0, str::len);
        let arrival = Arrival { user, method, target, headers, body: Vec::from(body).into() };
        let (ticket, (outlet, mut inlet)) = (self.tickets.fetch_add(1, Ordering::Relaxed), outlet());
        self.tell(Incoming::Request(ticket, Box::new(arrival), outlet));
        let mut guard = Guard { front: self.clone(), ticket, is_over: false };
        match inlet.next().await {
            Some(Sent::Answer(mut answer)) => {
                guard.is_over = true;
                // A client that is sent elsewhere stays the same user.
                for (_, place) in
                    answer.headers.iter_mut().filter(|(name, place)| *name == "Location" && place.starts_with('/'))
                {
                    place.insert_str(0, &sent[..secret]);
                }
                Ok(said(&answer))
            }
            Some(Sent::Begins(media_type)) => {
                let reply = Reply::Stream(inlet, guard);
                Ok(with_headers(StatusCode::OK, &[("Content-Type", media_type.to_owned())], reply))
            }
            Some(Sent::Upgraded(protocol)) => {
                let Some((accept, upgrade)) = upgrade else { return Err(Cut) };
                tokio::task::spawn_local(socket::carry(upgrade, protocol, inlet, guard));
                let headers = [
                    ("Upgrade", "websocket".to_owned()),
                    ("Connection", "Upgrade".to_owned()),
                    ("Sec-WebSocket-Accept", accept),
                    ("Sec-WebSocket-Protocol", protocol.to_owned()),
                ];
                // A client that named no protocol is told none.
                let headers = if protocol.is_empty() { &headers[..3] } else { &headers };
                Ok(with_headers(StatusCode::SWITCHING_PROTOCOLS, headers, Reply::Whole(None)))
            }
            _ => {
                guard.is_over = true;
                Err(Cut)
            }
        }
    }

    /// Whether a request means this server: no foreign name may be pointed at it, and no page of another site may ask it.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let (_, port) = self.address.rsplit_once(':').unwrap_or_default();
        let local = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        let value = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
        if self.tls.is_some() {
            // The certificate says which host this is.
            let host = value(header::HOST).unwrap_or_default();
            return value(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("https://") == Some(host));
        }
        let is_local = |text: &str| text == self.address || local.iter().any(|own| own == text);
        let host = value(header::HOST).is_some_and(is_local);
        let origin = value(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_local));
        host && origin
    }

    async fn page(&self) -> Result<Response<Reply>, Cut> {
        let (sender, receiver) = oneshot::channel();
        self.tell(Incoming::Page(sender));
        let page = receiver.await.map_err(|_| Cut)?;
        let headers = [
            ("Content-Type", "text/html; charset=utf-8".to_owned()),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'".to_owned()),
            ("Referrer-Policy", "no-referrer".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
        ];
        Ok(with_headers(StatusCode::OK, &headers, Reply::Whole(Some(page.into()))))
    }
}

/// The headers that a session keeps, as text.
fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_kept = |name: &str| HEADERS.contains(&name) || name.starts_with(IMPERSONATE);
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let kept = headers.iter().filter(|(name, _)| is_kept(name.as_str()));
    kept.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn status(reason: Reason, message: &str) -> RawAnswer {
    HttpAnswer::status(&Status::new(reason, message), Encoding::Json).into()
}

fn said(answer: &RawAnswer) -> Response<Reply> {
    let code = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_headers(code, &answer.headers, Reply::Whole(Some(answer.body.clone().into())))
}

fn with_headers(code: StatusCode, headers: &[(&'static str, String)], body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    for (name, value) in headers {
        // What a header cannot say (a line break in a warning) is left out.
        if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(*name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Takes a request back when its client leaves before all was said.
pub(super) struct Guard {
    front: Rc<Front>,
    ticket: Ticket,
    is_over: bool,
}

impl Guard {
    /// All was said.
    pub(super) fn over(&mut self) {
        self.is_over = true;
    }

    /// A frame has come.
    pub(super) fn data(&self, frame: Vec<u8>) {
        self.front.tell(Incoming::Data(self.ticket, frame));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_over {
            self.front.tell(Incoming::HangUp(self.ticket));
        }
    }
}

/// What is written to a client.
enum Reply {
    Whole(Option<Bytes>),
    Stream(Inlet, Guard),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Reply::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Reply::Stream(inlet, guard) => inlet.poll_next(context).map(|sent| match sent {
                Some(Sent::Line(line)) => Some(Ok(Frame::data(line.into()))),
                Some(Sent::Ends) => {
                    guard.is_over = true;
                    None
                }
                _ => {
                    guard.is_over = true;
                    Some(Err(Cut))
                }
            }),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Reply::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Reply::Stream(..) => SizeHint::default(),
        }
    }
}
