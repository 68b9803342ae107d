//! Who makes a Secret or ConfigMap that a Pod waits for, if it is that of a well-known program.
//!
//! Many applications come with a Job or an operator that writes a certificate or a password, and with Pods that mount it. Those
//! programs do nothing here, so their Pods wait for ever. `kubectl describe` says what is missing, as on a real cluster; the
//! stop at which a kubelet complains says in addition whom the Pod waits for.

use apiserver::host::Engine;
use engine::{Note, Step};
use kinds::registry;
use kubelet::volumes::sources;
use object::event::Event;
use object::glob::matches;
use object::{Kind, Object, Pod, Resource, pod};

/// A Secret or ConfigMap, by its name or the pattern of its names, and who writes it.
type Maker = (Kind, &'static str, &'static str);

/// Those that are known.
const TABLE: &[Maker] = &[
    (Kind::Secret, "*ingress-nginx-admission", "the Job ingress-nginx-admission-create (kube-webhook-certgen)"),
    (Kind::Secret, "*kube-prometheus*-admission", "the Job of kube-prometheus-stack's webhook (kube-webhook-certgen)"),
    (Kind::Secret, "*memberlist", "MetalLB's controller"),
    (Kind::Secret, "argocd-redis", "an init container or a Job of Argo CD (argocd admin redis-initial-password)"),
    (Kind::Secret, "webhook-server-cert", "cert-manager, of a Certificate that comes with the operator,"),
    (Kind::Secret, "*-serving-cert", "cert-manager, of a Certificate that comes with the operator,"),
    (Kind::Secret, "kedaorg-certs", "KEDA's operator"),
    (Kind::Secret, "hubble-*-certs", "the Job hubble-generate-certs of Cilium"),
    (Kind::Secret, "linkerd-identity-issuer", "the command linkerd install"),
    (Kind::ConfigMap, "linkerd-identity-trust-roots", "the command linkerd install"),
    (Kind::ConfigMap, "istio-ca-root-cert", "istiod"),
    (Kind::Secret, "*-es-elastic-user", "the operator of Elastic (ECK)"),
    (Kind::Secret, "*.credentials.postgresql.acid.zalan.do", "Zalando's postgres-operator"),
];

/// What to add where a kubelet complains of a Pod in this step: each object that the Pod waits for, and who would make it.
pub fn told(engine: &Engine, step: &Step) -> Vec<String> {
    let complaint = step.notes.iter().find_map(|note| match note {
        Note::Stored { new: Some(object), .. } => Event::from_object(object).filter(|event| complains(event)).cloned(),
        _ => None,
    });
    let Some(event) = complaint else { return Vec::new() };
    let about = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (about(&event.involved_object.namespace), about(&event.involved_object.name));
    let store = &engine.server.api.store;
    let found = |kind, name: &str| store.get(&registry::key(kind, &namespace, name));
    let Some(entry) = found(Kind::Pod, &name) else { return Vec::new() };
    let Object::Pod(pod) = &entry.value else { return Vec::new() };
    let missing = wanted(pod).into_iter().filter(|(kind, name)| found(*kind, name).is_none());
    missing
        .filter_map(|(kind, name)| {
            let who = maker(kind, &name)?;
            Some(format!(
                "{kind} {namespace}/{name}: {who} makes it, and does nothing here; create it, and the Pod goes on"
            ))
        })
        .collect()
}

/// Whether this may be about an object that is missing.
fn complains(event: &Event) -> bool {
    event.involved_object.kind.as_deref() == Some("Pod")
        && matches!(event.reason.as_deref(), Some("FailedMount" | "Failed"))
}

/// The objects without which a Pod does not start.
fn wanted(pod: &Pod) -> Vec<(Kind, String)> {
    let mut wanted = Vec::new();
    let mut add = |sources: Vec<sources::Source<'_>>| {
        wanted.extend(sources.iter().filter(|it| !it.optional).map(|it| (it.kind, it.name.to_owned())));
    };
    sources::volumes_of(pod).for_each(|volume| add(sources::of_volume(&volume)));
    let containers = pod.spec.iter().flat_map(|spec| pod::containers(spec));
    containers.for_each(|container| add(sources::of_variables(container)));
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn maker(kind: Kind, name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(of, pattern, _)| *of == kind && matches(pattern, name)).map(|(.., who)| *who)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_objects_have_makers() {
        for (kind, name, who) in [
            (Kind::Secret, "ingress-nginx-admission", Some("ingress-nginx-admission-create")),
            (Kind::Secret, "metallb-memberlist", Some("MetalLB's controller")),
            (Kind::Secret, "argocd-redis", Some("Argo CD")),
            (Kind::ConfigMap, "argocd-redis", None),
            (Kind::Secret, "password", None),
        ] {
            let found = maker(kind, name);
            assert!(
                found.is_some() == who.is_some() && found.unwrap_or_default().contains(who.unwrap_or_default()),
                "{name}: {found:?}"
            );
        }
    }
}
