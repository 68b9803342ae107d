//! What a machine has on its disk as it is set up: of Debian what hostPath volumes and people ask for.
//!
//! Left out: nearly all of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::entry::{Entry, Text};

/// The release of the machines' kernel.
pub const KERNEL: &str = "6.12.57+deb13-amd64";
/// What the machines' system calls itself.
pub const OS_IMAGE: &str = "Debian GNU/Linux 13 (trixie)";

const DIRECTORIES: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/etc/kubernetes",
    "/etc/kubernetes/manifests",
    "/etc/ssl",
    "/etc/ssl/certs",
    "/home",
    "/lib",
    "/lib/modules",
    "/lib/modules/6.12.57+deb13-amd64",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/run/containerd",
    "/sbin",
    "/srv",
    "/sys",
    "/sys/fs",
    "/sys/fs/bpf",
    "/sys/fs/cgroup",
    "/tmp",
    "/usr",
    "/usr/share",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
    "/var",
    "/var/lib",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log",
    "/var/log/containers",
    "/var/log/pods",
    "/var/run",
];

const FILES: &[(&str, &str)] = &[
    ("/etc/localtime", "TZif2\nUTC0\n"),
    (
        "/etc/os-release",
        "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\n\
         VERSION=\"13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n",
    ),
    ("/etc/ssl/certs/ca-certificates.crt", ""),
    ("/run/xtables.lock", ""),
];

const DEVICES: &[(&str, Entry)] = &[
    ("/dev/kmsg", Entry::CharDevice),
    ("/dev/null", Entry::CharDevice),
    ("/dev/sda", Entry::BlockDevice),
    ("/run/containerd/containerd.sock", Entry::Socket),
];

/// What systemd and the kernel throw dice for, such as a machine's id when it is set up; here it is FNV-1a of a name.
pub fn id_of(name: &str) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    name.bytes().fold(OFFSET, |id, byte| (id ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// What a machine of this name has.
pub(super) fn installed(hostname: &str) -> BTreeMap<Cow<'static, str>, Entry> {
    let file = |text: Cow<'static, str>| Entry::File(Text::Whole(text));
    let directories = DIRECTORIES.iter().map(|path| (*path, Entry::Directory));
    let files = FILES.iter().map(|(path, text)| (*path, file((*text).into())));
    let own = [
        ("/etc/hostname", file(format!("{hostname}\n").into())),
        ("/etc/machine-id", file(format!("{:032x}\n", id_of(hostname)).into())),
    ];
    let all = directories.chain(files).chain(DEVICES.iter().cloned()).chain(own);
    all.map(|(path, entry)| (path.into(), entry)).collect()
}
