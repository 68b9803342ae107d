//! The network plugins: programs that are run once for each command.
//!
//! Mirrors `pkg/skel` of libcni, the frame around every plugin: it looks at the environment, at the version of the
//! configuration, and calls the command.
//!
//! - `frame`: what a plugin is, and what it finds when it is run.
//! - [`bridge`]: a veth pair, one end in the container, the other on the node's bridge.
//! - [`host_local`]: hands out addresses from files. The bridge plugin runs it.
//! - [`loopback`]: sets `lo` up.
//! - [`portmap`]: forwards ports of the node to the container.
//! - [`firewall`]: lets packets of the container through a firewall that otherwise forwards nothing.
//!
//! Must hold:
//! - A plugin prints a result or an error. Kept by `what_goes_in_and_out_is_as_the_specification_says`.
//! - A DEL that finds nothing to undo succeeds. Kept by `what_add_does_del_undoes`.

use serde_json::{Value, json};

use super::config::{VERSION, parse_version};
use super::exec::{CniError, Command, Environment, find};

mod bridge;
mod firewall;
mod frame;
pub mod host_local;
mod loopback;
mod portmap;
pub mod testing;
#[cfg(test)]
mod tests;

pub use frame::{Ipam, Machine, Run};

use frame::Plugin;

/// Every version of the specification, oldest first.
const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// What every installation has in `/opt/cni/bin`.
pub const NAMES: [&str; 5] = ["bridge", "firewall", "host-local", "loopback", "portmap"];

const TABLE: [Plugin; 5] = [bridge::PLUGIN, firewall::PLUGIN, host_local::PLUGIN, loopback::PLUGIN, portmap::PLUGIN];

impl Machine<'_> {
    /// Runs another plugin with the same environment and standard input, as the bridge plugin does with its address
    /// plugin (`pkg/ipam`).
    pub fn delegate(&mut self, command: Command, plugin: &str, run: &Run) -> Result<Value, CniError> {
        let program = find(self.disk, plugin, &run.environment.path)?;
        self.did(format_args!("runs {program} with the same environment and standard input"));
        main(self, &program, &Environment { command, ..run.environment.clone() }, run.stdin)
    }
}

/// Runs a program. The answer is what it prints.
pub fn main(machine: &mut Machine, program: &str, environment: &Environment, stdin: &Value) -> Result<Value, CniError> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let Some(plugin) = TABLE.iter().find(|plugin| plugin.name == name) else {
        let message = format!("netplugin failed with no error message: fork/exec {program}: exec format error");
        return Err(message.into());
    };
    check_environment(environment)?;
    let versions: Vec<&str> = VERSIONS.into_iter().skip_while(|version| *version != plugin.since).collect();
    if environment.command == Command::Version {
        return Ok(json!({"cniVersion": VERSION, "supportedVersions": versions}));
    }
    let version = check_config(environment.command, stdin, &versions)?;
    let run = Run { environment, stdin };
    let done = match environment.command {
        Command::Add => return (plugin.add)(machine, &run)?.to_json(&version).map_err(CniError::from),
        Command::Del => (plugin.del)(machine, &run),
        Command::Check => (plugin.check)(machine, &run),
        Command::Status => plugin.status.map_or(Ok(()), |status| status(machine, &run)),
        Command::Gc | Command::Version => Ok(()),
    };
    done.map(|()| Value::Null)
}

/// The variables that the command must have, and their form.
fn check_environment(environment: &Environment) -> Result<(), CniError> {
    let attaches = matches!(environment.command, Command::Add | Command::Check | Command::Del);
    let netns = matches!(environment.command, Command::Add | Command::Check);
    let needed = [
        ("CNI_CONTAINERID", &environment.container_id, attaches),
        ("CNI_NETNS", &environment.netns, netns),
        ("CNI_IFNAME", &environment.ifname, attaches),
        ("CNI_PATH", &environment.path, environment.command != Command::Version),
    ];
    let missing = needed.into_iter().filter(|(_, value, needed)| *needed && value.is_empty());
    let missing: Vec<&str> = missing.map(|(name, ..)| name).collect();
    if !missing.is_empty() {
        let message = format!("required env variables [{}] missing", missing.join(","));
        return Err(CniError::new(CniError::ENVIRONMENT, message));
    }
    if attaches && !is_name(&environment.container_id) {
        let details = environment.container_id.clone();
        let message = "invalid characters in containerID".into();
        return Err(CniError { code: CniError::ENVIRONMENT, message, details });
    }
    if attaches { check_ifname(&environment.ifname) } else { Ok(()) }
}

/// The rules of the kernel for names of interfaces.
fn check_ifname(name: &str) -> Result<(), CniError> {
    let error = |message: &str| Err(CniError::new(CniError::ENVIRONMENT, message));
    if name.len() > 15 {
        let details = "interface name should be less than 16 characters".into();
        return Err(CniError { code: CniError::ENVIRONMENT, message: "interface name is too long".into(), details });
    }
    if [".", ".."].contains(&name) {
        return error("interface name is . or ..");
    }
    if name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace()) {
        return error("interface name contains / or : or whitespace characters");
    }
    Ok(())
}

/// Letters, digits, and after the first also `_`, `.`, `-`.
fn is_name(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(rest)
}

/// The network's name and version. Gives the version in which to print.
fn check_config(command: Command, stdin: &Value, versions: &[&str]) -> Result<String, CniError> {
    match stdin.get("name").and_then(Value::as_str).unwrap_or_default() {
        "" => return Err(CniError::new(CniError::CONFIG, "missing network name")),
        name if !is_name(name) => {
            let message = "invalid characters found in network name".into();
            return Err(CniError { code: CniError::CONFIG, message, details: name.to_owned() });
        }
        _ => {}
    }
    let version = match stdin.get("cniVersion").and_then(Value::as_str) {
        None | Some("") => "0.1.0",
        Some(version) => version,
    };
    let number = |version: &str| parse_version(version).map_err(|error| CniError::new(CniError::DECODING, error));
    let needed = match command {
        Command::Check => "0.4.0",
        Command::Gc | Command::Status => "1.1.0",
        Command::Add | Command::Del | Command::Version => "",
    };
    if !needed.is_empty() && number(version)? < number(needed)? {
        let message = format!("config version does not allow {}", command.as_str());
        return Err(CniError::new(CniError::INCOMPATIBLE_VERSION, message));
    }
    if !versions.contains(&version) {
        let supported: Vec<String> = versions.iter().map(|version| format!("{version:?}")).collect();
        let details = format!("config is {version:?}, plugin supports [{}]", supported.join(" "));
        let message = "incompatible CNI versions".into();
        return Err(CniError { code: CniError::INCOMPATIBLE_VERSION, message, details });
    }
    Ok(version.to_owned())
}
