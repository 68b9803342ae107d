//! What web servers serve as they come, and the lines that they log of each request: nginx and httpd.
//!
//! A file is served as it stands in the container: one that a volume brings, or that was written there. The page that the
//! image itself has is not, as it says the same in every Pod: in its place stands the page that names the Pod
//! ([`Speaks::Site`](network::kernel::sockets::Speaks)).
//!
//! Left out: configurations, a server that is given one answers every path with that page; ranges, conditions and methods
//! other than GET and HEAD; the length that a log line gives is that of the page that names the Pod.

use super::logs;
use super::mounts::host_path;
use super::registry::base_name;
use super::state::Journal;
use crate::cri::ContainerConfig;
use network::disk::{Contents, Disk, Tree};
use network::kernel::sockets::{Asked, Said, Site};
use object::Shared;

/// A web server, as its image has it.
struct Server {
    image: &'static str,
    /// The directory that it serves.
    root: &'static str,
    /// The files in it.
    files: &'static [(&'static str, &'static str)],
    /// What is read of its configuration.
    configured_in: &'static str,
}

const NGINX_FILES: &[(&str, &str)] =
    &[("50x.html", include_str!("site/50x.html")), ("index.html", include_str!("site/index.html"))];

const SERVERS: &[Server] = &[
    Server { image: "nginx", root: "/usr/share/nginx/html", files: NGINX_FILES, configured_in: "/etc/nginx" },
    Server {
        image: "nginx-unprivileged",
        root: "/usr/share/nginx/html",
        files: NGINX_FILES,
        configured_in: "/etc/nginx",
    },
    Server {
        image: "httpd",
        root: "/usr/local/apache2/htdocs",
        files: &[("index.html", "<html><body><h1>It works!</h1></body></html>\n")],
        configured_in: "/usr/local/apache2/conf",
    },
];

fn server(image: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| server.image == base_name(image))
}

/// The text of a file that an image brings.
pub(super) fn file_of_image(image: &str, path: &str) -> Option<&'static str> {
    let server = server(image)?;
    let name = path.strip_prefix(server.root)?.strip_prefix('/')?;
    server.files.iter().find(|(there, _)| *there == name).map(|(_, text)| *text)
}

/// The paths of all of them.
pub(super) fn files_of_image(image: &str) -> impl Iterator<Item = String> {
    server(image).into_iter().flat_map(|server| server.files.iter().map(|(name, _)| format!("{}/{name}", server.root)))
}

/// Where it is noted in a container's layer that a file of the image is gone, as overlayfs does.
pub(super) fn whiteout(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{directory}/.wh.{name}")
}

/// Whether it is such a note.
pub(super) fn is_whiteout(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".wh."))
}

/// A server that runs in a container.
#[derive(Debug)]
pub(super) struct Served {
    config: Shared<ContainerConfig>,
    layer: Tree,
    disk: Disk,
    journal: Journal,
    /// Where its log is.
    log: (String, String),
}

impl Served {
    /// The server of a container, if it serves as its image does; its log is that of `pod`.
    pub(super) fn new(
        config: &Shared<ContainerConfig>,
        layer: &Tree,
        disk: &Disk,
        journal: &Journal,
        pod: String,
    ) -> Option<Served> {
        let server = server(&config.image)?;
        let is_configured = config.mounts.iter().any(|(at, _)| at.starts_with(server.configured_in));
        let log = (pod, config.name.clone());
        let (config, layer, disk, journal) = (config.clone(), layer.clone(), disk.clone(), journal.clone());
        (!is_configured).then_some(Served { config, layer, disk, journal, log })
    }

    fn server(&self) -> &'static Server {
        server(&self.config.image).expect("it is one of a server that is known")
    }

    /// The text of a file; the second says that it is the image's own.
    fn read(&self, path: &str) -> Option<(String, bool)> {
        if let Some(path) = host_path(&self.config, path) {
            return self.disk.read(&path).map(|text| (text, false));
        }
        let own = || {
            let is_gone = self.layer.read(&whiteout(path)).is_some();
            file_of_image(&self.config.image, path).filter(|_| !is_gone).map(|text| (text.to_owned(), true))
        };
        self.layer.read(path).map(|text| (text, false)).or_else(own)
    }

    /// Whether there is a directory.
    fn is_directory(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        if path == self.server().root {
            return true;
        }
        match host_path(&self.config, path) {
            Some(path) => self.disk.read(&path).is_none() && self.disk.names(&path).is_ok(),
            None => self.layer.paths().iter().any(|there| there.starts_with(&format!("{path}/"))),
        }
    }

    /// Status and text; None: the page that names the Pod, with 200.
    fn find(&self, path: &str) -> Option<(u16, String)> {
        let full = format!("{}{path}", self.server().root);
        let wanted = if path.ends_with('/') { format!("{full}index.html") } else { full.clone() };
        // Nothing is served from beyond the directory.
        let is_beyond = path.split('/').any(|part| part == "..");
        match self.read(&wanted).filter(|_| !is_beyond) {
            Some((_, true)) if wanted.ends_with("/index.html") => None,
            Some((text, _)) => Some((200, text)),
            None if is_beyond => Some((400, self.error(400))),
            None if !self.is_directory(&full) => Some((404, self.error(404))),
            None if !path.ends_with('/') => Some((301, self.error(301))),
            None if self.is_nginx() => Some((403, self.error(403))),
            None => Some((200, self.listing(path, &full))),
        }
    }

    fn is_nginx(&self) -> bool {
        self.server().image.starts_with("nginx")
    }

    /// What the server says of an error.
    fn error(&self, status: u16) -> String {
        let reason = wire::status_text(status);
        if self.is_nginx() {
            let title = format!("{status} {reason}");
            return format!(
                "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
                 <hr><center>nginx/{}</center>\r\n</body>\r\n</html>\r\n",
                logs::version(&self.config.image)
            );
        }
        let why = match status {
            404 => "The requested URL was not found on this server.",
            301 => "The document has moved.",
            _ => "Your browser sent a request that this server could not understand.",
        };
        format!(
            "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>{status} {reason}</title>\n\
             </head><body>\n<h1>{reason}</h1>\n<p>{why}</p>\n</body></html>\n"
        )
    }

    /// The directory as httpd shows it where there is no index.
    fn listing(&self, path: &str, full: &str) -> String {
        let names = match host_path(&self.config, full) {
            Some(path) => self.disk.names(&path).unwrap_or_default(),
            None => Vec::new(),
        };
        let items: String = names.iter().map(|name| format!("<li><a href=\"{name}\"> {name}</a></li>\n")).collect();
        format!(
            "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n <head>\n  <title>Index of {path}</title>\n \
             </head>\n <body>\n<h1>Index of {path}</h1>\n<ul>{items}</ul>\n</body></html>\n"
        )
    }

    /// The lines of a request: what went wrong, and that it was made.
    fn log(&self, asked: &Asked, path: &str, status: u16, length: usize) {
        let Asked { client, request, now } = asked;
        let first = request.lines().next().unwrap_or_default();
        let header = |name: &str| {
            let lines = request.lines().skip(1).map_while(|line| line.split_once(':'));
            { lines }.find(|(there, _)| there.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        let at = |format: &str| jiff::fmt::strtime::format(format, now.timestamp()).unwrap_or_default();
        let time = at("%d/%b/%Y:%H:%M:%S +0000");
        let mut journal = self.journal.borrow_mut();
        let log = journal.entry(self.log.clone()).or_default();
        if !self.is_nginx() {
            return log.print(*now, &format!("{client} - - [{time}] \"{first}\" {status} {length}"));
        }
        let file = format!("{}{path}", self.server().root);
        let what = match status {
            404 => Some(format!("open() \"{file}\" failed (2: No such file or directory)")),
            403 => Some(format!("directory index of \"{file}\" is forbidden")),
            _ => None,
        };
        if let Some(what) = what {
            let (host, number) = (header("host").unwrap_or_default(), log.lines.len());
            let line = format!(
                "{} [error] 29#29: *{number} {what}, client: {client}, server: localhost, request: \"{first}\", host: \"{host}\"",
                at("%Y/%m/%d %H:%M:%S")
            );
            log.print(*now, &line);
        }
        let agent = header("user-agent").unwrap_or("-");
        let referer = header("referer").unwrap_or("-");
        let via = header("x-forwarded-for").unwrap_or("-");
        let line = format!("{client} - - [{time}] \"{first}\" {status} {length} \"{referer}\" \"{agent}\" \"{via}\"");
        log.print(*now, &line);
    }
}

impl Site for Served {
    fn find(&self, asked: &Asked) -> Option<Said> {
        let target = asked.request.split(' ').nth(1).unwrap_or("/");
        let path = target.split('?').next().unwrap_or("/");
        let (status, text) = Served::find(self, path)?;
        let server = if self.is_nginx() { "nginx" } else { "Apache" };
        let (server, version) = (server.to_owned(), logs::version(&self.config.image));
        Some(Said { status, text, server: format!("{server}/{version}") })
    }

    fn answered(&self, asked: &Asked, status: u16, length: usize) {
        let target = asked.request.split(' ').nth(1).unwrap_or("/");
        self.log(asked, target.split('?').next().unwrap_or("/"), status, length);
    }
}
