//! How a Pod resolves names. Mirrors `validatePodDNSConfig` and `ValidateHostAliases` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{HostAlias, PodSpec};

use object::selector::names::check_subdomain;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::{check_ip, check_search_domain};

/// Limits of the resolver in libc.
const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_LIST_LEN_MAX: usize = 2048;

/// What a Pod says of its resolver.
pub fn config(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let path = path.child("dnsConfig");
    let alone = spec.dns_policy.as_deref() == Some("None");
    let Some(config) = &spec.dns_config else {
        if alone {
            problems.required(&path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    let (servers, at) = (config.nameservers.as_deref().unwrap_or_default(), path.child("nameservers"));
    if alone && servers.is_empty() {
        return problems.required(&at, "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if servers.len() > NAMESERVERS_MAX {
        problems.invalid(&at, Json(&servers), &format!("must not have more than {NAMESERVERS_MAX} nameservers"));
    }
    for (i, server) in servers.iter().enumerate() {
        if let Some(why) = check_ip(server) {
            problems.invalid(&at.index(i), server.as_str(), why);
        }
    }
    searches(problems, &path.child("searches"), config.searches.as_deref().unwrap_or_default());
    let at = path.child("options");
    for (i, option) in config.options.iter().flatten().enumerate() {
        if option.name.as_deref().unwrap_or_default().is_empty() {
            problems.required(&at.index(i), "must not be empty");
        }
    }
}

fn searches(problems: &mut Problems, path: &Path, searches: &[String]) {
    if searches.len() > SEARCHES_MAX {
        problems.invalid(path, Json(&searches), &format!("must not have more than {SEARCHES_MAX} search paths"));
    }
    if searches.join(" ").len() > SEARCH_LIST_LEN_MAX {
        let why =
            format!("must not have more than {SEARCH_LIST_LEN_MAX} characters (including spaces) in the search list");
        problems.invalid(path, Json(&searches), &why);
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        problems.all_invalid(&path.index(i), search, check_search_domain(search));
    }
}

/// Names that a Pod finds in its own `/etc/hosts`.
pub fn host_aliases(problems: &mut Problems, list: &Path, aliases: &[HostAlias]) {
    for (i, alias) in aliases.iter().enumerate() {
        let path = list.index(i);
        if let Some(why) = check_ip(&alias.ip) {
            problems.invalid(&path.child("ip"), alias.ip.as_str(), why);
        }
        let names = path.child("hostnames");
        for (j, name) in alias.hostnames.iter().flatten().enumerate() {
            problems.all_invalid(&names.index(j), name, check_subdomain(name));
        }
    }
}
