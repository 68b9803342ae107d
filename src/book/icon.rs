//! Icons of kinds, for still diagrams: the same strokes as in the player.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Where they are drawn, once for both.
const SOURCE: &str = include_str!("../../book/assets/icons.js");

/// A path on a grid of 16 by 16, by kind. The empty name is any other kind.
static ICONS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| read(SOURCE).unwrap_or_default());

/// What stands between the braces is JSON.
fn read(source: &str) -> Option<BTreeMap<String, String>> {
    let (start, end) = (source.find('{')?, source.rfind('}')?);
    serde_json::from_str(source.get(start..=end)?).ok()
}

/// The icon of a kind, with its upper left corner at a point of a diagram. It says nothing that the words beside it do not.
pub fn at(kind: &str, x: usize, y: usize) -> String {
    let path = ICONS.get(kind).or_else(|| ICONS.get("")).map_or("", String::as_str);
    format!("<path class=\"ks-glyph\" transform=\"translate({x} {y})\" d=\"{path}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::Kind;

    #[test]
    fn each_icon_is_a_path_and_belongs_to_a_kind() {
        assert!(ICONS.len() > 30 && ICONS.contains_key(""), "{}", ICONS.len());
        for (kind, path) in ICONS.iter() {
            let known = kind.is_empty() || Kind::built_in().any(|one| one.info().kind == kind);
            assert!(known, "{kind} is no kind");
            assert!(
                path.starts_with('M') && path.chars().all(|c| "MLHVACSZmlhvacsz0123456789.- ".contains(c)),
                "{path}"
            );
        }
    }
}
