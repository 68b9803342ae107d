//! What a plugin is, and what it finds when it is run.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::net::IpAddr;

use serde_json::Value;

use super::host_local::ranges::Range;
use crate::cni::exec::{CniError, Environment};
use crate::cni::netns::NodeNetwork;
use crate::cni::result::CniResult;
use crate::disk::Disk;

/// A plugin: what it does for each command. GC is not among them: none of these plugins has it.
pub(super) struct Plugin {
    pub(super) name: &'static str,
    /// The oldest version that it understands.
    pub(super) since: &'static str,
    pub(super) add: fn(&mut Machine, &Run) -> Result<CniResult, CniError>,
    pub(super) del: Silent,
    pub(super) check: Silent,
    pub(super) status: Option<Silent>,
}

/// A command that prints nothing.
pub(super) type Silent = fn(&mut Machine, &Run) -> Result<(), CniError>;

/// Another way to give and take addresses of one range, for the command and the container's interface of this run: what it
/// remembers are the network's files, by name. Gives the address, if the command is ADD.
pub type Ipam = dyn Fn(&Run, &Range, &mut BTreeMap<String, String>) -> Result<Option<IpAddr>, String>;

/// What a plugin finds on the machine where it runs.
pub struct Machine<'a> {
    /// Its files.
    pub disk: &'a Disk,
    /// Its network.
    pub network: &'a mut NodeNetwork,
    /// Where random numbers come from.
    pub random: &'a mut dyn FnMut() -> u64,
    /// A line for each thing that the plugin does; None: no user looks.
    pub steps: Option<&'a mut Vec<String>>,
    /// What gives addresses in the place of host-local's own search.
    pub ipam: Option<&'a Ipam>,
}

/// The environment and standard input of one run, looked through.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// The configuration.
    pub stdin: &'a Value,
}

impl Machine<'_> {
    /// Notes a thing done.
    pub fn did(&mut self, text: Arguments<'_>) {
        if let Some(steps) = &mut self.steps {
            steps.push(text.to_string());
        }
    }
}

impl Run<'_> {
    /// The configuration as a plugin's own type.
    pub(super) fn config<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(self.stdin).map_err(|error| error.to_string())
    }

    /// The result of the plugins before, if there were any.
    pub(super) fn previous(&self) -> Result<Option<CniResult>, CniError> {
        let previous = self.stdin.get("prevResult").map(CniResult::from_json).transpose();
        previous.map_err(|error| format!("could not parse prevResult: {error}").into())
    }

    /// A variable in `CNI_ARGS`; the case of its name does not matter (`LoadArgs`). Unknown ones must be allowed.
    pub(super) fn argument(&self, name: &str) -> Result<Option<&str>, CniError> {
        let (mut found, mut unknown, mut ignore) = (None, Vec::new(), false);
        for pair in self.environment.args.split(';').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                None => return Err(format!("ARGS: invalid pair {pair:?}").into()),
                Some((key, value)) if key.eq_ignore_ascii_case(name) => found = Some(value),
                Some(("IgnoreUnknown", value)) => ignore = matches!(value, "1" | "true"),
                Some(_) => unknown.push(format!("{pair:?}")),
            }
        }
        if !ignore && !unknown.is_empty() {
            return Err(format!("ARGS: unknown args [{}]", unknown.join(" ")).into());
        }
        Ok(found)
    }
}
