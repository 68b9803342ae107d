//! What mdBook sees of [`directives`](super::directives): its preprocessor `kubestep`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use mdbook_preprocessor::book::{Book, BookItem, Chapter};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use super::directives::{Directives, Settings, report};

/// The directives, for mdBook.
pub struct Plugin {
    program: PathBuf,
    bar: ProgressBar,
}

impl Plugin {
    /// `program` is what transcripts run: this program.
    pub fn new(program: PathBuf) -> Plugin {
        Plugin { program, bar: ProgressBar::hidden() }
    }

    /// The same, showing on a bar how far it has come: a chapter is a place.
    pub fn with_bar(self, bar: ProgressBar) -> Plugin {
        Plugin { bar, ..self }
    }
}

impl Preprocessor for Plugin {
    fn name(&self) -> &str {
        "kubestep"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> anyhow::Result<Book> {
        let root = std::path::absolute(&context.root)?;
        let source = context.config.get("preprocessor.kubestep.source")?;
        let settings = Settings {
            project: root.parent().unwrap_or(&root).to_owned(),
            program: self.program.clone(),
            source,
            bless: std::env::var_os("KUBESTEP_BLESS").is_some(),
        };
        let folder = context.root.join(&context.config.book.src);
        let mut directives = Directives::new(settings);
        let mut mistakes = Vec::new();
        self.bar.set_position(0);
        self.bar.set_length(book.iter().filter(|item| matches!(item, BookItem::Chapter(_))).count() as u64);
        book.for_each_mut(|item| {
            let BookItem::Chapter(chapter) = item else { return };
            self.bar.set_message(chapter.name.clone());
            mistakes.extend(carry_out(&mut directives, chapter, &folder).err());
            self.bar.inc(1);
        });
        match mistakes.is_empty() {
            true => Ok(book),
            false => bail!("the book does not say what is:\n{}", mistakes.join("\n")),
        }
    }

    fn supports_renderer(&self, renderer: &str) -> anyhow::Result<bool> {
        Ok(renderer == "html")
    }
}

fn carry_out(directives: &mut Directives, chapter: &mut Chapter, folder: &Path) -> Result<(), String> {
    let Some(path) = &chapter.source_path else { return Ok(()) };
    let file = folder.join(path);
    let done = directives.chapter(&chapter.content);
    if let Some(blessed) = done.blessed {
        std::fs::write(&file, blessed).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    }
    if !done.mistakes.is_empty() {
        return Err(report(&file, &done.mistakes));
    }
    chapter.content = done.content;
    Ok(())
}

/// Does a preprocessor's part for a stock mdBook: the book as JSON comes in and goes out.
///
/// # Errors
/// Says what is wrong, with chapter and line.
pub fn speak(input: impl Read, mut output: impl Write, program: PathBuf) -> anyhow::Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(input)
        .context("this is for mdBook: `mdbook build book` runs it; `kubestep book` needs no mdBook")?;
    let book = Plugin::new(program).run(&context, book)?;
    serde_json::to_writer(&mut output, &book)?;
    Ok(output.flush()?)
}
