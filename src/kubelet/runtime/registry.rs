//! Which images there are to be pulled, as far as that is known.
//!
//! A name without a user is one of Docker Hub's official images, a finite list; a scenario adds those of its
//! own. A tag of an official image is a version that is not beyond its newest one, or words that such tags are made of. What
//! other names and other registries have is not known, and is assumed to be there.

use object::sha256;

/// Docker Hub's official images, those of former times among them.
const OFFICIAL: &str = "\
    adminer adoptopenjdk aerospike almalinux alpine alt amazoncorretto amazonlinux api-firewall arangodb archlinux \
    backdrop bash bonita buildpack-deps busybox caddy cassandra celery centos chronograf cirros clearlinux clefos \
    clickhouse clojure composer consul convertigo couchbase couchdb crate crux dart debian django docker drupal \
    eclipse-mosquitto eclipse-temurin eggdrop elasticsearch elixir emqx erlang euleros express-gateway fedora flink \
    fluentd friendica fsharp gazebo gcc geonetwork ghost glassfish golang gradle groovy haproxy haskell haxe hello-seattle \
    hello-world hipache hitch hola-mundo httpd hylang ibm-semeru-runtimes ibmjava influxdb iojs irssi java jenkins jetty \
    jobber joomla jruby julia kaazing-gateway kapacitor kibana known kong krakend lightstreamer liquibase logstash mageia \
    mariadb matomo maven mediawiki memcached mongo mongo-express monica mono mysql nats nats-streaming neo4j neurodebian \
    nextcloud nginx node notary nuxeo odoo open-liberty openjdk opensuse oraclelinux orientdb owncloud percona perl photon \
    php php-zendserver phpmyadmin piwik plone postfixadmin postgres pypy python r-base rabbitmq rails rakudo-star rapidoid \
    redis redmine registry rethinkdb rocket.chat rockylinux ros ruby rust sapmachine satosa sentry silverpeas sl solr \
    sonarqube sourcemage spark spiped storm swarm swift swipl teamspeak telegraf thrift tomcat tomee traefik ubuntu \
    ubuntu-debootstrap ubuntu-upstart unit valkey varnish vault voltdb websphere-liberty wordpress xwiki yourls znc \
    zookeeper";

/// Versions of official images that no newer one follows, or not for long.
const NEWEST: &[(&str, &[u32])] = &[
    ("adminer", &[5, 9]),
    ("alpine", &[3, 24]),
    ("busybox", &[1, 38]),
    ("caddy", &[2, 12]),
    ("cassandra", &[5, 1]),
    ("consul", &[1, 15]),
    ("couchdb", &[3, 6]),
    ("debian", &[14]),
    ("elasticsearch", &[9, 9]),
    ("fedora", &[46]),
    ("fluentd", &[1, 20]),
    ("golang", &[1, 27]),
    ("haproxy", &[3, 5]),
    ("httpd", &[2, 4]),
    ("influxdb", &[3, 9]),
    ("jenkins", &[2, 60]),
    ("kibana", &[9, 9]),
    ("logstash", &[9, 9]),
    ("mariadb", &[13]),
    ("memcached", &[1, 6]),
    ("mongo", &[9]),
    ("mysql", &[9, 9]),
    ("nats", &[2, 14]),
    ("nginx", &[1, 31]),
    ("node", &[26]),
    ("openjdk", &[27]),
    ("php", &[8, 6]),
    ("postgres", &[19]),
    ("python", &[3, 15]),
    ("rabbitmq", &[4, 4]),
    ("redis", &[8, 10]),
    ("registry", &[3, 2]),
    ("ruby", &[4, 1]),
    ("rust", &[1, 99]),
    ("telegraf", &[1, 40]),
    ("tomcat", &[11, 1]),
    ("traefik", &[3, 9]),
    ("ubuntu", &[26, 10]),
    ("vault", &[1, 13]),
    ("wordpress", &[7, 9]),
    ("zookeeper", &[3, 9]),
];

/// Official images without a tag `latest`.
const WITHOUT_LATEST: &[&str] = &["consul", "elasticsearch", "jenkins", "kibana", "logstash", "vault"];

/// What tags of official images are made of beside versions.
const WORDS: &str = "\
    al alpha alpine amd amd64 apache arm arm64v backports base beta bionic bookworm boron builder bullseye buster carbon \
    cli community corretto cuda current debian debug deps dev developer devel dind dubnium ea edge ee el eclipse \
    enterprise erbium experimental fermium fips focal forky fpm full gallium git glibc gpu graal graalvm headless hotspot \
    hydrogen iron jammy java javaee jdk jessie jod jre kernel krypton latest lein linux lts ltsc mainline \
    management master meta microdnf minimal musl mysql nanoserver nightly noble ol old oldstable onbuild openj openjdk \
    openssl oracle oraclelinux oracular oss otel otp perl php plucky preview python questing r rawhide rc resolute rocky \
    rolling rootless scala scratch semeru server sfj sid slim sqlite stable stretch temurin testing threaded tools trixie \
    trusty ubi ubuntu uclibc unprivileged unstable wheezy windowsservercore x xenial zts";

/// Images of tutorials, and the tags that they have.
const TAGS: &[(&str, &[&str])] =
    &[("hello-world", &["latest", "linux", "nanoserver"]), ("kubernetes-bootcamp", &["latest", "v1", "v2"])];

/// What of an image's name stands behind Docker Hub's own name.
fn path(image: &str) -> &str {
    let path = image.strip_prefix("docker.io/").unwrap_or(image);
    path.strip_prefix("library/").unwrap_or(path)
}

/// The name of an image without registry, path, tag and digest: `busybox`.
pub fn base_name(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or(image)
}

/// Whether an image is, or would be, one of Docker Hub's official ones.
fn is_plain(image: &str) -> bool {
    !path(image).contains('/')
}

/// Whether it is one of them.
pub fn is_official(image: &str) -> bool {
    is_plain(image) && OFFICIAL.split(' ').any(|name| name == base_name(image))
}

/// An image as the runtime knows it, by what its registry gave for the name: `docker.io/library/nginx@sha256:…`. Where the
/// name says no digest it is one of the name.
pub fn reference(image: &str) -> String {
    let (named, digest) = image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
    let (name, tag) = match named.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (named, "latest"),
    };
    let name = match name.strip_prefix("docker.io/").unwrap_or(name).split_once('/') {
        None => format!("docker.io/library/{}", path(name)),
        Some((registry, _)) if registry == "localhost" || registry.contains(['.', ':']) => name.to_owned(),
        Some(_) => format!("docker.io/{}", name.trim_start_matches("docker.io/")),
    };
    match digest {
        Some(digest) => format!("{name}@{digest}"),
        None => format!("{name}@sha256:{}", sha256::hex(&format!("{name}:{tag}"))),
    }
}

/// Why a registry does not give an image, in containerd's words, with the code; None: it does. `is_own`: the scenario says
/// that there is an image of this name.
pub fn missing(image: &str, is_own: bool) -> Option<(&'static str, String)> {
    let path = path(image);
    let (named, digest) = path.split_once('@').map_or((path, None), |(named, digest)| (named, Some(digest)));
    let (name, tag) = match named.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (named, "latest"),
    };
    if tag.starts_with("no-such") {
        return Some(("NotFound", format!("failed to pull and unpack image \"{image}\": not found")));
    }
    if is_own {
        return None;
    }
    let full = if name.contains('/') { format!("{name}:{tag}") } else { format!("docker.io/library/{name}:{tag}") };
    let pull = |why: &str| format!("failed to pull and unpack image \"{full}\": failed to resolve image: {why}");
    if is_plain(image) && !is_official(image) {
        let why = "pull access denied, repository does not exist or may require authorization: server message: \
                   insufficient_scope: authorization failed";
        return Some(("Unknown", pull(why)));
    }
    let listed = TAGS.iter().find(|(known, _)| *known == base_name(image));
    let is_there = match listed {
        _ if digest.is_some() => true,
        Some((_, tags)) => tags.contains(&tag),
        None => !is_official(image) || has_tag(name, tag),
    };
    (!is_there).then(|| ("NotFound", pull(&format!("{full}: not found"))))
}

/// Whether an official image may have such a tag.
fn has_tag(name: &str, tag: &str) -> bool {
    if tag == "latest" {
        return !WITHOUT_LATEST.contains(&name);
    }
    // The one that tags its versions as its releases are called.
    let tag = if name == "traefik" { tag.strip_prefix('v').unwrap_or(tag) } else { tag };
    tag.split('-').enumerate().all(|(at, part)| match part.starts_with(|first: char| first.is_ascii_digit()) {
        true if at == 0 => is_version(name, part),
        true => true,
        false => is_word(part),
    })
}

/// Whether a part of a tag is a word, or one with a version: `alpine3.22`, `jdk17`.
fn is_word(part: &str) -> bool {
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    WORDS.split_whitespace().any(|known| known == word || known == part)
}

/// Whether a part of a tag may be a version of an image, or a date.
fn is_version(name: &str, part: &str) -> bool {
    let numbers = part.split(['.', '_']).map(|number| {
        let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        number[..digits].parse::<u32>().ok()
    });
    let Some(numbers) = numbers.collect::<Option<Vec<u32>>>() else { return false };
    // Some count by dates: 20260101, 7.9.2009.
    let is_small = |number: &u32| *number < 100 || (2000..2100).contains(number) || part.len() >= 8;
    let newest = NEWEST.iter().find(|(known, _)| *known == name);
    let is_beyond = |newest: &[u32]| {
        let common = newest.len().min(numbers.len());
        numbers[..common] > newest[..common] && numbers[0] < 2000
    };
    numbers.iter().all(is_small) && !newest.is_some_and(|(_, newest)| is_beyond(newest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_official_image_has_versions_and_words_for_tags() {
        for image in [
            "nginx",
            "docker.io/library/nginx:1.27.4-alpine",
            "nginx:stable-alpine-slim",
            "nginx:1.14.2",
            "redis:7.2-bookworm",
            "php:8.2-fpm-alpine3.18",
            "tomcat:9.0-jdk17-temurin-jammy",
            "openjdk:8u212-jdk-stretch",
            "rabbitmq:3-management-alpine",
            "centos:7.9.2009",
            "ubuntu:24.04",
            "debian:bookworm-20240101-slim",
            "alpine:20240329",
            "postgres:16beta1-alpine",
            "traefik:v3.0",
            "mysql:8.0-debian",
            "busybox@sha256:ab",
            "mongo:7.0.5@sha256:ab",
            "amazonlinux:2023",
            "gcr.io/x/kubernetes-bootcamp:v2",
            "bitnami/nginx:99.9",
            "registry.k8s.io/pause:3.10",
            "localhost:5000/shop",
        ] {
            assert_eq!(missing(image, false), None, "{image}");
        }
        for image in [
            "nginx:1.91",
            "nginx:2.3.5",
            "nginx:1.161",
            "nginx:latestt",
            "nginx:doesnotexist",
            "nginx:1.27-alpinee",
            "nginx:v1.27",
            "busybox:not-exist",
            "redis:99",
            "elasticsearch",
            "hello-world:1",
            "gcr.io/google-samples/kubernetes-bootcamp:v10",
        ] {
            let (code, why) = missing(image, false).unwrap_or_else(|| panic!("{image} is there"));
            assert_eq!(code, "NotFound", "{image}");
            assert!(why.ends_with(": not found"), "{why}");
        }
        let full = "docker.io/library/nginx:1.91";
        let said = format!("failed to pull and unpack image \"{full}\": failed to resolve image: {full}: not found");
        assert_eq!(missing("nginx:1.91", false).unwrap_or_default().1, said);
    }

    #[test]
    fn a_name_without_a_user_is_official_or_the_scenarios() {
        for image in ["redis123", "invalid-image", "ngnix:1.27", "docker.io/library/busyboxx:1.36", "shop@sha256:ab"] {
            let (code, why) = missing(image, false).unwrap_or_else(|| panic!("{image} is there"));
            assert!(code == "Unknown" && why.contains("pull access denied"), "{why}");
            assert_eq!(missing(image, true), None, "{image}");
        }
        let (_, why) = missing("nginx:no-such-tag", true).unwrap_or_default();
        assert_eq!(why, "failed to pull and unpack image \"nginx:no-such-tag\": not found");
    }

    #[test]
    fn names_of_one_image_are_one_digest() {
        let nginx = reference("nginx");
        assert!(nginx.starts_with("docker.io/library/nginx@sha256:") && nginx.len() == 31 + 64, "{nginx}");
        for same in ["nginx:latest", "library/nginx", "docker.io/nginx", "docker.io/library/nginx:latest"] {
            assert_eq!(reference(same), nginx, "{same}");
        }
        assert_ne!(reference("nginx:1.27"), nginx);
        assert_eq!(reference("nginx:1.27@sha256:ab"), "docker.io/library/nginx@sha256:ab");
        for (image, name) in [
            ("bitnami/redis:7", "docker.io/bitnami/redis@sha256:"),
            ("localhost:5000/shop", "localhost:5000/shop@sha256:"),
            ("registry.k8s.io/coredns/coredns:v1.12.1", "registry.k8s.io/coredns/coredns@sha256:"),
        ] {
            assert!(reference(image).starts_with(name), "{image}: {}", reference(image));
        }
    }

    #[test]
    fn words_and_names_are_lists() {
        for list in [OFFICIAL, WORDS] {
            let mut seen = std::collections::BTreeSet::new();
            assert!(list.split_whitespace().all(|word| seen.insert(word)), "a word stands there twice");
        }
    }
}
