//! Which programs images have, and as whom they run, as far as that is known.
//!
//! Of the smallest ones it is: a container of theirs that is to run anything else does not start. So it is of those that
//! have one program and no shell. Of official images it is known roughly. The others are not known: what they are told to
//! run, they have, and if they are told not to run as root they do not.
//!
//! Simplified: a program that is simulated here is in every image with a shell, curl too.

use super::registry::{base_name, is_official};
use crate::cri::ContainerConfig;
use network::kernel::Userland;
use userland::shell::Program;
use userland::{applets, programs, shell};

/// Images that have busybox's [`applets`] and nothing else worth starting.
const MINIMAL: &[&str] = &["busybox", "alpine"];

/// Images with programs of their own and no shell: everything that a program does not need was left out.
const BARE: &[&str] = &[
    "cert-manager-cainjector",
    "cert-manager-controller",
    "cert-manager-webhook",
    "cloudflared",
    "coredns",
    "etcd",
    "external-dns",
    "hello-world",
    "http-echo",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-state-metrics",
    "kube-webhook-certgen",
    "metrics-server",
    "pause",
    "whoami",
];

/// The programs that official images are made for, by how their names begin.
const OWN: &[(&str, &[&str])] = &[
    ("httpd", &["apache", "htpasswd", "rotatelogs"]),
    ("mariadb", &["maria", "my"]),
    ("mongo", &["mongo"]),
    ("mysql", &["my"]),
    ("nginx", &["nginx"]),
    ("node", &["corepack", "node", "npx", "yarn"]),
    ("postgres", &["createdb", "dropdb", "initdb", "pg", "post", "psql", "vacuumdb"]),
    ("rabbitmq", &["rabbitmq"]),
    ("redis", &["redis"]),
];

/// Official images whose configuration names a user; the others name none, and so run as root.
const OF_OTHERS: &[(&str, &str)] = &[
    ("fluentd", "fluent"),
    ("haproxy", "haproxy"),
    ("jenkins", "jenkins"),
    ("kong", "kong"),
    ("memcached", "memcache"),
    ("odoo", "odoo"),
    ("solr", "solr"),
    ("sonarqube", "sonarqube"),
    ("varnish", "varnish"),
];
/// As whom the others run: distroless images call this number `nonroot`.
const NONROOT: i64 = 65532;

/// As whom an image runs: by number, or by name. Neither: as root.
pub fn user(image: &str) -> (Option<i64>, &'static str) {
    if !is_official(image) {
        return (Some(NONROOT), "");
    }
    let named = OF_OTHERS.iter().find(|(known, _)| *known == base_name(image));
    (None, named.map_or("", |(_, user)| *user))
}

/// Whether of an image it is known what it lacks.
pub fn is_minimal(image: &str) -> bool {
    MINIMAL.contains(&base_name(image))
}

/// Whether an image has programs of its own and no shell.
pub fn is_bare(image: &str) -> bool {
    let tag = || image.rsplit_once(':').map_or("", |(_, tag)| tag);
    BARE.contains(&base_name(image)) || image.contains("distroless") || tag().contains("scratch")
}

/// Whether what stands in an image is busybox's, as far as its name says.
pub fn is_busybox(image: &str) -> bool {
    is_minimal(image)
        || image.rsplit_once(':').is_some_and(|(_, tag)| tag.contains("alpine") || tag.contains("busybox"))
}

/// Whose programs are in an image, as far as its name says.
pub fn userland(image: &str) -> Userland {
    let minor = || image.rsplit_once(":1.")?.1.split(['.', '-', '@']).next()?.parse::<u32>().ok();
    match is_busybox(image) {
        true if base_name(image) == "busybox" && minor().is_some_and(|minor| minor <= 28) => Userland::OldBusybox,
        true => Userland::Busybox,
        false => Userland::Usual,
    }
}

/// Whether a container has this shell: busybox is none but `sh`.
pub fn has_shell(shell: &str, config: &ContainerConfig) -> bool {
    is_there(shell, config) || !(is_busybox(&config.image) || is_bare(&config.image))
}

/// Why a container's process cannot be started, in runc's words. What a volume may hold is taken to be there.
pub fn cannot_start(config: &ContainerConfig) -> Option<String> {
    let word = config.command.iter().chain(&config.args).next()?;
    if !(is_minimal(&config.image) || is_bare(&config.image)) || is_there(word, config) {
        return None;
    }
    Some(not_there(word))
}

/// Whether nothing of this name can be run beside a container's process.
pub fn cannot_run(word: &str, config: &ContainerConfig) -> bool {
    !is_there(word, config)
}

/// Whether a shell finds no such program, as far as can be told from the image and from the rest of what the shell runs.
pub fn lacks(word: &str, config: &ContainerConfig, script: &Program) -> bool {
    if is_minimal(&config.image) {
        return !is_there(word, config) && !script.installs();
    }
    let own = OWN.iter().filter(|(image, _)| *image == base_name(&config.image)).flat_map(|(_, programs)| *programs);
    let is_own = word.contains('/') || { own }.any(|program| word.starts_with(program));
    is_official(&config.image) && !is_own && script.knows_all_but(word)
}

/// How runc says that there is no such program.
pub fn not_there(word: &str) -> String {
    let why = match word.contains('/') {
        true => format!("stat {word}: no such file or directory"),
        false => "executable file not found in $PATH".to_owned(),
    };
    format!("exec: {word:?}: {why}")
}

fn is_there(word: &str, config: &ContainerConfig) -> bool {
    let program = shell::program(word);
    if program.contains('/') {
        let is_in =
            |(place, _): &(String, String)| word.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'));
        return !word.starts_with('/') || is_bare(&config.image) || config.mounts.iter().any(is_in);
    }
    let is_simulated = programs::HERE.split([',', ' ']).any(|name| name == program);
    let is_usual =
        is_simulated || applets::is_applet(program) || programs::is_common(program) || shell::is_shell(program);
    if is_bare(&config.image) { !is_usual } else { is_usual && program != "bash" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_busybox_is_known_by_its_tag() {
        for (wanted, images) in [
            (
                Userland::OldBusybox,
                ["busybox:1.28", "docker.io/library/busybox:1.28.4-glibc", "busybox:1.26@sha256:ab"],
            ),
            (Userland::Busybox, ["busybox", "busybox:1.37", "alpine:1.2"]),
            (Userland::Busybox, ["busybox:stable", "alpine:3.20", "redis:7-alpine"]),
            (Userland::Usual, ["nginx:1.27", "busyboxes:1.28", "registry.k8s.io/e2e-test-images/agnhost:2.39"]),
        ] {
            images.into_iter().for_each(|image| assert_eq!(userland(image), wanted, "{image}"));
        }
    }

    #[test]
    fn official_images_run_as_root_or_as_they_say() {
        for (image, expected) in [
            ("nginx:1.27", (None, "")),
            ("docker.io/library/busybox@sha256:ab", (None, "")),
            ("library/redis", (None, "")),
            ("haproxy:3.0", (None, "haproxy")),
            ("gcc:15", (None, "")),
            ("bitnami/nginx:1.27", (Some(NONROOT), "")),
            ("registry.example.com/nginx", (Some(NONROOT), "")),
            ("shop:1", (Some(NONROOT), "")),
        ] {
            assert_eq!(user(image), expected, "{image}");
        }
    }

    #[test]
    fn a_shell_does_not_find_what_is_not_there() {
        for (image, script, expected) in [
            ("busybox", "echo hi; WORD 3; echo bye", true),
            ("busybox", "WORD", true),
            ("alpine", "apk add tool && WORD", false),
            ("nginx:1.27", "echo hi; WORD 3", true),
            ("ubuntu", "apt-get install -y tool; WORD", false),
            ("python:3", "other; WORD", false),
            ("my/app", "echo hi; WORD; echo bye", false),
        ] {
            let config = ContainerConfig { image: image.to_owned(), ..ContainerConfig::default() };
            let script = |word: &str| Program::of(&["sh", "-c", &script.replace("WORD", word)].map(str::to_owned));
            assert_eq!(lacks("slep", &config, &script("slep")), expected, "{image}");
        }
        let postgres = ContainerConfig { image: "postgres:17".to_owned(), ..ContainerConfig::default() };
        let script = Program::of(&["sh", "-c", "pg_dump shop > /backup; echo done"].map(str::to_owned));
        assert!(!lacks("pg_dump", &postgres, &script), "it is what the image is for");
    }

    #[test]
    fn only_what_an_image_lacks_does_not_start() {
        let says = |image: &str, words: &[&str]| {
            let mounts = vec![("/scripts".to_owned(), "/var/lib/x".to_owned())];
            let args = words.iter().map(|word| (*word).to_owned()).collect();
            cannot_start(&ContainerConfig { image: image.to_owned(), args, mounts, ..ContainerConfig::default() })
        };
        let missing = |word: &str| Some(format!("exec: {word:?}: executable file not found in $PATH"));
        let nowhere = |word: &str| Some(format!("exec: {word:?}: stat {word}: no such file or directory"));
        for (image, words, expected) in [
            ("busybox:1.36", &["sleep", "5"][..], None),
            ("busybox", &["/bin/sh", "-c", "nosuch"], None),
            ("docker.io/library/alpine:3", &["apk", "add", "x"], None),
            ("busybox", &[], None),
            ("busybox", &["curl", "web"], None),
            ("busybox", &["bash", "-c", "true"], missing("bash")),
            ("busybox@sha256:ab", &["sleeep", "5"], missing("sleeep")),
            ("alpine", &["/bin/sleeep"], nowhere("/bin/sleeep")),
            ("alpine", &["/app/run"], nowhere("/app/run")),
            ("alpine", &["/scripts/run"], None),
            ("alpine", &["./run"], None),
            ("my/app", &["sleeep"], None),
            ("registry.k8s.io/pause:3.10", &["sh", "-c", "ls"], missing("sh")),
            ("gcr.io/distroless/static", &["sleep", "5"], missing("sleep")),
            ("registry.k8s.io/coredns/coredns:v1.12.0", &["-conf", "/etc/coredns/Corefile"], None),
            ("registry.k8s.io/etcd:3.6.0-0", &["etcd", "--name=a"], None),
        ] {
            assert_eq!(says(image, words), expected, "{image} {words:?}");
        }
    }
}
