//! TLS, and clients on other machines.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use crate::kubectl::{Client, kubectl};
use crate::program::{PROGRAM, Served};

#[test]
fn in_tls_a_certificate_or_a_token_says_who_comes() {
    let Some(program) = kubectl() else { return };
    let client = Client { program, served: Served::start(&["--tls", "--listen", "0.0.0.0", "--as", "jane:dev"]) };
    assert!(client.prints("get nodes").contains("node-1"));
    let whoami = client.prints("auth whoami");
    assert!(whoami.contains("kubernetes-admin") && whoami.contains("system:masters"), "{whoami}");

    let jane = client.served.kubeconfig().with_file_name("kubeconfig-jane");
    let jane = |line: &str| client.run(&format!("--kubeconfig {} {line}", jane.display()));
    let refused = jane("get nodes");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("User \"jane\" cannot list resource \"nodes\""), "{why}");

    client.prints("create serviceaccount robot");
    let token = client.prints("create token robot");
    let server = format!("https://{}", client.served.address);
    let with =
        |more: &str| client.run(&format!("--kubeconfig /dev/null --server {server} --insecure-skip-tls-verify {more}"));
    let whoami = with(&format!("--token {} auth whoami", token.trim()));
    assert!(String::from_utf8_lossy(&whoami.stdout).contains("system:serviceaccount:default:robot"), "{whoami:?}");
    let wrong = with("--token wrong get nodes");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("You must be logged in to the server"), "{wrong:?}");
    let unknown = client.run(&format!("--kubeconfig /dev/null --server {server} --token x get nodes"));
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("certificate signed by unknown authority"),
        "{unknown:?}"
    );
}

#[test]
fn a_client_that_speaks_no_tls_harms_itself_alone() {
    let mut served = Served::start(&["--tls"]);
    for nonsense in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "\x16\x03\x01\x00\x05hello"] {
        let mut connection = TcpStream::connect(&served.address).expect("it listens");
        connection.write_all(nonsense.as_bytes()).expect("it reads");
        connection.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{nonsense:?}");
    }
    assert!(served.runs());
}

#[test]
fn other_machines_need_tls() {
    let out = Command::new(PROGRAM).args(["serve", "--listen", "0.0.0.0", "--port", "0"]).output();
    let out = out.expect("the program can be started");
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && why.contains("--tls"), "{why}");
    let out = Command::new(PROGRAM).args(["serve", "--tls", "--listen", "192.0.2.1", "--port", "0"]).output();
    let why = String::from_utf8_lossy(&out.expect("the program can be started").stderr).into_owned();
    assert!(why.contains("192.0.2.1 is no address of this machine"), "{why}");
}
