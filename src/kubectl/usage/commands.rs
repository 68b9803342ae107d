//! All commands, with the flags that each knows.

use super::Command;

/// Of every command.
pub(super) const GLOBAL: &[&str] =
    &["as", "as-group", "as-uid", "as-user-extra", "context", "namespace", "request-timeout", "v"];
/// Of every command that writes.
const WRITE: &[&str] = &["dry-run", "output", "field-manager"];
/// Of every command that reads manifests.
const FILES: &[&str] = &["filename", "kustomize", "recursive"];
/// Of every command that chooses objects.
const CHOICE: &[&str] = &["selector", "all", "all-namespaces"];

/// All commands.
pub(super) const COMMANDS: &[Command] = &[
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
        flags: &[&["api-group", "cached", "categories", "namespaced", "no-headers", "output", "sort-by", "verbs"]],
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
        words: "can-i VERB TYPE[/NAME] | can-i --list | whoami | reconcile -f FILE",
        about: "What one may do, and who one is.",
        flags: &[
            FILES,
            &["all-namespaces", "dry-run", "list", "no-headers", "output", "quiet", "subresource"],
            &["remove-extra-permissions", "remove-extra-subjects"],
        ],
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
        flags: &[FILES, &["field-manager", "selector", "server-side", "force-conflicts", "show-secrets"]],
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
        flags: &[
            FILES,
            &["selector", "all", "dry-run", "output", "replicas", "current-replicas", "resource-version", "timeout"],
        ],
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
