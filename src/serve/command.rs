//! How the front end is opened for a session.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};

use kubestep::cli::journal;
use kubestep::cli::serve::{Arguments, Bell, Clients, PORT};
use stepper::{Clock, Stepper};

use super::reception::Reception;
use super::users::KnownUser;
use super::{front, kubeconfig};

/// Lets clients reach a session: takes the port, writes a kubeconfig for each user, and serves.
///
/// # Errors
/// The port is taken, a user cannot be understood, a file cannot be written.
pub fn open(arguments: &Arguments, clock: Clock, stepper: &mut Stepper) -> anyhow::Result<Box<dyn Clients>> {
    let more = arguments.users.iter().map(|text| KnownUser::parse(text)).collect::<Result<Vec<_>, _>>();
    let more = more.map_err(|error| anyhow!(error))?;
    let listener = bind(arguments.port.unwrap_or(PORT))?;
    let address = listener.local_addr()?.to_string();
    let users: Vec<KnownUser> = [KnownUser::admin()].into_iter().chain(more).collect();
    let bell = Arc::new(Bell::default());
    let incoming = front::open(listener, users.clone(), bell.clone()).context("sockets cannot be served")?;
    // The port answers now: who waits for the file can begin.
    let first = match &arguments.kubeconfig {
        Some(path) => path.clone(),
        None => own_folder()?.join(format!("kubeconfig-{}", address.rsplit(':').next().unwrap_or_default())),
    };
    let namespace = stepper.session.scenario().namespace.clone();
    let mut greeting = format!("Real clients reach the cluster at http://{address}. In another terminal:\n");
    for user in &users {
        let path = if *user == users[0] { first.clone() } else { beside(&first, &user.identity.name) };
        kubeconfig::write(&path, &kubeconfig::text(&address, user, &namespace))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let as_whom = if *user == users[0] { String::new() } else { format!("   # as {}", user.identity.name) };
        greeting += &format!("  export KUBECONFIG={}{as_whom}\n", path.display());
    }
    greeting += "  kubectl get nodes\n";
    stepper.clock = Some(arguments.clock.map_or(clock, Clock::from));
    if stepper.clock == Some(Clock::Stepped) {
        greeting += "Time stands: clients wait until you step. go lets time run.\n";
    }
    stepper.session.cluster.clients.serve(true);
    Ok(Box::new(Reception::new(incoming, bell, greeting, arguments.speed.unwrap_or(1.0))))
}

/// Takes a port of this machine's own.
fn bind(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("port {port} of 127.0.0.1 is taken, perhaps by another cluster; --port 0 finds a free one")
        }
        io::ErrorKind::PermissionDenied => anyhow!("port {port} is not yours to use; take one above 1023"),
        _ => anyhow!("127.0.0.1:{port}: {error}"),
    })
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
