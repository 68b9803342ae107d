//! What is built.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use kubestep_book::scene::{self, Ask};
use lab::TABLE;
use serde_json::{Value, json};

use crate::project::{built, course, from_root, pages, program, project};
use crate::skip::say;

/// How long a text is once a server or an archive has packed it.
fn packed(text: &[u8]) -> usize {
    let mut gzip = Command::new("gzip")
        .args(["-9", "-c", "-n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip is on every machine that builds this");
    let mut input = gzip.stdin.take().expect("it is piped");
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = gzip.wait_with_output().expect("gzip ends");
    writer.join().expect("the writer does not panic").expect("gzip reads it all");
    output.stdout.len()
}

/// The values of an attribute, wherever it stands.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The page without what its script elements hold: the data of scenes has no links.
fn without_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    first
        + &parts
            .map(|part| {
                format!(
                    "<script{}",
                    part.split_once('>').map_or("", |(head, body)| {
                        if body.contains("</script>") { &part[part.find("</script>").unwrap_or(0)..] } else { head }
                    })
                )
            })
            .collect::<String>()
}

/// The real book: every link leads somewhere, and no page is heavy.
#[test]
fn the_course_builds_and_every_link_resolves() {
    let out = course();
    let (mut wrong, mut weights) = (Vec::new(), Vec::new());
    for page in pages(out) {
        let name = page.file_name().and_then(|name| name.to_str()).expect("pages have names").to_owned();
        let text = fs::read_to_string(&page).expect("a page is text");
        if name != "print.html" {
            let linked = values(&text, "href").into_iter().chain(values(&text, "src"));
            let assets: BTreeSet<&str> = linked.filter(|to| to.ends_with(".css") || to.ends_with(".js")).collect();
            let weight: usize = assets.iter().map(|asset| packed(&fs::read(out.join(asset)).unwrap_or_default())).sum();
            let weight = weight + packed(text.as_bytes());
            if weight > 400_000 {
                wrong.push(format!("{name} weighs {weight} bytes"));
            }
            weights.push((weight, name.clone()));
        }
        let text = without_scripts(&text);
        for to in values(&text, "href").into_iter().chain(values(&text, "src")) {
            if let Err(why) = resolves(out, &name, to) {
                wrong.push(format!("{name}: {to}: {why}"));
            }
        }
    }
    weights.sort();
    weights
        .iter()
        .for_each(|(weight, name)| say(&format!("{weight:>7} bytes packed, with scripts and styles: {name}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn resolves(out: &Path, page: &str, to: &str) -> Result<(), String> {
    if to.starts_with("http://") || to.starts_with("https://") || to.starts_with("mailto:") {
        return Ok(());
    }
    let (path, fragment) = to.split_once('#').unwrap_or((to, ""));
    let path = if path.is_empty() { page } else { path };
    // mdBook's page for wrong addresses is at home at the root of a site.
    let file = out.join(path.trim_start_matches('/'));
    if !file.exists() {
        return Err("there is no such file".to_owned());
    }
    if fragment.is_empty() || !path.ends_with(".html") {
        return Ok(());
    }
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    match values(&text, "id").contains(&fragment) {
        true => Ok(()),
        false => Err("there is no such place on the page".to_owned()),
    }
}

const ALL: &str = "\
# A

```scene pod title=\"A Pod\"
create pods request: It is *asked* for. & <b>
```

```diagram sequence scenario=pod from=\"create pods request\" to=\"create pods/binding request\"
```
```diagram topology scenario=pod
```
```diagram conditions scenario=pod pod=web
```
```code src/lib.rs#A::twice
```
```transcript
$ kubestep step pod
…
(kubestep) until create pods request
…
```
```quiz
question: Why?
answers:
- {text: a, right: true, why: b}
- {text: c, why: d}
```
```exercise fit
```
";

#[test]
fn the_same_chapters_give_the_same_bytes() {
    let texts: Vec<String> = (0..2)
        .map(|_| {
            let project = project(ALL);
            let out = built(&project).unwrap_or_else(|error| panic!("{error:#}"));
            fs::read_to_string(out.join("a.html")).expect("the page is there")
        })
        .collect();
    assert_eq!(texts[0], texts[1]);
    for part in [
        "ks-scene",
        "ks-sequence",
        "ks-topology",
        "ks-conditions",
        "fn twice",
        "ks-transcript",
        "ks-quiz",
        "ks-exercise",
    ] {
        assert!(texts[0].contains(part), "{part}");
    }
    assert!(texts[0].contains("It is <em>asked</em> for. &amp; &lt;b&gt;"));
}

#[test]
fn what_no_longer_is_fails_with_chapter_and_line() {
    for (chapter, line, says) in [
        ("```scene nowhere\n```", 1, "nowhere"),
        ("\n```scene\n```", 2, "a scenario's name"),
        ("```scene pod from=\"create deployments request\"\n```", 1, "never comes to where this holds"),
        ("```scene pod to=\"create deployments request\"\n```", 1, "never comes to where this holds"),
        ("```scene pod\ncreate deployments request: x\n```", 1, "no step of this scene"),
        ("```scene pod\ncreate pods request\n```", 2, "write CONDITION: what is said there"),
        ("```scene pod fromm=x\n```", 1, "there is no option \"fromm\""),
        ("```scene pod seed=x\n```", 1, "is no number"),
        ("```code src/lib.rs#gone\n```", 1, "there is no item and no anchor \"gone\""),
        ("```code src/lib.rs#twice\n```", 1, "Type::twice"),
        ("```code src/gone.rs#once\n```", 1, "src/gone.rs"),
        ("```code ../x.rs#once\n```", 1, "no path within the project"),
        ("```code src/lib.rs#WIDE\n```", 1, "is wider than 80 columns"),
        ("```code src/lib.rs#long\n```", 1, "33 lines: write notes"),
        ("```code src/lib.rs#long\n`1 + 1` Two.\n`gone` x\n```", 3, "no line that is shown has `gone`"),
        ("```transcript\n$ kubestep step nowhere\nfine\n```", 3, "\"fine\" stands here"),
        ("```transcript\n$ rm -r /\n```", 2, "only kubestep can be run here"),
        ("```diagram picture scenario=pod\n```", 1, "none of sequence, topology, conditions"),
        ("```diagram conditions scenario=pod pod=nobody\n```", 1, "begins with \"nobody\""),
        ("a\n\n```quiz\nquestion: x\nanswers: []\n```", 3, "0 of 0 answers are right"),
        ("```quiz\nquestion: [\n```", 2, "a quiz has"),
        ("```exercise fitness\n```", 1, "there is no exercise \"fitness\"; there are trace, ownership, "),
        ("```scene \"pod\n```", 1, "quote"),
    ] {
        let project = project(chapter);
        let error = format!("{:#}", built(&project).expect_err(chapter));
        let place = format!("a.md:{line}: ");
        assert!(error.contains(&place) && error.contains(says), "{chapter:?} says {error}");
    }
}

/// A code block has its notes by number, and leads to its line on a page of the file.
#[test]
fn code_has_notes_and_a_page() {
    let project = project("```code src/lib.rs#long\n`1 + 1` Two, in *Rust*.\n```\n");
    let out = built(&project).unwrap_or_else(|error| panic!("{error:#}"));
    let page = fs::read_to_string(out.join("a.html")).expect("the page is there");
    for part in
        ["href=\"source/src/lib.rs.html#L11\"", "data-note=\"1\"></b>    1 + 1;", "<li>Two, in <em>Rust</em>.</li>"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let source = fs::read_to_string(out.join("source/src/lib.rs.html")).expect("the file has a page");
    assert!(source.contains("<a id=\"L11\" href=\"#L11\">   11</a>  fn long() {\n"), "{source}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let project = project("```scene nowhere\n```\n```code src/lib.rs#gone\n```\n");
    let error = format!("{:#}", built(&project).expect_err("two things are wrong"));
    assert!(error.contains("a.md:1: ") && error.contains("a.md:3: "), "{error}");
}

#[test]
fn a_transcript_that_differs_can_be_blessed() {
    let project = project("```transcript\n$ kubestep step pod\n(kubestep) until create pods request\n```\n\nend\n");
    let book = |bless: bool| {
        let mut command = Command::new(program());
        command.current_dir(&project.0).args(["book", "--build-only", "--dest", "out"]);
        if bless {
            command.env("KUBESTEP_BLESS", "1");
        }
        command.output().expect("the program runs").status.success()
    };
    assert!(!book(false), "what is printed was left out");
    assert!(book(true));
    let chapter = fs::read_to_string(project.0.join("book/src/a.md")).expect("the chapter is there");
    assert!(chapter.contains("kubectl ──create pods default/web──▶") && chapter.ends_with("```\n\nend\n"), "{chapter}");
    assert!(book(false), "it holds now");
}

#[test]
fn a_scene_of_three_hundred_steps_weighs_under_sixty_kilobytes() {
    let ask = Ask { scenario: "rolling-update".to_owned(), ..Ask::default() };
    let mut scene = scene::record(&ask).expect("the scenario is shipped");
    assert!(scene.steps.len() >= 300, "it has {} steps", scene.steps.len());
    scene.steps.truncate(300);
    let weight = packed(scene::page::html(&scene, "x", scene::page::Form::Player).as_bytes());
    assert!(weight < 60_000, "{weight} bytes, with its words and its diagram");
}

/// What mdBook 0.5.4 sends to a preprocessor, as it was written down, but for the chapters' texts.
fn sent_by_mdbook(root: &Path, content: &str, inner: &str) -> Value {
    let config = json!({"book": {"title": "x", "authors": [], "description": null, "language": "en", "text-direction": null},
        "preprocessor": {"kubestep": {"command": "cargo run --quiet -- preprocess"}}});
    let context = json!({"root": root, "config": config, "renderer": "html", "mdbook_version": "0.5.4"});
    let inner = json!({"Chapter": {"name": "B", "content": inner, "number": [1, 1], "sub_items": [], "path": "b.md",
        "source_path": "b.md", "parent_names": ["A"]}});
    let outer = json!({"Chapter": {"name": "A", "content": content, "number": [1], "sub_items": [inner], "path": "a.md",
        "source_path": "a.md", "parent_names": []}});
    json!([context, {"items": [outer, "Separator", {"PartTitle": "More"}]}])
}

#[test]
fn a_stock_mdbook_is_served_over_pipes() {
    let ask = |arguments: &[&str], input: &str| {
        let mut child = Command::new(program())
            .arg("preprocess")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    };
    assert!(ask(&["supports", "html"], "").status.success());
    assert!(!ask(&["supports", "latex"], "").status.success());

    let project = project("");
    let input = sent_by_mdbook(
        &project.0.join("book"),
        ALL,
        "# B\n\n```quiz\nquestion: Why\nanswers: [{text: a, right: true, why: b}, {text: c, why: d}]\n```\n",
    );
    let output = ask(&[], &input.to_string());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut book: Value = serde_json::from_slice(&output.stdout).expect("nothing but the book is printed");
    let paths = ["/items/0/Chapter/content", "/items/0/Chapter/sub_items/0/Chapter/content"];
    let made = paths.map(|path| book.pointer_mut(path).map(Value::take).expect("the chapter is there"));
    let [outer, inner] = made.each_ref().map(|content| content.as_str().unwrap_or_default());
    assert!(outer.contains("ks-scene") && inner.starts_with("# B\n\n") && inner.contains("ks-quiz"), "{inner}");
    for directive in ["scene", "diagram", "code", "transcript", "quiz", "exercise"] {
        assert!(!format!("{outer}{inner}").contains(&format!("```{directive}")), "{directive}");
    }
    // All else comes back as it was.
    let mut sent = input[1].clone();
    for path in paths {
        *sent.pointer_mut(path).expect("the chapter is there") = Value::Null;
    }
    assert_eq!(book, sent);

    let output = ask(&[], &sent_by_mdbook(&project.0.join("book"), "# A\n", "\n```scene nowhere\n```\n").to_string());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty() && said.contains("b.md:2: "), "{said}");
}

/// What `book.toml` tells mdBook to run is this program's part.
#[test]
fn the_book_names_its_preprocessor() {
    let config = fs::read_to_string(from_root("book/book.toml")).expect("it is there");
    let command = config.split("[preprocessor.kubestep]\ncommand = \"").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(command, Some("cargo run --quiet -- preprocess"));
}

#[test]
fn what_cannot_be_done_says_the_way_out() {
    let project = project("# A\n");
    fs::write(project.0.join("taken"), "").expect("a file can be written");
    let said = |arguments: &[&str], folder: &Path| {
        let output = Command::new(program()).args(arguments).current_dir(folder).output().expect("the program runs");
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let error = said(&["book", "--build-only", "--dest", "taken/out"], &project.0);
    assert!(error.contains("name another folder with --dest"), "{error}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has one").port().to_string();
    let error = said(&["book", "--no-open", "--port", &port], &project.0);
    assert!(error.contains("is taken") && error.contains("--port 0"), "{error}");
    for (name, why) in [("nothing", "there is no exercise"), ("queue", "has no place in the cluster")] {
        let error = said(&["book", "--no-open", "--port", "0", "--exercise", name], &project.0);
        assert!(error.contains(why) && error.contains("replicaset"), "{error}");
    }
    let error = said(&["preprocess"], &project.0);
    assert!(error.contains("this is for mdBook"), "{error}");
}

/// Rust that a chapter shows is Rust that compiles: it is taken from sources, by a `code` block.
#[test]
fn rust_comes_from_sources() {
    for entry in fs::read_dir(from_root("book/src")).expect("the chapters are there") {
        let path = entry.expect("a folder can be listed").path();
        let text = fs::read_to_string(&path).expect("a chapter is text");
        for (number, line) in (1..).zip(text.lines()) {
            assert!(!line.starts_with("```rust"), "{}:{number}: show it with a code block", path.display());
        }
    }
}

/// An exercise stands at the end of one chapter, as the grader's table describes it.
#[test]
fn every_exercise_has_its_chapter() {
    let chapters: String = fs::read_dir(from_root("book/src"))
        .expect("the chapters are there")
        .map(|entry| fs::read_to_string(entry.expect("a folder can be listed").path()).expect("a chapter is text"))
        .collect();
    for exercise in TABLE {
        let block = format!("```exercise {}\n", exercise.name());
        assert_eq!(chapters.matches(&block).count(), 1, "chapters with {block:?}");
    }
}
