use std::collections::BTreeMap;

use serde_json::json;

use super::eval::Activation;
use super::failure::Budget;
use super::*;

fn names() -> Names {
    let of = |name: &str, text: &str| (name.to_owned(), Type::read(text));
    let spec = [("replicas", Type::Int), ("name", Type::String), ("tags", Type::read("list(string)"))];
    let spec = Type::object("spec", spec.map(|(name, of)| (name.to_owned(), of)));
    vec![("self".into(), Type::object("self", [("spec".to_owned(), spec)])), of("any", "dyn"), of("n", "int")]
}

fn run(source: &str) -> Result<Value, String> {
    let program = Program::compile(source, &names())?;
    let any =
        json!({"a": {"b": [1, 2, 3]}, "s": "héllo", "labels": {"x/y": "z", "app": "web"}, "none": null, "f": 1.5});
    let spec = json!({"spec": {"replicas": 3, "name": "web", "tags": ["b", "a"]}});
    let values = [("any", Value::of_json(&any)), ("self", Value::of_json(&spec)), ("n", Value::Int(7))];
    let activation = Activation { values: values.map(|(name, value)| (name.to_owned(), value)).into(), variables: &[] };
    program.evaluate(&activation, &mut Budget::new(Budget::ALL)).map_err(|failure| failure.to_string())
}

fn truths(sources: &[&str]) {
    for source in sources {
        assert_eq!(run(source), Ok(Value::Bool(true)), "{source}");
    }
}

#[test]
fn the_language() {
    truths(&[
        "1 + 2 * 3 == 7 && 7 % 4 == 3 && 7 / 2 == 3 && -7 / 2 == -3",
        "1u + 2u == 3u && 0x10 == 16 && 1e3 == 1000.0 && 0.1 + 0.2 > 0.3",
        "1 < 2u && 2 > 1.5 && 1u <= 1.0 && any.f == 1.5",
        "'a' < 'b' && b'a' < b'b' && false < true && \"a'b\" == 'a\\'b' && r'\\n' != '\\n'",
        "!(true && false) || false ? true : false",
        "[1, 2] + [3] == [1, 2, 3] && 2 in [1, 2] && !(4 in [1, 2])",
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && 'a' in {'a': 1} && {1: 'x'}[dyn(1u)] == 'x'",
        "any.labels['x/y'] == 'z' && any.a.b[1] == 2 && size(any.labels) == 2",
        "has(any.a.b) && !has(any.a.c) && has(any.none) && any.none == null",
        // Either side decides, even if the other is an error.
        "any.missing == 1 || true",
        "true || any.missing == 1",
        "!(any.missing == 1 && false)",
        "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2, 2].exists_one(x, x == 1)",
        "![0, 1].all(x, 1 / x > 2) && [0, 1].exists(x, 1 / x == 1)",
        "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].filter(x, x > 1) == [2, 3]",
        "[1, 2, 3].map(x, x > 1, x * 10) == [20, 30] && [[1], [2]].map(x, x.map(y, y + 1)) == [[2], [3]]",
        "{'b': 1, 'a': 2}.map(k, k) == ['a', 'b'] && any.labels.all(k, any.labels[k] != '')",
        "[1, 2].all(x, [3, 4].exists(y, y - x == 2))",
        "self.spec.tags.exists(t, t == 'a') && self.spec.replicas <= n",
        "type(1) == int && type('') == string && type([]) == list && type(null) == null_type",
        "any.?a.?b[0].orValue(9) == 1 && any.?x.?b.orValue(5) == 5 && any[?'x'].hasValue() == false",
        "optional.of(1).value() == 1 && !optional.none().hasValue() && optional.none().or(optional.of(2)).value() == 2",
        "[?any.?none, ?any.?x].size() == 1 && {?'a': any.?x}.size() == 0",
        "any.?a.optMap(a, a.b.size()).orValue(0) == 3 && any.?x.optFlatMap(x, x.?y).orValue(4) == 4",
        // How it is written.
        "-9223372036854775808 < 0 && -n == 0 - 7 && !!true && - -1 == 1 && .n == 7 && 2 - -1 == 3 && .5 == 5e-1",
        r"'\x41\u00e9\U0001F600\101' == 'Aé😀A' && b'\xff\101' == b'\377A' && r'\' == '\\' && br'\x' == b'\\x'",
        "'''a'b\nc''' == \"a'b\\nc\" && 0xFFu == 255u && {'a': 1,}.`a` == 1 && [1, 2,].size() == 2 // this is not read",
        "true ? (false ? 1 == 2 : true) : 1 / 0 == 1",
        "false ? false : false ? false : true",
    ]);
}

#[test]
fn the_library() {
    truths(&[
        "size('é') == 1 && 'abc'.size() == 3 && 'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
        "'abc'.matches('^a.c$') && matches('abc', 'b') && !'abc'.matches('^b')",
        "'héllo'.charAt(1) == 'é' && 'héllo'.indexOf('l') == 2 && 'héllo'.lastIndexOf('l') == 3",
        "'héllo'.indexOf('l', 3) == 3 && 'héllo'.lastIndexOf('l', 2) == 2 && 'a'.indexOf('x') == -1 && 'ab'.charAt(2) == ''",
        "'héllo'.substring(1) == 'éllo' && 'héllo'.substring(1, 3) == 'él'",
        "'a-b-c'.split('-') == ['a', 'b', 'c'] && 'a-b-c'.split('-', 2) == ['a', 'b-c'] && 'ab'.split('') == ['a', 'b']",
        "'aXbX'.replace('X', '-') == 'a-b-' && 'aXbX'.replace('X', '', 1) == 'abX' && ' a '.trim() == 'a'",
        "'aB'.lowerAscii() == 'ab' && 'aB'.upperAscii() == 'AB' && ['a', 'b'].join(',') == 'a,b' && ['a', 'b'].join() == 'ab'",
        "'abc 123'.find('[0-9]+') == '123' && '1a2'.findAll('[0-9]') == ['1', '2'] && '1a2'.findAll('[0-9]', 1) == ['1']",
        "[1, 2, 3].isSorted() && ![2, 1].isSorted() && [1, 3].sum() == 4 && [1.5, 2.0].sum() == 3.5",
        "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && [1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2",
        "[1, 2, 3].slice(1, 3) == [2, 3] && [dyn(1), [2]].flatten() == [1, 2]",
        "[3, 1].sort() == [1, 3] && [1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && [1].first().value() == 1",
        "int('7') == 7 && int(7.9) == 7 && uint(7) == 7u && double('1.5') == 1.5 && string(7) == '7' && bool('true')",
        "string(b'abc') == 'abc' && bytes('é').size() == 2 && string(1.5) == '1.5' && dyn(1) == 1",
        "duration('1h30m') == duration('90m') && duration('1.5s').getMilliseconds() == 500 && string(duration('90s')) == '90s'",
        "duration('1h') > duration('59m') && duration('-1s') < duration('0') && duration('61m').getHours() == 1",
        "timestamp('2026-01-02T03:04:05Z').getFullYear() == 2026 && timestamp('2026-01-02T03:04:05Z').getMonth() == 0",
        "timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')",
        "timestamp('2026-01-01T00:00:00Z') + duration('1h') == timestamp('2026-01-01T01:00:00Z')",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('500m')) == quantity('1')",
        "isQuantity('10Mi') && !isQuantity('10 Mi') && quantity('2k').asInteger() == 2000 && quantity('-1').sign() == -1",
        "quantity('1500m').compareTo(quantity('1.5')) == 0 && !quantity('1500m').isInteger() && quantity('3').sub(1).asInteger() == 2",
        "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('1.2.3') && ip('127.0.0.1').isLoopback() && ip.isCanonical('::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/16').masked() == cidr('10.1.0.0/16')",
        "cidr('::/0').prefixLength() == 0 && cidr('0.0.0.0/0').containsIP('255.0.0.1') && !isCIDR('10.0.0.0/33')",
    ]);
}

#[test]
fn urls_formats_and_sets() {
    truths(&[
        "isURL('https://a.b:80/c?d=e') && isURL('/a/b') && isURL('mailto:a@b') && !isURL('a.b') && !isURL('../a') && !isURL('')",
        "!isURL('http://a b/') && !isURL('http://a:b/') && !isURL(':/x') && !isURL('http://a/%zz') && isURL('http://[::1]:8/')",
        "url('HTTPS://u:p@a.b:80/c d/%2F?q=1&q=2&r=a%20b+c').getScheme() == 'https'",
        "url('https://u@a.b:80/').getHost() == 'a.b:80' && url('https://a.b:80/').getHostname() == 'a.b'",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]:80/').getPort() == '80' && url('/a').getHost() == ''",
        "url('https://a/c d/%2F').getEscapedPath() == '/c%20d/%2F' && url('https://a/b?c#d').getEscapedPath() == '/b'",
        "url('/?q=1&q=2&r=a%20b+c').getQuery() == {'q': ['1', '2'], 'r': ['a b c']} && url('/a') == url('/a')",
        "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').value().size() == 1",
        "!format.named('dns1123Subdomain').value().validate('a.b').hasValue() && !format.named('nothing').hasValue()",
        "!format.dns1123LabelPrefix().validate('a-').hasValue() && format.dns1123Label().validate('a-').hasValue()",
        "!format.qualifiedName().validate('a.b/c').hasValue() && !format.labelValue().validate('').hasValue()",
        "!format.uri().validate('/a').hasValue() && format.uri().validate('a').value()[0] == 'parse \"a\": invalid URI for request'",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && format.uuid().validate('1').hasValue()",
        "!format.byte().validate('aGk=').hasValue() && format.byte().validate('aGk').value() == ['invalid base64']",
        "!format.date().validate('2026-02-28').hasValue() && format.date().validate('2026-02-30').value() == ['invalid date']",
        "!format.datetime().validate('2026-02-28T01:02:03Z').hasValue() && format.datetime().validate('2026').hasValue()",
        "sets.contains([1, 2, 3], [2, 1]) && sets.contains([1], []) && !sets.contains([1], [1, 2])",
        "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2]) && sets.intersects([1, 2], [2]) && !sets.intersects([], [])",
    ]);
}

#[test]
fn loops_of_two_variables() {
    truths(&[
        "[1, 2].all(i, v, v == i + 1) && {'a': 'a'}.all(k, v, k == v) && ['x', 'y'].exists(i, v, i == 1 && v == 'y')",
        "{'a': 1, 'b': 1}.existsOne(k, v, k == 'a' && v == 1) && ![1, 1].existsOne(i, v, v == 1)",
        "['a', 'b'].transformList(i, v, v + string(i)) == ['a0', 'b1'] && {'a': 1}.transformList(k, v, v > 1, k) == []",
        "[1, 2].transformMap(i, v, v * 2) == {0: 2, 1: 4} && {'a': 1, 'b': 2}.transformMap(k, v, v > 1, v + 1) == {'b': 3}",
        "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'} && any.labels.all(k, v, v != '' && k != '')",
        "![0, 1].all(i, v, 1 / v > 2) && [[1]].all(i, a, a.all(j, b, b == 1 && i == j))",
    ]);
    for (source, why) in [
        ("{'a': 'x', 'b': 'x'}.transformMapEntry(k, v, {v: k}) == {}", "insert failed: key x already exists"),
        ("[1].all(i, i, true)", "duplicate variable name: i"),
        ("[1].all(i, v.x, true)", "argument must be a simple name"),
        ("url('a') == url('b')", "URL parse error during conversion from string: parse \"a\": invalid URI for request"),
    ] {
        let wrong = run(source).unwrap_err();
        assert!(wrong.contains(why), "{source}: {wrong}");
    }
}

#[test]
fn what_goes_wrong_while_it_runs() {
    for (source, why) in [
        ("any.missing == 1", "no such key: missing"),
        ("any.a.b[3] == 1", "index out of bounds: 3"),
        ("any.labels['q'] == ''", "no such key: q"),
        ("1 / (n - 7) == 1", "division by zero"),
        ("1 % (n - 7) == 1", "modulus by zero"),
        ("9223372036854775807 + n > 0", "integer overflow"),
        ("1u - 2u == 0u", "unsigned integer overflow"),
        ("any.s + any.f == ''", "no such overload"),
        ("any.s.x == 1", "no such overload"),
        ("any.s", ""), /* a value, not an error */
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("duration('x') == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("'abc'.charAt(9) == ''", "index out of range: 9"),
        ("any.s.matches('(')", "unclosed group"),
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("self.spec.tags.filter(t, t == '').max() == ''", "max called on empty list"),
        (
            "quantity('x').isInteger()",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("{n: 1, 7: 2}.size() == 1", "Failed with repeated key: 7"),
        ("[0, 1].all(x, 1 / x > 0)", "division by zero"),
    ] {
        match run(source) {
            Err(found) => assert_eq!(found, why, "{source}"),
            Ok(found) => assert_eq!("", why, "{source} gave {found:?}"),
        }
    }
}

#[test]
fn what_is_refused_before_it_runs() {
    let one = |at: &str, text: &str, source: &str, dots: &str| {
        format!("ERROR: <input>:{at}: {text}\n | {source}\n | {dots}^")
    };
    let ended = "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', \
        NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
    #[rustfmt::skip]
    let cases = [
        ("self.spec.replica > 1", "1:10", "undefined field 'replica'", "........."),
        ("object.x", "1:1", "undeclared reference to 'object' (in container '')", ""),
        ("size2(n)", "1:6", "undeclared reference to 'size2' (in container '')", "....."),
        ("self.spec.replicas == 'a'", "1:20", "found no matching overload for '_==_' applied to '(int, string)'", "..................."),
        ("n.startsWith('a')", "1:13", "found no matching overload for 'startsWith' applied to 'int.(string)'", "............"),
        ("n.x == 1", "1:2", "type 'int' does not support field selection", "."),
        ("[1, 'a'].size() > 0", "1:5", "expected type 'int' but found 'string'", "...."),
        ("n.all(x, true)", "1:1", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)", ""),
        ("n && true", "1:1", "expected type 'bool' but found 'int'", ""),
        ("1 +", "1:4", ended, "..."),
        ("self.spec.replicas <", "1:21", ended, "...................."),
        ("(1", "1:3", "Syntax error: missing ')' at '<EOF>'", ".."),
        ("1 2", "1:3", "Syntax error: extraneous input '2' expecting <EOF>", ".."),
        ("n > 'a'#", "1:8", "Syntax error: token recognition error at: '#'", "......."),
        ("self.spec[1).a", "1:12", "Syntax error: mismatched input ')' expecting {'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', ']', '.', '-', '?', '+', '*', '/', '%'}", "..........."),
        ("n > 9223372036854775808", "1:5", "invalid int literal", "...."),
        ("for > 1", "1:1", "reserved identifier: for", ""),
        ("T{a: 1}", "1:2", "undeclared reference to 'T' (in container '')", "."),
        ("x.all(1, true)", "1:7", "argument must be a simple name", "......"),
        ("has(self)", "1:5", "invalid argument to has() macro", "...."),
        ("'é' + n == ''", "1:5", "found no matching overload for '_+_' applied to '(string, int)'", ".．.."),
    ];
    for (source, at, text, dots) in cases {
        assert_eq!(Program::compile(source, &names()).err(), Some(one(at, text, source, dots)), "{source}");
    }
    let two = Program::compile("foo\n + bar", &names()).unwrap_err();
    let want = [
        one("1:1", "undeclared reference to 'foo' (in container '')", "foo", ""),
        one("2:4", "undeclared reference to 'bar' (in container '')", " + bar", "..."),
    ];
    assert_eq!(two, want.join("\n"));
    let two = Program::compile("n > 'a", &names()).unwrap_err();
    let want = [
        one("1:5", "Syntax error: token recognition error at: ''a'", "n > 'a", "...."),
        one("1:7", ended, "n > 'a", "......"),
    ];
    assert_eq!(two, want.join("\n"));
    // What an error leaves behind is no news.
    let holes = Program::compile("true ? 1", &names()).unwrap_err();
    assert_eq!(holes.matches("ERROR").count(), 1, "{holes}");
}

#[test]
fn types_of_expressions() {
    for (source, want) in [
        ("self.spec.replicas", "int"),
        ("self.spec.tags.map(t, t.size())", "list(int)"),
        ("any.x", "dyn"),
        ("{'a': 1}", "map(string, int)"),
        ("any.?x", "optional_type(dyn)"),
        ("[1].first()", "optional_type(int)"),
        ("quantity('1')", "kubernetes.Quantity"),
        ("n > 1 ? 'a' : 'b'", "string"),
        ("[]", "list(dyn)"),
        ("timestamp('2026-01-01T00:00:00Z') - duration('1s')", "google.protobuf.Timestamp"),
    ] {
        assert_eq!(Program::compile(source, &names()).unwrap().gives.to_string(), want, "{source}");
    }
}

/// Each would run for longer than a user waits, or not fit into memory.
#[test]
fn nothing_runs_for_long() {
    let grown = "any.a.b".to_owned() + &".map(x, [x, x])".repeat(60);
    let doubled = "['aaaaaaaaaaaaaaaa']".to_owned() + &".map(x, x + x)".repeat(40);
    let list = "[1,1,1,1,1,1,1,1,1,1]";
    let nested = (0..9).map(|i| format!("{list}.all(x{i}, ")).collect::<String>() + "true" + &")".repeat(9);
    let sources = [
        nested,
        format!("{grown} == {grown}"),
        format!("{doubled}.size() > 0"),
        format!("{doubled}[0].replace('', {doubled}[0]) == ''"),
        format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, any.s.matches('(a|b|c)*x') || true))))"),
    ];
    for source in sources {
        assert_eq!(run(&source), Err("operation cancelled: actual cost limit exceeded".to_owned()), "{source}");
    }
}

/// Parts of expressions put together in any order: some are refused, some fail, none panics.
#[test]
fn no_text_panics() {
    #[rustfmt::skip]
    const PARTS: [&str; 64] = [
        "self", "any", "n", ".spec", ".a", ".?b", "(", ")", "[", "]", "{", "}", "[?", "1", "2u", "1.5", "'x'", "\"", "'", "b'", "r'", "\\",
        "\n", "?", ":", ",", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "<", " in ", "has(", ".all(x,", ".exists(x,", ".map(x,",
        ".filter(x,", ".size()", "`", "é", "true", "null", "@", "$", "#", "0x", "1e", "'''", "//", "T{", "x", ".orValue(", "optional.of(",
        "quantity('1')", ".join(", ".substring(", "-9223372036854775808", "duration('1h')", ".first()",
    ];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..5_000 {
        let source: String = (0..1 + next(12)).map(|_| PARTS[next(PARTS.len())]).collect();
        let _ = run(&source);
    }
    let deep: [(&str, &str); 8] =
        [("(", ")"), ("[", "]"), ("{1:", "}"), ("!", ""), ("-", ""), ("1+", ""), ("any.all(x,", ")"), ("true?1:", "")];
    for (open, close) in deep {
        for times in [10, 50, 100, 500, 5_000] {
            let _ = run(&(open.repeat(times) + "1" + &close.repeat(times)));
        }
    }
    let _ = run(&("any".to_owned() + &".a".repeat(50_000)));
}

#[test]
fn variables_are_evaluated_when_they_are_asked_for() {
    let mut names = names();
    names.push(("variables".into(), Type::Dyn));
    let variable = |name: &str, source: &str| (name.to_owned(), Program::compile(source, &names).unwrap());
    let variables =
        [variable("count", "n * 2"), variable("more", "variables.count + 1"), variable("bad", "1 / (n - 7)")];
    let values: BTreeMap<_, _> = [("n".to_owned(), Value::Int(7))].into();
    let activation = Activation { values, variables: &variables };
    let run = |source: &str| {
        let program = Program::compile(source, &names).unwrap();
        program.evaluate(&activation, &mut Budget::new(Budget::ALL)).map_err(|failure| failure.to_string())
    };
    assert_eq!(run("[1].map(n, variables.more + n)"), Ok(Value::list(vec![Value::Int(16)])));
    assert_eq!(run("variables.count == 14 || variables.bad == 1"), Ok(Value::Bool(true)));
    let why = "composited variable \"bad\" fails to evaluate: division by zero";
    assert_eq!(run("variables.bad == 1"), Err(why.to_owned()));
}

/// The same where objects can be made.
fn made(source: &str) -> Result<Value, String> {
    let program = Program::compile(source, &names().into_iter().chain(structs::names()).collect())?;
    let activation = Activation { values: [("n".to_owned(), Value::Int(7))].into(), variables: &[] };
    program.evaluate(&activation, &mut Budget::new(Budget::ALL)).map_err(|failure| failure.to_string())
}

#[test]
fn objects_can_be_made() {
    for source in [
        "Object{spec: Object.spec{replicas: 3}} == Object{spec: Object.spec{replicas: 1 + 2}}",
        "dyn(Object{}) != Object.spec{} && Object{a: 1} != Object{a: 2} && Object{a: 1} != Object{}",
        "Object{intList: [1, 2, 3]}.intList.sum() == 6 && Object{}.a == null && Object{a: 1}.a == 1",
        "!has(Object{}.a) && has(Object{a: null}.a) && Object{}.?a.orValue(5) == 5 && Object{a: 1}.?a.orValue(5) == 1",
        "Object{?a: optional.none()} == Object{} && Object{?a: optional.of(1)} == Object{a: 1}",
        "Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})} == Object{}",
        "[1, 2].map(i, Object.a{b: i})[1].b == 2 && type(Object{}) == Object",
        "true ? JSONPatch{op: 'add', path: '/a', value: n}.value == 7 : false",
        "JSONPatch{op: 'add'} == JSONPatch{op: 'add'} && JSONPatch{}.from == '' && !has(JSONPatch{op: ''}.op)",
        "JSONPatch{value: {'a': [1.5, 2.0]}}.value.a[0] == 1.5 && has(JSONPatch{value: ''}.value)",
        "jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'",
    ] {
        assert_eq!(made(source), Ok(Value::Bool(true)), "{source}");
    }
}

#[test]
fn what_is_made_has_a_type() {
    let of = |source: &str| {
        let names = names().into_iter().chain(structs::names()).collect();
        Program::compile(source, &names).map_or_else(|why| why, |program| program.gives.to_string())
    };
    let patch = "JSONPatch{op: 'remove', path: '/a'}";
    for (source, want) in [
        ("Object{}", "Object"),
        ("Object.spec.template{a: 1}", "Object.spec.template"),
        ("Object{a: 1}.a", "dyn"),
        (&format!("[{patch}]"), "list(JSONPatch)"),
        (&format!("n > 1 ? [{patch}] : []"), "list(JSONPatch)"),
        (&format!("n > 1 ? [] : [{patch}]"), "list(JSONPatch)"),
        (&format!("[{patch}] + [1].map(x, {patch})"), "list(JSONPatch)"),
        (&format!("[[], [{patch}]][0]"), "list(JSONPatch)"),
        ("[]", "list(dyn)"),
        ("n > 1 ? {} : {'a': Object{}}", "map(string, Object)"),
    ] {
        assert_eq!(of(source), want, "{source}");
    }
    let wrong = |source: &str| of(source).lines().next().unwrap_or_default().to_owned();
    for (source, want) in [
        ("Invalid{}", ":8: undeclared reference to 'Invalid' (in container '')"),
        ("Objects.spec{}", ":13: undeclared reference to 'Objects.spec' (in container '')"),
        ("JSONPatch{op: 'add', value: Invalid{}}", ":36: undeclared reference to 'Invalid' (in container '')"),
        ("JSONPatch{op: 1}", ":13: expected type of field 'op' is 'string' but provided type is 'int'"),
        (
            "JSONPatch{path: 'a', from: true}",
            ":26: expected type of field 'from' is 'string' but provided type is 'bool'",
        ),
        ("JSONPatch{pth: ''}", ":14: undefined field 'pth'"),
        ("Object{?a: 1}", ":12: expected type 'optional_type(int)' but found 'int'"),
    ] {
        assert_eq!(wrong(source), format!("ERROR: <input>:1{want}"), "{source}");
    }
    assert!(run("Object{} == Object{}").is_err_and(|why| why.contains("undeclared reference to 'Object'")));
    assert!(
        run("jsonpatch.escapeKey('a') == 'a'").is_err_and(|why| why.contains("undeclared reference to 'jsonpatch'"))
    );
    assert_eq!(made("JSONPatch{op: dyn(1)}"), Err("unexpected type int for JSONPatchType 'op' field".to_owned()));
}

#[test]
fn what_is_made_says_where_it_belongs() {
    let told = |source: &str| match made(source).unwrap() {
        Value::Struct(of) => of.misplaced(),
        other => panic!("{source}: {other:?}"),
    };
    for source in [
        "Object{spec: Object.spec{replicas: 100, m: {'k': Object.spec.m{}}, l: [Object.spec.l{}]}}",
        "Object.spec{a: Object.spec.a{}}",
    ] {
        assert_eq!(told(source), Ok(()), "{source}");
    }
    const WHY: &str = "which matches field name path from root Object type";
    for (source, found, wanted) in [
        ("Object{invalid: Object.spec{}}", "Object.spec", "Object.invalid"),
        ("Object{spec: Object.spec{l: [Object.spec.no{}]}}", "Object.spec.no", "Object.spec.l"),
        ("Object{spec: Object.spec{m: {'k': Object.spec.no{}}}}", "Object.spec.no", "Object.spec.m"),
    ] {
        assert_eq!(told(source), Err(format!("unexpected type name {found:?}, expected {wanted:?}, {WHY}")));
    }
}

#[test]
fn what_is_made_can_be_json() {
    let json = |source: &str| structs::to_json(&made(source).unwrap());
    for (source, want) in [
        (
            "Object{a: [1, 2], u: 2u, b: {'c': null}, d: 1.5, e: 2.0}",
            json!({"a": [1, 2], "u": 2, "b": {"c": null}, "d": 1.5, "e": 2}),
        ),
        (
            "Object{t: timestamp('2026-01-02T03:04:05Z'), d: duration('90s')}",
            json!({"t": "2026-01-02T03:04:05Z", "d": "90s"}),
        ),
        ("Object{b: b'a', s: Object.s{x: true}}", json!({"b": "YQ==", "s": {"x": true}})),
    ] {
        assert_eq!(json(source), Ok(want), "{source}");
    }
    assert_eq!(
        json("Object{a: {1: 2}}"),
        Err("fail to convert field \"a\": map key \"1\" is of type int, not string".into())
    );
    assert!(json("Object{a: int}").is_err());
}
