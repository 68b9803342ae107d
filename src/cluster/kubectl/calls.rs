//! Requests as kubectl sends them, and errors as it words them.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Kubectl;
use super::args::{Args, Target, are_built_in, targets};
use super::client::Stream;
use super::print::fields::{namespace_and_name, text};
use super::print::{FORMATS, Output, duration, json_text, kyaml, no_printer, print, qualified_name};
use crate::cluster::bootstrap::API_SERVER_IP;
use crate::cluster::manifest::ManifestError;
use crate::engine::failing::REFUSED;
use crate::object::go_types::Ordered;
use crate::object::status::{Details, Reason};
use crate::object::{Discovery, Kind, Object, Status, patch};
use crate::wire::{
    Answer, Body, DeleteOptions, FieldValidation, Options, Patch, Request, Response, Subresource, User, Verb,
};

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The API server refused.
    Server {
        /// Its answer.
        status: Box<Status>,
        /// `error when creating "web.yaml": `, or nothing.
        context: String,
    },
    /// kubectl itself found something wrong.
    Text(String),
    /// Several things went wrong, with one object each.
    Many(Vec<Failure>),
    /// The complaint is printed already.
    Told,
}

impl Failure {
    /// Something that kubectl itself found wrong.
    pub fn text(text: impl Into<String>) -> Failure {
        Failure::Text(text.into())
    }

    /// A command whose words make no sense, and where to read on. Mirrors `UsageErrorf`.
    pub fn usage(command: &str, why: impl fmt::Display) -> Failure {
        Failure::Text(format!("{why}\nSee 'kubectl {command} -h' for help and examples"))
    }

    /// What went wrong with some of several objects; nothing, if that is nothing.
    pub fn all(mut faults: Vec<Failure>) -> Result<(), Failure> {
        match faults.len() {
            0 => Ok(()),
            1 => Err(faults.remove(0)),
            _ => Err(Failure::Many(faults)),
        }
    }

    /// The message alone, as it stands within another.
    pub fn message(&self) -> String {
        match self {
            Failure::Server { status, .. } => status.message.clone(),
            Failure::Text(text) => text.clone(),
            Failure::Many(_) => self.to_string(),
            Failure::Told => String::new(),
        }
    }

    /// The same fault, saying that it happened while `doing` (`creating`) what is in `file`.
    pub fn while_doing(self, doing: &str, file: &str) -> Failure {
        match self {
            Failure::Server { status, .. } => {
                Failure::Server { status, context: format!("error when {doing} \"{file}\": ") }
            }
            Failure::Text(text) => Failure::Text(format!("error when {doing} \"{file}\": {text}")),
            other => other,
        }
    }

    /// Whether the object was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Failure::Server { status, .. } if status.is_not_found())
    }

    /// Whether the object had changed in between.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Failure::Server { status, .. } if status.is_conflict())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::Server { status: Box::new(status), context: String::new() }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Failure {
        Failure::Text(error.to_string())
    }
}

impl fmt::Display for Failure {
    /// Mirrors `cmdutil.StandardErrorMessage`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Text(text) if text.starts_with("error: ") => f.write_str(text),
            Failure::Text(text) => write!(f, "error: {text}"),
            Failure::Many(faults) => {
                // Beside others it is told without the word.
                let line =
                    |fault: &Failure| if let Failure::Text(text) = fault { text.clone() } else { fault.to_string() };
                f.write_str(&faults.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
            Failure::Told => Ok(()),
            Failure::Server { status, .. } if status.message == REFUSED => {
                let why = "was refused - did you specify the right host or port?";
                write!(f, "The connection to the server {API_SERVER_IP}:6443 {why}")
            }
            Failure::Server { status, .. } if status.reason == Reason::Invalid => write_invalid(f, status),
            Failure::Server { status, context } if status.reason == Reason::Unknown => {
                write!(f, "Error from server: {context}{}", status.message)
            }
            Failure::Server { status, context } => {
                write!(f, "Error from server ({:?}): {context}{}", status.reason, status.message)
            }
        }
    }
}

/// `The Pod "web" is invalid: …`, one line a cause if there are several.
fn write_invalid(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let is_nameless = |details: &&Details| details.kind.is_empty() && details.name.is_empty();
    let details = match status.details.as_deref() {
        Some(details) if is_nameless(&details) && !details.causes.is_empty() => {
            f.write_str("The request is invalid")?;
            details
        }
        Some(details) if !is_nameless(&details) => {
            write!(f, "The {} {:?} is invalid", details.kind, details.name)?;
            details
        }
        _ => return write!(f, "The request is invalid: {}", status.message),
    };
    let mut causes: Vec<String> = Vec::new();
    for cause in &details.causes {
        let line = format!("{}: {}", cause.field, cause.message);
        if !causes.contains(&line) {
            causes.push(line);
        }
    }
    match causes.as_slice() {
        [] => Ok(()),
        [one] => write!(f, ": {one}"),
        many => write!(f, ": {}", many.iter().map(|cause| format!("\n* {cause}")).collect::<String>()),
    }
}

/// A list, and the revision that a watch goes on from.
pub struct Listed {
    /// The objects, in key order.
    pub items: Vec<Value>,
    /// The list's resourceVersion.
    pub revision: u64,
}

impl Kubectl {
    /// Says what went wrong as it is, without the word `error`.
    pub fn told(&self, fault: &Failure) -> Failure {
        self.complain(fault.message());
        Failure::Told
    }

    /// A request of this command's with nothing in it but where it goes.
    pub fn request(&self, verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        let namespace = if kind.info().namespaced { namespace } else { "" };
        Request::new(self.client.user().clone(), verb, kind, namespace, name, body)
    }

    /// The kinds that users have defined, as the API server has them now. The real kubectl reads discovery documents, and
    /// keeps them for some minutes; it asks again when it meets a name that it does not know.
    pub async fn discover(&self) -> Result<Discovery, Failure> {
        let mut request = self.request(Verb::List, Kind::CustomResourceDefinition, "", "", Body::None);
        // Discovery is open to all, whoever they act as.
        request.user = Rc::new(User::admin());
        if let Response::List { items, .. } = self.send(request).await? {
            self.known.set(Discovery::of(&items));
        }
        Ok(self.known.get())
    }

    /// What a command is about: as [`targets`], asking the API server only if a word is of no built-in kind.
    pub async fn targets(&self, verb: &str, words: &[String]) -> Result<Vec<Target>, Failure> {
        if are_built_in(words) {
            return targets(verb, words, &Discovery::default());
        }
        targets(verb, words, &self.discover().await?)
    }

    /// Sends a request and prints the warnings that come with the answer.
    pub async fn send(&self, mut request: Request) -> Result<Response, Failure> {
        request.options.managed_fields = self.managed_fields;
        let answer: Answer = self.client.request(request).await?;
        self.warn(&answer.warnings);
        Ok(answer.result?)
    }

    async fn send_for_object(&self, request: Request) -> Result<Value, Failure> {
        match self.send(request).await? {
            Response::Object(object) => Ok(object.printed()),
            _ => Ok(Value::Null),
        }
    }

    /// GET. Of an object that is not there, the namespace is asked for too, to blame it if it is missing.
    /// Mirrors `resource.Info.Get`.
    pub async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, Failure> {
        let missing = match self.get_once(kind, namespace, name).await {
            Err(fault) if fault.is_not_found() && kind.info().namespaced && namespace != "default" => fault,
            result => return result,
        };
        match self.get_once(Kind::Namespace, "", namespace).await {
            Err(fault) if fault.is_not_found() => Err(fault),
            _ => Err(missing),
        }
    }

    /// GET, and nothing more.
    pub async fn get_once(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, Failure> {
        must_be_named(name)?;
        self.send_for_object(self.request(Verb::Get, kind, namespace, name, Body::None)).await
    }

    /// LIST of what a command line selects. Mirrors `resource.Selector.Visit`, which says what it was that could not be
    /// listed.
    pub async fn select(&self, kind: Kind, namespace: &str, options: Options) -> Result<Listed, Failure> {
        let (labels, fields) = (options.label_selector.clone(), options.field_selector.clone());
        self.list(kind, namespace, options).await.map_err(|fault| match fault {
            Failure::Server { mut status, context }
                if matches!(status.reason, Reason::BadRequest | Reason::NotFound) =>
            {
                let info = kind.info();
                let version = info.api_version.rsplit('/').next().unwrap_or_default();
                let what = format!("\"{}/{version}, Resource={}\"", info.group, info.plural);
                let message = match (labels.is_empty(), fields.is_empty()) {
                    (true, true) => format!("Unable to list {what}: {}", status.message),
                    _ => format!(
                        "Unable to find {what} that match label selector {labels:?}, field selector {fields:?}: {}",
                        status.message
                    ),
                };
                status.message = message;
                Failure::Server { status, context }
            }
            other => other,
        })
    }

    /// LIST, page by page.
    pub async fn list(&self, kind: Kind, namespace: &str, options: Options) -> Result<Listed, Failure> {
        let mut listed = Listed { items: Vec::new(), revision: 0 };
        let mut request = self.request(Verb::List, kind, namespace, "", Body::None);
        request.options = options;
        loop {
            match self.send(request.clone()).await? {
                Response::List { items, revision, continue_token, .. } => {
                    listed.items.extend(items.iter().map(Object::printed));
                    listed.revision = revision;
                    if continue_token.is_empty() {
                        return Ok(listed);
                    }
                    request.options.continue_token = continue_token;
                    request.options.resource_version = String::new();
                }
                _ => return Ok(listed),
            }
        }
    }

    /// LIST of the one object, then WATCH of it from there: how every waiting command follows an object.
    /// Mirrors `watchtools.UntilWithSync`.
    pub async fn follow(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        timeout: Option<Duration>,
    ) -> Result<(Listed, Stream), Failure> {
        let field_selector = format!("metadata.name={name}");
        let options = Options { field_selector, limit: 500, resource_version: "0".to_owned(), ..Options::default() };
        let listed = self.list(kind, namespace, options.clone()).await?;
        let mut request = self.request(Verb::Watch, kind, namespace, "", Body::None);
        request.options = Options { limit: 0, resource_version: listed.revision.to_string(), ..options };
        Ok((listed, self.open(request, timeout)))
    }

    /// POST.
    pub async fn post(&self, kind: Kind, namespace: &str, object: &Value, query: Query) -> Result<Value, Failure> {
        if query.only_here {
            return Ok(object.clone());
        }
        let mut request = self.request(Verb::Create, kind, namespace, "", Body::Json(unversioned(object).to_string()));
        request.options = query.options;
        match self.send_for_object(request).await? {
            // A Binding changes a Pod, and is none itself.
            Value::Null => Ok(json!({"apiVersion": "v1", "kind": "Status", "metadata": {},
                "status": "Success", "code": 201})),
            created => Ok(created),
        }
    }

    /// PUT.
    pub async fn put(&self, kind: Kind, object: &Value, manager: &str, args: &Args) -> Result<Value, Failure> {
        let (namespace, name) = namespace_and_name(object);
        must_be_named(name)?;
        let mut request = self.request(Verb::Update, kind, namespace, name, Body::Json(object.to_string()));
        let query = write_options(manager, args)?;
        if query.only_here {
            return Ok(object.clone());
        }
        request.options = query.options;
        self.send_for_object(request).await
    }

    /// PATCH.
    pub async fn patch(
        &self,
        kind: Kind,
        object: &Value,
        patch: Patch,
        subresource: Option<Subresource>,
        query: Query,
    ) -> Result<Value, Failure> {
        if query.only_here {
            return Ok(match &patch {
                Patch::Json(patch) => patch::json(object.clone(), patch)?,
                Patch::Merge(patch) => patch::merge(object.clone(), patch),
                Patch::Strategic(patch) => patch::strategic(kind, object.clone(), patch)?,
                Patch::Status(_) | Patch::Apply(_) | Patch::Unreadable { .. } => object.clone(),
            });
        }
        let (namespace, name) = namespace_and_name(object);
        must_be_named(name)?;
        let mut request = self.request(Verb::Patch, kind, namespace, name, Body::Patch(patch));
        request.subresource = subresource;
        request.options = query.options;
        self.send_for_object(request).await
    }

    /// DELETE. Returns the uid of what was deleted.
    pub async fn remove(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        options: DeleteOptions,
        query: Query,
    ) -> Result<String, Failure> {
        must_be_named(name)?;
        if query.only_here {
            return Ok(String::new());
        }
        let mut request = self.request(Verb::Delete, kind, namespace, name, Body::Delete(options));
        request.options = query.options;
        match self.send(request).await? {
            Response::Object(object) => Ok(object.meta().uid.clone().unwrap_or_default()),
            Response::Success { uid } => Ok(uid),
            _ => Ok(String::new()),
        }
    }
}

/// What is new has no version yet, and the API server refuses one: an object that was read is sent without. Mirrors
/// `Helper.CreateWithOptions`.
fn unversioned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("resourceVersion");
    }
    object
}

/// A request about one object names it, or is not sent. Mirrors `Request.Name` of `client-go`.
fn must_be_named(name: &str) -> Result<(), Failure> {
    if name.is_empty() { Err(Failure::text("resource name may not be empty")) } else { Ok(()) }
}

/// How a write is sent.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// What stands in the query.
    pub options: Options,
    /// `--dry-run=client`, or `--local`: it is not sent at all, and what would have been is taken for the answer.
    pub only_here: bool,
}

/// The query of a write of `manager` that carries a whole object.
pub fn write_options(manager: &str, args: &Args) -> Result<Query, Failure> {
    let mut query = plain_options(manager, args)?;
    query.options.field_validation = match args.value("validate") {
        "" | "strict" | "true" => FieldValidation::Strict,
        "warn" => FieldValidation::Warn,
        "ignore" | "false" => FieldValidation::Ignore,
        other => {
            let why = "must be one of: strict (or true), warn, ignore (or false)";
            return Err(Failure::text(format!("invalid - validate option {other:?}; {why}")));
        }
    };
    Ok(query)
}

/// The query of a write of `manager` without a word on validation.
pub fn plain_options(manager: &str, args: &Args) -> Result<Query, Failure> {
    let dry_run = args.value("dry-run");
    if !matches!(dry_run, "" | "none" | "server" | "client" | "unchanged") {
        let why = "Must be \"none\", \"server\", or \"client\".";
        return Err(Failure::text(format!("Invalid dry-run value ({dry_run}). {why}")));
    }
    let format = args.value("output").split('=').next().unwrap_or_default();
    if !format.is_empty() && !FORMATS.split(',').any(|known| known == format) {
        return Err(Failure::text(no_printer(format, FORMATS)));
    }
    let manager = Some(args.value("field-manager")).filter(|manager| !manager.is_empty()).unwrap_or(manager);
    let options = Options { field_manager: manager.to_owned(), dry_run: dry_run == "server", ..Options::default() };
    // Without a value the flag means the client, as it did when it was a boolean.
    Ok(Query { options, only_here: matches!(dry_run, "client" | "unchanged") || args.is_on("local") })
}

/// ` (dry run)` or ` (server dry run)` behind a message, if so.
pub fn dry_run_note(args: &Args) -> &'static str {
    match args.value("dry-run") {
        "client" | "unchanged" => " (dry run)",
        "server" => " (server dry run)",
        _ => "",
    }
}

impl Kubectl {
    /// What `-o` and `--template` ask for. A template may be in a file; columns in a file are a line of titles and one of
    /// paths.
    pub fn output(&self, args: &Args) -> Result<Output, Failure> {
        let (given, template) = (args.value("output"), args.value("template"));
        let (format, argument) = given.split_once('=').unwrap_or((given, template));
        let inline = match format {
            "" if !template.is_empty() => "go-template",
            "jsonpath-file" => "jsonpath",
            "go-template-file" | "templatefile" => "go-template",
            "custom-columns-file" => "custom-columns",
            format => format,
        };
        let argument = match format {
            _ if argument.is_empty() => String::new(),
            "custom-columns-file" => columns_of(&self.open_text(argument)?)?,
            "jsonpath-file" | "go-template-file" | "templatefile" => self.open_text(argument)?,
            _ => argument.to_owned(),
        };
        Output::parse(&if argument.is_empty() { inline.to_owned() } else { format!("{inline}={argument}") })
            .map_err(Failure::text)
    }

    /// Says what was done to an object, or prints the object if `-o` asks for that. Mirrors `NamePrinter` and
    /// `PrintFlags`.
    pub fn tell(&self, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        self.tell_as(Held::Map, object, how, args)
    }

    /// The same of an object that kubectl holds in its Go struct, and not as a map: JSON and KYAML have the struct's order then.
    /// YAML is sorted by name either way.
    pub fn tell_struct(&self, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        self.tell_as(Held::Struct, object, how, args)
    }

    fn tell_as(&self, held: Held, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        if args.value("output").is_empty() {
            self.line(format!("{} {how}{}", qualified_name(object), dry_run_note(args)));
            return Ok(());
        }
        let output = self.output(args)?;
        let text = match (&output, held) {
            (Output::Json, Held::Struct) => json_text(&Ordered::object(text(object, "kind"), object)),
            (Output::KYaml, Held::Struct) => kyaml::in_order(&Ordered::object(text(object, "kind"), object)),
            _ => print(&output, std::slice::from_ref(object), true, self.now()).map_err(Failure::text)?,
        };
        let is_next = matches!(output, Output::Yaml) && std::mem::replace(&mut *self.documents.borrow_mut(), true);
        self.print(&if is_next { format!("---\n{text}") } else { text });
        Ok(())
    }
}

/// How kubectl holds an object that it tells of: `Unstructured`, or the struct of its kind.
#[derive(Clone, Copy)]
enum Held {
    Map,
    Struct,
}

/// `NAME:.metadata.name,…` out of a line of titles and a line of paths. Mirrors `NewCustomColumnsPrinterFromTemplate`.
fn columns_of(text: &str) -> Result<String, Failure> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let (titles, paths) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if titles.is_empty() || titles.len() != paths.len() {
        let why = "expected as many titles in the first line as paths in the second";
        return Err(Failure::text(format!("{why}, got {} and {}", titles.len(), paths.len())));
    }
    Ok(titles.iter().zip(paths).map(|(title, path)| format!("{title}:{path}")).collect::<Vec<_>>().join(","))
}

/// The duration that a flag gives; none if it is 0 or less, or not given.
pub fn timeout(args: &Args, flag: &str) -> Result<Option<Duration>, Failure> {
    let value = args.value(flag);
    if value.is_empty() {
        return Ok(None);
    }
    let millis = duration::parse(value).map_err(|why| args.invalid(flag, &why))?;
    Ok(u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis))
}
