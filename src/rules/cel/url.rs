//! URLs. Mirrors what `pkg/cel/library/urls.go` needs of Go's `net/url`.

use std::collections::BTreeMap;

/// A URL with a scheme, or a path from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    /// Name or address, and the port if there is one.
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// Reads one; the error is what Go says. Mirrors `url.ParseRequestURI`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Url, String> {
        let fails = |why: &str| Err(format!("parse {text:?}: {why}"));
        if text.chars().any(|c| c.is_ascii_control()) {
            return fails("net/url: invalid control character in URL");
        }
        let (scheme, rest) = match scheme(text) {
            Ok(parts) => parts,
            Err(why) => return fails(why),
        };
        // What stands behind `#` is no part of what is asked for, but belongs to the text.
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Url {
            scheme: scheme.to_ascii_lowercase(),
            host: String::new(),
            path: String::new(),
            query: query.to_owned(),
        };
        if !rest.starts_with('/') {
            return match (text, scheme) {
                ("", _) => fails("empty url"),
                (_, "") => fails("invalid URI for request"),
                // `mailto:a@b`: nothing in it has a place.
                _ => Ok(url),
            };
        }
        let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(rest) => {
                let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                if let Err(why) = check_host(host) {
                    return fails(&why);
                }
                host.clone_into(&mut url.host);
                path
            }
            None => rest,
        };
        match escaped(path) {
            Ok(path) => url.path = path,
            Err(wrong) => return fails(&format!("invalid URL escape {wrong:?}")),
        }
        Ok(url)
    }

    /// In small letters; empty if there is none.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Name or address, and the port if there is one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path as it is sent: what has to be is escaped.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host without its port, and the port; either may be empty. Mirrors `URL.Hostname` and `URL.Port`.
    pub fn name_and_port(&self) -> (&str, &str) {
        let (name, port) = match (self.host.rfind(':'), self.host.rfind(']')) {
            (Some(colon), bracket) if bracket.is_none_or(|bracket| bracket < colon) => {
                (&self.host[..colon], &self.host[colon + 1..])
            }
            _ => (self.host.as_str(), ""),
        };
        (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
    }

    /// The parameters, each with all its values. What cannot be read is left out. Mirrors `URL.Query`.
    pub fn parameters(&self) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::<String, Vec<String>>::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| unescaped(&text.replace('+', " ")).ok();
            if let (Some(key), Some(value)) = (plain(key), plain(value)) {
                found.entry(key).or_default().push(value);
            }
        }
        found
    }
}

/// The scheme, empty if there is none, and what follows its colon. Mirrors `getScheme`.
fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

/// Mirrors `parseHost`.
fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(inside) => match inside.rfind(']') {
            Some(end) => &inside[end + 1..],
            None => return Err("missing ']' in host".to_owned()),
        },
        None => host.find(':').map_or("", |colon| &host[colon..]),
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {port:?} after host"));
    }
    match host.chars().find(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_.~!$&'()*+,;=:[]<>\"%".contains(*c)) {
        Some(wrong) => Err(format!("invalid character {:?} in host name", wrong.to_string())),
        None => unescaped(host).map(drop).map_err(|wrong| format!("invalid URL escape {wrong:?}")),
    }
}

/// The path as it is sent: what has to be is escaped. Mirrors `EscapedPath`.
fn escaped(path: &str) -> Result<String, String> {
    unescaped(path)?;
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/[]%".contains(&byte);
    let shown = |byte: u8| if fine(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    Ok(path.bytes().map(shown).collect())
}

/// A text without its escapes, or the first that is none.
fn unescaped(text: &str) -> Result<String, String> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            out.push(*byte);
            at += 1;
            continue;
        }
        let code = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => out.push(code),
            None => return Err(String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]).into_owned()),
        }
        at += 3;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}
