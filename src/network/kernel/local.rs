//! Processes of a machine that listen at a port, and what is said to them there.

use std::any::Any;
use std::rc::Rc;

use super::messages::{Heard, Incoming, Listen, Listening};
use super::sockets::{Listener, Speaks};
use super::system::{FIRST_PORT, System};
use crate::netfilter::{Packet, Payload, Protocol};
use engine::{ActorId, CallId, Message, RpcError};

/// `net.ipv4.ip_unprivileged_port_start`: ports below it are the administrator's.
const FIRST_OF_USERS: u16 = 1024;

impl System {
    /// A process begins to listen, for connections whose bytes it is told.
    pub(super) fn listen(&self, call: CallId, from: ActorId, wanted: &Listen) {
        let result = self.bind(from, wanted).map(|port| Rc::new(Listening(port)) as Rc<dyn Message>);
        self.hub.reply(self.actor, from, call, "listen", result);
    }

    fn bind(&self, process: ActorId, wanted: &Listen) -> Result<u16, RpcError> {
        let refused = |why: &str| {
            let message = format!("listen tcp4 {}:{}: bind: {why}", wanted.address, wanted.port);
            RpcError { code: "Unknown", message }
        };
        let mut sockets = self.host.sockets.borrow_mut();
        let port = match wanted.port {
            0 => self.free_port(),
            1..FIRST_OF_USERS => return Err(refused("permission denied")),
            port if sockets.listener("", Protocol::Tcp, port).is_some() => {
                return Err(refused("address already in use"));
            }
            port => port,
        };
        let is_here = wanted.address.is_unspecified() || wanted.address.is_loopback();
        if !is_here && self.fabric.machine_at(wanted.address) != Some(self.actor) {
            return Err(refused("cannot assign requested address"));
        }
        let listener = Listener {
            container: String::new(),
            name: wanted.name.clone(),
            speaks: Speaks::Process(process),
            since: self.hub.now(),
            address: Some(wanted.address).filter(|address| !address.is_unspecified()),
        };
        sockets.listen("", Protocol::Tcp, port, listener);
        Ok(port)
    }

    /// The next of the free ports: for clients, and for a server that may listen at any port.
    pub(super) fn free_port(&self) -> u16 {
        let port = self.next_port.get();
        self.next_port.set(port.checked_add(1).unwrap_or(FIRST_PORT));
        port
    }

    /// The bytes of a connection go to the process that listens, and its answer comes back.
    pub(super) fn hand_over(self: &Rc<Self>, process: ActorId, namespace: String, packet: Packet, data: String) {
        let me = self.clone();
        let (port, peer) = (packet.tuple.destination_port, packet.tuple.source);
        let incoming = Incoming { port, peer, data };
        self.hub.spawn(self.actor, format!("{} on {}", incoming.line(), self.name), async move {
            let heard = me.hub.rpc(process, Rc::new(incoming)).await.ok();
            let any: Option<&dyn Any> = heard.as_deref().map(|message| message as &dyn Any);
            let said = any.and_then(|any| any.downcast_ref::<Heard>()).and_then(|heard| heard.0.clone());
            me.send(&namespace, packet.answer(said.map_or(Payload::Fin, Payload::Data)));
        });
    }
}
