//! What may follow the question mark, as documents tell it.

/// Parameters of an operation as JSON, by what the operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameters {
    /// It reads one object.
    Get,
    /// It reads many, or watches.
    List,
    /// It creates or replaces one.
    Write,
    /// It changes one.
    Patch,
    /// It deletes one.
    Delete,
    /// It deletes many.
    DeleteMany,
    /// It reads a log.
    Log,
    /// It runs a command.
    Exec,
    /// It sees and feeds a process.
    Attach,
    /// It connects to ports.
    PortForward,
    /// It goes on to a server in a Pod, or to a node's kubelet.
    Proxy,
    /// None.
    None,
}

/// Each by its name, with its type and what it says.
#[rustfmt::skip]
const ALL: &[(&str, &str, &str)] = &[
    ("allowWatchBookmarks", "boolean", "Bookmarks may come among the events of a watch: they say how far it has got."),
    ("command", "string", "A word of the command to run; once for each."),
    ("container", "string", "The container; the only one if it is left out."),
    ("continue", "string", "Where the next page of a list begins: what metadata.continue of the page before said."),
    ("dryRun", "string", "All: everything happens but that anything is kept."),
    ("fieldManager", "string", "The name under which the fields that are written are noted."),
    ("fieldSelector", "string", "Only objects whose fields have these values."),
    ("fieldValidation", "string", "What becomes of unknown and repeated fields: Strict refuses them, Warn says so, Ignore drops them."),
    ("follow", "boolean", "The log goes on as the container writes."),
    ("force", "boolean", "An apply patch takes fields from other managers."),
    ("gracePeriodSeconds", "integer", "How many seconds the object has to end."),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Deletes what can no longer be read."),
    ("insecureSkipTLSVerifyBackend", "boolean", "The kubelet's certificate is not looked at."),
    ("labelSelector", "string", "Only objects with these labels."),
    ("limit", "integer", "How many objects a page of a list has at most."),
    ("limitBytes", "integer", "How many bytes of the log are sent at most."),
    ("orphanDependents", "boolean", "Deprecated: say propagationPolicy."),
    ("path", "string", "The path that is asked for behind the proxy."),
    ("ports", "integer", "The ports to connect to."),
    ("previous", "boolean", "The log of the container before this one."),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
    ("resourceVersion", "string", "The revision that is asked for, as resourceVersionMatch says; that after which a watch begins."),
    ("resourceVersionMatch", "string", "Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "A watch begins with what is there, and a bookmark when it has told all of that."),
    ("shardSelector", "string", "Only the objects of one part of many."),
    ("sinceSeconds", "integer", "Only what was logged in the last seconds."),
    ("stderr", "boolean", "Standard error is connected."),
    ("stdin", "boolean", "Standard input is connected."),
    ("stdout", "boolean", "Standard output is connected."),
    ("stream", "string", "Which of its streams: All, Stdout or Stderr."),
    ("tailLines", "integer", "Only so many lines from the end."),
    ("timeoutSeconds", "integer", "After so many seconds a watch ends."),
    ("timestamps", "boolean", "Each line begins with its time."),
    ("tty", "boolean", "The process has a terminal."),
    ("watch", "boolean", "Changes follow as they happen."),
];

/// Those of a path, which the operations at it need not repeat.
pub const PRETTY: &str = r#"{"name":"pretty","in":"query","description":"JSON is laid out for people.","schema":{"type":"string","uniqueItems":true}}"#;
pub const NAME: &str = r#","required":true,"schema":{"type":"string","uniqueItems":true}}"#;

impl Parameters {
    /// Their names.
    fn names(self) -> &'static [&'static str] {
        #[rustfmt::skip]
        let names: &[&str] = match self {
            Parameters::Get | Parameters::None => &[],
            Parameters::List => &[
                "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
                "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch",
            ],
            Parameters::Write => &["dryRun", "fieldManager", "fieldValidation"],
            Parameters::Patch => &["dryRun", "fieldManager", "fieldValidation", "force"],
            Parameters::Delete => &[
                "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
                "propagationPolicy",
            ],
            Parameters::DeleteMany => &[
                "continue", "dryRun", "fieldSelector", "gracePeriodSeconds",
                "ignoreStoreReadErrorWithClusterBreakingPotential", "labelSelector", "limit", "orphanDependents",
                "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector",
                "timeoutSeconds",
            ],
            Parameters::Log => &[
                "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream",
                "tailLines", "timestamps",
            ],
            Parameters::Exec => &["command", "container", "stderr", "stdin", "stdout", "tty"],
            Parameters::Attach => &["container", "stderr", "stdin", "stdout", "tty"],
            Parameters::PortForward => &["ports"],
            Parameters::Proxy => &["path"],
        };
        names
    }

    /// A list of them as JSON, without its brackets; empty if there are none.
    pub fn json(self) -> String {
        let mut json = String::new();
        for name in self.names() {
            let Some((_, of_type, about)) = ALL.iter().find(|(other, ..)| other == name) else { continue };
            if !json.is_empty() {
                json.push(',');
            }
            for part in [
                "{\"name\":\"",
                name,
                "\",\"in\":\"query\",\"description\":\"",
                about,
                "\",\"schema\":{\"type\":\"",
                of_type,
            ] {
                json += part;
            }
            json += "\",\"uniqueItems\":true}}";
        }
        json
    }
}
