//! Which commands there are, which flags each of them knows, and what `--help` says of them.
//!
//! The real kubectl says far more; here stands what this one does. A flag that is not listed for a command is an error, as
//! it is there: one that is taken and means nothing would be a lie. Left out: what only some words of a command know
//! (`create deployment`, `create job`), which the real one tells apart.

use super::print::tabs;

/// A flag.
#[derive(Debug)]
pub struct Flag {
    /// `output`, given as `--output`.
    pub name: &'static str,
    /// `o`, if it may be given as `-o` too.
    pub short: Option<char>,
    /// What it means when it stands alone; None if it wants a value.
    pub alone: Option<&'static str>,
    about: &'static str,
}

/// A command.
struct Command {
    name: &'static str,
    words: &'static str,
    about: &'static str,
    flags: &'static [&'static [&'static str]],
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

/// Of every command.
const GLOBAL: &[&str] = &["as", "as-group", "context", "namespace", "request-timeout", "v"];
/// Of every command that writes.
const WRITE: &[&str] = &["dry-run", "output", "field-manager"];
/// Of every command that reads manifests.
const FILES: &[&str] = &["filename", "kustomize", "recursive"];
/// Of every command that chooses objects.
const CHOICE: &[&str] = &["selector", "all", "all-namespaces"];

/// Flags that have no letter in a command, though they have one in others.
const LETTERLESS: &[(&str, &str)] = &[("debug", "env"), ("expose", "selector"), ("run", "env"), ("scale", "replicas")];

/// Flags of the real one that mean nothing here, by command, and (last) those of every command.
const LEFT_OUT: &[(&str, &[&str])] = &[
    ("apply", &["openapi-patch"]),
    ("attach", &["detach-keys"]),
    ("autoscale", &["template"]),
    ("cp", &["retries"]),
    ("debug", &["custom"]),
    ("edit", &["output-patch", "subresource", "windows-line-endings"]),
    ("exec", &["filename", "pod-running-timeout"]),
    ("explain", &["output"]),
    ("get", &["subresource"]),
    (
        "kustomize",
        &[
            "as-current-user",
            "enable-alpha-plugins",
            "enable-helm",
            "enable-managedby-label",
            "env",
            "helm-api-versions",
            "helm-command",
            "helm-debug",
            "helm-kube-version",
            "mount",
            "network",
            "network-name",
            "output",
        ],
    ),
    ("logs", &["insecure-skip-tls-verify-backend", "pod-running-timeout"]),
    ("port-forward", &["pod-running-timeout"]),
    ("rollout", &["filename"]),
    ("run", &["leave-stdin-open"]),
    ("taint", &["validate"]),
    ("top", &["show-swap", "use-protocol-buffers"]),
    (
        "",
        &[
            "allow-missing-template-keys",
            "as-uid",
            "as-user-extra",
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
            "token",
            "user",
            "username",
            "vmodule",
            "warnings-as-errors",
        ],
    ),
];

/// All flags. A letter that two commands understand differently stands here twice.
const FLAGS: &[Flag] = &[
    valued("address", "where it listens: localhost, or addresses such as 0.0.0.0"),
    valued("aggregation-rule", "labels of the ClusterRoles whose rules are gathered: key=value"),
    lone("all", "all objects of the kind"),
    lone("all-containers", "all containers of the Pod"),
    lone("all-pods", "of all Pods of a workload, each line with its Pod"),
    short('A', lone("all-namespaces", "in every namespace")),
    valued("api-group", "only kinds of this group"),
    valued("annotations", "an annotation of the Pod: KEY=value"),
    valued("api-version", "in this version: apps/v1"),
    valued("annotation", "an annotation of the Ingress: KEY=value"),
    lone("arguments-only", "the words behind -- are arguments of the image's command"),
    lone("append-hash", "a hash of what is in it at the end of the name"),
    valued("as", "as this user"),
    valued("as-group", "as a member of this group"),
    lone("attach", "stay until it has done its work, and show what it printed"),
    valued("audience", "for whom the token is"),
    valued("bound-object-kind", "what the token lives as long as: Pod"),
    valued("bound-object-name", "its name"),
    valued("bound-object-uid", "its uid"),
    alone("cascade", "background", "what becomes of what it owns: background, foreground or orphan"),
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
    lone("current", "the context that is used"),
    lone("create-annotation", "keep the manifest even if none is kept yet"),
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
    lone("keep-annotations", "in the copy, too"),
    lone("keep-init-containers", "run them in the copy, too, unless it is false"),
    lone("keep-labels", "in the copy, too: then Services send to it"),
    lone("keep-liveness", "the liveness probes in the copy, too"),
    lone("keep-readiness", "the readiness probes in the copy, too"),
    lone("keep-startup", "the startup probes in the copy, too"),
    valued("keys", "only these keys of what --from names: a,b"),
    valued("image-pull-policy", "Always, IfNotPresent or Never"),
    short('i', lone("interactive", "ask before each; here nobody can be asked")),
    valued("key", "the file of a certificate's key"),
    short('k', valued("kustomize", "a folder with a kustomization")),
    short('L', valued("label-columns", "a column with the value of each of these labels")),
    short('l', valued("labels", "labels of the Pod or Service: a=1,b=2")),
    valued("limit-bytes", "so much of a log"),
    valued("limits", "what a container may have: cpu=1,memory=1Gi"),
    lone("list", "show what there is"),
    lone("local", "change the manifest alone, and ask the cluster nothing"),
    valued("load-restrictor", "files from elsewhere: LoadRestrictionsNone; else LoadRestrictionsRootOnly"),
    valued("max", "at most so many Pods"),
    valued("max-log-requests", "so many logs may be followed at once"),
    valued("max-unavailable", "so many Pods may be missing: 1, or 20%"),
    valued("memory", "how much memory Pods should use"),
    valued("min", "at least so many Pods"),
    lone("minify", "only what the current context uses"),
    valued("min-available", "so many Pods must be there: 2, or 80%"),
    valued("name", "the name of what is made"),
    short('n', valued("namespace", "the namespace, if not `default`")),
    lone("namespaced", "only kinds whose objects are in namespaces; false: only the others"),
    lone("no-headers", "without the line of titles"),
    lone("no-preserve", "without the owner and the permissions of the file"),
    valued("non-resource-url", "paths that a rule is about: /metrics"),
    valued("node-port", "the port on every node"),
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
    short('p', lone("previous", "of the container that ran before this one")),
    valued("prefix", "what the names of the variables begin with"),
    valued("protocol", "TCP, UDP or SCTP"),
    lone("prune", "delete what was applied before and is in the manifests no more"),
    valued("prune-allowlist", "kinds that are pruned: GROUP/VERSION/KIND"),
    lone("privileged", "it may do whatever root may do on the node"),
    valued("profile", "what it may: general, baseline, restricted, netadmin or sysadmin"),
    short('q', lone("quiet", "say no more than is asked for; of can-i only the exit code")),
    valued("raw", "the path of a request that is sent as it is"),
    lone("record", "write the command into an annotation; deprecated"),
    short('R', lone("recursive", "the folders in a folder too; of explain, the fields in fields")),
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
    valued("role", "the Role that is bound"),
    lone("rm", "delete it when it ends"),
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
    lone("show-managed-fields", "with who manages which fields"),
    lone("show-labels", "a column with all labels"),
    valued("since", "only what is younger than this: 5m"),
    valued("since-time", "only what is younger than that time: 2026-01-01T00:00:00Z"),
    valued("skip-wait-for-delete-timeout", "do not wait for Pods that have been going for so many seconds"),
    valued("sort-by", "in the order of a field: .metadata.name"),
    short('i', lone("stdin", "what is typed goes to the command")),
    valued("subresource", "a part of the object: status, scale, log"),
    lone("sum", "a last row with the sums"),
    valued("tail", "only so many lines, the last ones"),
    valued("target-port", "the port of the Pods, by number or name"),
    valued("tcp", "a port of the Service and of its Pods: 80:8080"),
    valued("target", "the container whose processes are seen"),
    valued("template", "the template of -o go-template or jsonpath, or the path of its file"),
    valued("timeout", "how long to wait: 60s"),
    lone("timestamps", "each line with its time"),
    valued("to-revision", "back to this revision, not to the one before"),
    short('t', lone("tty", "in a terminal")),
    valued("type", "of which type"),
    valued("types", "only Events of these types: Warning,Normal"),
    valued("user", "a user who is bound, or the user of a context"),
    alone("validate", "strict", "what becomes of unknown fields: strict, warn or ignore"),
    short('v', valued("v", "how much is logged; nothing is logged here")),
    valued("value", "the priority, a number"),
    valued("verb", "what a rule allows: get,list,watch"),
    valued("verbs", "only kinds that know these verbs: list,patch"),
    lone("wait", "wait until it is gone"),
    short('w', lone("watch", "go on, with each change")),
    lone("watch-only", "only the changes"),
];

/// All commands.
const COMMANDS: &[Command] = &[
    Command {
        name: "annotate",
        words: "TYPE NAME KEY=VALUE|KEY- …",
        about: "Set or remove annotations.",
        flags: &[FILES, CHOICE, WRITE, &["field-selector", "list", "local", "overwrite", "resource-version"]],
    },
    Command {
        name: "api-resources",
        words: "",
        about: "The kinds that the cluster knows.",
        flags: &[&["api-group", "namespaced", "no-headers", "output", "sort-by", "verbs"]],
    },
    Command { name: "api-versions", words: "", about: "The groups and versions of these kinds.", flags: &[] },
    Command {
        name: "apply",
        words: "-f FILE | -k DIR | view-last-applied TYPE NAME | set-last-applied -f FILE",
        about: "Make what a manifest describes, or change it to that.",
        flags: &[
            FILES,
            WRITE,
            &["validate", "server-side", "overwrite", "force", "force-conflicts", "show-managed-fields"],
            &["all", "create-annotation", "prune", "prune-allowlist", "record", "selector", "wait"],
        ],
    },
    Command {
        name: "attach",
        words: "POD|TYPE/NAME",
        about: "Show what a container prints from now on, until it ends.",
        flags: &[&["container", "pod-running-timeout", "quiet", "stdin", "tty"]],
    },
    Command {
        name: "auth",
        words: "can-i VERB TYPE [NAME] | can-i --list | whoami",
        about: "What one may do, and who one is.",
        flags: &[FILES, &["all-namespaces", "dry-run", "list", "no-headers", "output", "quiet", "subresource"]],
    },
    Command {
        name: "autoscale",
        words: "TYPE NAME --min=N --max=N --cpu=50%",
        about: "Make a HorizontalPodAutoscaler.",
        flags: &[FILES, WRITE, &["min", "max", "cpu", "memory", "cpu-percent", "name"]],
    },
    Command { name: "cluster-info", words: "", about: "Where the API server is.", flags: &[] },
    Command {
        name: "config",
        words: "view|get-contexts|current-context|use-context NAME|set-context NAME|--current",
        about: "Which cluster, as whom, in which namespace.\n\
                get-clusters, get-users, rename-context OLD NEW, delete-context NAME,\n\
                set PROPERTY VALUE, unset PROPERTY: contexts.NAME.namespace, current-context.",
        flags: &[&["cluster", "current", "minify", "no-headers", "output", "user"]],
    },
    Command {
        name: "cordon",
        words: "NODE",
        about: "Let no new Pods onto a node.",
        flags: &[&["selector", "dry-run"]],
    },
    Command {
        name: "cp",
        words: "[[NAMESPACE/]POD:]PATH [[NAMESPACE/]POD:]PATH",
        about: "Copy files to a container, or from one.\n\
                Yours are those of the scenario, those beside it, and what commands have written: no disk is touched.",
        flags: &[&["container", "no-preserve"]],
    },
    Command {
        name: "create",
        words: "-f FILE | -k DIR | TYPE NAME",
        about: "Make an object from a manifest, or without one:\n\
                clusterrole, clusterrolebinding, configmap, cronjob, deployment, ingress, job, namespace,\n\
                poddisruptionbudget, priorityclass, quota, role, rolebinding, serviceaccount, token,\n\
                secret generic|tls|docker-registry, service clusterip|nodeport|loadbalancer|externalname.",
        flags: &[
            FILES,
            WRITE,
            &[
                "validate",
                "save-config",
                "raw",
                "image",
                "replicas",
                "port",
                "from-literal",
                "from-file",
                "from-env-file",
                "append-hash",
                "type",
            ],
            &["tcp", "node-port", "clusterip", "external-name"],
            &["audience", "duration", "bound-object-kind", "bound-object-name", "bound-object-uid"],
            &["from", "schedule", "restart", "hard", "scopes", "selector", "min-available", "max-unavailable"],
            &[
                "verb",
                "resource",
                "resource-name",
                "non-resource-url",
                "aggregation-rule",
                "role",
                "clusterrole",
                "user",
                "group",
                "serviceaccount",
            ],
            &["value", "description", "global-default", "preemption-policy"],
            &["annotation", "class", "default-backend", "rule"],
            &["cert", "key", "docker-email", "docker-password", "docker-server", "docker-username"],
        ],
    },
    Command {
        name: "debug",
        words: "POD|node/NODE --image=IMAGE [-- COMMAND]",
        about: "Look around: beside the containers of a Pod, in a copy of it, or on a node.",
        flags: &[
            FILES,
            &["image", "container", "target", "profile", "env", "image-pull-policy", "arguments-only"],
            &["stdin", "tty", "quiet", "attach", "copy-to", "replace", "same-node", "set-image", "share-processes"],
            &["keep-annotations", "keep-init-containers", "keep-labels"],
            &["keep-liveness", "keep-readiness", "keep-startup"],
        ],
    },
    Command {
        name: "delete",
        words: "TYPE NAME | -f FILE | -k DIR",
        about: "Delete objects, and wait until they are gone.",
        flags: &[
            FILES,
            CHOICE,
            &["cascade", "dry-run", "field-selector", "force", "grace-period", "ignore-not-found", "now", "output"],
            &["timeout", "wait", "raw", "interactive"],
        ],
    },
    Command {
        name: "describe",
        words: "TYPE [NAME]",
        about: "All about an object, with its Events.",
        flags: &[FILES, &["selector", "all-namespaces", "show-events"]],
    },
    Command {
        name: "diff",
        words: "-f FILE | -k DIR",
        about: "What apply would change.",
        flags: &[FILES, &["field-manager", "selector", "server-side", "force-conflicts"]],
    },
    Command {
        name: "drain",
        words: "NODE",
        about: "Evict the Pods of a node, and let no new ones onto it.",
        flags: &[
            &["delete-emptydir-data", "disable-eviction", "dry-run", "force", "grace-period", "ignore-daemonsets"],
            &["pod-selector", "selector", "skip-wait-for-delete-timeout", "timeout"],
        ],
    },
    Command {
        name: "events",
        words: "",
        about: "What has been told of objects, the last one at the end.",
        flags: &[&["for", "types", "all-namespaces", "no-headers", "output", "chunk-size", "watch"]],
    },
    Command {
        name: "exec",
        words: "POD|TYPE/NAME -- COMMAND",
        about: "Run a command in a container.",
        flags: &[&["container", "stdin", "tty", "quiet"]],
    },
    Command {
        name: "explain",
        words: "TYPE[.FIELD]",
        about: "Which fields there are, and what they mean.",
        flags: &[&["api-version", "output", "recursive"]],
    },
    Command {
        name: "expose",
        words: "TYPE NAME --port=N",
        about: "Make a Service for what an object selects.",
        flags: &[
            FILES,
            WRITE,
            &["name", "port", "target-port", "protocol", "type", "selector", "cluster-ip", "external-ip"],
            &["labels", "session-affinity"],
        ],
    },
    Command {
        name: "get",
        words: "TYPE [NAME] | TYPE/NAME … | -f FILE | -k DIR",
        about: "Show objects.",
        flags: &[
            FILES,
            &["output", "selector", "field-selector", "all-namespaces", "show-labels", "label-columns", "show-kind"],
            &[
                "no-headers",
                "sort-by",
                "ignore-not-found",
                "watch",
                "watch-only",
                "output-watch-events",
                "raw",
                "server-print",
                "show-managed-fields",
                "subresource",
                "chunk-size",
                "template",
            ],
        ],
    },
    Command {
        name: "kustomize",
        words: "[DIR]",
        about: "Build a kustomization, and show what it comes to.\n\
                What is built can be applied with apply -k DIR.",
        flags: &[&["load-restrictor", "reorder"]],
    },
    Command {
        name: "label",
        words: "TYPE NAME KEY=VALUE|KEY- …",
        about: "Set or remove labels.",
        flags: &[FILES, CHOICE, WRITE, &["field-selector", "list", "local", "overwrite", "resource-version"]],
    },
    Command {
        name: "logs",
        words: "POD|TYPE/NAME [CONTAINER]|-l SELECTOR",
        about: "What a container has printed.",
        flags: &[
            &["container", "all-containers", "follow", "previous", "tail", "since", "since-time", "selector"],
            &["prefix", "timestamps", "ignore-errors", "max-log-requests", "limit-bytes", "all-pods"],
        ],
    },
    Command { name: "options", words: "", about: "The flags of every command.", flags: &[] },
    Command {
        name: "patch",
        words: "TYPE NAME -p PATCH | --patch-file=FILE",
        about: "Change fields of an object.",
        flags: &[FILES, WRITE, &["local", "patch", "patch-file", "type", "subresource"]],
    },
    Command {
        name: "port-forward",
        words: "TYPE/NAME [LOCAL:]REMOTE …",
        about: "Make a port of your machine one of a Pod, in the background: curl http://localhost:LOCAL\n\
                Of a Service, a Deployment and so on one Pod is chosen, and it ends with that one.\n\
                LOCAL is at least 1024; without a number before the : it is any that is free.",
        flags: &[&["address"]],
    },
    Command {
        name: "replace",
        words: "-f FILE | -k DIR",
        about: "Put a whole object in the place of another.",
        flags: &[
            FILES,
            WRITE,
            &["validate", "cascade", "force", "grace-period", "timeout", "wait", "save-config", "raw"],
        ],
    },
    Command {
        name: "rollout",
        words: "history|pause|restart|resume|status|undo TYPE NAME",
        about: "Follow a change of a workload, pause it, or go back.",
        flags: &[FILES, WRITE, &["selector", "revision", "to-revision", "timeout", "watch"]],
    },
    Command {
        name: "run",
        words: "NAME --image=IMAGE [-- ARGUMENTS]",
        about: "Make a Pod.",
        flags: &[
            WRITE,
            &["image", "port", "env", "labels", "restart", "command", "stdin", "tty", "rm", "attach", "quiet"],
            &["annotations", "expose", "image-pull-policy", "overrides", "override-type", "pod-running-timeout"],
            &["privileged"],
        ],
    },
    Command {
        name: "scale",
        words: "TYPE NAME --replicas=N",
        about: "How many Pods there should be.",
        flags: &[FILES, &["selector", "all", "dry-run", "output", "replicas", "current-replicas", "timeout"]],
    },
    Command {
        name: "set",
        words: "image|env|resources|serviceaccount|selector|subject TYPE NAME …",
        about: "Change a field: of a workload's containers, a Service's selector, who a role is bound to.",
        flags: &[
            FILES,
            CHOICE,
            WRITE,
            &[
                "container",
                "list",
                "local",
                "limits",
                "requests",
                "env",
                "overwrite",
                "from",
                "keys",
                "prefix",
                "resolve",
                "record",
            ],
            &["user", "group", "serviceaccount"],
        ],
    },
    Command {
        name: "taint",
        words: "nodes NODE KEY=VALUE:EFFECT|KEY- …",
        about: "Keep Pods off nodes, or no longer.",
        flags: &[WRITE, &["selector", "all", "overwrite"]],
    },
    Command {
        name: "top",
        words: "pods|nodes [NAME]",
        about: "How much CPU and memory is used.",
        flags: &[
            &["selector", "field-selector", "all-namespaces", "containers", "no-headers", "sort-by", "sum"],
            &["show-capacity"],
        ],
    },
    Command {
        name: "uncordon",
        words: "NODE",
        about: "Let Pods onto a node again.",
        flags: &[&["selector", "dry-run"]],
    },
    Command {
        name: "version",
        words: "",
        about: "The versions of kubectl and of the cluster.",
        flags: &[&["client", "output"]],
    },
    Command {
        name: "wait",
        words: "TYPE NAME --for=condition=Ready|jsonpath=…|delete|create",
        about: "Wait for something to come true.",
        flags: &[FILES, CHOICE, &["for", "timeout", "field-selector", "output"]],
    },
];

/// Whether there is such a command.
pub fn knows(command: &str) -> bool {
    COMMANDS.iter().any(|there| there.name == command)
}

/// The flag with this name, if the command knows it.
pub fn flag(command: &str, name: &str) -> Option<&'static Flag> {
    flags(command).find(|flag| flag.name == name)
}

/// Whether the real command has this flag, and this one has not.
pub fn is_left_out(command: &str, name: &str) -> bool {
    let of = LEFT_OUT.iter().filter(|(of, _)| *of == command || of.is_empty());
    flag(command, name).is_none() && of.flat_map(|(_, flags)| *flags).any(|there| *there == name)
}

/// The flag with this letter, if the command knows it.
pub fn flag_of(command: &str, letter: char) -> Option<&'static Flag> {
    flags(command).find(|flag| short_of(command, flag) == Some(letter))
}

fn short_of(command: &str, flag: &Flag) -> Option<char> {
    flag.short.filter(|_| !LETTERLESS.contains(&(command, flag.name)))
}

/// Whether a word that stands before the command has its value in the next word.
pub fn wants_value(word: &str) -> bool {
    let is = |name: &&&str| {
        let flag = FLAGS.iter().find(|flag| flag.name == **name);
        let written = flag.map(|flag| (format!("--{name}"), flag.short.map(|letter| format!("-{letter}"))));
        written.is_some_and(|(long, short)| word == long || short.is_some_and(|short| word == short))
    };
    GLOBAL.iter().find(is).is_some()
}

fn flags(command: &str) -> impl Iterator<Item = &'static Flag> + use<'_> {
    let own = COMMANDS.iter().find(|there| there.name == command).map_or(&[][..], |there| there.flags);
    let knows = move |name: &str| GLOBAL.contains(&name) || own.iter().any(|group| group.contains(&name));
    // What `set env` puts before names is a text; `logs` only wants to know whether.
    let is_own = move |flag: &Flag| flag.name != "prefix" || flag.alone.is_none() == (command == "set");
    FLAGS.iter().filter(move |flag| knows(flag.name) && is_own(flag))
}

/// What `kubectl --help` prints, or `kubectl COMMAND --help`.
pub fn help(command: &str) -> String {
    let Some(found) = COMMANDS.iter().find(|there| there.name == command) else {
        let rows: Vec<String> =
            COMMANDS.iter().map(|there| format!("  {}\t{}", there.name, first(there.about))).collect();
        let commands = tabs::table(&(rows.join("\n") + "\n"));
        return format!("Commands:\n{commands}\nMore of one: kubectl COMMAND --help\n");
    };
    let rows: Vec<String> = flags(command).map(|flag| row(command, flag)).collect();
    let flags = tabs::table(&(rows.join("\n") + "\n"));
    let usage = format!("kubectl {} {}", found.name, found.words);
    format!("{}\n\nUsage: {} [flags]\n\nFlags:\n{flags}", found.about, usage.trim_end())
}

/// What `kubectl options` prints.
pub fn options() -> String {
    let rows: Vec<String> = flags("options").map(|flag| row("options", flag)).collect();
    format!("The following options can be passed to any command:\n\n{}", tabs::table(&(rows.join("\n") + "\n")))
}

fn row(command: &str, flag: &Flag) -> String {
    let short = short_of(command, flag).map_or("    ".to_owned(), |letter| format!("-{letter}, "));
    let value = if flag.alone.is_some() { "" } else { "=…" };
    format!("  {short}--{}{value}\t{}", flag.name, flag.about)
}

/// The first part of a sentence, as a list has room for.
fn first(about: &str) -> &str {
    about.split_once(',').map_or(about, |(first, _)| first).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_that_a_command_names_is_there() {
        for command in COMMANDS {
            for name in command.flags.iter().copied().flatten().chain(GLOBAL) {
                assert!(flag(command.name, name).is_some(), "{}: {name}", command.name);
            }
            let mut letters: Vec<char> = flags(command.name).filter_map(|flag| short_of(command.name, flag)).collect();
            letters.sort_unstable();
            let all = letters.len();
            letters.dedup();
            assert_eq!(letters.len(), all, "{}: one letter means two things", command.name);
        }
        for known in FLAGS {
            assert!(COMMANDS.iter().any(|command| flag(command.name, known.name).is_some()), "{}", known.name);
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        for command in COMMANDS.iter().map(|command| command.name).chain([""]) {
            let long = help(command).lines().find(|line| line.chars().count() > 110).map(str::to_owned);
            assert!(long.is_none(), "{command}: {long:?}");
        }
    }
}
