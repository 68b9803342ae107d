//! What a command says of an object: that something was done to it, or the object itself, as `-o` wants it.

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::dry_run_note;
use crate::print::kyaml;
use crate::print::names::qualified_name;
use crate::print::output::{Output, json_text, print};
use kinds::printers::fields::text;
use object::go_types::Ordered;

impl Kubectl {
    /// What `-o` and `--template` ask for. A template may be in a file; columns in a file are a line of titles and one of
    /// paths.
    pub fn output(&self, args: &Args) -> Result<Output, Failure> {
        let (given, template) = (args.value("output"), args.value("template"));
        let (format, argument) = given.split_once('=').unwrap_or((given, template));
        let inline = match format {
            "" if !template.is_empty() => "go-template",
            "jsonpath-file" => "jsonpath",
            "go-template-file" | "templatefile" => "go-template",
            "custom-columns-file" => "custom-columns",
            format => format,
        };
        let argument = match format {
            _ if argument.is_empty() => String::new(),
            "custom-columns-file" => columns_of(&self.open_text(argument)?)?,
            "jsonpath-file" | "go-template-file" | "templatefile" => self.open_text(argument)?,
            _ => argument.to_owned(),
        };
        Output::parse(&if argument.is_empty() { inline.to_owned() } else { format!("{inline}={argument}") })
            .map_err(Failure::text)
    }

    /// Says what was done to an object, or prints the object if `-o` asks for that. Mirrors `NamePrinter` and
    /// `PrintFlags`.
    pub fn tell(&self, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        self.tell_as(Held::Map, object, how, args)
    }

    /// The same of an object that kubectl holds in its Go struct, and not as a map: JSON and KYAML have the struct's order then.
    /// YAML is sorted by name either way.
    pub fn tell_struct(&self, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        self.tell_as(Held::Struct, object, how, args)
    }

    fn tell_as(&self, held: Held, object: &Value, how: &str, args: &Args) -> Result<(), Failure> {
        if args.value("output").is_empty() {
            self.line(format!("{} {how}{}", qualified_name(object), dry_run_note(args)));
            return Ok(());
        }
        let output = self.output(args)?;
        let text = match (&output, held) {
            (Output::Json, Held::Struct) => json_text(&Ordered::object(text(object, "kind"), object)),
            (Output::KYaml, Held::Struct) => kyaml::in_order(&Ordered::object(text(object, "kind"), object)),
            _ => print(&output, std::slice::from_ref(object), true, self.now()).map_err(Failure::text)?,
        };
        let is_next = matches!(output, Output::Yaml) && std::mem::replace(&mut *self.documents.borrow_mut(), true);
        self.print(&if is_next { format!("---\n{text}") } else { text });
        Ok(())
    }
}

/// How kubectl holds an object that it tells of: `Unstructured`, or the struct of its kind.
#[derive(Clone, Copy)]
enum Held {
    Map,
    Struct,
}

/// `NAME:.metadata.name,…` out of a line of titles and a line of paths. Mirrors `NewCustomColumnsPrinterFromTemplate`.
fn columns_of(text: &str) -> Result<String, Failure> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let (titles, paths) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if titles.is_empty() || titles.len() != paths.len() {
        let why = "expected as many titles in the first line as paths in the second";
        return Err(Failure::text(format!("{why}, got {} and {}", titles.len(), paths.len())));
    }
    Ok(titles.iter().zip(paths).map(|(title, path)| format!("{title}:{path}")).collect::<Vec<_>>().join(","))
}
