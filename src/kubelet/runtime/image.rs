//! Which programs images have, and as whom they run, as far as that is known.
//!
//! Of the smallest ones it is: a container of theirs that is to run anything else does not start. Nobody knows of the others:
//! what they are told to run, they have, and if they are told not to run as root they do not.
//!
//! Simplified: a program that is simulated here is in every image, curl too.

use crate::cri::ContainerConfig;
use network::kernel::Userland;
use userland::{programs, shell};

/// Images that have [`APPLETS`] and nothing else worth starting.
const MINIMAL: &[&str] = &["busybox", "alpine"];

/// What busybox is built with, and the few programs that alpine has beside it.
const APPLETS: &str = "\
    addgroup adduser adjtimex apk ar arch arp arping ash awk base32 base64 basename bbconfig bc beep blkdiscard blkid \
    blockdev brctl bunzip2 bzcat bzip2 cal cat chat chattr chgrp chmod chown chpasswd chpst chroot chrt chvt cksum clear \
    cmp comm conspy cp cpio crc32 crond crontab cryptpw cttyhack cut date dc dd deallocvt delgroup deluser depmod df diff \
    dirname dmesg dnsd dnsdomainname dos2unix dpkg du dumpkmap dumpleases echo ed egrep eject env envdir envuidgid \
    ether-wake expand expr factor fakeidentd fallocate false fatattr fbset fbsplash fdflush fdformat fdisk fgconsole fgrep \
    find findfs flock fold free freeramdisk fsck fsfreeze fstrim fsync ftpd ftpget ftpput fuser getconf getent getfattr \
    getopt getty grep groups gunzip gzip halt hd hdparm head hexdump hexedit hostid hostname httpd hush hwclock iconv id \
    ifconfig ifdown ifenslave ifplugd ifup inetd init inotifyd insmod install ionice iostat ip ipaddr ipcalc ipcrm ipcs \
    iplink ipneigh iproute iprule iptunnel kbd_mode kill killall killall5 klogd last ldconfig ldd less link linux32 \
    linux64 ln loadfont loadkmap logger login logname logread losetup lpd lpq lpr ls lsattr lsmod lsof lspci lsscsi lsusb \
    lzcat lzma lzop makemime man md5sum mdev mesg microcom mim mkdir mkdosfs mke2fs mkfifo mknod mkpasswd mkswap mktemp \
    modinfo modprobe more mount mountpoint mpstat mt mv nameif nbd-client nc netcat netstat nice nl nmeter nohup nologin \
    nproc nsenter nslookup ntpd nuke od openvt partprobe passwd paste patch pgrep pidof ping ping6 pipe_progress \
    pivot_root pkill pmap popmaildir poweroff powertop printenv printf ps pscan pstree pwd pwdx raidautorun rdate rdev \
    readahead readlink readprofile realpath reboot reformime renice reset resize resume rev rm rmdir rmmod route rpm \
    rpm2cpio rtcwake run-init run-parts runlevel runsv runsvdir rx script scriptreplay sed seedrng sendmail seq setarch \
    setconsole setfattr setfont setkeycodes setlogcons setpriv setserial setsid setuidgid sh sha1sum sha256sum sha3sum \
    sha512sum showkey shred shuf slattach sleep smemcap softlimit sort split ssl_client start-stop-daemon stat strings \
    stty su sulogin sum sv svc svlogd svok swapoff swapon switch_root sync sysctl syslogd tac tail tar taskset tcpsvd tee \
    telnet telnetd test tftp tftpd time timeout top touch tr traceroute traceroute6 tree true truncate ts tsort tty \
    ttysize tunctl udhcpc udhcpc6 udhcpd udpsvd uevent umount uname unexpand uniq unix2dos unlink unlzma unshare unxz \
    unzip uptime users usleep uudecode uuencode vconfig vi vlock volname wall watch watchdog wc wget which who whoami \
    whois xargs xxd xz xzcat yes zcat zcip";

/// Official images that say nothing of a user, and so run as root.
const OF_ROOT: &[&str] = &[
    "alpine",
    "busybox",
    "caddy",
    "centos",
    "debian",
    "fedora",
    "golang",
    "httpd",
    "mariadb",
    "mongo",
    "mysql",
    "nginx",
    "node",
    "openjdk",
    "perl",
    "php",
    "postgres",
    "python",
    "rabbitmq",
    "redis",
    "ruby",
    "rust",
    "ubuntu",
    "wordpress",
];
/// Official images that run as somebody whom they name.
const OF_OTHERS: &[(&str, &str)] = &[("haproxy", "haproxy"), ("memcached", "memcache")];
/// As whom the others run: distroless images call this number `nonroot`.
const SOMEBODY: i64 = 65532;

/// As whom an image runs: by number, or by name. Neither: as root.
pub fn user(image: &str) -> (Option<i64>, &'static str) {
    let path = image.strip_prefix("docker.io/").unwrap_or(image);
    let path = path.strip_prefix("library/").unwrap_or(path);
    let name = base_name(image);
    let is_official = !path.contains('/');
    if is_official && OF_ROOT.contains(&name) {
        return (None, "");
    }
    let named = OF_OTHERS.iter().find(|(image, _)| is_official && *image == name);
    named.map_or((Some(SOMEBODY), ""), |(_, user)| (None, *user))
}

/// Names that are typed for those of official images, and that no registry has.
const MISSPELT: &[&str] = &[
    "alphine",
    "apline",
    "busibox",
    "busybx",
    "busyboxx",
    "buzybox",
    "nginix",
    "nginxx",
    "ngnix",
    "nignx",
    "postgress",
    "reddis",
    "rediss",
    "ubunto",
    "ubuntuu",
];
/// Images of tutorials, and the tags that they have.
const TAGS: &[(&str, &[&str])] = &[("kubernetes-bootcamp", &["latest", "v1", "v2"])];

/// Why a registry does not give an image, in containerd's words, with the code; None: it does.
///
/// Nobody knows what images there are. Of some it is known that they are not: a tag that begins with `no-such`, a version of an
/// official image whose second or third number has three digits, an official image's name with a usual slip.
pub fn missing(image: &str) -> Option<(&'static str, String)> {
    let path = image.strip_prefix("docker.io/").unwrap_or(image);
    let path = path.strip_prefix("library/").unwrap_or(path);
    let (name, tag) = match path.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (path, "latest"),
    };
    if tag.starts_with("no-such") {
        return Some(("NotFound", format!("failed to pull and unpack image \"{image}\": not found")));
    }
    let full = if name.contains('/') { format!("{name}:{tag}") } else { format!("docker.io/library/{name}:{tag}") };
    let pull = |why: &str| format!("failed to pull and unpack image \"{full}\": failed to resolve image: {why}");
    if MISSPELT.contains(&name) {
        let why = "pull access denied, repository does not exist or may require authorization: server message: \
                   insufficient_scope: authorization failed";
        return Some(("Unknown", pull(why)));
    }
    let is_official = OF_ROOT.contains(&name) || OF_OTHERS.iter().any(|(known, _)| *known == name);
    let numbers = || tag.split('-').next().unwrap_or_default().split('.').skip(1);
    // The last number of a CentOS is a month.
    let too_high =
        is_official && name != "centos" && numbers().any(|part| part.parse::<u32>().is_ok_and(|number| number > 99));
    let tags = TAGS.iter().find(|(known, _)| *known == base_name(image));
    let is_unknown = tags.is_some_and(|(_, tags)| !tags.contains(&tag));
    (too_high || is_unknown).then(|| ("NotFound", pull(&format!("{full}: not found"))))
}

/// The name of an image without registry, path, tag and digest: `busybox`.
pub fn base_name(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or(image)
}

/// Whether of an image it is known what it lacks.
pub fn is_minimal(image: &str) -> bool {
    MINIMAL.contains(&base_name(image))
}

/// Whether what stands in an image is busybox's, as far as its name says.
pub fn is_busybox(image: &str) -> bool {
    is_minimal(image)
        || image.rsplit_once(':').is_some_and(|(_, tag)| tag.contains("alpine") || tag.contains("busybox"))
}

/// Whose programs are in an image, as far as its name says.
pub fn userland(image: &str) -> Userland {
    let minor = || image.rsplit_once(":1.")?.1.split(['.', '-', '@']).next()?.parse::<u32>().ok();
    match is_busybox(image) {
        true if base_name(image) == "busybox" && minor().is_some_and(|minor| minor <= 28) => Userland::OldBusybox,
        true => Userland::Busybox,
        false => Userland::Usual,
    }
}

/// Whether a container has this shell: busybox is none but `sh`.
pub fn has_shell(shell: &str, config: &ContainerConfig) -> bool {
    is_there(shell, config) || !is_busybox(&config.image)
}

/// Why a container's process cannot be started, in runc's words. What a volume may hold is taken to be there.
pub fn cannot_start(config: &ContainerConfig) -> Option<String> {
    let word = config.command.iter().chain(&config.args).next()?;
    if !is_minimal(&config.image) || is_there(word, config) {
        return None;
    }
    Some(not_there(word))
}

/// How runc says that there is no such program.
pub fn not_there(word: &str) -> String {
    let why = match word.contains('/') {
        true => format!("stat {word}: no such file or directory"),
        false => "executable file not found in $PATH".to_owned(),
    };
    format!("exec: {word:?}: {why}")
}

fn is_there(word: &str, config: &ContainerConfig) -> bool {
    let program = shell::program(word);
    if program.contains('/') {
        let is_in =
            |(place, _): &(String, String)| word.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'));
        return !word.starts_with('/') || config.mounts.iter().any(is_in);
    }
    let is_simulated = programs::HERE.split([',', ' ']).any(|name| name == program);
    is_simulated || APPLETS.split(' ').any(|name| name == program) || programs::is_known(&[program.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_busybox_is_known_by_its_tag() {
        for (wanted, images) in [
            (
                Userland::OldBusybox,
                ["busybox:1.28", "docker.io/library/busybox:1.28.4-glibc", "busybox:1.26@sha256:ab"],
            ),
            (Userland::Busybox, ["busybox", "busybox:1.37", "alpine:1.2"]),
            (Userland::Busybox, ["busybox:stable", "alpine:3.20", "redis:7-alpine"]),
            (Userland::Usual, ["nginx:1.27", "busyboxes:1.28", "registry.k8s.io/e2e-test-images/agnhost:2.39"]),
        ] {
            images.into_iter().for_each(|image| assert_eq!(userland(image), wanted, "{image}"));
        }
    }

    #[test]
    fn official_images_run_as_root_or_as_they_say() {
        for (image, expected) in [
            ("nginx:1.27", (None, "")),
            ("docker.io/library/busybox@sha256:ab", (None, "")),
            ("library/redis", (None, "")),
            ("haproxy:3.0", (None, "haproxy")),
            ("bitnami/nginx:1.27", (Some(SOMEBODY), "")),
            ("registry.example.com/nginx", (Some(SOMEBODY), "")),
            ("shop:1", (Some(SOMEBODY), "")),
        ] {
            assert_eq!(user(image), expected, "{image}");
        }
    }

    #[test]
    fn a_registry_has_no_image_that_cannot_be() {
        for image in [
            "nginx",
            "nginx:1.161-not",
            "shop:1.200",
            "nginx:1.27.4-alpine",
            "gcr.io/x/kubernetes-bootcamp:v2",
            "centos:7.9.2009",
            "ubuntu:24.04",
        ] {
            assert_eq!(missing(image).is_none(), image != "nginx:1.161-not", "{image}");
        }
        let (code, why) = missing("nginx:1.161").unwrap_or_default();
        let full = "docker.io/library/nginx:1.161";
        assert_eq!(code, "NotFound");
        assert_eq!(
            why,
            format!("failed to pull and unpack image \"{full}\": failed to resolve image: {full}: not found")
        );
        for image in ["ngnix", "docker.io/library/busyboxx:1.36", "gcr.io/google-samples/kubernetes-bootcamp:v10"] {
            assert!(missing(image).is_some(), "{image}");
        }
        let (_, why) = missing("nginx:no-such-tag").unwrap_or_default();
        assert_eq!(why, "failed to pull and unpack image \"nginx:no-such-tag\": not found");
    }

    #[test]
    fn only_what_an_image_lacks_does_not_start() {
        let says = |image: &str, words: &[&str]| {
            let mounts = vec![("/scripts".to_owned(), "/var/lib/x".to_owned())];
            let args = words.iter().map(|word| (*word).to_owned()).collect();
            cannot_start(&ContainerConfig { image: image.to_owned(), args, mounts, ..ContainerConfig::default() })
        };
        let missing = |word: &str| Some(format!("exec: {word:?}: executable file not found in $PATH"));
        let nowhere = |word: &str| Some(format!("exec: {word:?}: stat {word}: no such file or directory"));
        for (image, words, expected) in [
            ("busybox:1.36", &["sleep", "5"][..], None),
            ("busybox", &["/bin/sh", "-c", "nosuch"], None),
            ("docker.io/library/alpine:3", &["apk", "add", "x"], None),
            ("busybox", &[], None),
            ("busybox", &["curl", "web"], None),
            ("busybox", &["bash", "-c", "true"], missing("bash")),
            ("busybox@sha256:ab", &["sleeep", "5"], missing("sleeep")),
            ("alpine", &["/bin/sleeep"], nowhere("/bin/sleeep")),
            ("alpine", &["/app/run"], nowhere("/app/run")),
            ("alpine", &["/scripts/run"], None),
            ("alpine", &["./run"], None),
            ("my/app", &["sleeep"], None),
        ] {
            assert_eq!(says(image, words), expected, "{image} {words:?}");
        }
    }
}
