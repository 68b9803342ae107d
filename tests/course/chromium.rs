//! A headless Chromium, driven by its DevTools protocol.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::project::Scratch;

/// The names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser with one page.
pub struct Page {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    last: u64,
    /// What went wrong on the page: exceptions, and errors in its console.
    pub errors: Vec<String>,
    _profile: Scratch,
}

impl Page {
    /// None if there is no Chromium here; then the test says so and is done.
    pub fn open() -> Option<Page> {
        let there = |name: &&str| {
            let mut command = Command::new(name);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let Some(name) = NAMES.into_iter().find(there) else {
            crate::skip::skipped("chromium");
            return None;
        };
        let profile = Scratch::new();
        let child = Command::new(name)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
            ])
            .arg("--remote-allow-origins=*")
            .arg(format!("--user-data-dir={}", profile.0.display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is installed");
        let port = profile.0.join("DevToolsActivePort");
        let mut said = String::new();
        for _ in 0..600 {
            said = fs::read_to_string(&port).unwrap_or_default();
            if said.lines().count() == 2 {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        let (port, path) = said.split_once('\n').expect("the browser says where it listens");
        let address = format!("127.0.0.1:{port}");
        let stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit can be set");
        let (socket, _) = client(format!("ws://{address}{}", path.trim()), stream).expect("it speaks");
        let mut page = Page { child, socket, session: String::new(), last: 0, errors: Vec::new(), _profile: profile };
        let target = page.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = attached["sessionId"].as_str().expect("it attaches").to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            page.ask(domain, json!({}));
        }
        Some(page)
    }

    /// A call of the protocol, and its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut call = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(call.to_string())).expect("the browser runs");
        loop {
            let said = self.read();
            if said["id"] == json!(id) {
                assert!(said.get("error").is_none(), "{method}: {}", said["error"]);
                return said["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Value {
        loop {
            let message = self.socket.read().expect("the browser answers");
            let Message::Text(text) = message else { continue };
            let said: Value = serde_json::from_str(&text).expect("it speaks JSON");
            match said["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.errors.push(said["params"]["exceptionDetails"].to_string()),
                Some("Log.entryAdded") if said["params"]["entry"]["level"] == "error" => {
                    self.errors.push(said["params"]["entry"].to_string());
                }
                Some("Runtime.consoleAPICalled") if said["params"]["type"] == "error" => {
                    self.errors.push(said["params"]["args"].to_string());
                }
                _ => {}
            }
            return said;
        }
    }

    /// Goes to an address, until it has loaded.
    pub fn go(&mut self, address: &str) {
        self.ask("Page.navigate", json!({"url": address}));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression on the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// The same as text.
    pub fn text(&mut self, expression: &str) -> String {
        self.eval(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        for _ in 0..300 {
            if self.eval(expression) == json!(true) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("half a minute went by before this: {expression}; errors: {:?}", self.errors);
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "ArrowRight" => 39,
            "ArrowLeft" => 37,
            "Home" => 36,
            "End" => 35,
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text});
        self.ask("Input.dispatchKeyEvent", down);
        self.ask("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}));
    }

    /// How wide and high it is.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
