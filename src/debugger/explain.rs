//! Fields in a few words: what they mean, and who writes them.
//!
//! The words are those that `kubectl explain` prints too ([`object::explain`]). What a session adds: who writes a
//! field, even if only what is around it says so, and paths that go into lists and maps.

use kinds::registry;
use object::explain::{self, Explanation, Field};
use object::{Discovery, Kind, Object};

use super::Session;

/// The writer of the fields that no component writes.
const USER: &str = "the client that creates it";

/// What is known of a kind, or of a field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The kind.
    pub kind: Kind,
    /// `spec.containers[0].image`: what was asked for.
    pub asked: String,
    /// `spec.containers.image`: the field, or the nearest one around what was asked for; lists without their index.
    pub path: String,
    /// `[]Container`.
    pub type_name: String,
    /// What the field means, and what a thing of its type is.
    pub about: Vec<String>,
    /// Who writes it; empty: some parts one, some parts another.
    pub writer: String,
    /// The fields that it has.
    pub fields: Vec<Field>,
}

/// Explains `pod`, or `pod.spec.containers[0].image`.
pub fn explain(session: &Session, word: &str) -> Result<Explained, String> {
    let (kind_word, path) = word.split_once('.').unwrap_or((word, ""));
    let store = &session.cluster.engine.server.api.store;
    let definitions: Vec<Object> =
        store.prefix(registry::prefix(Kind::CustomResourceDefinition)).map(|(_, entry)| entry.value.clone()).collect();
    let known = Discovery::of(&definitions);
    let kind = known.from_word(kind_word).ok_or_else(|| no_kind(kind_word))?;
    of_kind(kind, &known, path)
}

/// What is said of a word that is no kind, though perhaps an object's name begins with one.
fn no_kind(word: &str) -> String {
    match word.split_once('/').and_then(|(kind, _)| Kind::from_word(kind)) {
        Some(kind) => {
            let kind = kind.info().singular();
            format!("{word:?} is an object; explain tells what kinds and fields mean: explain {kind}")
        }
        None => format!("there is no kind {word:?}; write for example: explain pod.status.phase"),
    }
}

/// Goes down a path, as far as there are fields. What is below a map or any JSON, it is the user's.
fn of_kind(kind: Kind, known: &Discovery, path: &str) -> Result<Explained, String> {
    let at = |path: &[&str]| explain::explain(kind, known.definition(kind), path);
    let plain = without_indexes(path);
    let names: Vec<&str> = plain.split('.').filter(|name| !name.is_empty()).collect();
    let mut here = at(&[]).ok_or_else(|| format!("nothing is known of the fields of {kind}"))?;
    let (mut field, mut writer): (Option<Field>, Option<&str>) = (None, None);
    let mut deep = 0;
    for (i, name) in names.iter().enumerate() {
        let Some(found) = here.field(name).cloned() else {
            if here.fields.is_empty() {
                break;
            }
            let around = [&[kind.info().kind], &names[..i]].concat().join(".");
            return Err(format!("{around} has no field {name:?}; explain {around} lists those that it has"));
        };
        here = at(&names[..=i])
            .unwrap_or_else(|| Explanation { type_name: found.type_name.clone(), ..Explanation::default() });
        writer = found.writer.or(here.writer).or(writer);
        field = Some(found);
        deep = i + 1;
    }
    let about = here.said_as(field.as_ref()).into_iter().map(|(about, _)| about.to_owned()).collect();
    let writer = writer.or((!names.is_empty()).then_some(USER)).unwrap_or_default().to_owned();
    Ok(Explained {
        kind,
        asked: path.to_owned(),
        path: names[..deep].join("."),
        type_name: here.type_name,
        about,
        writer,
        fields: here.fields,
    })
}

/// `spec.containers[0].image` → `spec.containers.image`.
fn without_indexes(path: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0usize;
    for c in path.trim_matches('.').chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::chapters;
    use super::*;

    fn of(kind: Kind, path: &str) -> Result<Explained, String> {
        of_kind(kind, &Discovery::default(), path)
    }

    #[test]
    fn fields_are_found_by_their_path() {
        for (kind, path, found, type_name, writer) in [
            (Kind::Pod, "", "", "Pod", ""),
            (Kind::Pod, "status.phase", "status.phase", "string", "the Pod's kubelet"),
            (
                Kind::Pod,
                "status.containerStatuses[0].name",
                "status.containerStatuses.name",
                "string",
                "the Pod's kubelet",
            ),
            (Kind::Pod, "status.qosClass", "status.qosClass", "string", "the API server"),
            (Kind::Pod, "spec.containers[0].image", "spec.containers.image", "string", USER),
            (Kind::Deployment, "metadata.labels.app", "metadata.labels", "map[string]string", USER),
            (Kind::ConfigMap, "data.x", "data", "map[string]string", USER),
        ] {
            let explained = of(kind, path).unwrap();
            let got = (explained.path.as_str(), explained.type_name.as_str(), explained.writer.as_str());
            assert_eq!(got, (found, type_name, writer), "{kind} {path}");
            assert!(!explained.about.is_empty(), "{kind} {path}");
        }
        let wrong = of(Kind::Pod, "spec.contaners[0].image").unwrap_err();
        assert_eq!(wrong, "Pod.spec has no field \"contaners\"; explain Pod.spec lists those that it has");
    }

    #[test]
    fn a_kind_names_its_chapter() {
        for kind in Kind::built_in() {
            let about = of(kind, "").unwrap().about.join(" ");
            let chapter = chapters::CHAPTERS.iter().position(|chapter| chapter == chapters::of(kind, ""));
            let named = format!("Chapter {} of the course.", chapter.unwrap());
            assert!(about.ends_with(&named), "{kind}: {about:?} does not end with {named:?}");
        }
    }
}
