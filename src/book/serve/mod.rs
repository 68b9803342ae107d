//! The course over HTTP, to this machine alone, and live sessions over WebSockets.
//!
//! [`run`] serves a folder of pages to every client on this machine. Live sessions ([`live`]) are for the user who started
//! the server: the address that it prints carries the run's token, which becomes a cookie when it is opened. A session is a
//! `kubestep step --json` of its own: commands go in as lines, each is answered by one line as `docs/json.md` says. So two
//! tabs are two sessions, and one that hangs or dies takes no other with it.
//!
//! Must hold:
//! - Only a browser that has opened the printed address gets a session. The server listens on loopback only; a request
//!   must name the server as its host, so that no foreign name can be pointed at it; no page carries the token; a session's
//!   page must come from this server. Kept by `pages_are_for_this_machine_alone` and `sessions_are_for_pages_of_this_run`.
//!
//! - [`http`]: what of HTTP is needed for that. [`pages`]: files. [`live`]: sessions. [`watch`]: builds again.
//!
//! Left out: HTTP/1.1's kept connections, ranges and caches: every request has a connection of its own. TLS.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpStream;

pub mod http;
pub mod live;
pub mod pages;
pub mod watch;

use http::{Answer, Head, Status};
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
    /// What only the printed address carries.
    pub token: String,
    /// `127.0.0.1:4180`.
    pub address: String,
    /// Which build of the pages this is.
    pub built: Arc<Built>,
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
            // A client that left while it was connecting is no reason to end.
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
        let words = "This server answers GET and HEAD requests of HTTP/1.1.";
        return http::refuse(&mut stream, &Head::default(), Status::BAD, words).await;
    };
    if !is_ours(&head.host, site) {
        let words = "This server answers to its own address only.";
        return http::refuse(&mut stream, &head, Status::FORBIDDEN, words).await;
    }
    if let Some(token) = head.query(TOKEN) {
        return open(&mut stream, &head, site, &token).await;
    }
    match head.path.as_str() {
        "/.kubestep/live" => live::answer(stream, &head, site).await,
        "/.kubestep/build" => {
            let build = site.built.json();
            Answer::new(Status::OK, "application/json", build.as_bytes()).send(&mut stream, &head).await
        }
        _ => pages::answer(&mut stream, &head, site).await,
    }
}

/// The field of an address that carries the token.
const TOKEN: &str = "token";

/// The address to print: opened in a browser, it gives this browser live sessions.
pub fn address_with_token(address: &str, token: &str) -> String {
    format!("http://{address}/?{TOKEN}={token}")
}

/// Turns the token of an address into a cookie, so that it stands in no address, page or history from here on.
async fn open(stream: &mut TcpStream, head: &Head, site: &Site, token: &str) -> io::Result<()> {
    if token != site.token {
        let words = "This address is from an earlier run of the server; open the one that it prints now.";
        return http::refuse(stream, head, Status::FORBIDDEN, words).await;
    }
    let cookie = format!("Set-Cookie: {}={token}; Path=/; HttpOnly; SameSite=Strict", cookie_name(site));
    Answer::redirect(&head.path).with(cookie).send(stream, head).await
}

/// Cookies know hosts and no ports, so the name has the port: two servers do not take each other's.
fn cookie_name(site: &Site) -> String {
    format!("kubestep-{}", port(site))
}

fn port(site: &Site) -> &str {
    site.address.rsplit(':').next().unwrap_or_default()
}

fn is_ours(host: &str, site: &Site) -> bool {
    host == site.address || host == format!("localhost:{}", port(site))
}

/// Whether a request's page is one of this server's.
fn comes_from_us(head: &Head, site: &Site) -> bool {
    let origin = head.origin.as_deref().and_then(|origin| origin.strip_prefix("http://"));
    origin == Some(head.host.as_str()) && is_ours(&head.host, site)
}

/// Whether the browser has opened the printed address.
fn may_run_sessions(head: &Head, site: &Site) -> bool {
    head.cookie(&cookie_name(site)) == Some(site.token.as_str())
}
