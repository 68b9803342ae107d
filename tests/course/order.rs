//! One order for the book, `learn` and the workshop guide, and the minutes that they name.

use std::fs;

use kubestep_book::block::{self, Block, Directive};
use kubestep_book::{leader, minutes};
use lab::TABLE;

use crate::project::from_root;

fn page(file: &str) -> String {
    fs::read_to_string(from_root("book/src").join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn blocks(file: &str) -> Vec<Block> {
    block::find(&page(file)).unwrap_or_else(|mistakes| panic!("{file}: {mistakes:?}"))
}

/// The files of the pages, in the order of the table of contents.
fn pages() -> Vec<String> {
    let summary = page("SUMMARY.md");
    summary.lines().filter_map(|line| Some(line.split_once("](")?.1.trim_end_matches(')').to_owned())).collect()
}

#[test]
fn book_and_learn_have_one_order() {
    let exercises = pages().into_iter().flat_map(|file| blocks(&file));
    let exercises = exercises.filter(|block| block.directive == Directive::Exercise);
    let in_book: Vec<String> = exercises.map(|block| block.words.join(" ")).collect();
    let in_learn: Vec<&str> = TABLE.iter().map(lab::Exercise::name).collect();
    assert_eq!(in_book, in_learn);
    for (number, exercise) in TABLE.iter().enumerate() {
        assert_eq!(exercise.folder, format!("{number:02}_{}", exercise.name()), "numbers follow the order");
    }
}

/// Chapters stand in the order of their numbers, and pages of a chapter behind it.
#[test]
fn chapters_stand_in_the_order_of_their_numbers() {
    let pages = pages();
    let numbers: Vec<u32> = pages.iter().filter_map(|file| file.split('-').next()?.parse().ok()).collect();
    assert!(numbers.is_sorted() && numbers.len() > 20, "{numbers:?}");
}

/// The minutes that a page's notes for leaders add up to. None: it has no notes.
fn led(file: &str) -> Option<usize> {
    let blocks = blocks(file);
    let block = blocks.iter().find(|block| block.directive == Directive::Leader)?;
    let parts = leader::parts(block).unwrap_or_else(|mistake| panic!("{file}: {}", mistake.text));
    Some(parts.iter().map(|(minutes, _)| minutes).sum())
}

#[test]
fn every_page_of_the_course_has_notes_for_leaders() {
    let of_the_course = |file: &String| file.as_bytes()[0].is_ascii_digit() || file == "docker.md";
    let without: Vec<String> = pages().into_iter().filter(of_the_course).filter(|file| led(file).is_none()).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// A row of the guide: its minutes, what is done, and the pages that it links to.
type Row = (usize, String, Vec<String>);

/// The rows below one of the guide's headings.
fn rows(guide: &str, heading: &str) -> Vec<Row> {
    let part = guide.split("\n## ").find(|part| part.starts_with(heading)).unwrap_or_else(|| panic!("{heading}"));
    let cells = part.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let row = |cells: Vec<&str>| {
        let minutes = cells.get(1)?.parse().ok()?;
        let links = cells[3].split("](").skip(1).filter_map(|rest| rest.split(')').next());
        Some((minutes, cells[2].to_owned(), links.map(str::to_owned).collect()))
    };
    cells.filter_map(row).collect()
}

#[test]
fn the_workshop_guide_adds_up() {
    let guide = page("appendix-workshop.md");
    let [half, day, two] = ["Half a day", "One day", "Two days"].map(|heading| rows(&guide, heading));
    for (minutes, what, links) in half.iter().chain(&day).chain(&two).filter(|(_, _, links)| !links.is_empty()) {
        let each: Vec<usize> = links.iter().filter(|link| *link != "preface.md").filter_map(|link| led(link)).collect();
        match what.contains(", or ") {
            true => assert!(each.iter().all(|one| one == minutes), "{what}: {minutes}, and one of {each:?}"),
            false => assert_eq!(each.iter().sum::<usize>(), *minutes, "{what}: {each:?}"),
        }
    }
    let sum = |rows: &[Row]| rows.iter().map(|(minutes, ..)| minutes).sum::<usize>();
    let kept = half.iter().position(|(_, what, _)| what.starts_with("ReplicaSet")).expect("half a day has it");
    assert_eq!(sum(&half), 240, "half a day is four hours");
    assert_eq!((sum(&half[..=kept]) + sum(&day)).next_multiple_of(60), 480, "a day is eight hours");
    assert_eq!(sum(&two), 420, "the second day is seven hours");
}

/// What the preface says of the whole course is what its pages say of themselves.
#[test]
fn the_whole_course_takes_as_long_as_its_pages() {
    let takes = pages().into_iter().filter(|file| file.as_bytes()[0].is_ascii_digit());
    let takes = takes.map(|file| minutes::of(&page(&file), &blocks(&file)));
    let (read, exercises) =
        takes.fold((0, 0), |(read, exercises), page| (read + page.read, exercises + page.exercises));
    let hours = |minutes: usize| minutes.div_ceil(60);
    let said =
        format!("about {} hours to read and step through, and its exercises about {}", hours(read), hours(exercises));
    let preface = page("preface.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(preface.contains(&said), "{said}");
}

/// The poster leads from each hop to a scene.
#[test]
fn each_hop_of_the_poster_leads_to_a_scene() {
    let blocks = blocks("poster.md");
    let poster = blocks.iter().find(|block| block.directive == Directive::Poster).expect("it has one");
    let hops = kubestep_book::poster::hops(poster).expect("it is well written");
    assert!(hops.len() >= 15 && hops.iter().all(|hop| hop.link.contains(".html#scene-")), "{hops:?}");
}
