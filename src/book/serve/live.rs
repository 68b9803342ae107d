//! A live session: a page and a `kubestep step --json` that talk over a WebSocket.
//!
//! The page asks with `?token=…&scenario=…&seed=…`, and with `&exercise=…` for a learner's code in the place of the cluster's
//! own part. A session that cannot begin, since that code does not compile, say, is one error, and the end. Else each message
//! of it is `{"line": "until create pods request"}`, a command, or `{"file": "…"}`, the text of `edit.yaml` in the folder in
//! which the session works. Each command is answered by one message, a line as `docs/json.md` says; a first one comes before.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::cluster::scenario::Scenario;
use crate::lab::plug;

use super::http::{self, Head, Status};
use super::{Site, comes_from_us};

/// So many sessions run at a time.
const SESSIONS_MAX: u32 = 16;
/// A message of a page may be so long.
const MESSAGE_MAX: usize = 256 * 1024;
/// What a page has edited.
const EDITED: &str = "edit.yaml";
/// Where the program complains, and how much of it is told.
const COMPLAINTS: &str = "complaints.txt";
const COMPLAINTS_MAX: usize = 8 * 1024;

/// How many run, and how many there were.
static RUNNING: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

/// What a page says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Line(String),
    File(String),
}

/// Takes up a session, if a page of ours asks for one.
pub async fn answer(mut stream: TcpStream, head: &Head, site: &Site) -> io::Result<()> {
    if !comes_from_us(head, site) {
        return http::refuse(&mut stream, Status::FORBIDDEN, "Only pages of this run get a session.").await;
    }
    let Some(key) = &head.websocket else {
        return http::refuse(&mut stream, Status::BAD, "A session runs over a WebSocket.").await;
    };
    let Some(arguments) = arguments(head) else {
        return http::refuse(&mut stream, Status::NOT_FOUND, "There is no such scenario, or no such exercise.").await;
    };
    let Some(_slot) = SessionSlot::take() else {
        return http::refuse(&mut stream, Status::BUSY, "Too many sessions run; close one of their pages.").await;
    };
    let folder = Folder::new(&site.project)?;
    let complaints = std::fs::File::create(folder.0.join(COMPLAINTS))?;
    let child = Command::new(&site.program)
        .args(arguments)
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(complaints)
        .kill_on_drop(true)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            return http::refuse(&mut stream, Status::BUSY, &format!("No session can be started: {error}")).await;
        }
    };
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let config = WebSocketConfig::default().max_message_size(Some(MESSAGE_MAX)).max_frame_size(Some(MESSAGE_MAX));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    // A page that goes away is how a session ends.
    let _ = talk(socket, child, &folder.0).await;
    Ok(())
}

/// What the program is started with; none if there is no such scenario, or no such exercise that runs in a cluster.
fn arguments(head: &Head) -> Option<Vec<String>> {
    let name = head.query("scenario")?;
    let known = Scenario::shipped().into_iter().chain(Scenario::bugs()).any(|scenario| scenario.name == name);
    let seed: u64 = head.query("seed").map_or(Some(0), |seed| seed.parse().ok())?;
    let mut arguments = ["step", &name, "--json", "--seed", &seed.to_string()].map(str::to_owned).to_vec();
    if let Some(exercise) = head.query("exercise") {
        plug::parts().contains(&exercise.as_str()).then_some(())?;
        arguments.extend(["--exercise".to_owned(), exercise]);
    }
    known.then_some(arguments)
}

/// Carries lines to and fro until either has had enough.
async fn talk(mut socket: WebSocketStream<TcpStream>, mut child: Child, folder: &Path) -> Result<(), Error> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
    let mut lines = BufReader::new(output).lines();
    let mut began = false;
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => {
                    began = true;
                    socket.send(Message::text(line)).await?;
                }
                None if began => break,
                None => {
                    socket.send(Message::text(complaint(folder))).await?;
                    break;
                }
            },
            message = socket.next() => match message.transpose()? {
                Some(Message::Text(text)) => match serde_json::from_str(&text) {
                    Ok(Said::Line(line)) => {
                        // One message is one line, or its answers would be counted wrongly.
                        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                        input.write_all(format!("{line}\n").as_bytes()).await?;
                    }
                    Ok(Said::File(text)) => tokio::fs::write(folder.join(EDITED), text).await?,
                    Err(_) => break,
                },
                Some(Message::Close(_)) | None => break,
                Some(_) => {}
            },
        }
    }
    socket.close(None).await
}

/// Why a session did not begin, as the session itself would say it.
fn complaint(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join(COMPLAINTS)).unwrap_or_default();
    let text = text.trim().trim_start_matches("error: ");
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= COMPLAINTS_MAX).unwrap_or(text.len());
    serde_json::json!({"kind": "error", "command": "", "message": &text[..end]}).to_string()
}

/// A session's place among those that run.
struct SessionSlot;

impl SessionSlot {
    fn take() -> Option<SessionSlot> {
        let more = |running: u32| (running < SESSIONS_MAX).then_some(running + 1);
        RUNNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok().map(|_| SessionSlot)
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A folder of a session's own within the project, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(project: &Path) -> io::Result<Folder> {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let path = project.join(format!("target/kubestep-live-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
