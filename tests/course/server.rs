//! `kubestep book` as a process, and a connection to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::project::{Scratch, program};

/// A server over a project; ended with the test.
pub struct Server {
    child: Child,
    /// `127.0.0.1:41234`.
    pub address: String,
    /// The address that it prints, with the token.
    pub url: String,
    /// The cookie that the token becomes.
    cookie: String,
}

impl Server {
    pub fn start(project: &Scratch) -> Server {
        Server::start_with(project, &[])
    }

    /// With more arguments. If there is a `cargo` in the project, it is the one that builds.
    pub fn start_with(project: &Scratch, arguments: &[&str]) -> Server {
        let mut child = Command::new(program())
            .args(["book", "--no-open", "--port", "0", "--dest", "out"])
            .args(arguments)
            .current_dir(&project.0)
            .env("CARGO", project.0.join("cargo"))
            .env_remove("CARGO_TARGET_DIR")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it says where it is");
        let rest = line.trim().split_once("http://").expect("it says an address").1;
        let address = rest.split('/').next().unwrap_or_default().to_owned();
        let mut server = Server { child, url: format!("http://{rest}"), address, cookie: String::new() };
        let opened = server.get(&format!("/{}", rest.split_once('/').expect("it has a token").1));
        let cookie = opened.split_once("Set-Cookie: ").expect("the token becomes a cookie").1;
        server.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        server
    }

    /// The whole answer to a GET that names `host`.
    pub fn get_as(&self, host: &str, path: &str) -> String {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }

    /// The whole answer to a request.
    pub fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit can be set");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, path: &str) -> String {
        self.get_as(&self.address, path)
    }

    /// The cookie of a browser that has opened the printed address.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The server's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for a session; the error is the HTTP status.
    pub fn session(&self, origin: &str, cookie: &str, scenario: &str) -> Result<Live, String> {
        let address = &self.address;
        let url = format!("ws://{address}/.kubestep/live?scenario={scenario}&seed=0");
        let mut request = url.into_client_request().expect("the address is one");
        request.headers_mut().insert("Origin", HeaderValue::from_str(origin).expect("it is a text"));
        request.headers_mut().insert("Cookie", HeaderValue::from_str(cookie).expect("it is a text"));
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit can be set");
        match client(request, stream) {
            Ok((socket, _)) => Ok(Live(socket)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A session.
pub struct Live(WebSocket<TcpStream>);

impl Live {
    /// The next line.
    pub fn line(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().expect("the session goes on") {
                return serde_json::from_str(&text).expect("lines are JSON");
            }
        }
    }

    /// What a command is answered.
    pub fn ask(&mut self, line: &str) -> Value {
        self.say(&serde_json::json!({"line": line}));
        self.line()
    }

    /// A message.
    pub fn say(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).expect("the session goes on");
    }

    /// Says a message to a session that may have ended.
    pub fn try_say(&mut self, message: &Value) -> bool {
        self.0.send(Message::text(message.to_string())).is_ok()
    }

    /// The next line; None once the session has ended.
    pub fn try_line(&mut self) -> Option<Value> {
        loop {
            match self.0.read().ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).expect("lines are JSON")),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }
}
