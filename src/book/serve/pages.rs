//! Files of the built book. Where a browser may run live sessions, pages say so, with the names of the exercises that a
//! session can run with. A page runs its own scripts and no other: its Content-Security-Policy names each by its hash.

use std::io;
use std::path::{Component, Path, PathBuf};

use tokio::net::TcpStream;

use lab::plug;
use object::{base64, sha256};

use super::http::{self, Answer, Head, Status};
use super::{Site, may_run_sessions};

/// The page for addresses that lead nowhere.
const MISSING: &str = "404.html";

/// Sends the file that a request names.
pub async fn answer(stream: &mut TcpStream, head: &Head, site: &Site) -> io::Result<()> {
    let Some(file) = file(&site.folder, &head.path) else { return missing(stream, head, site).await };
    if file.is_dir() {
        let to = if head.path.ends_with('/') { format!("{}index.html", head.path) } else { format!("{}/", head.path) };
        return Answer::redirect(&to).send(stream, head).await;
    }
    match std::fs::read(&file) {
        Ok(bytes) => page(stream, head, site, Status::OK, kind(&file), bytes).await,
        Err(_) => missing(stream, head, site).await,
    }
}

/// The book's own page for it, if there is one.
async fn missing(stream: &mut TcpStream, head: &Head, site: &Site) -> io::Result<()> {
    match std::fs::read(site.folder.join(MISSING)) {
        Ok(bytes) => page(stream, head, site, Status::NOT_FOUND, "text/html; charset=utf-8", bytes).await,
        Err(_) => http::refuse(stream, head, Status::NOT_FOUND, "There is no such page.").await,
    }
}

async fn page(
    stream: &mut TcpStream,
    head: &Head,
    site: &Site,
    status: Status,
    kind: &str,
    bytes: Vec<u8>,
) -> io::Result<()> {
    if !kind.starts_with("text/html") {
        return Answer::new(status, kind, &bytes).send(stream, head).await;
    }
    let live = may_run_sessions(head, site);
    let text = String::from_utf8_lossy(&bytes);
    let text = if live { with_sessions(&text, site.exercise.as_deref()) } else { text.into_owned() };
    let policy = policy(&text, &head.host);
    Answer::new(status, kind, text.as_bytes()).with(policy).send(stream, head).await
}

/// What a page may load and run: files of this server, and the scripts that stand in it.
fn policy(page: &str, host: &str) -> String {
    let hashes: String = inline_scripts(page)
        .map(|script| format!(" 'sha256-{}'", base64::padded(&sha256::digest(script.as_bytes()))))
        .collect();
    format!(
        "Content-Security-Policy: default-src 'self'; script-src 'self' 'wasm-unsafe-eval'{hashes}; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data:; connect-src 'self' ws://{host}; object-src 'none'; base-uri 'self'; form-action 'none'; \
         frame-ancestors 'self'"
    )
}

/// The text of each script that stands in a page, as it stands there.
fn inline_scripts(page: &str) -> impl Iterator<Item = &str> {
    page.split("<script>").skip(1).filter_map(|rest| rest.split_once("</script>")).map(|(script, _)| script)
}

/// The file within `folder` that a path names; none if it would lie elsewhere.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.strip_prefix('/')?);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| folder.join(relative))
}

fn with_sessions(page: &str, exercise: Option<&str>) -> String {
    let (exercises, chosen) = (plug::parts().join(" "), exercise.unwrap_or_default());
    let meta = format!(
        "<meta name=\"kubestep-live\" content=\"yes\" data-exercises=\"{exercises}\" data-chosen=\"{chosen}\"></head>"
    );
    page.replacen("</head>", &meta, 1)
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let folder = Path::new("/site");
        assert_eq!(file(folder, "/a/b.html"), Some(PathBuf::from("/site/a/b.html")));
        assert_eq!(file(folder, "/"), Some(PathBuf::from("/site/")));
        for path in ["", "a", "//etc/passwd", "/../etc/passwd", "/a/../../b"] {
            assert_eq!(file(folder, path), None, "{path}");
        }
    }

    #[test]
    fn pages_say_that_sessions_may_run() {
        let page = with_sessions("<head></head><body></head>", Some("replicaset"));
        let start =
            "<head><meta name=\"kubestep-live\" content=\"yes\" data-exercises=\"ownership admission replicaset ";
        assert!(page.starts_with(start), "{page}");
        assert!(page.ends_with(" data-chosen=\"replicaset\"></head><body></head>"), "{page}");
    }

    #[test]
    fn scripts_of_a_page_are_named_by_their_hash() {
        let page =
            "<script src=\"a.js\"></script><script>\nlet a;</script><script type=\"application/json\">{}</script>";
        assert_eq!(inline_scripts(page).collect::<Vec<_>>(), ["\nlet a;"]);
        // As `printf '\nlet a;' | openssl dgst -sha256 -binary | base64` says.
        let hash = base64::padded(&sha256::digest(b"\nlet a;"));
        assert!(
            policy(page, "localhost:1").contains(&format!("script-src 'self' 'wasm-unsafe-eval' 'sha256-{hash}';"))
        );
    }
}
