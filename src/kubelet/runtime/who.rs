//! As whom a container's process runs, and what processes there are: `id`, `whoami`, `ps`.
//!
//! Busybox's words, for the users that a securityContext names; a name they have none, since images have no `/etc/passwd`
//! that is read here. Only the smallest images have `ps`. Left out: the workers of a server, and the user that an image
//! names.

use super::exec::ExecContext;
use super::image;
use super::registry::base_name;
use super::state::{Container, State};
use crate::cri::{ContainerState, LinuxContainerSecurityContext};
use object::time::Instant;
use userland::Ran;
use userland::shell;

/// What makes a line more than one command.
const OF_SHELLS: [char; 10] = [';', '&', '|', '<', '>', '$', '`', '(', '{', '\n'];

/// `id`, `id -u`, `id -g`.
pub fn id(security: &LinuxContainerSecurityContext, flags: &[&str]) -> Option<Ran> {
    let (uid, gid) = (security.run_as_user.unwrap_or(0), security.run_as_group.unwrap_or(0));
    let named = |id: i64| if id == 0 { "0(root)".to_owned() } else { id.to_string() };
    match flags {
        [] => {
            let mut groups: Vec<i64> = security.supplemental_groups.iter().copied().chain([gid]).collect();
            groups.sort_unstable();
            groups.dedup();
            let groups: Vec<String> = groups.into_iter().map(named).collect();
            Some(Ran::well(format!("uid={} gid={} groups={}\n", named(uid), named(gid), groups.join(","))))
        }
        ["-u"] => Some(Ran::well(format!("{uid}\n"))),
        ["-g"] => Some(Ran::well(format!("{gid}\n"))),
        _ => None,
    }
}

/// `whoami`.
pub fn whoami(security: &LinuxContainerSecurityContext) -> Ran {
    match security.run_as_user.unwrap_or(0) {
        0 => Ran::well("root\n"),
        uid => Ran::badly(1, format!("whoami: unknown uid {uid}")),
    }
}

/// `ps`: the processes of the container, or of all of its Pod if they share them. None: the image has no such program.
pub fn ps(state: &State, context: &ExecContext, words: &[&str]) -> Option<Ran> {
    if !image::is_minimal(&context.container.config.image) {
        return None;
    }
    let shares = context.container.config.security.share_processes;
    let mut all: Vec<(Instant, &Container)> = match shares {
        true => {
            let of_pod = |c: &&Container| {
                c.status.sandbox_id == context.container.status.sandbox_id
                    && c.status.state == ContainerState::ContainerRunning
            };
            let all = state.containers.values().map(|container| &**container);
            all.filter(of_pod).map(|c| (c.status.started_at, c)).collect()
        }
        false => vec![(context.container.status.started_at, &context.container)],
    };
    all.sort_by_key(|(since, container)| (*since, &container.config.name));
    let user = |container: &Container| match container.config.security.run_as_user.unwrap_or(0) {
        0 => "root".to_owned(),
        uid => uid.to_string(),
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    if shares {
        rows.push(("root".to_owned(), "/pause".to_owned()));
    }
    rows.extend(all.iter().map(|(_, container)| (user(container), command(container))));
    let shells = state.streams.values().filter_map(|typing| typing.begun_in(&context.container.status.id));
    rows.extend(shells.map(|shell| (user(&context.container), shell.to_owned())));
    rows.push((user(&context.container), ["ps"].iter().chain(words).copied().collect::<Vec<_>>().join(" ")));
    let mut out = "PID   USER     TIME  COMMAND\n".to_owned();
    for (i, (user, command)) in rows.iter().enumerate() {
        // The numbers between belong to processes that are gone.
        let pid = 1 + 6 * i;
        out += &format!("{pid:5} {user:<8}  0:00 {command}\n");
    }
    Some(Ran::well(out))
}

/// What stands in the list for a container's process.
fn command(container: &Container) -> String {
    let config = &container.config;
    let words: Vec<&str> = config.command.iter().chain(&config.args).map(String::as_str).collect();
    match (words.as_slice(), base_name(&config.image)) {
        ([], "nginx") => "nginx: master process nginx -g daemon off;".to_owned(),
        ([], "busybox" | "alpine") => "sh".to_owned(),
        ([], name) => name.to_owned(),
        // A shell with nothing else to do makes way for its only command.
        ([shell, "-c", line], _) if shell::is_shell(shell) && !line.contains(OF_SHELLS) => (*line).to_owned(),
        (words, _) => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_who_its_context_says() {
        let nobody = LinuxContainerSecurityContext::default();
        let ours = LinuxContainerSecurityContext {
            run_as_user: Some(1000),
            run_as_group: Some(3000),
            supplemental_groups: vec![4000, 2000],
            ..LinuxContainerSecurityContext::default()
        };
        let said = |security, flags: &[&str]| id(security, flags).unwrap_or_default().output;
        assert_eq!(said(&nobody, &[]), "uid=0(root) gid=0(root) groups=0(root)\n");
        assert_eq!(said(&ours, &[]), "uid=1000 gid=3000 groups=2000,3000,4000\n");
        assert_eq!(said(&ours, &["-u"]), "1000\n");
        assert_eq!(whoami(&nobody).output, "root\n");
        assert_eq!(whoami(&ours).errors, "whoami: unknown uid 1000\n");
    }
}
