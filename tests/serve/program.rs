//! `kubestep serve` as a process of its own, with a state folder of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_kubestep-serve");

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster that clients can reach. It ends with the value.
pub struct Served {
    child: Child,
    /// A folder of its own: HOME, kubeconfigs, files.
    pub folder: PathBuf,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// What stands before each path of the administrator's.
    pub path: String,
    stdin: Option<ChildStdin>,
    printed: std::sync::mpsc::Receiver<String>,
}

/// A new folder.
pub fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("kubestep-serve-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

impl Served {
    /// `kubestep serve ARGUMENTS`.
    pub fn start(arguments: &[&str]) -> Served {
        Served::in_folder(folder(), "serve", arguments)
    }

    /// The same, or `step --serve`, in a folder that is there.
    pub fn in_folder(folder: PathBuf, verb: &str, arguments: &[&str]) -> Served {
        let kubeconfig = folder.join("kubeconfig");
        let _ = std::fs::remove_file(&kubeconfig);
        let mut child = Command::new(PROGRAM)
            .arg(verb)
            .args(arguments)
            .args(["--port", "0", "--kubeconfig"])
            .arg(&kubeconfig)
            .env("HOME", &folder)
            .env_remove("XDG_STATE_HOME")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        let (send, printed) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let text = wait_for("a kubeconfig", || std::fs::read_to_string(&kubeconfig).ok());
        let server = text.lines().find_map(|line| line.trim().strip_prefix("server: ")).expect("it has a server");
        let (_, url) = server.trim_matches('"').split_once("://").expect("it is an address");
        // In TLS no path says who comes.
        let (address, path) = url.split_once('/').unwrap_or((url, ""));
        Served { child, address: address.to_owned(), path: format!("/{path}"), folder, stdin, printed }
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Types a line at its prompt.
    pub fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it reads");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// The next line that it prints and that has this in it.
    pub fn prints(&self, part: &str) -> String {
        loop {
            let line =
                self.printed.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nothing with {part:?} was printed"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// What its prompt answers to a line that looks.
    pub fn answers(&mut self, line: &str) -> String {
        self.type_line(line);
        self.type_line("clock");
        self.prints(&format!("(kubestep) {line}"));
        let mut answer = String::new();
        loop {
            let printed = self.printed.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{line:?} is not answered"));
            if printed == "(kubestep) clock" {
                return answer;
            }
            answer += &(printed + "\n");
        }
    }

    /// Tells it to end, and waits for that. The session that it keeps then.
    pub fn end(&mut self) -> String {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        wait_for("the end of the program", || self.child.try_wait().expect("it is a child"));
        std::fs::read_to_string(self.folder.join(".local/state/kubestep/last.kubestep")).expect("it is kept")
    }

    /// Ends it as nothing can be heard.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("it is a child").is_none()
    }

    /// The memory that it takes, in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Asks again and again until there is something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(20);
    let most = (PATIENCE.as_millis() / pause.as_millis()) as u32;
    for _ in 0..most {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(pause);
    }
    panic!("{what} has not come")
}

/// `kubestep-serve step --replay FILE`, without a client. Fails if the run differs from the saved one.
pub fn replayed(folder: &Path, saved: &str, lines: &str) -> String {
    let file = folder.join("saved.kubestep");
    std::fs::write(&file, saved).expect("it can be written");
    let mut child = Command::new(PROGRAM)
        .args(["step", "--replay"])
        .arg(&file)
        .env("HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
    let mut out = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut out).expect("it is text");
    assert!(child.wait().expect("it ends").success(), "{out}");
    out
}
