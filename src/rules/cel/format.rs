//! Formats that texts may have, by their names. Mirrors `pkg/cel/library/format.go`.

use jiff::Timestamp;
use jiff::civil::Date;

use super::url::Url;
use object::selector::names::{check_label_key, check_label_value, check_subdomain};
use object::validation::names::{check_dns_1035_label, check_dns_label};

/// A format: its name, and what it finds wrong with a text.
#[derive(Clone, Copy)]
pub struct Format {
    /// `dns1123Label`
    pub name: &'static str,
    check: fn(&str) -> Vec<String>,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// What is wrong with a text.
    pub fn check(&self, text: &str) -> Vec<String> {
        (self.check)(text)
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

static FORMATS: &[Format] = &[
    Format { name: "dns1123Label", check: check_dns_label },
    Format { name: "dns1123Subdomain", check: check_subdomain },
    Format { name: "dns1035Label", check: check_dns_1035_label },
    Format { name: "qualifiedName", check: check_label_key },
    Format { name: "dns1123LabelPrefix", check: |text| check_dns_label(&as_prefix(text)) },
    Format { name: "dns1123SubdomainPrefix", check: |text| check_subdomain(&as_prefix(text)) },
    Format { name: "dns1035LabelPrefix", check: |text| check_dns_1035_label(&as_prefix(text)) },
    Format { name: "labelValue", check: check_label_value },
    Format { name: "uri", check: |text| Url::parse(text).err().into_iter().collect() },
    Format { name: "uuid", check: |text| unless(is_uuid(text), "does not match the UUID format") },
    Format { name: "byte", check: |text| unless(is_base64(text), "invalid base64") },
    Format { name: "date", check: |text| unless(is_date(text), "invalid date") },
    Format { name: "datetime", check: |text| unless(text.parse::<Timestamp>().is_ok(), "invalid datetime") },
];

fn unless(fine: bool, why: &str) -> Vec<String> {
    if fine { Vec::new() } else { vec![why.to_owned()] }
}

/// A name that something is put behind may end with a dash. Mirrors `maskTrailingDash`.
fn as_prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(before) if !before.is_empty() => format!("{before}a"),
        _ => text.to_owned(),
    }
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let in_place =
        text.len() == 32 || text.len() == 36 && [8, 13, 18, 23].iter().all(|at| text.as_bytes()[*at] == b'-');
    in_place && digits.len() == 32 && digits.bytes().all(|c| c.is_ascii_hexdigit())
}

/// Mirrors `base64.StdEncoding`, which passes over ends of lines.
fn is_base64(text: &str) -> bool {
    let text: Vec<u8> = text.bytes().filter(|c| !b"\r\n".contains(c)).collect();
    let padding = text.iter().rev().take_while(|c| **c == b'=').count();
    let letters = &text[..text.len() - padding];
    text.len().is_multiple_of(4)
        && padding <= 2
        && letters.iter().all(|c| c.is_ascii_alphanumeric() || b"+/".contains(c))
}

fn is_date(text: &str) -> bool {
    text.len() == "2006-01-02".len() && text.parse::<Date>().is_ok()
}
