//! The formats of `-o`, and objects in each of them.
pub use kinds::printers::{cells, duration, fields, ingress, layout, pod, service, storage, workloads};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::names::qualified_name;
use super::{custom, jsonpath, kyaml, table, template, yaml};

/// How to print objects: `-o`.
#[derive(Clone, Debug)]
pub enum Output {
    /// A table, with or without the wide columns.
    Table {
        /// `-o wide`.
        wide: bool,
    },
    /// `-o yaml`.
    Yaml,
    /// `-o json`.
    Json,
    /// `-o name`.
    Name,
    /// `-o kyaml`.
    KYaml,
    /// `-o jsonpath=…`, as it was given and as it was read.
    JsonPath(String, jsonpath::Template),
    /// `-o jsonpath-as-json=…`: a list of what one path finds.
    JsonList(String),
    /// `-o go-template=…`.
    GoTemplate(template::Template),
    /// `-o custom-columns=…`.
    CustomColumns(custom::Columns),
}

impl Output {
    /// Reads the value of `-o`; empty means the plain table.
    pub fn parse(text: &str) -> Result<Output, String> {
        let (format, argument) = text.split_once('=').unwrap_or((text, ""));
        match format {
            "" => Ok(Output::Table { wide: false }),
            "wide" => Ok(Output::Table { wide: true }),
            "yaml" => Ok(Output::Yaml),
            "json" => Ok(Output::Json),
            "name" => Ok(Output::Name),
            "jsonpath" | "jsonpath-as-json" | "go-template" | "template" if argument.is_empty() => {
                Err("template format specified but no template given".to_owned())
            }
            "kyaml" => Ok(Output::KYaml),
            "jsonpath" => match jsonpath::Template::parse(argument) {
                Ok(template) => Ok(Output::JsonPath(argument.to_owned(), template)),
                Err(why) => Err(format!("error parsing jsonpath {argument}, {why}")),
            },
            "jsonpath-as-json" => jsonpath::find(argument, &Value::Null).map(|_| Output::JsonList(argument.to_owned())),
            "go-template" | "template" => Ok(Output::GoTemplate(template::Template::parse(argument)?)),
            "custom-columns" => Ok(Output::CustomColumns(custom::Columns::parse(argument)?)),
            _ => Err(no_printer(
                format,
                "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
                 jsonpath-file,kyaml,name,template,templatefile,wide,yaml",
            )),
        }
    }

    /// The same without titles, as `--no-headers` wants it.
    pub fn without_titles(mut self, wanted: bool) -> Output {
        if let Output::CustomColumns(columns) = &mut self {
            columns.titles &= !wanted;
        }
        self
    }

    /// Whether this prints a table of the kind's own columns.
    pub fn is_table(&self) -> bool {
        matches!(self, Output::Table { .. })
    }
}

/// The formats of commands that say what they did to an object.
pub const FORMATS: &str = "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,\
                           templatefile,yaml";

/// What is said of a format that is none of these.
pub fn no_printer(format: &str, allowed: &str) -> String {
    format!("unable to match a printer suitable for the output format \"{format}\", allowed formats are: {allowed}")
}

/// Objects as every format but a table shows them: one as it is, several as a List.
pub fn print(output: &Output, objects: &[Value], single: bool, now: Timestamp) -> Result<String, String> {
    let whole = || match objects {
        [one] if single => one.clone(),
        _ => json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}),
    };
    match output {
        Output::Yaml => Ok(yaml::print(&whole())),
        Output::Json => Ok(json_text(&whole())),
        Output::Name => Ok(objects.iter().map(|o| format!("{}\n", qualified_name(o))).collect()),
        Output::KYaml => Ok(kyaml::print(&whole())),
        Output::JsonPath(text, template) => {
            let whole = whole();
            template.print(&whole).map_err(|why| not_executed(text, &whole, &why))
        }
        Output::JsonList(path) => {
            let whole = whole();
            Ok(json_text(&jsonpath::find(path, &whole)?))
        }
        Output::GoTemplate(template) => template.print(&whole()),
        Output::CustomColumns(columns) => columns.print(objects),
        Output::Table { wide } => Ok(table::plain(objects, *wide, now)),
    }
}

/// What is said of a jsonpath that fails on the objects. Mirrors `JSONPathPrinter.PrintObj`.
fn not_executed(template: &str, whole: &Value, why: &str) -> String {
    format!(
        "error executing jsonpath {template:?}: Error executing template: {why}. Printing more information for debugging the \
         template:\n\ttemplate was:\n\t\t{template}\n\tobject given to jsonpath engine was:\n\t\t{}\n\n",
        go_syntax(whole)
    )
}

/// A value as Go's `%#v` writes it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// JSON as kubectl prints it: four spaces.
pub fn json_text(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, format);
    if value.serialize(&mut serializer).is_err() {
        return String::new();
    }
    out.push(b'\n');
    String::from_utf8(out).unwrap_or_default()
}
