//! `-o custom-columns=NAME:.metadata.name,PHASE:.status.phase`. Mirrors `pkg/cmd/get/customcolumn.go`.

use serde_json::Value;

use super::fields::go_value;
use super::{jsonpath, tabs};

/// Titles and paths, and whether the titles are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    columns: Vec<(String, String)>,
    /// Not with `--no-headers`.
    pub titles: bool,
}

impl Columns {
    /// Reads `TITLE:path,TITLE:path`.
    ///
    /// # Errors
    /// kubectl's own words about a column that is none.
    pub fn parse(text: &str) -> Result<Columns, String> {
        if text.is_empty() {
            return Err("custom-columns format specified but no custom columns given".to_owned());
        }
        let column = |part: &str| {
            let (title, path) = part
                .split_once(':')
                .ok_or_else(|| format!("unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>"))?;
            jsonpath::find(path, &Value::Null)?;
            Ok((title.to_owned(), path.to_owned()))
        };
        Ok(Columns { columns: text.split(',').map(column).collect::<Result<_, String>>()?, titles: true })
    }

    /// The table with a row for each object.
    ///
    /// # Errors
    /// A path that an object refuses.
    pub fn print(&self, objects: &[Value]) -> Result<String, String> {
        let mut rows = Vec::new();
        if self.titles {
            rows.push(self.columns.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>().join("\t"));
        }
        for object in objects {
            let cells = self.columns.iter().map(|(_, path)| {
                let found: Vec<String> = jsonpath::find(path, object)?.iter().map(go_value).collect();
                Ok(if found.is_empty() { "<none>".to_owned() } else { found.join(",") })
            });
            rows.push(cells.collect::<Result<Vec<_>, String>>()?.join("\t"));
        }
        Ok(tabs::table(&rows.iter().map(|row| format!("{row}\n")).collect::<String>()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_field_is_a_column() {
        let mut columns = Columns::parse("NAME:.metadata.name,X:{.spec.x},Y:spec.y[*].z").unwrap();
        let objects = [
            json!({"metadata": {"name": "a"}, "spec": {"x": {"k": [1, true]}, "y": [{"z": "b c"}, {"z": null}]}}),
            json!({"metadata": {"name": "b"}, "spec": {"x": "words of a message"}}),
        ];
        let expected = "\
NAME   X                    Y
a      map[k:[1 true]]      b c,<nil>
b      words of a message   <none>
";
        assert_eq!(columns.print(&objects).unwrap(), expected);
        columns.titles = false;
        let expected = "\
a     map[k:[1 true]]      b c,<nil>
b     words of a message   <none>
";
        assert_eq!(columns.print(&objects).unwrap(), expected);
        assert!(Columns::parse("NAME").is_err());
    }
}
