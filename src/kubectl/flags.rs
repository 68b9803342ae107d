//! All flags, and those of the real kubectl that mean nothing here.

/// A flag.
#[derive(Debug)]
pub struct Flag {
    /// `output`, given as `--output`.
    pub name: &'static str,
    /// `o`, if it may be given as `-o` too.
    pub short: Option<char>,
    /// What it means when it stands alone; None if it wants a value.
    pub alone: Option<&'static str>,
    /// What `--help` says of it.
    pub about: &'static str,
}

const fn valued(name: &'static str, about: &'static str) -> Flag {
    Flag { name, short: None, alone: None, about }
}

const fn lone(name: &'static str, about: &'static str) -> Flag {
    Flag { name, short: None, alone: Some("true"), about }
}

const fn alone(name: &'static str, means: &'static str, about: &'static str) -> Flag {
    Flag { name, short: None, alone: Some(means), about }
}

const fn short(short: char, flag: Flag) -> Flag {
    Flag { short: Some(short), ..flag }
}

/// Flags of every command.
pub const GLOBAL: &[&str] =
    &["as", "as-group", "as-uid", "as-user-extra", "context", "namespace", "request-timeout", "token", "v"];
/// Flags of every command that writes.
pub const WRITE: &[&str] = &["dry-run", "output", "field-manager"];
/// Flags of every command that reads manifests.
pub const FILES: &[&str] = &["filename", "kustomize", "recursive"];
/// Flags of every command that chooses objects.
pub const CHOICE: &[&str] = &["selector", "all", "all-namespaces"];

/// Flags of every command of the real one that mean nothing here.
pub const LEFT_OUT: &[&str] = &[
    "allow-missing-template-keys",
    "cache-dir",
    "certificate-authority",
    "client-certificate",
    "client-key",
    "cluster",
    "disable-compression",
    "insecure-skip-tls-verify",
    "kubeconfig",
    "kuberc",
    "log-flush-frequency",
    "match-server-version",
    "password",
    "profile",
    "profile-output",
    "server",
    "show-managed-fields",
    "template",
    "tls-server-name",
    "user",
    "username",
    "vmodule",
    "warnings-as-errors",
];

/// Whether a word that stands before the command has its value in the next word.
pub fn wants_value(word: &str) -> bool {
    let is = |name: &&&str| {
        let flag = FLAGS.iter().find(|flag| flag.name == **name);
        let written = flag.map(|flag| (format!("--{name}"), flag.short.map(|letter| format!("-{letter}"))));
        written.is_some_and(|(long, short)| word == long || short.is_some_and(|short| word == short))
    };
    GLOBAL.iter().find(is).is_some()
}

/// All flags, by name: in this order help lists them. One that two commands understand differently stands here twice.
pub const FLAGS: &[Flag] = &[
    valued("address", "where it listens: localhost, or addresses such as 0.0.0.0"),
    valued("aggregation-rule", "labels of the ClusterRoles whose rules are gathered: key=value"),
    lone("all", "all objects of the kind"),
    lone("all-containers", "all containers of the Pod"),
    short('A', lone("all-namespaces", "in every namespace")),
    lone("all-pods", "of all Pods of a workload, each line with its Pod"),
    valued("annotation", "an annotation of the Ingress: KEY=value"),
    valued("annotations", "an annotation of the Pod: KEY=value"),
    valued("api-group", "only kinds of this group"),
    valued("api-version", "in this version: apps/v1"),
    lone("append-hash", "a hash of what is in it at the end of the name"),
    lone("arguments-only", "the words behind -- are arguments of the image's command"),
    valued("as", "as this user"),
    valued("as-group", "as a member of this group"),
    valued("as-uid", "as a user with this uid"),
    valued("as-user-extra", "as a user with this extra: key=value"),
    lone("attach", "stay until it has done its work, and show what it printed"),
    valued("audience", "for whom the token is"),
    valued("bound-object-kind", "what the token lives as long as: Pod"),
    valued("bound-object-name", "its name"),
    valued("bound-object-uid", "its uid"),
    lone("cached", "as they were learned before, if they were; here they are asked for each time"),
    alone("cascade", "background", "what becomes of what it owns: background, foreground or orphan"),
    valued("categories", "only kinds of these categories: all"),
    valued("cert", "the file of a certificate"),
    valued("chunk-size", "so many objects in one answer; 0: all at once"),
    valued("class", "the IngressClass"),
    lone("client", "the version of kubectl alone"),
    valued("cluster", "the cluster of a context"),
    valued("cluster-ip", "the Service's address, or None"),
    valued("clusterip", "the Service's address, or None"),
    valued("clusterrole", "the ClusterRole that is bound"),
    lone("command", "the words after -- are the command, not its arguments"),
    short('c', valued("container", "which container of the Pod")),
    lone("containers", "each container in a row of its own"),
    valued("context", "the context of the kubeconfig"),
    valued("copy-to", "look around in a copy of the Pod with this name"),
    valued("cpu", "how busy Pods should be: 50%, or 500m"),
    valued("cpu-percent", "the older --cpu"),
    lone("create-annotation", "keep the manifest even if none is kept yet"),
    lone("current", "the context that is used"),
    valued("current-replicas", "scale only if there are that many"),
    valued("default-backend", "where goes what no rule is about: SERVICE:PORT"),
    lone("delete-emptydir-data", "also Pods whose emptyDir is lost"),
    valued("description", "what it is for"),
    lone("disable-eviction", "delete the Pods, and ask no PodDisruptionBudget"),
    valued("docker-email", "the user's mail address"),
    valued("docker-password", "the password at the registry"),
    valued("docker-server", "the registry, if it is not Docker's own"),
    valued("docker-username", "the user at the registry"),
    alone("dry-run", "unchanged", "client: only show it; server: check it, and keep nothing"),
    valued("duration", "how long the token lives: 1h"),
    short('e', valued("env", "a variable: NAME=value")),
    lone("expose", "make a Service for it, too"),
    valued("external-ip", "an address of the Service outside of the cluster"),
    valued("external-name", "the name that the Service stands for"),
    valued("field-manager", "in whose name fields are written"),
    valued("field-selector", "only what has these fields: status.phase=Running"),
    short('f', valued("filename", "a manifest, a folder of them, or - for standard input")),
    short('f', lone("follow", "go on; here time stands still, so it prints what there is")),
    valued("for", "what is waited for, or what the Events are about"),
    lone("force", "even if something speaks against it"),
    lone("force-conflicts", "take over fields that others manage"),
    valued("from", "whose template is used: cronjob/NAME; whose keys: configmap/NAME, secret/NAME"),
    valued("from-env-file", "a file of entries: KEY=value, one a line"),
    valued("from-file", "a file that becomes an entry, or a folder of them: PATH, or KEY=PATH"),
    valued("from-literal", "an entry: KEY=value"),
    lone("global-default", "for Pods that name no class"),
    valued("grace-period", "seconds a container has to end"),
    valued("group", "a group that is bound"),
    valued("hard", "the limits: pods=4,cpu=2"),
    lone("ignore-daemonsets", "leave the Pods of DaemonSets where they are"),
    lone("ignore-errors", "go on when a log cannot be had"),
    lone("ignore-not-found", "what is not there is no error"),
    valued("image", "the image of the container"),
    valued("image-pull-policy", "Always, IfNotPresent or Never"),
    short('i', lone("interactive", "ask first; the answer comes through a pipe")),
    lone("keep-annotations", "in the copy, too"),
    lone("keep-init-containers", "run them in the copy, too, unless it is false"),
    lone("keep-labels", "in the copy, too: then Services send to it"),
    lone("keep-liveness", "the liveness probes in the copy, too"),
    lone("keep-readiness", "the readiness probes in the copy, too"),
    lone("keep-startup", "the startup probes in the copy, too"),
    valued("key", "the file of a certificate's key"),
    valued("keys", "only these keys of what --from names: a,b"),
    short('k', valued("kustomize", "a folder with a kustomization")),
    short('L', valued("label-columns", "a column with the value of each of these labels")),
    short('l', valued("labels", "labels of the Pod or Service: a=1,b=2")),
    valued("limit-bytes", "so much of a log"),
    valued("limits", "what a container may have: cpu=1,memory=1Gi"),
    lone("list", "show what there is"),
    valued("load-restrictor", "files from elsewhere: LoadRestrictionsNone; else LoadRestrictionsRootOnly"),
    lone("local", "change the manifest alone, and ask the cluster nothing"),
    valued("max", "at most so many Pods"),
    valued("max-log-requests", "so many logs may be followed at once"),
    valued("max-unavailable", "so many Pods may be missing: 1, or 20%"),
    valued("memory", "how much memory Pods should use"),
    valued("min", "at least so many Pods"),
    valued("min-available", "so many Pods must be there: 2, or 80%"),
    lone("minify", "only what the current context uses"),
    valued("name", "the name of what is made"),
    short('n', valued("namespace", "the namespace, if not `default`")),
    lone("namespaced", "only kinds whose objects are in namespaces; false: only the others"),
    lone("no-headers", "without the line of titles"),
    lone("no-preserve", "without the owner and the permissions of the file"),
    valued("node-port", "the port on every node"),
    valued("non-resource-url", "paths that a rule is about: /metrics"),
    lone("now", "with one second of grace"),
    short('o', valued("output", "wide, yaml, json, name, jsonpath=…, go-template=…, custom-columns=…")),
    lone("output-watch-events", "say with each line what has happened"),
    valued("override-type", "how --overrides is laid over it: merge, strategic or json"),
    valued("overrides", "JSON that is laid over the Pod"),
    lone("overwrite", "where there is a value already, too"),
    short('p', valued("patch", "the patch, as JSON or YAML")),
    valued("patch-file", "a file with the patch"),
    valued("pod-running-timeout", "how long to stay: 1m"),
    valued("pod-selector", "only Pods with these labels"),
    valued("port", "a port"),
    valued("preemption-policy", "PreemptLowerPriority, or Never"),
    lone("prefix", "each line with its Pod and container"),
    valued("prefix", "what the names of the variables begin with"),
    short('p', lone("previous", "of the container that ran before this one")),
    lone("privileged", "it may do all that root may do on the node"),
    valued("profile", "what it may: general, baseline, restricted, netadmin or sysadmin"),
    valued("protocol", "TCP, UDP or SCTP"),
    lone("prune", "delete what was applied before and is in the manifests no more"),
    valued("prune-allowlist", "kinds that are pruned: GROUP/VERSION/KIND"),
    short('q', lone("quiet", "say no more than is asked for; of can-i only the exit code")),
    valued("raw", "the path of a request that is sent as it is"),
    lone("record", "write the command into an annotation; deprecated"),
    short('R', lone("recursive", "the folders in a folder too; of explain, the fields in fields")),
    lone("remove-extra-permissions", "of roles, what is not in the manifest"),
    lone("remove-extra-subjects", "of bindings, who is not in the manifest"),
    valued("reorder", "legacy, which is what others need first; or none"),
    lone("replace", "delete the Pod that is copied"),
    short('r', valued("replicas", "how many Pods")),
    valued("request-timeout", "how long a request may take: 30s"),
    valued("requests", "what a container needs: cpu=100m"),
    lone("resolve", "with the values in ConfigMaps and Secrets"),
    valued("resource", "kinds that a rule is about: pods,deployments.apps"),
    valued("resource-name", "names that a rule is about"),
    valued("resource-version", "only if this is the object's version"),
    valued("restart", "Always, OnFailure or Never"),
    valued("revision", "only this revision"),
    lone("rm", "delete it when it ends"),
    valued("role", "the Role that is bound"),
    valued("rule", "a rule: HOST/PATH=SERVICE:PORT, then ,tls or ,tls=SECRET; PATH* is a prefix"),
    lone("same-node", "the copy goes where the Pod is"),
    lone("save-config", "remember the manifest for a later apply"),
    valued("schedule", "when: \"*/5 * * * *\""),
    valued("scopes", "which Pods a quota counts: BestEffort"),
    short('l', valued("selector", "only what has these labels: app=web,tier!=db")),
    lone("server-print", "columns as the server has them; false: name and age alone"),
    lone("server-side", "send the manifest, and let the server work out what changes"),
    valued("serviceaccount", "a ServiceAccount that is bound: NAMESPACE:NAME"),
    valued("session-affinity", "ClientIP, or None"),
    valued("set-image", "images in the copy: CONTAINER=IMAGE, or *=IMAGE"),
    lone("share-processes", "the copy's containers see each other's processes"),
    lone("show-capacity", "of all that a node has, not of what Pods may have of it"),
    lone("show-events", "with the Events about it"),
    lone("show-kind", "names as deployment.apps/web"),
    lone("show-labels", "a column with all labels"),
    lone("show-managed-fields", "with who manages which fields"),
    lone("show-secrets", "with what Secrets hold"),
    valued("since", "only what is younger than this: 5m"),
    valued("since-time", "only what is younger than that time: 2026-01-01T00:00:00Z"),
    valued("skip-wait-for-delete-timeout", "do not wait for Pods that have been going for so many seconds"),
    valued("sort-by", "in the order of a field: .metadata.name"),
    short('i', lone("stdin", "what is typed goes to the command")),
    valued("subresource", "a part of the object: status, scale, log"),
    lone("sum", "a last row with the sums"),
    valued("tail", "only so many lines, the last ones"),
    valued("target", "the container whose processes are seen"),
    valued("target-port", "the port of the Pods, by number or name"),
    valued("tcp", "a port of the Service and of its Pods: 80:8080"),
    valued("template", "the template of -o go-template or jsonpath, or the path of its file"),
    valued("timeout", "how long to wait, as in 60s"),
    lone("timestamps", "each line with its time"),
    valued("to-revision", "back to this revision, not to the one before"),
    valued("token", "with this bearer token, if the user has no certificate"),
    short('t', lone("tty", "in a terminal")),
    valued("type", "the type of a patch, a Service or a Secret"),
    valued("types", "only Events of these types: Warning,Normal"),
    valued("user", "a user who is bound, or the user of a context"),
    short('v', valued("v", "how much is logged: from 6 on each request")),
    alone("validate", "strict", "what becomes of unknown fields: strict, warn or ignore"),
    valued("value", "the priority, a number"),
    valued("verb", "what a rule allows: get,list,watch"),
    valued("verbs", "only kinds that know these verbs: list,patch"),
    lone("wait", "wait until it is gone"),
    short('w', lone("watch", "go on, with each change")),
    lone("watch-only", "only the changes"),
];
