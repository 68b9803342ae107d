//! Clients that misbehave harm themselves alone.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use crate::http::{answer, ask, connect, raw, watch};
use crate::program::Served;

/// How much memory a cluster may take that was misused, in KiB.
const MEMORY_MAX: u64 = 400 << 10;

#[test]
fn rude_clients_harm_themselves_alone() {
    let mut served = Served::start(&["--clock", "fast"]);
    // They say nothing, half a head, or half a body, and stay.
    let mut idle: Vec<TcpStream> = (0..40).map(|_| connect(&served)).collect();
    for (number, stream) in idle.iter_mut().enumerate() {
        let half = match number % 3 {
            0 => String::new(),
            1 => "GET /api HTT".to_owned(),
            _ => format!(
                "POST {}/api/v1/namespaces HTTP/1.1\r\nHost: {}\r\nContent-Length: 99\r\n\r\n{{",
                served.path, served.address
            ),
        };
        stream.write_all(half.as_bytes()).expect("it reads");
    }
    // They speak no HTTP.
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = connect(&served);
        let _ = stream.write_all(nonsense);
        let mut said = Vec::new();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut said);
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{:?}", String::from_utf8_lossy(&said));
    }
    // They leave in the middle.
    for _ in 0..50 {
        drop(watch(&served, "/api/v1/pods?watch=1"));
        let mut stream = connect(&served);
        let head = format!("GET {}/api/v1/pods HTTP/1.1\r\nHost: {}\r\n\r\n", served.path, served.address);
        stream.write_all(head.as_bytes()).expect("it reads");
    }
    let host = format!("Host: {}\r\n", served.address);
    let huge = format!("{host}X-Much: {}\r\n", "x".repeat(200_000));
    let code = refused(&served, &huge);
    assert!(code.is_empty() || code.starts_with("HTTP/1.1 431"), "{code}");
    let long = "x".repeat((3 << 20) + 1);
    let too_long = raw(&served, "POST", &format!("{}/api/v1/namespaces", served.path), &host, &long);
    assert!(too_long.code == 413 && too_long.body.contains("limit is 3145728"), "{too_long:?}");
    for path in
        ["/api/v1/namespaces/../../etc/passwd", "/../../etc/passwd", "//etc/passwd", "/api/v1/pods?limit=%zz", "/%00"]
    {
        let code = ask(&served, "GET", path, "").code;
        assert!((400..500).contains(&code) || code == 200, "{path}: {code}");
    }
    assert_eq!(ask(&served, "GET", "/api/v1/nodes", "").code, 200, "others are served");
    assert!(served.runs() && served.memory() < MEMORY_MAX, "{} KiB", served.memory());
}

/// More connections than there is room for: those beyond are closed, and there is room again when the others have gone.
#[test]
fn a_thousand_connections_are_not_too_many() {
    let mut served = Served::start(&["--clock", "fast"]);
    let open: Vec<Option<TcpStream>> = (0..1000).map(|_| TcpStream::connect(&served.address).ok()).collect();
    assert!(open.iter().flatten().count() > 500);
    assert!(served.runs());
    drop(open);
    crate::program::wait_for("room", || {
        let mut stream = connect(&served);
        let head = format!("GET {}/version HTTP/1.1\r\nHost: {}\r\n\r\n", served.path, served.address);
        stream.write_all(head.as_bytes()).ok()?;
        let mut first = [0; 1];
        stream.peek(&mut first).ok().filter(|read| *read == 1)?;
        Some(answer(&mut BufReader::new(stream)))
    });
}

/// A watch whose client reads nothing is cut off, and the cluster goes on.
#[test]
fn a_client_that_reads_nothing_is_cut_off() {
    let served = Served::start(&["--clock", "fast"]);
    let _watching = watch(&served, "/api/v1/configmaps?watch=1");
    let data = "x".repeat(900_000);
    let made = |name: &str, value: &str| {
        let body = serde_json::json!({"metadata": {"name": name}, "data": {"k": value}}).to_string();
        ask(&served, "POST", "/api/v1/namespaces/default/configmaps", &body).code
    };
    for number in 0..40 {
        assert_eq!(made(&format!("big-{number}"), &data), 201);
    }
    let page = raw(&served, "GET", "/", &format!("Host: {}\r\n", served.address), "");
    assert!(!page.body.contains("watches"), "{}", page.body);
}

/// The beginning of what is said to a request that is refused while it is still being sent.
fn refused(served: &Served, headers: &str) -> String {
    let mut stream = connect(served);
    let _ = stream.write_all(format!("GET {}/api HTTP/1.1\r\n{headers}\r\n", served.path).as_bytes());
    let mut said = [0; 12];
    let _ = stream.read_exact(&mut said);
    String::from_utf8_lossy(&said).trim_end_matches('\0').to_owned()
}
