//! `cp`: files to and from a container. It is `tar` in the container, by `exec`; so that has to be in its image.
//!
//! What is copied from a container is not written to the disk: nothing outside the process is touched. It is kept with the other
//! files that commands have written, and later commands find it there. Mirrors `pkg/cmd/cp` of kubectl.
//!
//! Left out: folders in a folder that is copied to a container; links, and so the real one's way to skip the files of a ConfigMap;
//! files that are not text; `--retries`.

use serde_json::Value;

use super::exec::{container_of, refuse_completed, run_in};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::usage::Usage;
use object::Kind;
use object::tar::{self, Entry};

/// `[[NAMESPACE/]POD:]PATH`.
struct Spec<'a> {
    /// Namespace, if one is given, and name; None: a file of the user's own.
    pod: Option<(&'a str, &'a str)>,
    path: &'a str,
}

impl Spec<'_> {
    /// Mirrors `extractFileSpec`.
    fn of(word: &str) -> Result<Spec<'_>, Failure> {
        let Some((pod, path)) = word.split_once(':') else { return Ok(Spec { pod: None, path: word }) };
        let pod = match pod.split('/').collect::<Vec<_>>()[..] {
            [name] if !name.is_empty() => ("", name),
            [namespace, name] => (namespace, name),
            _ => {
                const WHY: &str = "filespec must match the canonical format: [[namespace/]pod:]file/path";
                return Err(Failure::text(WHY));
            }
        };
        Ok(Spec { pod: Some(pod), path })
    }
}

/// `kubectl cp`.
pub const CP: Command = Command {
    usage: Usage {
        name: "cp",
        words: "[[NAMESPACE/]POD:]PATH [[NAMESPACE/]POD:]PATH",
        about: "Copy files to a container, or from one.\n\
                Yours are those of the scenario, those beside it, and what commands have written: no disk is touched.",
        flags: &[&["container", "no-preserve"]],
        left_out: &["retries"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(cp(args, cx))),
    ..Command::EMPTY
};

/// `kubectl cp`.
async fn cp(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [from, to] = args.words.as_slice() else {
        return Err(Failure::text("source and destination are required"));
    };
    let (from, to) = (Spec::of(from)?, Spec::of(to)?);
    if from.pod.is_some() && to.pod.is_some() {
        return Err(Failure::text("one of src or dest must be a local file specification"));
    }
    if from.path.is_empty() || to.path.is_empty() {
        return Err(Failure::text("filepath can not be empty"));
    }
    match (from.pod, to.pod) {
        (Some(pod), _) => from_pod(pod, from.path, to.path, args, cx).await,
        (_, Some(pod)) => to_pod(pod, from.path, to.path, args, cx).await,
        (None, None) => Err(Failure::text("one of src or dest must be a remote file specification")),
    }
}

async fn from_pod(pod: (&str, &str), path: &str, to: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let archive = run(pod, &["tar", "cf", "-", path], "", true, args, cx).await?;
    let prefix = clean(path);
    for Entry { name, text } in tar::unpack(&archive).map_err(Failure::text)? {
        // Nothing, or a slash and what is below the folder.
        let inside = name.strip_prefix(&prefix).ok_or_else(|| Failure::text("tar contents corrupted"))?;
        let file = clean_local(&format!("{to}{inside}"));
        if is_folder(&file, cx) {
            return Err(Failure::text(format!("open {file}: is a directory")));
        }
        cx.written.borrow_mut().insert(file, text);
    }
    Ok(())
}

async fn to_pod(pod: (&str, &str), path: &str, to: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let base = clean_local(path).rsplit('/').next().unwrap_or_default().to_owned();
    let files = local_files(path, cx)?;
    let is_folder = run(pod, &["test", "-d", to], "", false, args, cx).await.is_ok();
    let to = if is_folder { format!("{}/{base}", to.trim_end_matches('/')) } else { to.to_owned() };
    let (folder, name) = to.trim_end_matches('/').rsplit_once('/').unwrap_or(("", &to));
    let named = |(inside, text): (String, String)| Entry { name: format!("{name}{inside}"), text };
    let entries: Vec<Entry> = files.into_iter().map(named).collect();
    let archive = tar::pack(&entries).map_err(Failure::text)?;
    let keeps_nothing = ["--no-same-permissions", "--no-same-owner"];
    let mut command = vec!["tar"];
    command.extend(keeps_nothing.iter().filter(|_| args.is_on("no-preserve")));
    command.extend(["-xmf", "-", "-C", if folder.is_empty() { "/" } else { folder }]);
    run(pod, &command, &archive, true, args, cx).await.map(drop)
}

/// Runs a command in the container that is meant, and returns what it prints. What goes wrong is told, if it is to be `told`.
async fn run(
    (namespace, name): (&str, &str),
    command: &[&str],
    input: &str,
    told: bool,
    args: &Args,
    cx: &Kubectl,
) -> Result<String, Failure> {
    let namespace = if namespace.is_empty() { cx.namespace(args) } else { namespace };
    let pod: Value = cx.get_once(Kind::Pod, namespace, name).await?;
    refuse_completed(&pod)?;
    let quiet = cx.apart();
    let container = container_of(&pod, args, if told { cx } else { &quiet })?;
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let ran = run_in(&pod, container, &command, input, cx).await?;
    if told {
        ran.printed.iter().filter(|(is_error, _)| *is_error).for_each(|(_, text)| cx.print_error(text));
    }
    match ran.code {
        0 => Ok(ran.output()),
        code => {
            if told {
                cx.complain(format!("command terminated with exit code {code}"));
            }
            Err(Failure::Told)
        }
    }
}

/// The files that a local path means, each as it goes on behind the path.
fn local_files(path: &str, cx: &Kubectl) -> Result<Vec<(String, String)>, Failure> {
    if let Ok(text) = cx.open_text(path) {
        return Ok(vec![(String::new(), text)]);
    }
    let names = cx.names_in(path);
    if names.is_empty() {
        return Err(Failure::text(format!("{path} doesn't exist in local filesystem")));
    }
    let file =
        |name: String| Ok((format!("/{name}"), cx.open_text(&format!("{}/{name}", path.trim_end_matches('/')))?));
    names.into_iter().map(file).collect()
}

fn is_folder(path: &str, cx: &Kubectl) -> bool {
    matches!(path, "." | ".." | "") || cx.workdir.look(path).found.is_directory() || !cx.names_in(path).is_empty()
}

/// How a path of a container's begins in an archive.
fn clean(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    parts.join("/")
}

/// `./notes/` and `notes` are one file.
fn clean_local(path: &str) -> String {
    match path.trim_end_matches('/').trim_start_matches("./") {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}
