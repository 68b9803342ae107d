//! Expressions: what they mean, and what is said of wrong ones.

use serde_json::{Value, json};

use super::{Root, Scope, parse};

struct Case(Value);

impl Scope for Case {
    fn root(&self, root: Root) -> &Value {
        let name = Root::ALL.iter().find(|(_, r)| *r == root).map(|(name, _)| *name).unwrap();
        self.0.get(name).unwrap_or(&Value::Null)
    }
}

fn scope() -> Case {
    Case(json!({
        "old": {"status": {"phase": "Pending"}, "spec": {"replicas": 2}},
        "new": {
            "metadata": {"name": "web-1", "labels": {"app.kubernetes.io/name": "web"}},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": "my-app", "restartCount": 0}, {"name": "b", "restartCount": 3}],
            },
            "spec": {"replicas": 2, "cpu": "250m", "more": "0.5"},
        },
        "step": 12,
        "time": 1.5,
    }))
}

#[test]
fn expressions_hold_or_not() {
    for (text, holds) in [
        (r#"new.status.phase == "Running""#, true),
        (r#"new.status.phase == 'Running' and old.status.phase != 'Running'"#, true),
        (r#"not new.status.phase == "Running" or step > 11"#, true),
        (r#"not (new.status.phase == "Running" or step > 11)"#, false),
        ("true or false and false", true),
        ("new.spec.replicas == 2.0", true),
        ("changed(spec.replicas)", false),
        ("changed(status.phase) && !changed(spec.replicas)", true),
        (r#"new.status.conditions[Ready].status == "True""#, true),
        ("new.status.containerStatuses[*].restartCount > 2", true),
        ("new.status.containerStatuses[*].restartCount > 3", false),
        ("new.status.containerStatuses[my-app].restartCount == 0", true),
        ("new.status.containerStatuses[1].restartCount >= 3", true),
        ("new.status.containerStatuses[7].restartCount >= 3", false),
        ("len(new.status.containerStatuses) == 2", true),
        ("len(new.nothing) == 0", true),
        (r#"new.metadata.labels["app.kubernetes.io/name"] == "web""#, true),
        (r#"new.metadata.name ~ "web-*""#, true),
        (r#"new.missing ~ "web-*""#, false),
        ("new.missing == null", true),
        ("new.missing < 3", false),
        ("new.missing", false),
        ("new.metadata.name", true),
        (r#"new.spec.cpu < new.spec.more"#, true),
        (r#"new.spec.cpu < "0.2""#, false),
        ("time >= 1.5 and time < 2", true),
        ("step > -1", true),
        ("message.method == null", true),
        (r#"new.metadata.name.startsWith("web") and not new.metadata.name.endsWith("2")"#, true),
        (r#"new.metadata.name contains "b-""#, true),
        (r#"new.metadata.name.matches("^web-[0-9]+$") && new.metadata.name.contains('eb')"#, true),
        (r#"not (new.metadata.name matches "\\d$")"#, false),
        (r#"new.missing.contains("x") or new.missing matches "x""#, false),
        (r#"new.status.conditions[*].type startsWith "Re""#, true),
    ] {
        let expression = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(expression.holds(&scope()), Ok(holds), "{text}");
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, at, says) in [
        ("", 0, "a value is expected"),
        ("status.phase == 1", 0, "a path begins with one of old, new"),
        ("new.status.phase = 1", 17, "write == with two signs"),
        ("new.status.phase == \"Run", 20, "quote is not closed"),
        ("new.status.phase ==", 19, "not the end"),
        ("new..phase", 4, "name of a field"),
        ("new.a[", 6, "in brackets stands"),
        ("new.a[1", 7, "\"]\" is expected"),
        ("(step > 1", 9, "\")\" is expected"),
        ("step > 1 step", 9, "join two with and, or"),
        ("changed()", 8, "a path is expected"),
        ("size(new)", 0, "there is no function"),
        ("contains(new.a, 'x')", 0, "behind a value .contains(…)"),
        ("new.a.size('x')", 6, "behind a dot; there are contains(…)"),
        ("new.a matches '['", 14, "unclosed character class"),
        ("new.a matches new.b", 14, "a regular expression in quotes"),
        ("new.a.contains('x'", 18, "\")\" is expected"),
        ("step > 1.2.3", 7, "is not a number"),
        ("step ? 1", 5, "means nothing here"),
        ("étape == 1", 0, "there is nothing called"),
        ("'é' = 1", 4, "two signs"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.at, error.message.contains(says)), (at, true), "{text}: {error}");
    }
    let deep = "(".repeat(10_000);
    assert!(parse(&deep).unwrap_err().message.contains("too deeply"));
    assert!(parse(&"not ".repeat(10_000)).unwrap_err().message.contains("too deeply"));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    for (text, says) in [
        ("new.metadata.name > 3", "a text and a number cannot be compared"),
        ("new.spec < new.status", "an object and an object cannot be compared"),
        ("step ~ 'x'", "compares a text with a pattern"),
        ("len(step) == 1", "it has no length"),
        ("new.spec contains 'x'", "a text cannot be looked for in an object"),
        ("step matches 'x'", "looks into a text, not into a number"),
    ] {
        let error = parse(text).unwrap().holds(&scope()).expect_err(text);
        assert!(error.message.contains(says), "{error}");
    }
}

#[test]
fn an_error_points_at_its_place() {
    let error = parse("new.a = 1").unwrap_err();
    assert_eq!(error.to_string(), "column 7: to compare, write == with two signs\n  new.a = 1\n        ^");
}

/// However long a chain is, and a path: what is gone through on the stack is what lies in each other, and that is counted.
#[test]
fn long_and_deep_ones_are_taken_or_refused() {
    let many = |part: &str| part.repeat(10_000);
    for text in [
        many("step == 12 and ") + "step == 12",
        many("step == 11 or ") + "step == 12",
        format!("(step == 12){}", many(" and (step == 12)")),
        format!("new{} == null", many(".a")),
        format!("new{} == null or true", many("[*]")),
        format!("{}true", "not ".repeat(62)),
    ] {
        let read = parse(&text).unwrap_or_else(|error| panic!("{}", error.message));
        assert_eq!(read.holds(&scope()), Ok(true), "{}", &text[..40]);
        assert!(!read.why(&scope()).is_empty());
    }
    for text in [many("("), many("not "), many("!"), many("len("), many("(not len(")] {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.message, "this is nested too deeply", "{}", &text[..20]);
    }
}

/// Time grows with the length of a chain: by its square, this one would take minutes.
#[test]
#[allow(clippy::disallowed_methods, reason = "whether it hangs is the question")]
fn a_chain_of_100_000_terms_is_read() {
    let begun = std::time::Instant::now();
    for word in ["and", "or"] {
        let text = format!("step == 1 {word} ").repeat(100_000) + "step == 1";
        assert!(parse(&text).is_ok());
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_condition_in_cel_holds_or_not() {
    for (text, holds) in [
        ("cel: new.spec.replicas > 1 && new.spec.replicas == old.spec.replicas", true),
        ("cel:new.spec.replicas>2", false),
        ("cel: new.status.containerStatuses.exists(c, c.restartCount > 2)", true),
        ("cel: new.status.containerStatuses.all(c, c.name.startsWith('my'))", false),
        ("cel: has(new.spec.cpu) && !has(new.spec.nodeName)", true),
        ("cel: quantity(new.spec.cpu).isLessThan(quantity(new.spec.more))", true),
        // What is not there is no reason to stop.
        ("cel: new.spec.nodeName == 'node-1'", false),
        ("cel: object.spec.replicas > 1", false),
        ("cel: object == null && step == 12", true),
    ] {
        let expression = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(expression.holds(&scope()), Ok(holds), "{text}");
        assert_eq!(expression.text, text);
    }
    assert!(parse("cel: new.spec.replicas > 1").unwrap().is_about_an_object());
    for text in ["cel: old.spec.replicas > 1", "cel: step > 1", "cel: event.code >= 500"] {
        assert!(!parse(text).unwrap().is_about_an_object(), "{text}");
    }
}

#[test]
fn a_wrong_condition_in_cel_is_refused_at_its_place() {
    for (text, want) in [
        ("cel: neww.spec.replicas > 1", "column 6: undeclared reference to 'neww' (in container '')"),
        ("cel: 1 + 2", "column 6: a condition is true or false, and this is of type int"),
        ("cel: new.spec.replicas >", "column 25: "),
        ("cel:", "column 5: "),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(want), "{text}: {error}");
    }
    let text = "cel: new.spec.replicas > 'a'";
    let error = parse(text).unwrap().holds(&scope()).unwrap_err().to_string();
    assert!(error.starts_with("column 6: no such overload"), "{error}");
    // A rule that would run for long is given up.
    let list = "[1,2,3,4,5,6,7,8,9,10]";
    let deep = (0..8).fold("true".to_owned(), |inner, n| format!("{list}.all(x{n}, {inner})"));
    let error = parse(&format!("cel: {deep}")).unwrap().holds(&scope()).unwrap_err().to_string();
    assert!(error.contains("cost limit exceeded"), "{error}");
}

#[test]
fn why_a_condition_in_cel_does_not_hold_is_told() {
    let expression = parse("cel: new.spec.replicas > 2").unwrap();
    assert_eq!(expression.why_not(&scope()), "new.spec.replicas > 2 is false, and must be true");
}
