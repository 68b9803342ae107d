//! Files of the built book. Pages get the run's token, which their live sessions need, and the names of the exercises that
//! a session can run with.

use std::io;
use std::path::{Component, Path, PathBuf};

use tokio::net::TcpStream;

use crate::lab::plug;

use super::Site;
use super::http::{self, Head, Status};

/// Sends the file that a request names.
pub async fn answer(stream: &mut TcpStream, head: &Head, site: &Site) -> io::Result<()> {
    let Some(file) = file(&site.folder, &head.path) else {
        return http::refuse(stream, Status::NOT_FOUND, "There is no such page.").await;
    };
    if file.is_dir() {
        let to = if head.path.ends_with('/') { format!("{}index.html", head.path) } else { format!("{}/", head.path) };
        return http::redirect(stream, &to).await;
    }
    let Ok(bytes) = std::fs::read(&file) else {
        return http::refuse(stream, Status::NOT_FOUND, "There is no such page.").await;
    };
    let kind = kind(&file);
    let bytes =
        if kind.starts_with("text/html") { with_token(bytes, &site.token, site.exercise.as_deref()) } else { bytes };
    http::send(stream, Status::OK, kind, &bytes).await
}

/// The file within `folder` that a path names; none if it would lie elsewhere.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.strip_prefix('/')?);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| folder.join(relative))
}

fn with_token(page: Vec<u8>, token: &str, exercise: Option<&str>) -> Vec<u8> {
    match String::from_utf8(page) {
        Ok(text) => {
            let (exercises, chosen) = (plug::parts().join(" "), exercise.unwrap_or_default());
            let meta = format!(
                "<meta name=\"kubestep-live\" content=\"{token}\" data-exercises=\"{exercises}\" data-chosen=\"{chosen}\"></head>"
            );
            text.replacen("</head>", &meta, 1).into_bytes()
        }
        Err(bytes) => bytes.into_bytes(),
    }
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
    fn pages_know_the_token() {
        let page = with_token(b"<head></head><body></head>".to_vec(), "t", Some("replicaset"));
        let page = String::from_utf8(page).expect("it was text");
        assert!(
            page.starts_with(
                "<head><meta name=\"kubestep-live\" content=\"t\" data-exercises=\"ownership admission replicaset "
            ),
            "{page}"
        );
        assert!(page.ends_with(" data-chosen=\"replicaset\"></head><body></head>"), "{page}");
    }
}
