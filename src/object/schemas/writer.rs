//! JSON written piece by piece, for documents of megabytes, without a tree in memory.

use serde_json::Value;

/// JSON that grows. Commas come by themselves.
#[derive(Clone, Debug, Default)]
pub struct Writer(String);

impl Writer {
    /// What has been written.
    pub fn finish(self) -> String {
        self.0
    }

    /// What has been written so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn next(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(',');
        }
    }

    /// A piece of JSON that is ready: a value, or several fields.
    pub fn raw(&mut self, json: &str) {
        self.next();
        self.0 += json;
    }

    /// A string.
    pub fn text(&mut self, text: &str) {
        self.next();
        self.quoted(text);
    }

    fn quoted(&mut self, text: &str) {
        if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..0x20)) {
            self.0 += &Value::from(text).to_string();
        } else {
            self.0.push('"');
            self.0 += text;
            self.0.push('"');
        }
    }

    /// The name of a field, whose value comes next.
    pub fn key(&mut self, name: &str) -> &mut Writer {
        self.next();
        self.quoted(name);
        self.0.push(':');
        self
    }

    /// A field that is a string.
    pub fn field(&mut self, name: &str, text: &str) {
        self.key(name).text(text);
    }

    /// An object with the fields that `fields` writes.
    pub fn object(&mut self, fields: impl FnOnce(&mut Writer)) {
        self.next();
        self.0.push('{');
        fields(self);
        self.0.push('}');
    }

    /// A list with the items that `items` writes.
    pub fn list(&mut self, items: impl FnOnce(&mut Writer)) {
        self.next();
        self.0.push('[');
        items(self);
        self.0.push(']');
    }

    /// A list of strings.
    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        self.list(|list| texts.into_iter().for_each(|text| list.text(text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_values() {
        let mut json = Writer::default();
        json.object(|json| {
            json.field("a", "say \"b\"");
            json.key("c").texts(["d", "e"]);
            json.key("f").object(|_| {});
            json.raw("\"g\":1");
        });
        assert_eq!(json.finish(), "{\"a\":\"say \\\"b\\\"\",\"c\":[\"d\",\"e\"],\"f\":{},\"g\":1}");
    }
}
