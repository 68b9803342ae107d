//! Sockets: a container's process listens from its start to its end, in the network namespace of its sandbox.
//!
//! What it listens on is guessed from its image, its words and its ports, see [`sockets::ports`].

use std::rc::Rc;

use super::containerd::Containerd;
use super::networks::netns;
use super::site::Served;
use crate::cri::{PodSandboxConfig, Task};
use engine::Assumed;
use network::kernel::sockets::{self, Listener, Owner, Site, Speaks};
use network::netfilter::Protocol;

/// Where web servers have their configuration, and what they serve.
const SITES: &[&str] =
    &["/etc/caddy", "/etc/nginx", "/srv", "/usr/local/apache2", "/usr/share/caddy", "/usr/share/nginx", "/var/www"];

impl Containerd {
    /// A sandbox's namespace is this Pod's from now on, if it has one of its own.
    pub(super) fn own(&self, id: &str, config: &PodSandboxConfig) {
        let owner = Owner { pod: format!("{}/{}", config.namespace, config.name), dns: config.dns.clone() };
        self.sockets(|sockets| {
            let pods = if config.host_network { &mut sockets.on_host } else { &mut sockets.owners };
            pods.insert(netns(id), owner);
        });
    }

    /// A sandbox's namespace has no owner any more.
    pub(super) fn disown(&self, id: &str) {
        self.sockets(|sockets| sockets.forget(&netns(id)));
    }

    /// A container's process opens its sockets, once its script says that it does.
    pub(super) fn listen(&self, id: &str) {
        let state = self.state.borrow();
        let Some(container) = state.containers.get(id) else { return };
        let Some(sandbox) = state.sandboxes.get(&container.status.sandbox_id).map(|sandbox| &sandbox.config) else {
            return;
        };
        let ready_after = state.script(&container.config.image).and_then(|script| script.ready_after);
        let since = self.hub.now() + ready_after.unwrap_or_default();
        let namespace = if sandbox.host_network { String::new() } else { netns(&container.status.sandbox_id) };
        let config = &container.config;
        let words: Vec<String> = config.command.iter().chain(&config.args).cloned().collect();
        let protocol = |name: &str| Protocol::parse(name).unwrap_or(Protocol::Tcp);
        let port = |(port, name): &(i32, String)| Some((u16::try_from(*port).ok()?, protocol(name)));
        let mut declared: Vec<(u16, Protocol)> = config.ports.iter().filter_map(port).collect();
        if sockets::is_guessed(&config.image, &words) {
            let program: Rc<str> = words.first().unwrap_or(&config.image).as_str().into();
            let assume = |does| self.networks.host().assume(&self.hub, &program, does);
            let of_tcp = declared.iter().filter(|(_, protocol)| *protocol == Protocol::Tcp);
            of_tcp.for_each(|(port, _)| assume(Assumed::ListensForPort(*port)));
            for port in &config.probed {
                let probed = (*port, Protocol::Tcp);
                if !declared.contains(&probed) {
                    declared.push(probed);
                    assume(Assumed::ListensForProbe(*port));
                }
            }
            let name = format!("{}/{}", sandbox.namespace, sandbox.name);
            let listener = Listener { container: id.to_owned(), name, speaks: Speaks::Http, since, address: None };
            self.sockets(|sockets| drop(sockets.unknown.insert(namespace.clone(), (program, listener))));
        }
        for (protocol, port, speaks) in sockets::ports(&config.image, &words, &declared) {
            let name = format!("{}/{}", sandbox.namespace, sandbox.name);
            // Its configuration and the files that it serves are not read here.
            let site = Served::new(config, &container.layer, &self.networks.host().disk, &state.journal, name.clone());
            let is_as_it_comes =
                site.is_some() || !config.mounts.iter().any(|(at, _)| SITES.iter().any(|site| at.starts_with(site)));
            let speaks = if speaks == Speaks::Site && !is_as_it_comes { Speaks::Http } else { speaks };
            let listener = Listener { container: id.to_owned(), name, speaks, since, address: None };
            self.sockets(|sockets| {
                sockets.listen(&namespace, protocol, port, listener);
                sockets.sites.extend(site.map(|site| (id.to_owned(), Rc::new(site) as Rc<dyn Site>)));
            });
        }
    }

    /// A program that is not known is assumed to end.
    pub(super) fn assume_end(&self, program: &str, task: Task) {
        let does = match task {
            Task::Init => Assumed::EndsForInit,
            Task::Job => Assumed::EndsForJob,
        };
        self.networks.host().assume(&self.hub, &program.into(), does);
    }

    /// A container's process is gone.
    pub(super) fn hang_up(&self, id: &str) {
        self.sockets(|sockets| sockets.close(id));
    }

    fn sockets<T>(&self, change: impl FnOnce(&mut sockets::Sockets) -> T) -> T {
        change(&mut self.networks.host().sockets.borrow_mut())
    }
}
