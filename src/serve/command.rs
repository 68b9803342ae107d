//! How the front end is opened for a session.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use kubestep::cli::serve::{Arguments, Clients, PORT};
use kubestep::cli::{journal, port};
use stepper::{Clock, Stepper};

use super::reception::Reception;
use super::tls::Tls;
use super::users::KnownUser;
use super::{front, kubeconfig};

/// Lets clients reach a session: takes the port, writes a kubeconfig for each user, and serves.
///
/// # Errors
/// The port is taken, a user cannot be understood, a file cannot be written.
pub fn open(arguments: &Arguments, clock: Clock, stepper: &mut Stepper) -> anyhow::Result<Box<dyn Clients>> {
    let more = arguments.users.iter().map(|text| KnownUser::parse(text)).collect::<Result<Vec<_>, _>>();
    let more = more.map_err(|error| anyhow!(error))?;
    let host = arguments.listen.unwrap_or(Ipv4Addr::LOCALHOST);
    let listener = port::bind(host, arguments.port.unwrap_or(PORT), "another cluster")?;
    let address = SocketAddr::from((reached_at(host), listener.local_addr()?.port())).to_string();
    let users: Vec<KnownUser> = [KnownUser::admin()].into_iter().chain(more).collect();
    let tls = arguments.tls.then(|| Tls::new(names(host), &users)).transpose()?;
    let shown = |user| tls.as_ref().and_then(|tls| Some((tls.authority.clone(), tls.credentials(user)?.clone())));
    let shown: Vec<_> = (0..users.len()).map(shown).collect();
    let sockets = front::open(listener, users.clone(), tls).context("sockets cannot be served")?;
    // The port answers now: who waits for the file can begin.
    let first = match &arguments.kubeconfig {
        Some(path) => path.clone(),
        None => own_folder()?.join(format!("kubeconfig-{}", address.rsplit(':').next().unwrap_or_default())),
    };
    let namespace = stepper.session.scenario().namespace.clone();
    let scheme = if arguments.tls { "https" } else { "http" };
    let mut greeting = format!("Real clients reach the cluster at {scheme}://{address}. In another terminal:\n");
    for (user, shown) in users.iter().zip(&shown) {
        let shown = shown.as_ref().map(|(authority, credentials)| (authority.as_str(), credentials));
        let path = if *user == users[0] { first.clone() } else { beside(&first, &user.identity.name) };
        kubeconfig::write(&path, &kubeconfig::text(&address, user, shown, &namespace))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let as_whom = if *user == users[0] { String::new() } else { format!("   # as {}", user.identity.name) };
        greeting += &format!("  export KUBECONFIG={}{as_whom}\n", path.display());
    }
    greeting += "  kubectl get nodes\n";
    stepper.clock = Some(arguments.clock.unwrap_or(clock));
    if stepper.clock == Some(Clock::Stepped) {
        greeting += "Time stands: clients wait until you step. go lets time run.\n";
    }
    stepper.session.cluster.clients.serve(true);
    Ok(Box::new(Reception::new(sockets, greeting, arguments.speed.unwrap_or(1.0))))
}

/// The address of this machine by which others reach it.
fn reached_at(host: Ipv4Addr) -> Ipv4Addr {
    if !host.is_unspecified() {
        return host;
    }
    // The way to any other machine, which nothing is sent for, begins at that address.
    let outside = UdpSocket::bind((host, 0)).and_then(|socket| {
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    match outside.map(|address| address.ip()) {
        Ok(IpAddr::V4(address)) if !address.is_unspecified() => address,
        _ => Ipv4Addr::LOCALHOST,
    }
}

/// What the server's certificate is for.
fn names(host: Ipv4Addr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "kubernetes".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
    if !reached_at(host).is_loopback() {
        names.push(reached_at(host).to_string());
    }
    names
}

/// The user's own folder for kubeconfigs.
fn own_folder() -> anyhow::Result<PathBuf> {
    let none =
        "there is no folder of your own to write a kubeconfig into (HOME is not set); say where: --kubeconfig FILE";
    let folder = journal::folder().and_then(|folder| Some(folder.parent()?.to_owned())).context(none)?;
    journal::create_folder(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder)
}

/// Where the kubeconfig of one more user lies: beside the first, with the user's name.
fn beside(first: &Path, name: &str) -> PathBuf {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let mut path = first.as_os_str().to_owned();
    path.push(format!("-{plain}"));
    PathBuf::from(path)
}
