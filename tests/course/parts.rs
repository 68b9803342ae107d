//! What every numbered chapter has, as `book/README.md` lists it.

use std::fs;
use std::path::PathBuf;

use kubestep_book::block::{self, Block, Directive};
use kubestep_book::minutes;

use crate::project::from_root;

/// How many words a reader has before them: text, quizzes and captions.
const WORDS: std::ops::RangeInclusive<usize> = 1_000..=2_500;

/// What is wrong with a chapter; empty if it has all that it needs.
fn missing(text: &str) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let mut need = |holds: bool, what: &'static str| {
        if !holds {
            missing.push(what);
        }
    };
    let blocks = block::find(text).unwrap_or_default();
    let of = |directive: Directive| blocks.iter().filter(|block| block.directive == directive).collect::<Vec<_>>();
    let (quizzes, scenes, code) = (of(Directive::Quiz), of(Directive::Scene), of(Directive::Code));

    let outcomes = text.split("\n## ").next().unwrap_or_default().split("\nAfter this chapter you can\n").nth(1);
    need(outcomes.is_some_and(|list| bullets(list) >= 2), "outcomes");
    let question = quizzes.first().filter(|block| block.option("title") == Some("Predict before you read on"));
    let told = scenes.iter().chain(&code).map(|block| block.line).min().unwrap_or(usize::MAX);
    need(question.is_some_and(|question| question.line < told), "a question to predict, before anything is shown");
    need(!scenes.is_empty(), "a scene");
    need(!code.is_empty(), "our code");
    need(section(text, "What must always hold").is_some_and(|held| bullets(held) >= 3), "what must always hold");
    let asks = |block: &&Block| block.body.matches("question: ").count() >= 3;
    need(section(text, "Quiz").is_some() && quizzes.last().is_some_and(asks), "a quiz of three questions");
    let exercise = section(text, "Exercise").or_else(|| section(text, "Exercises"));
    need(exercise.is_some_and(|exercise| words(exercise) > 0), "an exercise");
    need(section(text, "Left out").is_some_and(|left| words(left) >= 15), "what is left out");
    let ends = ["What must always hold", "Quiz", "Exercise", "Left out"];
    let places: Vec<_> = ends.iter().filter_map(|end| text.find(&format!("\n## {end}"))).collect();
    need(places.is_sorted(), "that order");

    need(WORDS.contains(&minutes::words(text, &blocks)), "1,000 to 2,500 words");
    missing
}

/// The text under a heading of the second level.
fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let rest = text.split_once(&format!("\n## {heading}\n"))?.1;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

/// For each question of a quiz: which of its answers are right, and how long each is.
fn answers(body: &str) -> Vec<Vec<(bool, usize)>> {
    let mut questions: Vec<Vec<(bool, usize)>> = Vec::new();
    for line in body.lines().map(|line| line.trim_start().trim_start_matches("- ")) {
        if line.starts_with("question: ") {
            questions.push(Vec::new());
        } else if let Some(text) = line.strip_prefix("text: ") {
            questions.last_mut().expect("answers come after a question").push((false, text.chars().count()));
        } else if line == "right: true" {
            questions.last_mut().and_then(|answers| answers.last_mut()).expect("it says so of an answer").0 = true;
        }
    }
    questions
}

fn bullets(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("- ")).count()
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The chapters' files, in their order.
fn chapters() -> Vec<PathBuf> {
    let numbered = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.as_bytes().first().is_some_and(u8::is_ascii_digit)
    };
    let files = fs::read_dir(from_root("book/src"))
        .expect("the chapters are there")
        .map(|entry| entry.expect("it can be listed").path());
    let mut chapters: Vec<PathBuf> = files.filter(numbered).collect();
    chapters.sort();
    chapters
}

/// What the page of a part of a chapter can do without.
const OF_A_WHOLE_CHAPTER: [&str; 3] = ["a scene", "our code", "an exercise"];

#[test]
fn every_chapter_has_its_parts() {
    let chapters = chapters();
    let summary = fs::read_to_string(from_root("book/src/SUMMARY.md")).expect("it is there");
    let nested = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        summary.lines().any(|line| line.starts_with("  - ") && line.ends_with(&format!("({name})")))
    };
    assert_eq!((chapters.len(), chapters.iter().filter(|path| nested(path)).count()), (26, 7));
    let lacks = |path: &PathBuf| {
        let mut missing = missing(&fs::read_to_string(path).expect("a chapter is text"));
        missing.retain(|part| !nested(path) || !OF_A_WHOLE_CHAPTER.contains(part));
        missing
    };
    let wrong: Vec<String> = chapters
        .iter()
        .map(|path| (path, lacks(path)))
        .filter(|(_, missing)| !missing.is_empty())
        .map(|(path, missing)| format!("{} lacks {}", path.display(), missing.join("; ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reader who always takes the longest answer, or always the second, does worse than one who thinks.
#[test]
fn neither_length_nor_place_gives_an_answer_away() {
    let (mut count, mut longest, mut places) = (0, 0, [0; 3]);
    for path in chapters() {
        let text = fs::read_to_string(path).expect("a chapter is text");
        let blocks = block::find(&text).unwrap_or_default();
        let quizzes = blocks.iter().filter(|block| block.directive == Directive::Quiz);
        for answers in quizzes.flat_map(|block| answers(&block.body)) {
            let Some(place) = answers.iter().position(|&(right, _)| right) else { continue };
            count += 1;
            longest += usize::from(answers.iter().all(|&(right, length)| right || length < answers[place].1));
            places[place.min(2)] += 1;
        }
    }
    assert!(count > 60, "only {count} questions were found");
    assert!(longest * 4 < count, "in {longest} of {count} questions the right answer is the longest");
    assert!(
        places.iter().all(|&place| place * 2 < count && place * 5 > count),
        "right by place: {places:?} of {count}"
    );
}

#[test]
fn what_a_chapter_lacks_is_noticed() {
    let whole = fs::read_to_string(from_root("book/src/06-replicaset.md")).expect("a chapter is text");
    assert_eq!(missing(&whole), Vec::<&str>::new());
    for (part, without, lacks) in [
        ("After this chapter you can", "Soon", "outcomes"),
        ("Predict before you read on", "Guess", "a question to predict, before anything is shown"),
        ("```scene ", "```text ", "a scene"),
        ("```code ", "```text ", "our code"),
        ("## What must always hold", "## Rules", "what must always hold"),
        ("## Quiz", "## Questions", "a quiz of three questions"),
        ("## Exercises", "## Work", "an exercise"),
        ("## Left out", "## More", "what is left out"),
    ] {
        assert!(whole.contains(part), "{part}");
        let found = missing(&whole.replace(part, without));
        assert!(found.contains(&lacks), "without {part}: {found:?}");
    }
    assert!(missing(&format!("{whole}{}", " word".repeat(2_500))).contains(&"1,000 to 2,500 words"));
}
