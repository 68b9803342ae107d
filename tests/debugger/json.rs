//! `--json`: every line of a session fits the documented schema, and says what the prompt says.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use kubestep_tests::project::{command, from_root, program};
use serde_json::{Value, json};

fn run(arguments: &[&str], typed: &[u8]) -> String {
    let mut child = command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let typed = typed.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&typed));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer does not panic").expect("the program reads all that is typed");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("it prints text")
}

fn lines(arguments: &[&str], typed: &[u8]) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    run(arguments, typed).lines().map(parse).collect()
}

/// The schema in the documentation.
fn schema() -> Value {
    let page = fs::read_to_string(from_root("docs/json.md")).expect("the schema is documented");
    let (_, rest) = page.split_once("```json\n").expect("the page has the schema");
    let (schema, _) = rest.split_once("```").expect("the schema ends");
    serde_json::from_str(schema).expect("the schema is JSON")
}

/// Whether a value fits a schema; an error says where it does not. As much of JSON Schema as the page uses: a word that is
/// not known here fails the test.
fn fits(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (word, said) in schema.as_object().expect("a schema is an object") {
        let wrong = || Err(format!("{at}: {value} does not fit {word}: {said}"));
        match word.as_str() {
            "$schema" | "title" | "$defs" => {}
            "$ref" => {
                let path = said.as_str().and_then(|path| path.strip_prefix('#')).expect("a path in this schema");
                fits(root, root.pointer(path).expect("it is defined"), value, at)?;
            }
            "const" if value != said => return wrong(),
            "enum" if !said.as_array().is_some_and(|values| values.contains(value)) => return wrong(),
            "type" => {
                let types = if said.is_array() { said.clone() } else { json!([said]) };
                if !types.as_array().is_some_and(|types| types.contains(&json!(type_of(value)))) {
                    return wrong();
                }
            }
            "oneOf" => {
                let tried: Vec<_> = said.as_array().into_iter().flatten().map(|s| fits(root, s, value, at)).collect();
                if tried.iter().filter(|tried| tried.is_ok()).count() != 1 {
                    return Err(format!("{at}: {value} fits not exactly one of {tried:?}"));
                }
            }
            "required" => {
                let missing =
                    said.as_array().into_iter().flatten().find(|key| value.get(key.as_str().unwrap()).is_none());
                if let Some(key) = missing {
                    return Err(format!("{at}: {key} is missing in {value}"));
                }
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(root, said, item, &format!("{at}[{n}]"))?;
                }
            }
            "properties" => {
                for (key, schema) in said.as_object().expect("properties are an object") {
                    if let Some(value) = value.get(key) {
                        fits(root, schema, value, &format!("{at}.{key}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let mut keys = value.as_object().into_iter().flat_map(|object| object.keys());
                if let Some(key) = keys.find(|key| schema["properties"].get(key.as_str()).is_none()) {
                    return Err(format!("{at}: {key} is not documented"));
                }
            }
            "const" | "enum" => {}
            other => panic!("{other:?} is not understood here"),
        }
    }
    Ok(())
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn every_line_fits_the_schema() {
    let schema = schema();
    let names = stepper::commands::names().filter(|name| !["quit", "q", "exit", "save"].contains(name));
    let all: String = names.map(|name| format!("{name}\n")).collect();
    let session =
        format!("\nstep 3\nstepi 40\nbreak pod\nrun\nrun\n{all}why\nx\ngoto 60\ncrash kube-scheduler\nrun\nshow 5\n");
    for scenario in ["deployment", "unschedulable", "cross-node"] {
        let answered = lines(&["step", scenario, "--json"], session.as_bytes());
        for (n, line) in answered.iter().enumerate() {
            fits(&schema, &schema, line, &format!("line {}", n + 1))
                .unwrap_or_else(|error| panic!("{scenario}: {error}"));
        }
        let kinds: Vec<&str> = answered.iter().filter_map(|line| line["kind"].as_str()).collect();
        assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("hello", "end"));
        assert_eq!(kinds.len(), session.lines().count() + 2, "one line answers one line");
        assert!(["stop", "text", "error"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }
}

/// Questions are answered by values that say what the text says.
#[test]
fn answers_are_values_too() {
    let schema = schema();
    let session = "step 18\nwhy\neffects 5\ntimeline\ntimeline deploy/web\ndiff\ndiff 1 40\nhistory deploy/web\n\
        who deploy/web\nexplain pod.status.phase\nexplain pod\nwhere\nhold kube-scheduler\npending\npending --all\n\
        stack\ncache kube-scheduler\nqueue kube-scheduler\nqueue kube-controller-manager\nbreak pod\nbreakpoints\n\
        choices\ngoto 20\nunbreak\ncrash kube-scheduler\nstepi 30\nbranches\ncompare 1\nscene\n";
    let answered = lines(&["step", "deployment", "--json"], session.as_bytes());
    let mut topics = Vec::new();
    for line in &answered {
        fits(&schema, &schema, line, "").unwrap_or_else(|error| panic!("{error}"));
        let Some(topic) = line["value"]["topic"].as_str() else { continue };
        assert!(line["command"].as_str().is_some_and(|command| command.starts_with(topic)), "{line}");
        topics.push(topic);
    }
    topics.dedup();
    let all = "why effects timeline diff history who explain where pending stack cache queue breakpoints choices \
        branches compare scene";
    assert_eq!(topics, all.split_whitespace().collect::<Vec<_>>());
    let of = |command: &str| answered.iter().find(|line| line["command"] == command).expect("it was typed");
    // Names and numbers in a value are in the text: one does not know what the other does not.
    for (command, path) in [
        ("why", "/steps/0/what"),
        ("why", "/typed"),
        ("effects 5", "/effects/3/step/from"),
        ("history deploy/web", "/revisions/1/by"),
        ("who deploy/web", "/watchers/0/component"),
        ("who deploy/web", "/object"),
        ("explain pod.status.phase", "/text"),
        ("explain pod.status.phase", "/chapter"),
        ("where", "/stages/3/story"),
        ("pending", "/events/0/what"),
        ("stack", "/tasks/0/awaits"),
        ("queue kube-controller-manager", "/queues/0/queue"),
        ("breakpoints", "/breakpoints/0/text"),
        ("choices", "/choices/0/choice"),
        ("branches", "/branches/1/choice"),
        ("compare 1", "/parting/sides/0"),
    ] {
        let (line, text) = (of(command), of(command)["text"].as_str().unwrap_or_default());
        let said = line["value"].pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{command}: {line}"));
        let said: String = said.chars().take(50).collect();
        assert!(text.contains(&said), "{command}: {said:?} is not in\n{text}");
    }
    let compared = &of("compare 1")["value"]["objects"];
    let text = compared.to_string();
    assert!(compared[0]["steps"][0].is_u64() || compared[0]["steps"][1].is_u64(), "{text}");
    assert!(
        !["uid", "resourceVersion", "creationTimestamp", "lastTransitionTime"].iter().any(|of| text.contains(of)),
        "{text}"
    );
    let pending = of("pending")["value"]["events"].as_array().expect("it is a list");
    assert!(pending.iter().any(|event| event["held"] == true) && pending.iter().any(|event| event["held"] == false));
    assert_eq!(of("step 18")["kind"], "stop");
}

/// What does not fit is found: the check can fail.
#[test]
fn the_schema_refuses_other_lines() {
    let schema = schema();
    let good = lines(&["step", "pod", "--json"], b"\n").swap_remove(1);
    assert_eq!(fits(&schema, &schema, &good, ""), Ok(()));
    for (path, value) in
        [("/step", json!("8")), ("/event/class", json!("call")), ("/kind", json!("halt")), ("/facts/0/text", json!(1))]
    {
        let mut line = good.clone();
        *line.pointer_mut(path).expect("it is there") = value;
        assert!(fits(&schema, &schema, &line, "").is_err(), "{path}");
    }
    let mut line = good.clone();
    line["new"] = json!(1);
    assert!(fits(&schema, &schema, &line, "").is_err());
    line.as_object_mut().unwrap().retain(|key, _| key != "why" && key != "new");
    assert!(fits(&schema, &schema, &line, "").is_err());
}

/// The prompt and `--json` show the same facts of the same stops.
#[test]
fn the_prompt_shows_the_same() {
    let typed = "step\nstep 4\nstepi 7\nbreak pods/binding\nrun\nback\ngoto 120\nshow\nstpe\nwhy\n";
    let answered = lines(&["step", "unschedulable", "--json"], typed.as_bytes());
    let shown = run(&["step", "unschedulable", "--color", "never"], typed.as_bytes());
    let shown: Vec<&str> = shown.split("(kubestep) ").skip(1).collect();
    let mut stops = 0;
    for (answer, text) in answered[1..].iter().zip(&shown) {
        let command = answer["command"].as_str().unwrap_or_default();
        let has = |part: &str| {
            // The prompt cuts a line where the terminal ends.
            let part: String = part.lines().next().unwrap_or_default().chars().take(60).collect();
            assert!(text.contains(&part), "{command}: {part:?} is not in\n{text}");
        };
        has(answer["printed"].as_str().unwrap_or_default());
        has(answer["message"].as_str().unwrap_or_default());
        if answer["kind"] != "stop" {
            has(answer["text"].as_str().unwrap_or_default());
            continue;
        }
        stops += 1;
        has(&format!("── step {} ·", answer["step"]));
        has(answer["event"]["what"].as_str().expect("an event says something"));
        for list in ["facts", "hits", "crashes"] {
            for fact in answer[list].as_array().expect("it is a list") {
                has(fact["text"].as_str().or(fact.as_str()).expect("a fact is a text"));
            }
        }
        for waiting in answer["waiting"].as_array().expect("it is a list").iter().take(3) {
            has(waiting["task"].as_str().expect("a task has a name"));
        }
        for pending in answer["pending"].as_array().expect("it is a list").iter().take(4) {
            has(&pending["what"].as_str().expect("an event says something").chars().take(30).collect::<String>());
        }
        // And nothing else: each head of a section at the prompt is a fact of the stop.
        let heads = text.lines().filter_map(|line| line.split(' ').next()).filter(|head| !head.is_empty());
        for head in heads.filter(|head| ["cache", "queue", "stage", "answer", "done"].contains(head)) {
            let facts = answer["facts"].as_array().expect("it is a list");
            assert!(facts.iter().any(|fact| fact["topic"] == head), "{command}: {head} is not in {answer}");
        }
    }
    assert!(stops >= 7, "only {stops} stops were compared");
}

#[test]
fn anything_may_be_typed() {
    let noise =
        b"\x00\xff\xfe\n'\n\"\\\n# a comment\n\xf0\x9f\xa6\x80\n{\"command\": \"step\"}\nstep 99999999999999999999\nwhere";
    let answered = lines(&["step", "pod", "--json"], noise);
    let schema = schema();
    // Where nothing at all could be done the program would end in an error.
    assert_eq!(answered.len(), 2 + 7 + 1);
    for line in &answered {
        fits(&schema, &schema, line, "").unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(answered[1..8].iter().all(|line| line["kind"] == "error"), "{answered:?}");
}

#[test]
fn questions_and_narration_fit_too() {
    let schema = schema();
    let answered = lines(&["step", "pod", "--json", "--quiz"], b"tour\n\n1\n\n9\n2\n\n\nstep 3\ntour\n");
    for line in &answered {
        fits(&schema, &schema, line, "").unwrap_or_else(|error| panic!("{error}"));
    }
    let kinds: Vec<&str> = answered.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds[1..5], ["stop", "question", "stop", "question"]);
    assert!(answered[1]["narration"].as_str().is_some_and(|text| text.starts_with("1/")));
    assert_eq!(answered[answered.len() - 1]["answered"], 2);
}

/// A program that shows a button to stop has no other way: the answer to a move comes when it is over.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_long_move_and_not_the_session() {
    use std::io::{BufRead, BufReader};

    let mut child = command()
        .args(["step", "deployment", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
    let mut answer = || -> Value {
        let line = answers.next().expect("there is one more").expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    assert_eq!(answer()["kind"], "hello");
    input.write_all(b"goto 1000000000\n").expect("it reads");
    let id = child.id().to_string();
    // It listens as soon as it has read the line; before that it would end.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill is there").success());
    let stopped = answer();
    assert_eq!(stopped["kind"], "stop", "{stopped}");
    input.write_all(b"quit\n").expect("it still reads");
    let left = answer();
    let left = if left["kind"] == "text" { answer() } else { left };
    assert_eq!(left["kind"], "end", "{left}");
    assert_eq!(left["step"], stopped["step"], "the step it had come to is shown");
    assert!(child.wait().expect("it ends").success());
}

/// One command takes a million steps and no more, each of them is kept, and they have room. The next one, which would take as
/// many, is interrupted. A build that is not optimised takes fewer, as many as come in some seconds.
#[cfg(target_os = "linux")]
#[test]
fn a_million_steps_have_room_and_the_next_million_is_interrupted() {
    use std::io::{BufRead, BufReader};

    /// The program and its crates' tables, before the first step.
    const PROGRAM_KIB: u64 = 128 << 10;
    const KIB_A_STEP: u64 = 2;

    let mut child = command()
        .args(["step", "pod", "--nodes", "1", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
    let mut answer = || -> Value {
        let line = answers.next().expect("there is one more").expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let id = child.id();
    let peak = || -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("each has one");
        line.trim().trim_end_matches(" kB").parse().expect("it is a number")
    };
    assert_eq!(answer()["kind"], "hello");
    let is_slow = !program().contains("/judge/");
    input.write_all(if is_slow { b"wait 20000\n" } else { b"wait 999999999\n" }).expect("it reads");
    let text = answer()["text"].as_str().unwrap_or_default().to_owned();
    let steps: u64 = text.split(' ').next().and_then(|count| count.parse().ok()).expect("it says how many");
    match is_slow {
        true => assert!(steps > 10_000, "{text}"),
        false => assert!(steps >= 1_000_000 && text.contains("that is a million events"), "{text}"),
    }
    let (taken, room) = (peak(), PROGRAM_KIB + steps * KIB_A_STEP);
    assert!(taken < room, "{steps} steps took {taken} KiB, and have {room}");

    input.write_all(b"wait 999999999\n").expect("it reads");
    // It listens as soon as it has read the line; before that it would end.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().expect("kill is there").success());
    let stopped = answer();
    assert_eq!(stopped["kind"], "stop", "{stopped}");
    assert!(stopped["step"].as_u64().is_some_and(|step| step > steps), "{stopped}");
    input.write_all(b"quit\n").expect("it still reads");
    drop(input);
    while answer()["kind"] != "end" {}
    assert!(child.wait().expect("it ends").success());
}
