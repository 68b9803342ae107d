//! A live session: a page and a `kubestep step --json` that talk over a WebSocket.
//!
//! The page asks with `?scenario=…&seed=…`, and with `&exercise=…` for a learner's code in the place of the cluster's own
//! part. A session that cannot begin, because that code does not compile, say, is one error in words, and the end. Otherwise
//! each message of the page is `{"line": "until create pods request"}`, a command, or `{"file": "…"}`, the text of
//! `edit.yaml` in the folder in which the session works. Each command is answered by one message, a line as `docs/json.md`
//! says; a first one comes before.
//!
//! Three loops run side by side: one listens to the page, one feeds commands to the program, one sends its answers. So a
//! page that does not read, and a program that does not answer, stop only themselves. Must hold: a session ends when its
//! page leaves, stops reading for [`WRITE_TIME`], is silent for [`IDLE_TIME`], or has [`UNANSWERED_MAX`] commands
//! unanswered; and it ends with the server, since its program reads from a pipe that the server holds.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use cluster::scenario::Scenario;
use lab::plug;

use super::http::{self, Head, Status};
use super::{Site, comes_from_us, may_run_sessions};

/// So many sessions run at a time.
const SESSIONS_MAX: u32 = 16;
/// A message of a page may be so long.
const MESSAGE_MAX: usize = 256 * 1024;
/// So many commands of a page may wait for their answers.
const UNANSWERED_MAX: usize = 256;
/// A page that does not read for so long has lost its session.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// And so has one that says nothing for so long.
const IDLE_TIME: Duration = Duration::from_secs(60 * 60);
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

type Socket = WebSocketStream<TcpStream>;

/// Takes up a session, if a page of ours asks for one. Such a page gets a refusal in words, as the session's only message:
/// browsers do not show scripts why a WebSocket was not opened.
pub async fn answer(mut stream: TcpStream, head: &Head, site: &Site) -> io::Result<()> {
    if !comes_from_us(head, site) {
        return http::refuse(&mut stream, head, Status::FORBIDDEN, "Only pages of this run get a session.").await;
    }
    let Some(key) = &head.websocket else {
        return http::refuse(&mut stream, head, Status::BAD, "A session runs over a WebSocket.").await;
    };
    let socket = upgrade(stream, key).await?;
    if !may_run_sessions(head, site) {
        let words = "this browser may not run sessions: open the address that `kubestep book` has printed";
        return refuse(socket, words).await;
    }
    let Some(arguments) = arguments(head) else {
        return refuse(socket, "there is no such scenario, or no such exercise").await;
    };
    let Some(_slot) = SessionSlot::take() else {
        return refuse(socket, "too many sessions run; close one of their pages").await;
    };
    let folder = Folder::new(&site.project)?;
    match start(site, arguments, &folder.0) {
        Ok(child) => talk(socket, child, &folder.0).await,
        Err(error) => refuse(socket, &format!("no session can be started: {error}")).await,
    }
}

async fn upgrade(mut stream: TcpStream, key: &str) -> io::Result<Socket> {
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let config = WebSocketConfig::default().max_message_size(Some(MESSAGE_MAX)).max_frame_size(Some(MESSAGE_MAX));
    Ok(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await)
}

async fn refuse(mut socket: Socket, why: &str) -> io::Result<()> {
    end(&mut socket, Some(error(why))).await;
    Ok(())
}

/// Says a last message, and closes. What a page does with it is its own affair.
async fn end(socket: &mut (impl SinkExt<Message> + Unpin), last: Option<String>) {
    let closing = async {
        if let Some(last) = last {
            let _ = socket.send(Message::text(last)).await;
        }
        let _ = socket.close().await;
    };
    let _ = timeout(WRITE_TIME, closing).await;
}

/// An error as a session says it.
fn error(message: &str) -> String {
    serde_json::json!({"kind": "error", "command": "", "message": message}).to_string()
}

fn start(site: &Site, arguments: Vec<String>, folder: &Path) -> io::Result<Child> {
    let complaints = std::fs::File::create(folder.join(COMPLAINTS))?;
    Command::new(&site.program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(complaints)
        .kill_on_drop(true)
        .spawn()
}

/// What the program is started with; none if there is no such scenario, or no such exercise that runs in a cluster.
fn arguments(head: &Head) -> Option<Vec<String>> {
    let name = head.query("scenario")?;
    let all = [Scenario::shipped(), Scenario::bugs(), Scenario::broken()];
    let known = all.iter().flatten().any(|scenario| scenario.name == name);
    let seed: u64 = head.query("seed").map_or(Some(0), |seed| seed.parse().ok())?;
    let mut arguments =
        ["step", &name, "--json", "--within", ".", "--seed", &seed.to_string()].map(str::to_owned).to_vec();
    if let Some(exercise) = head.query("exercise") {
        plug::parts().contains(&exercise.as_str()).then_some(())?;
        arguments.extend(["--exercise".to_owned(), exercise]);
    }
    known.then_some(arguments)
}

/// Carries lines to and fro until one of the two ends it.
async fn talk(socket: Socket, mut child: Child, folder: &Path) -> io::Result<()> {
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
    let (mut sink, source) = socket.split();
    let (commands, queue) = mpsc::channel(UNANSWERED_MAX);
    let unanswered = AtomicUsize::new(0);
    let last = tokio::select! {
        last = tell(output, &mut sink, &unanswered, folder) => last,
        last = listen(source, commands, &unanswered, folder) => last,
        () = feed(input, queue) => None,
    };
    end(&mut sink, last).await;
    Ok(())
}

/// Sends the program's answers. Gives a last message, if there is one to say.
async fn tell(
    output: ChildStdout,
    sink: &mut SplitSink<Socket, Message>,
    unanswered: &AtomicUsize,
    folder: &Path,
) -> Option<String> {
    let mut lines = BufReader::new(output).lines();
    let mut began = false;
    while let Ok(Some(line)) = lines.next_line().await {
        if began {
            let _ = unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        }
        began = true;
        timeout(WRITE_TIME, sink.send(Message::text(line))).await.ok()?.ok()?;
    }
    (!began).then(|| complaint(folder))
}

/// Takes what the page says. Gives a last message, if there is one to say.
async fn listen(
    mut source: SplitStream<Socket>,
    commands: mpsc::Sender<String>,
    unanswered: &AtomicUsize,
    folder: &Path,
) -> Option<String> {
    loop {
        let Ok(message) = timeout(IDLE_TIME, source.next()).await else {
            return Some(error("nothing was said for an hour, so the session has ended"));
        };
        match message?.ok()? {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(Said::Line(line)) => {
                    // One message is one line, or its answers would be counted wrongly.
                    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                    unanswered.fetch_add(1, Ordering::Relaxed);
                    if unanswered.load(Ordering::Relaxed) > UNANSWERED_MAX || commands.try_send(line).is_err() {
                        let words =
                            format!("{UNANSWERED_MAX} commands wait for their answers, so the session has ended");
                        return Some(error(&words));
                    }
                }
                Ok(Said::File(text)) => tokio::fs::write(folder.join(EDITED), text).await.ok()?,
                Err(fault) => return Some(error(&format!("a message is not understood: {fault}"))),
            },
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

/// Hands commands to the program, as fast as it takes them. Never ends before the session does.
async fn feed(mut input: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(line) = queue.recv().await {
        if input.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            break;
        }
    }
    // The program's last answers are still to be sent.
    std::future::pending::<()>().await;
}

/// Why a session did not begin, as the session itself would say it.
fn complaint(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join(COMPLAINTS)).unwrap_or_default();
    let text = text.trim().trim_start_matches("error: ");
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= COMPLAINTS_MAX).unwrap_or(text.len());
    error(&text[..end])
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
