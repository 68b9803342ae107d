//! Commands that are run in a container beside its process: `kubectl exec`, probes and hooks.
//!
//! No program is run; the commands in [`HERE`](userland::programs::HERE) are simulated in every container, for any image,
//! and print what busybox's, curl's and BIND's print. They see the container's files, volumes included, and its environment;
//! those that talk to others do so through the machine's kernel, packet by packet, in the network namespace of the sandbox.
//!
//! Shells that a user types into are in [`super::terminal`].
//!
//! Left out: of a shell what [`shell`] leaves out. A probe or hook may name any program of its
//! image, `pg_isready` say: it is taken to be there and to do well.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use super::containerd::{Containerd, no_container};
use super::image;
use super::process::WORK;
use super::state::Container;
use crate::cri::{self, ContainerState, CriResponse, PodSandboxConfig};
use engine::{RpcError, unless};
use network::kernel::{Execute, Executed};
use object::Shared;
use userland::shell::run::{Command, Shell, Sink, Turn, Write};
use userland::shell::{self, Program};
use userland::{Ran, clients, programs};

/// What becomes of a command that is not simulated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The image has no such program.
    IsNotFound,
    /// It is there and does well.
    DoesWell,
    /// It is there, and does well if it is one of those that end.
    Runs,
}

/// What a command needs to know of the container that it runs in.
pub(super) struct ExecContext {
    pub(super) container: Box<Container>,
    pub(super) sandbox: Shared<PodSandboxConfig>,
    /// Variables that a shell has set and passes on.
    pub(super) exported: Vec<(String, String)>,
}

/// What a shell has come to, up to where it waits.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// What it has printed; true: on standard error.
    pub(super) printed: Vec<(bool, String)>,
    /// How many commands it has run.
    pub(super) ran: usize,
}

/// What a shell waits for.
pub(super) enum Wait {
    /// Time; None: for ever.
    Time { time: Option<Duration>, is_background: bool },
    /// Others on the network, whom this command asks.
    Others(Command),
    /// A program that does not end.
    Server,
    /// Nothing: what comes is not understood.
    Unsupported,
    /// Nothing: it has ended.
    End(i32),
}

/// A command beside the process that waits more often than this would do so for ever.
pub(super) const WAITS_MAX: usize = 1000;

/// Whether a command neither waits nor sends a request, as far as that is known in advance.
pub(super) fn is_quick(command: &[String]) -> bool {
    let is_long = |name: &str| matches!(name, "sleep" | "eval") || shell::is_shell(name) || clients::is_one(name);
    !Program::of(command).commands().any(|name| is_long(&name))
}

impl Done {
    /// With each of the two in one piece, as ExecSync gives them.
    fn answer(self, code: i32) -> CriResponse {
        let of =
            |errors: bool| self.printed.iter().filter(|(is, _)| *is == errors).map(|(_, text)| text.as_str()).collect();
        CriResponse::Exec { output: of(false), errors: of(true), exit_code: code }
    }
}

impl Containerd {
    /// For a probe or a hook: it is given up when the timeout is over.
    pub(super) async fn exec_sync(&self, id: &str, command: &[String], timeout: i64) -> Result<CriResponse, RpcError> {
        let limit = u64::try_from(timeout).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let shell = self.shell_beside(id, command, "")?;
        let (done, code) = self.run_beside(shell, Unknown::DoesWell, limit).await?.ok_or_else(|| {
            let why = format!("failed to exec in container: timeout {timeout}s exceeded: context deadline exceeded");
            cri::error("DeadlineExceeded", why)
        })?;
        Ok(done.answer(code))
    }

    /// For a learner: it may take as long as it likes, and may read something.
    pub(super) async fn exec(&self, id: &str, command: &[String], input: &str) -> Result<CriResponse, RpcError> {
        let shell = self.shell_beside(id, command, input)?;
        let (Done { printed, .. }, exit_code) =
            self.run_beside(shell, Unknown::IsNotFound, None).await?.unwrap_or_else(|| unreachable!("it has no limit"));
        Ok(CriResponse::Ran { printed, exit_code })
    }

    /// The same for a command that takes no time.
    pub(super) fn exec_at_once(&self, id: &str, command: &[String]) -> Result<CriResponse, RpcError> {
        let (mut shell, mut context, mut done) = self.shell_beside(id, command, "")?;
        loop {
            match self.advance(&mut shell, &mut context, Unknown::DoesWell, &mut done)? {
                Wait::Time { .. } => {}
                Wait::Others(_) => self.finish(&mut shell, &context, Ran::default(), &mut done),
                Wait::End(code) => return Ok(done.answer(code)),
                Wait::Server | Wait::Unsupported => return Ok(done.answer(0)),
            }
        }
    }

    /// Runs a command to its end, or, None, until the limit is over.
    async fn run_beside(
        &self,
        (mut shell, mut context, mut done): (Shell, ExecContext, Done),
        unknown: Unknown,
        limit: Option<Duration>,
    ) -> Result<Option<(Done, i32)>, RpcError> {
        let start = self.hub.now();
        for _ in 0..WAITS_MAX {
            let left = limit.map(|limit| limit.saturating_sub(self.hub.now() - start));
            match self.advance(&mut shell, &mut context, unknown, &mut done)? {
                Wait::Time { time: Some(time), .. } if left.is_none_or(|left| time <= left) => {
                    self.hub.sleep(time).await;
                }
                Wait::Time { time: None, .. } if left.is_none() => break,
                Wait::Time { .. } => {
                    self.hub.sleep(left.unwrap_or_default()).await;
                    return Ok(None);
                }
                Wait::Others(command) => match self.ask_for(&context, &command.words, left).await? {
                    Some(ran) => self.finish(&mut shell, &context, ran, &mut done),
                    None => return Ok(None),
                },
                Wait::End(code) => return Ok(Some((done, code))),
                Wait::Server | Wait::Unsupported if unknown == Unknown::IsNotFound => {
                    let why = "sh: this is more than the shell of these containers knows\n";
                    done.printed.push((true, why.to_owned()));
                    return Ok(Some((done, 2)));
                }
                Wait::Server | Wait::Unsupported => return Ok(Some((done, 0))),
            }
        }
        done.printed.push((true, "this would take for ever\n".to_owned()));
        Ok(Some((done, 1)))
    }

    /// What others answer within a limit.
    async fn ask_for(
        &self,
        context: &ExecContext,
        words: &[String],
        limit: Option<Duration>,
    ) -> Result<Option<Ran>, RpcError> {
        let Some(limit) = limit else { return self.ask_others(context, words).await.map(Some) };
        unless(self.ask_others(context, words), self.hub.sleep(limit)).await.transpose()
    }

    /// Where a container's own process runs.
    pub(super) fn context_of_process(&self, id: &str) -> Option<ExecContext> {
        let state = self.state.borrow();
        let container = state.containers.get(id)?;
        let sandbox = state.sandboxes.get(&container.status.sandbox_id)?.config.clone();
        Some(ExecContext { container: container.clone(), sandbox, exported: Vec::new() })
    }

    /// A shell, or one command, in a container that runs.
    fn shell_beside(&self, id: &str, command: &[String], input: &str) -> Result<(Shell, ExecContext, Done), RpcError> {
        let context = self.context_of_process(id).ok_or_else(|| no_container(id))?;
        if context.container.status.state != ContainerState::ContainerRunning {
            let why = "failed to exec in container: container is in CONTAINER_EXITED state";
            return Err(cri::error("Unknown", why));
        }
        if let Some(name) = command.first().filter(|_| image::is_bare(&context.container.config.image))
            && image::cannot_run(name, &context.container.config)
        {
            return Err(self.not_in_image(name));
        }
        // A shell does what it reads, and without a terminal it comes to the end of that.
        let (program, input) = match command {
            words if shell::reads_commands(words) && input.trim().is_empty() => (Program::default().into(), ""),
            words if shell::reads_commands(words) => {
                (Program::of(&["sh".to_owned(), "-c".to_owned(), input.trim().to_owned()]), "")
            }
            _ => (Program::of(command), input),
        };
        Ok((context.shell(program).reading(input), context, Done::default()))
    }

    /// Lets a shell go on until it has to wait.
    pub(super) fn advance(
        &self,
        shell: &mut Shell,
        context: &mut ExecContext,
        unknown: Unknown,
        done: &mut Done,
    ) -> Result<Wait, RpcError> {
        loop {
            match shell.next(self.hub.now()) {
                Turn::End(code) => return Ok(Wait::End(code)),
                Turn::Unsupported => return Ok(Wait::Unsupported),
                Turn::Sleep { time, is_background } => return Ok(Wait::Time { time, is_background }),
                Turn::Write(writes) => self.write(shell, context, writes, done),
                Turn::Run(mut command) => {
                    context.exported = std::mem::take(&mut command.exported);
                    let ran = match unknown {
                        Unknown::Runs if command.is_job => self.job(shell, context, &command),
                        Unknown::Runs if !programs::is_known(&command.words) => {
                            let name = &command.words[0];
                            let Container { config, .. } = &*context.container;
                            match config.task {
                                _ if shell.is_shell() && image::lacks(name, config, shell.program()) => {
                                    Ran::badly(127, format!("sh: {name}: not found"))
                                }
                                Some(task) if !programs::goes_on(&command.words) => {
                                    self.assume_end(name, task);
                                    self.finish(shell, context, Ran::default(), done);
                                    return Ok(Wait::Time { time: Some(WORK), is_background: false });
                                }
                                _ => return Ok(Wait::Server),
                            }
                        }
                        Unknown::Runs if programs::asks(&command.words) => return Ok(Wait::Others(command)),
                        Unknown::Runs => self.of_process(context, &command),
                        _ if programs::never_ends(&command.words) => {
                            return Ok(Wait::Time { time: None, is_background: false });
                        }
                        _ if clients::is_one(&command.words[0]) => return Ok(Wait::Others(command)),
                        _ => self.at_once_or(context, &command, shell.is_shell(), unknown)?,
                    };
                    self.finish(shell, context, ran, done);
                }
            }
        }
    }

    /// A command has come to this.
    pub(super) fn finish(&self, shell: &mut Shell, context: &ExecContext, ran: Ran, done: &mut Done) {
        done.ran += 1;
        let writes = shell.done(ran.output, ran.errors, ran.code);
        self.write(shell, context, writes, done);
    }

    fn write(&self, shell: &mut Shell, context: &ExecContext, writes: Vec<Write>, done: &mut Done) {
        for Write { to, text } in writes {
            match to {
                Sink::File { path, append } => {
                    if let Err(why) = self.write_file(&context.container, &path, &text, append) {
                        done.printed.push((true, shell.refused(&path, why)));
                    }
                }
                Sink::Errors => done.printed.push((true, text)),
                _ => done.printed.push((false, text)),
            }
        }
    }

    /// A command that takes no time, or one that is not simulated here.
    fn at_once_or(
        &self,
        context: &ExecContext,
        command: &Command,
        is_shell: bool,
        unknown: Unknown,
    ) -> Result<Ran, RpcError> {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        Ok(match (self.at_once_in(context, &words, command.input()), words.first()) {
            (Some(ran), _) => ran,
            (None, Some(name)) if unknown == Unknown::IsNotFound => {
                if !is_shell {
                    return Err(self.not_in_image(name));
                }
                Ran::badly(127, format!("sh: {name}: not found"))
            }
            _ => Ran::default(),
        })
    }

    /// containerd's and runc's words.
    pub(super) fn not_in_image(&self, name: &str) -> RpcError {
        let process = self.new_id();
        let why = format!(
            "error executing command in container: failed to exec in container: failed to start exec \"{process}\": OCI \
             runtime exec failed: exec failed: unable to start container process: {}: unknown",
            image::not_there(name)
        );
        cri::error("Unknown", why)
    }

    /// A command of the network, which the machine's kernel runs.
    pub(super) async fn ask_others(&self, context: &ExecContext, words: &[String]) -> Result<Ran, RpcError> {
        let unplugged = || cri::error("Unavailable", "the machine has no network");
        let kernel = self.kernel.get().ok_or_else(unplugged)?;
        let PodSandboxConfig { namespace, name, .. } = &*context.sandbox;
        let pod = format!("{namespace}/{name}");
        let execute =
            Execute { pod, words: words.to_vec(), userland: image::userland(&context.container.config.image) };
        let reply: Rc<dyn Any> = self.hub.rpc(kernel, Rc::new(execute)).await?;
        let Executed { output, errors, code, unknown_host } =
            (*reply.downcast::<Executed>().map_err(|_| unplugged())?).clone();
        Ok(Ran { output, errors, code: i32::from(code), unknown_host })
    }
}

impl ExecContext {
    /// Where a command stands; None: at the root, as far as is known.
    pub(super) fn directory(&self) -> Option<&str> {
        let own = Some(self.container.config.working_dir.as_str()).filter(|path| !path.is_empty());
        self.exported.iter().rev().find(|(name, _)| name == "PWD").map(|(_, path)| path.as_str()).or(own)
    }

    /// A shell in it.
    pub(super) fn shell(&self, program: Rc<Program>) -> Shell {
        let mut shell = Shell::new(program, self.environment());
        if let Some(directory) = self.directory() {
            // One that has no room for it stands at the root.
            let _ = shell.set("PWD", directory.to_owned());
        }
        shell
    }

    /// What the runtime sets, what the spec sets, and what the runtime adds at the end; then what a shell has set.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let path = own("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let mut all = vec![path, own("HOSTNAME", &self.sandbox.hostname)];
        all.extend(self.container.config.envs.iter().cloned());
        all.push(own("HOME", "/root"));
        for (name, value) in &self.exported {
            all.retain(|(there, _)| there != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }
}
