//! Cluster IPs and node ports: which are taken, and which a new Service gets.
//!
//! The API server hands them out itself, while it creates or updates a Service, before the Service is validated.
//! Mirrors `pkg/registry/core/service/storage/alloc.go` and `service/{ipallocator,portallocator}`. Which IPs are taken
//! is what the IPAddress objects say ([`super::ip_addresses`]), which ports, what the Services say.
//!
//! Left out: IPv6 and dual stack, health check node ports, ServiceCIDRs beside the first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};

use object::random::Random;
use object::status::Cause;
use object::{Object, Status};

use kinds::core::service::validation;
use object::validation::field::Problems;

/// The first address of `10.96.0.0/16`, the range that Services take their IPs from.
const RANGE_FIRST: u32 = u32::from_be_bytes([10, 96, 0, 0]);
/// How many addresses it has.
const RANGE_LEN: u32 = 1 << 16;
/// Addresses at the beginning are left to those who ask for one: allocation takes the rest first.
const RESERVED_IPS: u32 = 256;
const PORT_FIRST: i32 = 30_000;
const PORT_LAST: i32 = 32_767;
const RESERVED_PORTS: i32 = 86;
/// How often chance is asked before all are tried in order.
const ATTEMPTS: usize = 64;

/// The addresses that are taken.
#[derive(Clone, Debug, Default)]
pub struct ServiceAddresses {
    ips: BTreeSet<u32>,
    ports: BTreeSet<i32>,
}

/// Why a Service does not get an address.
enum Refusal {
    /// What it asks for is wrong.
    Invalid(Cause),
    /// It may have any IP, and all are taken.
    NoIpLeft,
    /// The same of a port on the nodes.
    NoPortLeft,
    /// The port at which a load balancer asks nodes cannot be had: which, and why.
    NoHealthPort(i32, String),
}

impl Refusal {
    /// That a range is full, `ErrFull`, is no fault of the Service, and so an internal error.
    fn status(self, service: &Object) -> Status {
        let what = match self {
            Refusal::Invalid(cause) => return Status::invalid(service.kind(), service.name(), vec![cause]),
            Refusal::NoIpLeft => format!("a serviceIP for Service {:?}", service.name()),
            Refusal::NoPortLeft => "a nodePort".to_owned(),
            Refusal::NoHealthPort(port, why) => {
                let what = format!("failed to allocate requested HealthCheck NodePort {port}");
                return Status::internal(&format!("{what}: {why}"));
            }
        };
        Status::internal(&format!("failed to allocate {what}: range is full"))
    }
}

impl From<Cause> for Refusal {
    fn from(cause: Cause) -> Refusal {
        Refusal::Invalid(cause)
    }
}

impl ServiceAddresses {
    /// A Service or an IPAddress was stored or removed.
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        for (object, there) in [(old, false), (new, true)] {
            match object {
                Some(Object::IPAddress(address)) => {
                    let ip = address.metadata.name.as_deref().and_then(parse_ip);
                    ip.into_iter().for_each(|ip| note(&mut self.ips, ip, there));
                }
                Some(Object::Service(service)) => {
                    let ports = service.spec.as_ref().map(node_ports).unwrap_or_default();
                    let health = service.spec.as_ref().and_then(|spec| spec.health_check_node_port);
                    let health = health.filter(|port| *port != 0);
                    ports.into_iter().chain(health).for_each(|port| note(&mut self.ports, port, there));
                }
                _ => {}
            }
        }
    }

    /// Gives a Service the addresses that it needs. `old` is what is stored, on update.
    pub fn allocate(&self, object: &mut Object, old: Option<&Object>, random: &mut Random) -> Result<(), Status> {
        let Object::Service(service) = object else { return Ok(()) };
        let old = match old {
            Some(Object::Service(old)) => old.spec.as_ref(),
            _ => None,
        };
        let mut new = Service::clone(service);
        let spec = new.spec.get_or_insert_default();
        keep_addresses(spec, old);
        bring_into_line(spec, old);
        drop_what_the_type_needs_no_more(spec, old);
        let wrong = wrong_ips(spec);
        if !wrong.is_empty() {
            return Err(Status::invalid(object.kind(), object.name(), wrong));
        }
        let allocated = self
            .allocate_ip(spec, old, random)
            .and_then(|()| self.allocate_ports(spec, old, random))
            .and_then(|()| self.allocate_health_port(spec, old, random));
        if let Err(refusal) = allocated {
            return Err(refusal.status(object));
        }
        if new != **service {
            *service = Arc::new(new);
        }
        Ok(())
    }

    fn allocate_ip(
        &self,
        spec: &mut ServiceSpec,
        old: Option<&ServiceSpec>,
        random: &mut Random,
    ) -> Result<(), Refusal> {
        if !needs_ip(spec) {
            return Ok(());
        }
        name_families(spec, old);
        let ip = match spec.cluster_ip.as_deref().filter(|ip| !ip.is_empty()) {
            None => self.free_ip(random)?.to_string(),
            Some("None") => "None".to_owned(),
            Some(ip) if old.is_some_and(|old| old.cluster_ip.as_deref() == Some(ip)) => ip.to_owned(),
            Some(ip) => {
                self.check_ip(ip)?;
                ip.to_owned()
            }
        };
        spec.cluster_ips = Some(vec![ip.clone()]);
        spec.cluster_ip = Some(ip);
        Ok(())
    }

    fn check_ip(&self, ip: &str) -> Result<(), Cause> {
        let why = match parse_ip(ip) {
            // Validation says what is wrong with it.
            None => return Ok(()),
            Some(number) if !(1..RANGE_LEN - 1).contains(&number.wrapping_sub(RANGE_FIRST)) => {
                "the provided network does not match the current range"
            }
            Some(number) if self.ips.contains(&number) => "provided IP is already allocated",
            Some(_) => return Ok(()),
        };
        Err(invalid("spec.clusterIPs", &format!("[{ip:?}]: failed to allocate IP {ip}: {why}")))
    }

    fn free_ip(&self, random: &mut Random) -> Result<Ipv4Addr, Refusal> {
        let is_free = |offset: &u32| !self.ips.contains(&(RANGE_FIRST + offset));
        let chosen = (0..ATTEMPTS)
            .map(|_| RESERVED_IPS + random.below(u64::from(RANGE_LEN - 1 - RESERVED_IPS)) as u32)
            .find(is_free)
            .or_else(|| (RESERVED_IPS..RANGE_LEN - 1).chain(1..RESERVED_IPS).find(is_free));
        chosen.map(|offset| Ipv4Addr::from(RANGE_FIRST + offset)).ok_or(Refusal::NoIpLeft)
    }

    fn allocate_ports(
        &self,
        spec: &mut ServiceSpec,
        old: Option<&ServiceSpec>,
        random: &mut Random,
    ) -> Result<(), Refusal> {
        if !is_exposed(spec) {
            return Ok(());
        }
        let allocates = needs_node_ports(spec);
        let ports = spec.ports.as_deref_mut().unwrap_or_default();
        match old {
            None => self.first_ports(ports, allocates, random),
            Some(old) => self.further_ports(ports, allocates, &node_ports(old), random),
        }
    }

    /// What a new Service gets: ports of one number have one on the nodes too, so that what speaks TCP and UDP is found by
    /// both. Mirrors `initNodePorts`.
    fn first_ports(&self, ports: &mut [ServicePort], allocates: bool, random: &mut Random) -> Result<(), Refusal> {
        let (mut own, mut by_number) = (Vec::new(), BTreeMap::new());
        for i in 0..ports.len() {
            let (port, asked) = (ports[i].port, node_port_of(&ports[i]));
            if asked == 0 && !allocates {
                continue;
            }
            let number = match by_number.get(&port) {
                Some(shared) if asked == 0 || asked == *shared => *shared,
                Some(_) => self.check_port(i, asked, &own)?,
                None => {
                    let mut same = ports.iter().filter(|other| other.port == port).map(node_port_of);
                    match same.find(|number| *number != 0) {
                        Some(asked) => self.check_port(i, asked, &own)?,
                        None => self.free_port(&own, random)?,
                    }
                }
            };
            by_number.entry(port).or_insert(number);
            ports[i].node_port = Some(number);
            own.push(number);
        }
        Ok(())
    }

    /// What an update asks for beyond what is there. Mirrors `updateNodePorts`.
    fn further_ports(
        &self,
        ports: &mut [ServicePort],
        allocates: bool,
        before: &[i32],
        random: &mut Random,
    ) -> Result<(), Refusal> {
        let mut own = Vec::new();
        for (i, port) in ports.iter_mut().enumerate() {
            let number = match node_port_of(port) {
                0 if !allocates => continue,
                0 => self.free_port(&own, random)?,
                asked if before.contains(&asked) || own.contains(&asked) => asked,
                asked => self.check_port(i, asked, &own)?,
            };
            port.node_port = Some(number);
            own.push(number);
        }
        Ok(())
    }

    /// Where a load balancer asks which nodes have Pods of the Service. Mirrors `initHealthCheckNodePort`.
    fn allocate_health_port(
        &self,
        spec: &mut ServiceSpec,
        old: Option<&ServiceSpec>,
        random: &mut Random,
    ) -> Result<(), Refusal> {
        if !is_checked(spec) || old.is_some_and(is_checked) {
            return Ok(());
        }
        let own = node_ports(spec);
        let port = match spec.health_check_node_port.unwrap_or(0) {
            0 => self.free_port(&own, random)?,
            asked => match self.not_free(asked, &own) {
                Some(why) => return Err(Refusal::NoHealthPort(asked, why)),
                None => asked,
            },
        };
        spec.health_check_node_port = Some(port);
        Ok(())
    }

    /// Gives the number, if no port has it.
    fn check_port(&self, i: usize, number: i32, own: &[i32]) -> Result<i32, Cause> {
        match self.not_free(number, own) {
            Some(why) => Err(invalid(&format!("spec.ports[{i}].nodePort"), &format!("{number}: {why}"))),
            None => Ok(number),
        }
    }

    /// Why a port cannot be had, if so.
    fn not_free(&self, number: i32, own: &[i32]) -> Option<String> {
        if !(PORT_FIRST..=PORT_LAST).contains(&number) {
            Some(format!(
                "provided port is not in the valid range. The range of valid ports is {PORT_FIRST}-{PORT_LAST}"
            ))
        } else if self.ports.contains(&number) || own.contains(&number) {
            Some("provided port is already allocated".to_owned())
        } else {
            None
        }
    }

    fn free_port(&self, own: &[i32], random: &mut Random) -> Result<i32, Refusal> {
        let is_free = |port: &i32| !self.ports.contains(port) && !own.contains(port);
        let dynamic_first = PORT_FIRST + RESERVED_PORTS;
        let chosen = (0..ATTEMPTS)
            .map(|_| dynamic_first + random.below((PORT_LAST + 1 - dynamic_first) as u64) as i32)
            .find(is_free)
            .or_else(|| (dynamic_first..=PORT_LAST).chain(PORT_FIRST..dynamic_first).find(is_free));
        chosen.ok_or(Refusal::NoPortLeft)
    }
}

fn note<T: Ord>(taken: &mut BTreeSet<T>, value: T, there: bool) {
    if there {
        taken.insert(value);
    } else {
        taken.remove(&value);
    }
}

fn parse_ip(ip: &str) -> Option<u32> {
    ip.parse::<Ipv4Addr>().ok().map(u32::from)
}

fn type_of(spec: &ServiceSpec) -> &str {
    spec.type_.as_deref().unwrap_or("ClusterIP")
}

fn needs_ip(spec: &ServiceSpec) -> bool {
    matches!(type_of(spec), "ClusterIP" | "NodePort" | "LoadBalancer")
}

fn needs_node_ports(spec: &ServiceSpec) -> bool {
    match type_of(spec) {
        "NodePort" => true,
        "LoadBalancer" => spec.allocate_load_balancer_node_ports != Some(false),
        _ => false,
    }
}

fn is_exposed(spec: &ServiceSpec) -> bool {
    matches!(type_of(spec), "NodePort" | "LoadBalancer")
}

/// Whether a load balancer asks each node whether it has Pods. Mirrors `NeedsHealthCheck`.
fn is_checked(spec: &ServiceSpec) -> bool {
    type_of(spec) == "LoadBalancer" && spec.external_traffic_policy.as_deref() == Some("Local")
}

/// 0 if it has none.
fn node_port_of(port: &ServicePort) -> i32 {
    port.node_port.unwrap_or(0)
}

fn node_ports(spec: &ServiceSpec) -> Vec<i32> {
    spec.ports.iter().flatten().map(node_port_of).filter(|number| *number != 0).collect()
}

/// An update that names no addresses keeps those there are. Mirrors `patchAllocatedValues`.
fn keep_addresses(new: &mut ServiceSpec, old: Option<&ServiceSpec>) {
    let Some(old) = old else { return };
    if needs_ip(new) && needs_ip(old) {
        if new.cluster_ip.as_deref().unwrap_or_default().is_empty() {
            new.cluster_ip.clone_from(&old.cluster_ip);
        }
        if list(&new.cluster_ips).is_empty() {
            new.cluster_ips.clone_from(&old.cluster_ips);
        }
        if new.ip_families.is_none() {
            new.ip_families.clone_from(&old.ip_families);
        }
    }
    if is_checked(new) && is_checked(old) && new.health_check_node_port.unwrap_or(0) == 0 {
        new.health_check_node_port = old.health_check_node_port;
    }
    if !needs_node_ports(new) || !needs_node_ports(old) {
        return;
    }
    let (there, named) = (node_ports(old), node_ports(new));
    let still_used = |number: &i32| there.contains(number) && named.contains(number);
    for port in new.ports.iter_mut().flatten().filter(|port| port.node_port.unwrap_or(0) == 0) {
        // A port is the same while it has the same name, even if the rest of it has changed.
        let same = old.ports.iter().flatten().rfind(|old| name_of(old) == name_of(port));
        port.node_port = same.and_then(|old| old.node_port).filter(|number| !still_used(number));
    }
}

fn name_of(port: &ServicePort) -> &str {
    port.name.as_deref().unwrap_or_default()
}

/// Most name `clusterIP` only; `clusterIPs` goes with it. Mirrors `normalizeClusterIPs`.
fn bring_into_line(new: &mut ServiceSpec, old: Option<&ServiceSpec>) {
    let none = ServiceSpec::default();
    let old = old.unwrap_or(&none);
    if list(&new.cluster_ips).is_empty() && new.cluster_ip == old.cluster_ip {
        new.cluster_ips.clone_from(&old.cluster_ips);
    }
    if new.cluster_ip != old.cluster_ip && list(&new.cluster_ips) == list(&old.cluster_ips) {
        let ip = new.cluster_ip.clone().filter(|ip| !ip.is_empty());
        new.cluster_ips = ip.map(|ip| vec![ip]);
    }
}

fn list(ips: &Option<Vec<String>>) -> &[String] {
    ips.as_deref().unwrap_or_default()
}

/// A client that changes only the type means to give up what came with the old one. Mirrors `dropTypeDependentFields`.
fn drop_what_the_type_needs_no_more(new: &mut ServiceSpec, old: Option<&ServiceSpec>) {
    let Some(old) = old else { return };
    if needs_ip(old) && !needs_ip(new) && new.cluster_ips == old.cluster_ips {
        (new.cluster_ip, new.cluster_ips) = (None, None);
        if (&new.ip_families, &new.ip_family_policy) == (&old.ip_families, &old.ip_family_policy) {
            (new.ip_families, new.ip_family_policy) = (None, None);
        }
    }
    if needs_node_ports(old) && !needs_node_ports(new) && node_ports(new) == node_ports(old) {
        new.ports.iter_mut().flatten().for_each(|port| port.node_port = None);
    }
    let balanced = |spec: &ServiceSpec| type_of(spec) == "LoadBalancer";
    let allocates = |spec: &ServiceSpec| spec.allocate_load_balancer_node_ports;
    if balanced(old) && !balanced(new) && allocates(new) == allocates(old) {
        new.allocate_load_balancer_node_ports = None;
    }
    if balanced(old) && !balanced(new) && new.load_balancer_class == old.load_balancer_class {
        new.load_balancer_class = None;
    }
    if is_checked(old) && !is_checked(new) && new.health_check_node_port == old.health_check_node_port {
        new.health_check_node_port = None;
    }
    if is_exposed(old) && !is_exposed(new) && new.external_traffic_policy == old.external_traffic_policy {
        new.external_traffic_policy = None;
    }
}

/// What does not fit together, or else what is asked of IPv6.
fn wrong_ips(spec: &ServiceSpec) -> Vec<Cause> {
    let mut problems = Problems::default();
    validation::cluster_ips(&mut problems, spec);
    if problems.0.is_empty() { families_not_there(spec) } else { problems.0 }
}

/// Which families a Service has, if it does not say so. A headless Service without a selector may get endpoints of any
/// family. Mirrors `initIPFamilyFields`.
fn name_families(spec: &mut ServiceSpec, old: Option<&ServiceSpec>) {
    let anybody = is_headless(spec) && !has_selector(spec);
    let before = old.and_then(|old| old.ip_family_policy.clone());
    let default = if anybody { "RequireDualStack" } else { "SingleStack" };
    let policy = spec.ip_family_policy.get_or_insert_with(|| before.unwrap_or_else(|| default.to_owned()));
    let families = spec.ip_families.get_or_insert_with(|| vec!["IPv4".to_owned()]);
    if let ([one], true) = (families.as_slice(), anybody && policy != "SingleStack") {
        let other = if one == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(other.to_owned());
    }
}

fn is_headless(spec: &ServiceSpec) -> bool {
    spec.cluster_ip.as_deref() == Some("None")
}

fn has_selector(spec: &ServiceSpec) -> bool {
    spec.selector.as_ref().is_some_and(|selector| !selector.is_empty())
}

/// What is asked of IPv6, which the cluster does not have. A headless Service without selector may have any address.
/// Mirrors `initIPFamilyFields` of `pkg/registry/core/service/storage`.
fn families_not_there(spec: &ServiceSpec) -> Vec<Cause> {
    if !needs_ip(spec) || (is_headless(spec) && !has_selector(spec)) {
        return Vec::new();
    }
    let policy = spec.ip_family_policy.as_deref().filter(|policy| *policy == "RequireDualStack");
    let policy = policy.map(|policy| {
        invalid("spec.ipFamilyPolicy", &format!("{policy:?}: this cluster is not configured for dual-stack services"))
    });
    let families = spec.ip_families.iter().flatten().enumerate().filter(|(_, family)| *family == "IPv6");
    let families = families.map(|(i, family)| {
        invalid(&format!("spec.ipFamilies[{i}]"), &format!("{family:?}: not configured on this cluster"))
    });
    policy.into_iter().chain(families).collect()
}

fn invalid(field: &str, what: &str) -> Cause {
    Cause { reason: "FieldValueInvalid".into(), message: format!("Invalid value: {what}"), field: field.into() }
}

#[cfg(test)]
mod tests;
