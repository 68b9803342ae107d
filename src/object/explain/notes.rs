//! What types and fields mean, in our own words, and who writes them: `notes/*.txt`.
//!
//! A type stands at the beginning of a line, its fields below it:
//!
//! ```text
//! PodStatus < the Pod's kubelet: What has become of a Pod.
//!   qosClass {Guaranteed, Burstable, BestEffort} < the API server: How soon it is evicted.
//! ```
//!
//! Behind `<` stands who writes it, in braces the only values there are. A type `JobCondition = Condition` has the fields of
//! the other, as far as it does not say otherwise, and so have all types those under `*`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What is known of a type or of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The only values there are; empty: any.
    pub values: Vec<&'static str>,
    /// Who writes it.
    pub writer: Option<&'static str>,
    /// What it means.
    pub text: &'static str,
    /// The type whose fields mean the same.
    like: &'static str,
}

/// The notes on the fields of each type; an empty name stands for the type itself.
type Notes = BTreeMap<&'static str, BTreeMap<&'static str, Note>>;

/// All the notes.
pub const TEXT: &[&str] = &[
    include_str!("notes/all.txt"),
    include_str!("notes/pod.txt"),
    include_str!("notes/container.txt"),
    include_str!("notes/volume.txt"),
    include_str!("notes/workloads.txt"),
    include_str!("notes/network.txt"),
    include_str!("notes/cluster.txt"),
    include_str!("notes/policy.txt"),
    include_str!("notes/reviews.txt"),
    include_str!("notes/server.txt"),
    include_str!("notes/devices.txt"),
];

static NOTES: LazyLock<Notes> = LazyLock::new(|| {
    let mut notes = Notes::new();
    TEXT.iter().copied().for_each(|text| read(text, &mut notes));
    notes
});

/// What is known of a type.
pub fn of_type(type_name: &str) -> Option<&'static Note> {
    NOTES.get(type_name)?.get("")
}

/// What is known of a field of a type.
pub fn field(type_name: &str, field: &str) -> Option<&'static Note> {
    let of = |type_name: &str| NOTES.get(type_name)?.get(field);
    let like = of_type(type_name).map_or("", |note| note.like);
    of(type_name).or_else(|| of(like)).or_else(|| of("*"))
}

fn read(text: &'static str, notes: &mut Notes) {
    let mut of = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, text) = line.split_once(": ").unwrap_or((line, ""));
        let (head, writer) = head.split_once(" < ").map_or((head, None), |(head, writer)| (head, Some(writer)));
        let (head, values) = head.split_once(" {").unwrap_or((head, ""));
        let (name, like) = head.split_once(" = ").unwrap_or((head, ""));
        let field = match name.trim_start() {
            field if field == name => {
                of = name;
                ""
            }
            field => field,
        };
        let values = values.trim_end_matches('}').split(", ").filter(|value| !value.is_empty()).collect();
        notes.entry(of).or_default().insert(field, Note { values, writer, text, like });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::explain::{Explanation, built_in};
    use crate::{Kind, versions};

    /// What is said of a type that objects keep, and that no component reads: clouds' volumes, Windows.
    const IDLE: &str = "Nothing here acts on it";

    /// Every type that a kind is made of, with the first way to it.
    fn types(kind: Kind) -> BTreeMap<String, Explanation> {
        let mut types = BTreeMap::new();
        let mut ways = vec![Vec::new()];
        while let Some(way) = ways.pop() {
            let path: Vec<&str> = way.iter().map(String::as_str).collect();
            let explained = built_in::explain(kind, &path).unwrap_or_else(|| panic!("{kind}.{path:?} is gone"));
            let name = explained.item_type().to_owned();
            let is_plain = explained.fields.is_empty() && of_type(&name).is_none();
            if is_plain || types.contains_key(&name) {
                continue;
            }
            ways.extend(
                explained.fields.iter().map(|field| [way.as_slice(), std::slice::from_ref(&field.name)].concat()),
            );
            types.insert(name, explained);
        }
        types
    }

    #[test]
    fn every_field_has_its_note_and_every_note_its_field() {
        let (mut seen, mut missing) = (BTreeSet::new(), BTreeSet::new());
        for (name, explained) in Kind::built_in().chain(versions::others()).flat_map(types) {
            let (like, about) = of_type(&name).map_or(("", ""), |note| (note.like, note.text));
            let fields = explained.fields.iter().map(|field| field.name.as_str());
            for field in fields.chain([""]) {
                // A type is described by itself, a field by others too.
                let places = if field.is_empty() { 1 } else { 3 };
                let mut places = [name.as_str(), like, "*"].into_iter().take(places);
                match places.find(|of| NOTES.get(*of).is_some_and(|notes| notes.contains_key(field))) {
                    Some(of) => seen.insert(format!("{of}.{field}")),
                    // One sentence says so of all its fields.
                    None if about.contains(IDLE) => continue,
                    None => missing.insert(format!("{name}.{field}")),
                };
            }
        }
        assert!(missing.is_empty(), "no notes on {missing:#?}");
        let all = NOTES.iter().flat_map(|(of, notes)| notes.keys().map(move |field| format!("{of}.{field}")));
        let left: Vec<String> = all.filter(|note| note != "*." && !seen.contains(note)).collect();
        assert!(left.is_empty(), "notes on what is not there: {left:?}");
    }
}
