//! `-o go-template={{…}}`: text with actions between double braces.
//!
//! - [`parse`]: actions, pipelines and operands. [`run`]: what they come to for an object.
//! - [`tree`]: what it is made of. [`functions`]: `eq`, `len`, `slice`, `base64decode` … [`printf`]: Go's formats.
//!
//! Mirrors Go's `text/template` as `k8s.io/cli-runtime/pkg/printers/template.go` uses it: a field that is not there prints
//! `<no value>`, and whole numbers of an object are those of the template: `eq .spec.replicas 3`.
//! Left out: methods, `call`, and where in the template an error is.

mod functions;
mod parse;
mod printf;
mod run;
mod tree;

use std::collections::BTreeMap;

use serde_json::Value;

use tree::Node;

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    source: String,
    nodes: Vec<Node>,
    /// What `define` and `block` gave names to.
    defined: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Reads the text of a Go template.
    ///
    /// # Errors
    /// kubectl's own words about what is no template.
    pub fn parse(text: &str) -> Result<Template, String> {
        let (nodes, defined) =
            parse::parse(text).map_err(|why| format!("error parsing template {text}, template: output:{why}"))?;
        Ok(Template { source: text.to_owned(), nodes, defined })
    }

    /// The text for an object.
    pub fn print(&self, object: &Value) -> Result<String, String> {
        run::run(&self.nodes, &self.defined, object)
            .map_err(|why| format!("error executing template {:?}: {why}", self.source))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(template: &str) -> Result<String, String> {
        let object = json!({"kind": "List", "n": 3, "half": 0.5, "many": 30080000, "none": null, "data": {"a": "aGk=", "b": ""}, "items": [
            {"metadata": {"name": "x", "labels": {"app": "web"}}, "ready": true},
            {"metadata": {"name": "y"}, "ready": false},
        ]});
        Template::parse(template)?.print(&object)
    }

    #[test]
    fn templates_print_what_go_prints() {
        for (template, expected) in [
            ("{{.kind}} {{.n}} {{.half}} {{.none}} {{.nothing.at.all}}", "List 3 0.5 <no value> <no value>"),
            ("{{range .items}}{{.metadata.name}}{{\"\\n\"}}{{end}}", "x\ny\n"),
            ("{{range $i, $x := .items}}{{if $i}}, {{end}}{{$i}}={{$x.metadata.name}}{{end}}", "0=x, 1=y"),
            ("{{range $k, $v := .data}}{{$k}}:{{$v | base64decode}};{{end}}", "a:hi;b:;"),
            ("{{.many}} {{printf \"%v\" .many}} {{.half | print}}", "30080000 30080000 0.5"),
            ("{{range .nothing}}a{{else}}none{{end}}", "none"),
            ("{{range .items}}{{if .ready}}+{{else if .metadata.labels}}?{{else}}-{{end}}{{end}}", "+-"),
            ("{{with (index .items 0).metadata}}{{.name}} {{$.kind}}{{end}}", "x List"),
            ("{{index .data \"a\"}} {{len .items}} {{len \"abc\"}}", "aGk= 2 3"),
            ("{{(index .items 1).metadata.name | printf \"%s-%d-%v-%q\" \"a\" 7 true}}", "a-7-true-\"y\""),
            ("{{if and .kind (not .none) (eq .kind \"Set\" \"List\")}}yes{{end}}", "yes"),
            ("{{$n := len .items}}{{if gt $n 1}}many{{end}}{{$n = 0}}{{$n}}", "many0"),
            ("a {{- /* no */ -}} b {{- 1 }}", "ab1"),
            (
                "{{.items}}",
                "[map[metadata:map[labels:map[app:web] name:x] ready:true] map[metadata:map[name:y] ready:false]]",
            ),
            ("{{or .data.b .kind}} {{ne .kind `x`}} {{print 1 2 \"a\" 3}}", "List true 1 2a3"),
            ("{{range 2}}x{{end}}", "xx"),
            (
                "{{js \"a'<>&=\\\" é\\n\"}} {{urlquery \"a b/é&~_-.*\" 1}}",
                "a\\'\\u003C\\u003E\\u0026\\u003D\\\" é\\u000A a+b%2F%C3%A9%26~_-.%2A1",
            ),
            (
                "{{eq .n 3}} {{ne .n 2 }} {{gt .many 3}} {{lt .half 1.5}} {{eq (len .items) 2}}",
                "true true true true true",
            ),
            ("{{printf \"%-6s|%4s|%.2s|\" .kind \"x\" \"long\"}}", "List  |   x|lo|"),
            (
                "{{printf \"%d|%5d|%-5d|%05d|%x|%.1f|%t\" .n .n .n -7 255 .half true}}",
                "3|    3|3    |-0007|ff|0.5|true",
            ),
            (
                "{{printf \"%d %s %s %v\" .kind .n .none .none}} {{printf \"%s\"}} {{printf \"a\" 1}}",
                "%!d(string=List) %!s(int64=3) %!s(<nil>) <nil> %!s(MISSING) a%!(EXTRA int64=1)",
            ),
            ("{{range $i, $x := .items}}{{if $i}}{{break}}{{end}}{{$x.metadata.name}}{{end}}.", "x."),
            ("{{range .items}}{{if .ready}}{{continue}}{{end}}{{.metadata.name}}{{end}}", "y"),
            ("{{slice .kind 1 3}} {{slice \"abc\" 2}} {{len (slice .items 1)}}", "is c 1"),
            ("{{define \"t\"}}<{{.}}{{$}}>{{end}}{{template \"t\" .n}}{{template \"t\" .kind}}", "<33><ListList>"),
            ("{{range .items}}{{block \"b\" .metadata}}{{.name}};{{end}}{{end}}", "x;y;"),
        ] {
            assert_eq!(printed(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (template, says) in [
            ("{{.kind", "output:1: unclosed action"),
            ("a\n{{foo .kind}}", "output:2: function \"foo\" not defined"),
            ("{{if .kind}}", "output:1: unexpected EOF"),
            ("{{end}}", "output:1: unexpected {{end}}"),
            ("{{$x}}", "output:1: undefined variable \"$x\""),
            ("{{.kind.name}}", "can't evaluate field name in type interface {}"),
            ("{{eq .half 3}}", "error calling eq: incompatible types for comparison"),
            ("{{eq .kind 3}}", "error calling eq: incompatible types for comparison"),
            ("{{break}}", "output:1: {{break}} outside {{range}}"),
            ("{{if .n}}{{continue}}{{end}}", "output:1: {{continue}} outside {{range}}"),
            ("{{slice .kind 9}}", "error calling slice: index out of range: 9"),
            ("{{slice .n 1}}", "error calling slice: can't slice item of type int64"),
            ("{{template \"no\"}}", "template \"no\" not defined"),
            ("{{template .n}}", "output:1: unexpected operand in template clause"),
            ("{{define \"t\"}}", "output:1: unexpected EOF"),
            ("{{define \"t\"}}{{template \"t\" .}}{{end}}{{template \"t\" .}}", "exceeded maximum template depth"),
            ("{{index .items 7}}", "error calling index: index out of range: 7"),
            ("{{range .kind}}{{end}}", "range can't iterate over List"),
            ("{{len .n}}", "error calling len: len of type int64"),
            ("{{\"a}}", "output:1: unterminated quoted string"),
            ("{{.a}} {{}}", "output:1: missing value for command"),
            ("{{1 2}}", "can't give argument to non-function 1"),
            ("{{(.a}}", "unclosed left paren"),
        ] {
            let told = printed(template).unwrap_err();
            assert!(told.contains(says), "{template}: {told}");
        }
    }

    #[test]
    fn no_template_brings_it_down() {
        let pieces = [
            "{{", "}}", "range", "if", "end", "else", " ", ".", "$", "x", ":=", "=", "(", ")", "|", "\"", "`", "é",
            "9", "-", "len", "index", "printf", "%d", ".items", "/*", "*/", ",", "\\", "'", "with", "\n", "define",
            "template", "block", "break", "continue", "slice", "\"t\"",
        ];
        let mut random = object::random::Random::new(5);
        for _ in 0..20_000 {
            let length = random.below(12) as usize;
            let text: String = (0..length).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
            let _ = printed(&text);
            let _ = printed(&format!("{{{{{text}}}}}"));
        }
        assert!(printed(&"{{(".repeat(10_000)).is_err());
        assert!(printed(&("{{".to_owned() + &"(".repeat(100_000) + "}}")).is_err());
        assert!(printed(&"{{if .n}}".repeat(100_000)).is_err());
        assert!(printed("{{range 9999}}{{range 9999}}{{range 9999}}{{end}}{{end}}{{end}}").is_err());
    }
}
