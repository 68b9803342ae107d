//! How long a page takes. One rule for all: so many words a minute, some minutes for each scene, and the exercises as the grader's
//! table has them.

use super::block::{Block, Directive};
use lab::Exercise;

/// Words that a reader takes in within a minute. English is not everyone's first language.
const WORDS: usize = 180;
/// Minutes to step through a scene.
const SCENE: usize = 3;
/// The line above a page's outcomes, before which the page says how long it takes.
const OUTCOMES: &str = "\nAfter this chapter you can\n";

/// How long a page takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minutes {
    /// To read it and to step through its scenes, in steps of five.
    pub read: usize,
    /// To write its exercises.
    pub exercises: usize,
}

/// How many words a reader has before them: the text, the quizzes and what scenes say. Code, with its notes, and sessions are looked
/// at.
pub fn words(source: &str, blocks: &[Block]) -> usize {
    let count = |text: &str| text.split_whitespace().count();
    let is_read = |block: &&Block| matches!(block.directive, Directive::Quiz | Directive::Scene);
    let looked_at: usize = blocks.iter().filter(|block| !is_read(block)).map(|block| count(&block.body)).sum();
    count(source).saturating_sub(looked_at)
}

/// How long a page takes, from its source and the directives in it.
pub fn of(source: &str, blocks: &[Block]) -> Minutes {
    let scenes = blocks.iter().filter(|block| block.directive == Directive::Scene).count();
    let exercises = blocks.iter().filter(|block| block.directive == Directive::Exercise);
    let found = exercises.filter_map(|block| Exercise::find(block.words.first()?).ok());
    Minutes {
        read: (words(source, blocks).div_ceil(WORDS) + SCENE * scenes).next_multiple_of(5),
        exercises: found.map(|exercise| exercise.minutes as usize).sum(),
    }
}

/// A page that says how long it takes, above its outcomes. One that names none says nothing.
pub fn say(page: String, minutes: Minutes) -> String {
    let Minutes { read, exercises } = minutes;
    let more = match exercises {
        0 => String::new(),
        minutes => format!(", and about {minutes} for exercises"),
    };
    let said = format!("<p class=\"ks-minutes\">About {read} minutes to read and step through{more}.</p>\n");
    page.replacen(OUTCOMES, &format!("\n{said}{OUTCOMES}"), 1)
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    #[test]
    fn words_scenes_and_exercises_take_time() {
        let page = |words: usize| {
            let text = "word ".repeat(words);
            format!("# A\n\nAfter this chapter you can\n\n- {text}\n\n```scene pod\na: b\n```\n```exercise fit\n```\n")
        };
        let minutes = |words: usize| {
            let source = page(words);
            of(&source, &block::find(&source).expect("it is well written"))
        };
        let fit = Exercise::find("fit").expect("it is one").minutes as usize;
        assert_eq!(minutes(300), Minutes { read: 5, exercises: fit });
        assert_eq!(minutes(1_200), Minutes { read: 10, exercises: fit });
        let said = say(page(300), minutes(300));
        assert!(
            said.starts_with("# A\n\n<p class=\"ks-minutes\">About 5 minutes to read and step through, and"),
            "{said}"
        );
        assert!(said.contains(".</p>\n\nAfter this chapter you can\n"), "{said}");
        assert_eq!(say("# A\n".to_owned(), Minutes::default()), "# A\n");
    }
}
