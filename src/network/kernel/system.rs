//! The kernel as the programs of its machine see it: the sockets that they open, the names that they may ask, the time.
//! Here is what it does itself with what comes and goes; its sockets are in [`super::socket`].

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use super::dns;
use super::fabric::Fabric;
use super::frame::Frame;
use super::hop::{Death, Fate, Kernel};
use super::messages::{DnsQuery, DnsResponse};
use super::page::{answer, has_page, is_health_check, page};
use super::sockets::{Asked, Listener, Resolver, Speaks};
use crate::host::Host;
use crate::netfilter::{Packet, Payload, Protocol, Tuple, Unreachable};
use engine::{ActorId, Assumed, CallId, Hub, Memory, Note};
use object::time::Instant;

/// Wake: the program that waits for an answer has waited long enough.
pub const TIMEOUT: &str = "no answer in time";
/// Wake: a packet that was held back goes out now.
pub(super) const LATER: &str = "a late packet";
/// Linux' first port for clients.
pub(super) const FIRST_PORT: u16 = 32768;
/// How long [`Speaks::FailingHttp`] answers well.
const WELL_FOR: Duration = Duration::from_secs(10);

/// One machine's kernel, shared by all that runs in it.
pub struct System {
    pub(super) hub: Hub,
    pub(super) actor: ActorId,
    /// The machine's name.
    pub(super) name: String,
    is_node: bool,
    pub(super) host: Rc<Host>,
    pub(super) fabric: Fabric,
    pub(super) clients: Memory<BTreeMap<(String, Tuple), Client>>,
    late: Memory<BTreeMap<String, (String, Packet)>>,
    pub(super) next_port: Memory<u16>,
    next_number: Memory<u64>,
}

/// What the kernel holds of a client's socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) inbox: VecDeque<Packet>,
    pub(super) waits: Option<CallId>,
    /// Which wait it is; a timeout of an earlier one means nothing.
    pub(super) round: u64,
    pub(super) timed_out: bool,
}

impl System {
    /// The kernel of the machine `name`. `is_node`: the network add-on keeps routes on it.
    pub(super) fn new(hub: Hub, actor: ActorId, name: &str, is_node: bool, host: Rc<Host>, fabric: Fabric) -> System {
        System {
            clients: hub.memory(BTreeMap::new()),
            late: hub.memory(BTreeMap::new()),
            next_port: hub.memory(FIRST_PORT),
            next_number: hub.memory(0),
            hub,
            actor,
            name: name.to_owned(),
            is_node,
            host,
            fabric,
        }
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.hub.now()
    }

    /// Waits for `duration` of virtual time.
    #[track_caller]
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> {
        self.hub.sleep(duration)
    }

    /// A frame has come: one hop.
    pub(super) fn frame(self: &Rc<Self>, frame: Frame) {
        let fate = self.with_kernel(|kernel| kernel.receive(frame));
        self.act(fate);
    }

    /// A process, or the kernel itself, sends a packet. False: it died before it got anywhere, and no ICMP error will come.
    pub(super) fn send(self: &Rc<Self>, namespace: &str, packet: Packet) -> bool {
        let fate = self.with_kernel(|kernel| kernel.send(namespace, packet));
        if let Fate::Dead(death) = &fate
            && death.tell.is_none()
        {
            self.buried(death);
            return false;
        }
        self.act(fate);
        true
    }

    pub(super) fn with_kernel<T>(&self, work: impl FnOnce(&mut Kernel<'_>) -> T) -> T {
        let (mut network, sockets) = (self.host.network.borrow_mut(), self.host.sockets.borrow());
        let (result, lines) = self.hub.random(|random| {
            let mut kernel = Kernel {
                name: &self.name,
                network: &mut network,
                sockets: &sockets,
                fabric: &self.fabric,
                is_node: self.is_node,
                random,
                now: self.hub.now(),
                lines: Vec::new(),
            };
            (work(&mut kernel), kernel.lines)
        });
        for (topic, text) in lines {
            self.hub.note(|| Note::Text { topic, text });
        }
        result
    }

    fn act(self: &Rc<Self>, fate: Fate) {
        match fate {
            Fate::Next(frame) => self.hub.packet(self.actor, self.actor, Duration::ZERO, Rc::new(frame)),
            Fate::Wire(machine, frame) => self.hub.packet(self.actor, machine, Duration::ZERO, Rc::new(frame)),
            Fate::Here(namespace, packet) => self.arrived(&namespace, packet),
            Fate::Dead(death) => {
                self.buried(&death);
                if let Some((packet, after)) = death.tell {
                    self.send_after(&death.namespace, packet, after);
                }
            }
        }
    }

    fn buried(&self, death: &Death) {
        self.hub.note(|| Note::Text { topic: "dropped", text: format!("{}: {}", death.place, death.reason) });
    }

    fn send_after(self: &Rc<Self>, namespace: &str, packet: Packet, after: Duration) {
        if after.is_zero() {
            self.send(namespace, packet);
            return;
        }
        let key = self.number().to_string();
        self.hub.wake(self.actor, LATER, key.as_str(), after);
        self.late.borrow_mut().insert(key, (namespace.to_owned(), packet));
    }

    pub(super) fn send_late(self: &Rc<Self>, key: &str) {
        let late = self.late.borrow_mut().remove(key);
        if let Some((namespace, packet)) = late {
            self.send(&namespace, packet);
        }
    }

    /// A packet has reached the namespace it is for: a client's, a server's, or the kernel's own business.
    fn arrived(self: &Rc<Self>, namespace: &str, packet: Packet) {
        let mine = packet.payload.about().unwrap_or_else(|| packet.tuple.inverted());
        let key = (namespace.to_owned(), mine);
        if let Some(client) = self.clients.borrow_mut().get_mut(&key) {
            self.say("socket", || format!("{}: it is waited for", packet.payload.name()));
            client.inbox.push_back(packet);
            if let Some(call) = client.waits.take() {
                self.hub.unpark(self.actor, call);
            }
            return;
        }
        match &packet.payload {
            Payload::Echo(sequence) => {
                self.say("icmp", || "the kernel answers echo requests itself".into());
                self.send(namespace, packet.answer(Payload::EchoReply(*sequence)));
            }
            Payload::Syn => self.knock(namespace, &packet),
            Payload::Data(text) if packet.tuple.protocol == Protocol::Udp => self.datagram(namespace, &packet, text),
            Payload::Data(text) => self.asked(namespace, &packet, text),
            Payload::Fin | Payload::Rst => {
                self.say("socket", || "the connection is over".into());
                self.host.sockets.borrow_mut().hang_up(namespace, packet.tuple);
            }
            _ => self.say("dropped", || format!("no program waits for it in {}", self.label(namespace))),
        }
    }

    /// TCP: a client opens a connection.
    fn knock(self: &Rc<Self>, namespace: &str, packet: &Packet) {
        let port = packet.tuple.destination_port;
        self.assume_listener(namespace, packet);
        let accepted = self.host.sockets.borrow_mut().accept(namespace, packet.tuple, self.hub.now());
        if accepted {
            self.say("socket", || format!("{} listens on tcp {port}", self.listener(namespace, packet)));
            self.send(namespace, packet.answer(Payload::SynAck));
        } else {
            self.refuse(namespace, packet);
        }
    }

    /// A program that is not known is assumed to listen where a Service sends connections: kube-proxy's rules say where
    /// that is.
    fn assume_listener(&self, namespace: &str, packet: &Packet) {
        let (address, port) = (packet.tuple.destination, packet.tuple.destination_port);
        let found = {
            let sockets = self.host.sockets.borrow();
            let is_known = sockets.listener(namespace, Protocol::Tcp, port).is_some();
            sockets.unknown.get(namespace).filter(|_| !is_known).cloned()
        };
        let Some((program, listener)) = found else { return };
        let is_sent_to = self.host.network.borrow().root.netfilter.rules.sends_to(address, port);
        if is_sent_to {
            self.host.sockets.borrow_mut().listen(namespace, Protocol::Tcp, port, listener);
            self.host.assume(&self.hub, &program, Assumed::ListensForService(port));
        }
    }

    fn refuse(self: &Rc<Self>, namespace: &str, packet: &Packet) {
        let (protocol, port) = (packet.tuple.protocol.as_str(), packet.tuple.destination_port);
        self.say("dropped", || format!("{}: no program listens on {protocol} {port}: refused", self.label(namespace)));
        let answer = if packet.tuple.protocol == Protocol::Tcp {
            packet.answer(Payload::Rst)
        } else {
            let code = Unreachable::Port;
            packet.error(packet.tuple.destination, Payload::Unreachable { code, original: packet.tuple })
        };
        self.send(namespace, answer);
    }

    /// TCP: bytes of a connection.
    fn asked(self: &Rc<Self>, namespace: &str, packet: &Packet, text: &str) {
        let sockets = self.host.sockets.borrow();
        let listener = sockets.listener(namespace, Protocol::Tcp, packet.tuple.destination_port).cloned();
        let accepted = sockets.is_accepted(namespace, packet.tuple);
        let status = listener.as_ref().and_then(|listener| sockets.answers.get(&listener.name)).copied();
        drop(sockets);
        let Some(listener) = listener.filter(|_| accepted) else { return self.refuse(namespace, packet) };
        self.say("socket", || format!("{} reads: {}", listener.name, text.lines().next().unwrap_or_default()));
        if let Speaks::Process(process) = listener.speaks {
            return self.hand_over(process, namespace.to_owned(), packet.clone(), text.to_owned());
        }
        let answer = match listener.speaks {
            Speaks::Dns | Speaks::Other if !is_health_check(text) => Payload::Fin,
            _ => Payload::Data(self.serve(&listener, packet, text, status)),
        };
        self.send(namespace, packet.answer(answer));
    }

    /// What a web server answers, with this status if a scenario wants it.
    fn serve(&self, listener: &Listener, packet: &Packet, text: &str, status: Option<u16>) -> String {
        let now = self.hub.now();
        let site = self.host.sockets.borrow().sites.get(&listener.container).cloned();
        let site = site.filter(|_| listener.speaks == Speaks::Site);
        let asked = Asked { client: packet.tuple.source, request: text, now };
        let said = site.as_ref().filter(|_| status.is_none()).and_then(|site| site.find(&asked));
        let status = status.or(said.as_ref().map(|said| said.status)).unwrap_or(match listener.speaks {
            Speaks::FailingHttp if now > listener.since + WELL_FOR => 500,
            Speaks::Site if site.is_none() && !has_page(text) => 404,
            _ => 200,
        });
        let body = match &said {
            Some(said) => said.text.clone(),
            None => page(&listener.name, &self.name, packet, text),
        };
        if let Some(site) = site {
            site.answered(&asked, status, body.len());
        }
        answer(text, status, said.as_ref().map(|said| said.server.as_str()), &body)
    }

    /// UDP: DNS, or a datagram without an answer.
    fn datagram(self: &Rc<Self>, namespace: &str, packet: &Packet, text: &str) {
        let sockets = self.host.sockets.borrow();
        let speaks =
            sockets.listener(namespace, Protocol::Udp, packet.tuple.destination_port).map(|listener| listener.speaks);
        drop(sockets);
        let (server, question) = (self.fabric.dns(), dns::Question::decode(text));
        match (speaks, server, question) {
            (None, ..) => self.refuse(namespace, packet),
            (Some(Speaks::Dns), Some(server), Some(question)) => {
                self.say("socket", || format!("{} reads: {question}", self.listener(namespace, packet)));
                self.ask(server, namespace.to_owned(), packet.clone(), question);
            }
            _ => self.say("socket", || format!("{} has nothing to say", self.listener(namespace, packet))),
        }
    }

    /// The DNS server's process works, and its answer goes out by the socket at which the question came.
    fn ask(self: &Rc<Self>, server: ActorId, namespace: String, packet: Packet, question: dns::Question) {
        let me = self.clone();
        self.hub.spawn(self.actor, format!("dns {question}"), async move {
            let Ok(reply) = me.hub.rpc(server, Rc::new(DnsQuery(question.clone()))).await else { return };
            let any: &dyn Any = &*reply;
            if let Some(DnsResponse(answer)) = any.downcast_ref::<DnsResponse>() {
                me.send(&namespace, packet.answer(Payload::Data(answer.encode(&question))));
            }
        });
    }

    /// The namespace and the `/etc/resolv.conf` of a Pod, or of the machine itself, whose file names no server.
    pub(super) fn place_of(&self, pod: &str) -> Option<(String, Resolver)> {
        if pod.is_empty() {
            return Some(Default::default());
        }
        let sockets = self.host.sockets.borrow();
        sockets.find(pod).map(|(namespace, resolver)| (namespace.to_owned(), resolver))
    }

    /// Who is in a namespace: the Pod, or the machine.
    pub fn label(&self, namespace: &str) -> String {
        let sockets = self.host.sockets.borrow();
        sockets.owners.get(namespace).map_or_else(|| self.name.clone(), |owner| owner.pod.clone())
    }

    fn listener(&self, namespace: &str, packet: &Packet) -> String {
        let sockets = self.host.sockets.borrow();
        let found = sockets.listener(namespace, packet.tuple.protocol, packet.tuple.destination_port);
        found.map(|listener| listener.name.clone()).unwrap_or_default()
    }

    pub(super) fn say(&self, topic: &'static str, text: impl FnOnce() -> String) {
        self.hub.note(|| Note::Text { topic, text: text() });
    }

    pub(super) fn number(&self) -> u64 {
        let number = self.next_number.get() + 1;
        self.next_number.set(number);
        number
    }
}
