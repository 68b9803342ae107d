//! Lines that are too long, broken between words.

/// Lines of so many columns. What does not fit goes on below, as far in as its line is, or at least `indent`.
pub fn folded(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let blanks = line.chars().take_while(|sign| *sign == ' ').count();
        let indent = blanks.max(indent).min(width / 2);
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > indent && column + length > width {
                out.truncate(out.trim_end_matches(' ').len());
                out += &format!("\n{:indent$}", "");
                column = indent;
            }
            out += word;
            out.push(' ');
            column += length + 1;
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// A text of one paragraph in lines of so many columns, without an end of its last line.
pub fn wrapped(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    folded(&words.join(" "), width, 0).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_on_below() {
        let text = "move  step [N]  to the next stop\n  two words\n\nshort\n";
        assert_eq!(folded(text, 100, 0), text);
        assert_eq!(folded(text, 20, 8), "move  step [N]  to\n        the next\n        stop\n  two words\n\nshort\n");
        assert_eq!(folded("one-that-is-longer x\n", 10, 4), "one-that-is-longer\n    x\n");
        assert_eq!(wrapped(" two  words\nand more ", 10), "two words\nand more");
        assert_eq!(wrapped("", 10), "");
    }
}
