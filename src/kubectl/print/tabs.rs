//! Text in columns. Mirrors Go's `text/tabwriter`, because kubectl prints everything through it.
//!
//! A cell ends with a tab. A column is a run of neighbouring lines that all have a cell there, and is as wide as its
//! widest cell; what follows the last tab of a line belongs to no column. So two neighbouring blocks of `Name: value`
//! lines line up with each other if nothing stands between them, and only then.

/// Lays out `text`: every column at least `min_width` wide, with `padding` spaces after its widest cell.
fn align(text: &str, min_width: usize, padding: usize) -> String {
    let lines: Vec<Vec<&str>> = text.split('\n').map(|line| line.split('\t').collect()).collect();
    let mut layout = Layout { lines: &lines, min_width, padding, widths: Vec::new(), out: String::new() };
    layout.format(0, lines.len());
    layout.out.pop();
    layout.out
}

/// As kubectl's tables.
pub fn table(text: &str) -> String {
    align(text, 6, 3)
}

/// As kubectl's describe pages.
pub fn page(text: &str) -> String {
    align(text, 0, 2)
}

struct Layout<'a> {
    lines: &'a [Vec<&'a str>],
    min_width: usize,
    padding: usize,
    /// Of the columns to the left, for the lines at hand.
    widths: Vec<usize>,
    out: String,
}

impl Layout<'_> {
    /// Mirrors `Writer.format`: finds the runs of lines that share the next column, and lays out each run.
    fn format(&mut self, mut first: usize, end: usize) {
        let column = self.widths.len();
        let mut line = first;
        while line < end {
            if column + 1 < self.lines[line].len() {
                self.write(first, line);
                first = line;
                let mut width = self.min_width;
                while line < end && column + 1 < self.lines[line].len() {
                    width = width.max(self.lines[line][column].chars().count() + self.padding);
                    line += 1;
                }
                self.widths.push(width);
                self.format(first, line);
                self.widths.pop();
                first = line;
            }
            line += 1;
        }
        self.write(first, end);
    }

    fn write(&mut self, first: usize, end: usize) {
        for line in first..end {
            for (column, cell) in self.lines[line].iter().enumerate() {
                self.out.push_str(cell);
                if let Some(width) = self.widths.get(column) {
                    self.out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
                }
            }
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_lines_line_up() {
        let page = page("IPs:\n  IP:\t10.0.0.1\nControlled By:\tReplicaSet/web\nContainers:\n  a:\tb\n");
        assert_eq!(page, "IPs:\n  IP:           10.0.0.1\nControlled By:  ReplicaSet/web\nContainers:\n  a:  b\n");
        assert_eq!(align("", 0, 2), "");
        assert_eq!(align("\n\n", 0, 2), "\n\n");
        assert_eq!(align("a\tb\tc\nlonger\tx\n", 0, 1), "a      b c\nlonger x\n");
    }
}
