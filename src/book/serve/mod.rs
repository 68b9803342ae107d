//! The course over HTTP, to this machine alone, and live sessions over WebSockets.
//!
//! [`run`] serves a folder of pages. A page that it serves carries the run's token; with it the page may ask for a live
//! session ([`live`]), which is a `kubestep step --json` of its own: commands go in as lines, each is answered by one line
//! as `docs/json.md` says. So two tabs are two sessions, and one that hangs or dies takes no other with it.
//!
//! Must hold:
//! - Nobody but a page of ours gets a session. We listen on loopback only; a request must name us as its host, so
//!   that no foreign name can be pointed at us; a session's page must come from us and know the token. Kept by
//!   `pages_are_for_this_machine_alone` and `sessions_are_for_pages_of_this_run`.
//!
//! - [`http`]: what of HTTP is needed for that. [`pages`]: files. [`live`]: sessions. [`watch`]: builds again.
//!
//! Left out: HTTP/1.1's kept connections, ranges and caches: every request has a connection of its own. TLS.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpStream;

pub mod http;
pub mod live;
pub mod pages;
pub mod token;
pub mod watch;

use http::{Head, Status};
use watch::Built;

/// What is served.
pub struct Site {
    /// The folder with the pages.
    pub folder: PathBuf,
    /// The project's folder, where a learner's code is.
    pub project: PathBuf,
    /// The exercise that sessions run with, unless their page says otherwise.
    pub exercise: Option<String>,
    /// This program, of which each live session is a run.
    pub program: PathBuf,
    /// What only pages of this run know.
    pub token: String,
    /// `127.0.0.1:4180`.
    pub address: String,
    /// Which build of the pages this is.
    pub built: Arc<Built>,
}

/// Takes a port of this machine's own.
///
/// # Errors
/// Says what to do if somebody else has it.
pub fn bind(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow::anyhow!(
                "port {port} of 127.0.0.1 is taken, perhaps by another `kubestep book`; --port 0 finds a free one"
            )
        }
        io::ErrorKind::PermissionDenied => {
            anyhow::anyhow!("port {port} may not be used by everybody; take one above 1023")
        }
        _ => anyhow::anyhow!("127.0.0.1:{port}: {error}"),
    })
}

/// Serves until the program is ended.
///
/// # Errors
/// If this machine lets nobody serve.
pub fn run(listener: TcpListener, site: Site) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("sockets cannot be served")?;
    let site = Rc::new(site);
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            // Somebody who went away while he came in is no reason to end.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            };
            let site = site.clone();
            // What a browser does to its own connection is its own affair.
            tokio::task::spawn_local(async move { drop(answer(stream, &site).await) });
        }
    })
}

/// Answers the one request of a connection.
async fn answer(mut stream: TcpStream, site: &Site) -> io::Result<()> {
    let Some(head) = http::read(&mut stream).await? else {
        return http::refuse(&mut stream, Status::BAD, "This is no request that this server understands.").await;
    };
    if !is_ours(&head.host, site) {
        return http::refuse(&mut stream, Status::FORBIDDEN, "This server answers to its own address only.").await;
    }
    match head.path.as_str() {
        "/.kubestep/live" => live::answer(stream, &head, site).await,
        "/.kubestep/build" => {
            http::send(&mut stream, Status::OK, "application/json", site.built.json().as_bytes()).await
        }
        _ => pages::answer(&mut stream, &head, site).await,
    }
}

fn is_ours(host: &str, site: &Site) -> bool {
    let port = site.address.rsplit(':').next().unwrap_or_default();
    host == site.address || host == format!("localhost:{port}")
}

/// Whether a page that asks for a session is one of ours.
fn comes_from_us(head: &Head, site: &Site) -> bool {
    let origin = head.origin.as_deref().and_then(|origin| origin.strip_prefix("http://"));
    origin == Some(head.host.as_str()) && head.query("token").as_deref() == Some(site.token.as_str())
}
