//! The programs that busybox is made of, and which of them go on until they are stopped.

/// What busybox is built with, and the few programs that alpine has beside it.
pub const APPLETS: &str = "\
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

/// Those that serve, show something again and again, or read what a user types.
const GO_ON: &[&str] = &[
    "crond",
    "dnsd",
    "fakeidentd",
    "fbsplash",
    "ftpd",
    "getty",
    "httpd",
    "hush",
    "inetd",
    "klogd",
    "less",
    "login",
    "lpd",
    "microcom",
    "more",
    "ntpd",
    "runsvdir",
    "svlogd",
    "syslogd",
    "tcpsvd",
    "telnet",
    "telnetd",
    "tftpd",
    "top",
    "udhcpc",
    "udhcpc6",
    "udhcpd",
    "udpsvd",
    "uevent",
    "vi",
    "watch",
    "watchdog",
    "yes",
];

/// Those that run another program, named among their words, and end as it does.
const RUN_OTHERS: &[&str] = &[
    "ash",
    "chpst",
    "chroot",
    "chrt",
    "cttyhack",
    "env",
    "envdir",
    "envuidgid",
    "flock",
    "init",
    "ionice",
    "linux32",
    "linux64",
    "nice",
    "nohup",
    "nsenter",
    "run-parts",
    "runsv",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "sh",
    "softlimit",
    "start-stop-daemon",
    "su",
    "switch_root",
    "taskset",
    "time",
    "timeout",
    "unshare",
    "xargs",
];

/// Whether busybox has such a program.
pub fn is_applet(name: &str) -> bool {
    APPLETS.split(' ').any(|applet| applet == name)
}

/// Whether that program goes on until it is stopped.
pub fn goes_on(name: &str) -> bool {
    GO_ON.contains(&name)
}

/// Whether that program does its work and ends, with any arguments.
pub fn ends(name: &str) -> bool {
    is_applet(name) && !GO_ON.contains(&name) && !RUN_OTHERS.contains(&name)
}
