//! Requests of real clients over loopback: how many a second, and how long the slowest hundredth takes. The real API server, on two
//! cores, made 282 objects a second and answered 1,718 GETs.
//!
//! `cargo bench --package kubestep-serve --bench wire`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections at a time.
const CLIENTS: usize = 8;
/// Requests on each.
const REQUESTS: usize = 250;
/// Watches that are told of each change: a connection each, and the server has 512.
const WATCHERS: usize = 500;
/// Pods of the list.
const LISTED: usize = 1000;

fn main() {
    let server = Server::start();
    let (config_maps, pods) = ("/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods");
    let body = |name: &str| format!("{{\"metadata\":{{\"name\":\"{name}\"}},\"data\":{{\"a\":\"b\"}}}}");
    server.measure("POST a ConfigMap", |client, n| ("POST", config_maps.to_owned(), body(&format!("c-{client}-{n}"))));
    server.measure("GET a ConfigMap", |client, n| ("GET", format!("{config_maps}/c-{client}-{n}"), String::new()));
    server.measure("PATCH a ConfigMap", |client, n| {
        ("PATCH", format!("{config_maps}/c-{client}-{n}"), format!("{{\"data\":{{\"a\":\"{n}\"}}}}"))
    });
    // They are to stay as they are: nothing may place them.
    let spec =
        "\"spec\":{\"schedulingGates\":[{\"name\":\"shut\"}],\"containers\":[{\"name\":\"c\",\"image\":\"nginx\"}]}";
    server.measure("POST a Pod", |client, n| {
        ("POST", pods.to_owned(), format!("{{\"metadata\":{{\"name\":\"p-{client}-{n}\"}},{spec}}}"))
    });
    let mut connection = server.connect();
    let begun = now();
    let list = request(&mut connection, &server, "GET", &format!("{pods}?limit={LISTED}"), "");
    let took = begun.elapsed();
    assert_eq!(list.matches("\"schedulingGates\"").count(), LISTED, "{}", &list[..list.len().min(300)]);
    println!("LIST {LISTED} Pods: {took:?}, {} bytes", list.len());
    drop((connection, server));
    watches();
}

/// What open watches take, in a server that has no memory to use again.
fn watches() {
    let server = Server::start();
    let config_maps = "/api/v1/namespaces/default/configmaps";
    let mut connection = server.connect();
    request(&mut connection, &server, "POST", config_maps, "{\"metadata\":{\"name\":\"c\"}}");
    let before = server.memory();
    let watching: Vec<_> = (0..WATCHERS)
        .map(|_| server.watch(&format!("{config_maps}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dc")))
        .collect();
    let after = server.memory();
    println!("a watch that is open: {} KiB; {WATCHERS}: {before} KiB to {after}", (after - before) / WATCHERS as u64);
    let begun = now();
    request(&mut connection, &server, "PATCH", &format!("{config_maps}/c"), "{\"data\":{\"a\":\"told\"}}");
    for mut watch in watching {
        let mut line = String::new();
        while !line.contains("told") {
            line.clear();
            watch.read_line(&mut line).expect("it is told");
        }
    }
    println!("a change told to {WATCHERS} watches: {:?}", begun.elapsed());
}

#[allow(clippy::disallowed_methods, reason = "this measures")]
fn now() -> Instant {
    Instant::now()
}

struct Server {
    child: Child,
    address: String,
    path: String,
}

impl Server {
    fn start() -> Server {
        let kubeconfig = std::env::temp_dir().join(format!("kubestep-bench-{}", std::process::id()));
        let child = Command::new(env!("CARGO_BIN_EXE_kubestep-serve"))
            .args(["serve", "--clock", "fast", "--port", "0", "--kubeconfig"])
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .spawn()
            .expect("the program can be started");
        let text = loop {
            match std::fs::read_to_string(&kubeconfig) {
                Ok(text) => break text,
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        let _ = std::fs::remove_file(&kubeconfig);
        let url = text.split("http://").nth(1).and_then(|url| url.split('"').next()).expect("it has a server");
        let (address, path) = url.split_once('/').expect("it has a path");
        Server { child, address: address.to_owned(), path: format!("/{path}") }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_nodelay(true).expect("it can be set");
        BufReader::new(stream)
    }

    fn watch(&self, path: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        write(&mut stream, self, "GET", path, "");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).expect("it answers");
        }
        stream
    }

    /// Sends requests over several connections at a time, and says how fast they were answered.
    fn measure(&self, what: &str, make: impl Fn(usize, usize) -> (&'static str, String, String) + Sync) {
        let begun = now();
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let client = |client: usize| {
                let make = &make;
                scope.spawn(move || {
                    let mut connection = self.connect();
                    let mut times = Vec::new();
                    for n in 0..REQUESTS {
                        let (method, path, body) = make(client, n);
                        let sent = now();
                        request(&mut connection, self, method, &path, &body);
                        times.push(sent.elapsed());
                    }
                    times
                })
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect()
        });
        let all = begun.elapsed();
        times.sort();
        let slowest = times[times.len() * 99 / 100];
        println!("{what}: {:.0} a second, p99 {slowest:?}", times.len() as f64 / all.as_secs_f64());
    }

    /// In KiB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(connection: &mut BufReader<TcpStream>, server: &Server, method: &str, path: &str, body: &str) {
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let head = format!(
        "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
        server.path,
        server.address,
        body.len()
    );
    connection.get_mut().write_all(head.as_bytes()).expect("it reads");
}

/// Sends a request and reads its answer, whose body it gives.
fn request(connection: &mut BufReader<TcpStream>, server: &Server, method: &str, path: &str, body: &str) -> String {
    write(connection, server, method, path, body);
    let (mut line, mut length) = (String::new(), 0);
    connection.read_line(&mut line).expect("it answers");
    assert!(line.contains(" 200 ") || line.contains(" 201 "), "{method} {path}: {line}");
    while line != "\r\n" {
        line.clear();
        connection.read_line(&mut line).expect("it answers");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).expect("the body comes");
    String::from_utf8(body).expect("it is text")
}
