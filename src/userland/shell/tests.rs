//! Scripts, what they print and when, and how they end: in a world of a few programs and files.

use std::collections::BTreeMap;
use std::time::Duration;

use super::run::{Command, Shell, Sink, Turn, Write};
use super::test::{There, holds};
use super::{Program, is_open, of_shell};
use crate::programs::is_known;
use object::random::Random;
use object::time::Instant;

#[derive(Default)]
struct World {
    files: BTreeMap<String, String>,
    now: Duration,
    said: String,
}

impl World {
    /// What was printed, with the second at which it was; then when it ended and how, or that it runs for ever.
    fn play(&mut self, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let environment = [("HOSTNAME".to_owned(), "web-1".to_owned()), ("HOME".to_owned(), "/root".to_owned())];
        self.go_on(&mut Shell::new(Program::of(&words), environment))
    }

    fn go_on(&mut self, shell: &mut Shell) -> String {
        for _ in 0..200 {
            match shell.next(Instant(u64::try_from(self.now.as_nanos()).expect("it is small"))) {
                Turn::Run(command) => match self.run(&command) {
                    Some((output, errors, code)) => {
                        let writes = shell.done(output, errors, code);
                        self.write(writes);
                    }
                    None => return self.end("serves"),
                },
                Turn::Write(writes) => self.write(writes),
                Turn::Sleep { time: None, .. } => return self.end("sleeps"),
                Turn::Sleep { time: Some(time), .. } => self.now += time,
                Turn::End(code) => return self.end(&format!("end {code}")),
                Turn::Unsupported => return self.end("unsupported"),
            }
        }
        self.end("goes on")
    }

    fn end(&mut self, how: &str) -> String {
        format!("{}{}: {how}", std::mem::take(&mut self.said), self.now.as_secs())
    }

    fn run(&mut self, command: &Command) -> Option<(String, String, i32)> {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let fine = |output: String| Some((output, String::new(), 0));
        match words.as_slice() {
            ["echo", words @ ..] => fine(words.join(" ") + "\n"),
            ["cat"] => fine(command.input().to_owned()),
            ["cat", path] => match self.files.get(*path) {
                Some(text) => fine(text.clone()),
                None => Some((String::new(), format!("cat: {path}?\n"), 1)),
            },
            ["printf", "%s", text] => fine((*text).to_owned()),
            ["sleep", time] => Some((String::new(), format!("sleep: invalid number '{time}'\n"), 1)),
            ["hostname"] => fine("web-1\n".to_owned()),
            ["env"] => fine(command.exported.iter().map(|(name, value)| format!("{name}={value}\n")).collect()),
            ["[", words @ .., "]"] | ["test", words @ ..] => {
                let files = &self.files;
                let look = |path: &str| match files.get(path) {
                    Some(text) => There::File { empty: text.is_empty() },
                    None => There::Nothing,
                };
                Some((String::new(), String::new(), holds(words, &look).map_or(2, |so| i32::from(!so))))
            }
            // A name that is there after ten seconds.
            ["nslookup", _] => Some((String::new(), String::new(), i32::from(self.now < Duration::from_secs(10)))),
            _ => is_known(&command.words).then(Default::default),
        }
    }

    fn write(&mut self, writes: Vec<Write>) {
        for Write { to, text } in writes {
            match to {
                Sink::File { path, append: true } => self.files.entry(path).or_default().push_str(&text),
                Sink::File { path, append: false } => drop(self.files.insert(path, text)),
                _ => text.lines().for_each(|line| self.said += &format!("{}: {line} | ", self.now.as_secs())),
            }
        }
    }
}

fn played(script: &str) -> String {
    World::default().play(&["sh", "-c", script])
}

fn check(table: &[(&str, &str)]) {
    for (script, expected) in table {
        assert_eq!(played(script), *expected, "{script}");
    }
}

#[test]
fn scripts_end_as_a_shell_would() {
    check(&[
        ("sleep 3", "3: end 0"),
        ("sleep 1; exit 3", "1: end 3"),
        ("false && sleep 5", "0: end 1"),
        ("true && sleep 2m; false", "120: end 1"),
        ("echo hello; sleep infinity", "0: hello | 0: sleeps"),
        ("nginx -g 'daemon off;'", "0: serves"),
        ("false || exit 4", "0: end 4"),
        ("sleep nan", "0: sleep: invalid number 'nan' | 0: end 1"),
        ("eval 'echo a; x=1'; echo $x", "0: a | 0: 1 | 0: end 0"),
        ("eval \"$(echo echo hi)\"; echo $?", "0: hi | 0: 0 | 0: end 0"),
        ("sh -c 'exit 3'; echo $?", "0: 3 | 0: end 0"),
        ("x=1; sh -c 'x=2; echo $x'; echo $x", "0: 2 | 0: 1 | 0: end 0"),
        ("sh -c 'echo $1' name argument; echo \"<$1>\"", "0: argument | 0: <> | 0: end 0"),
        ("sh -ec 'false; echo no'; echo yes", "0: yes | 0: end 0"),
        ("set -e; sh -c 'false; echo still'; echo on", "0: still | 0: on | 0: end 0"),
        ("sh -c \"sh -c 'exit 2'\" || echo $?", "0: 2 | 0: end 0"),
        ("echo $(sh -c 'sleep 2; echo in')", "2: in | 2: end 0"),
        ("sleep 3000000000", "3000000000: end 0"),
        ("sleep 3000000000; sleep 3000000000", "3000000000: sleeps"),
        ("sleep 1e19; sleep 1e19", "0: sleeps"),
        (" ; \n", "0: end 0"),
        ("", "0: end 0"),
        ("exit 300", "0: end 44"),
        ("cat /none", "0: cat: /none? | 0: end 1"),
        ("! false", "0: end 0"),
        ("(exit 3); echo $?", "0: 3 | 0: end 0"),
        ("x+=(1 2); echo $x", "0: unsupported"),
        ("echo a; cat <<EOF\nx\nEOF", "0: a | 0: x | 0: end 0"),
        ("x=1; cat <<EOF > /f\na $x $(echo b) \\$x \"q\" 'r'\nEOF\ncat /f", "0: a 1 b $x \"q\" 'r' | 0: end 0"),
        ("cat <<'EOF'\n$x `y`\nEOF", "0: $x `y` | 0: end 0"),
        ("if true; then\n\tcat <<-EOF | cat\n\tin\n\tEOF\nfi; echo out", "0: in | 0: out | 0: end 0"),
        ("cat <<A; cat <<B\n1\nA\n2\nB\necho 3", "0: 1 | 0: 2 | 0: 3 | 0: end 0"),
        ("echo $(cat <<EOF\nin\nEOF\n) out; cat <<EOF\nopen", "0: in out | 0: open | 0: end 0"),
        // What reads from a file is no subshell.
        ("read a b <<< 'x y z'; echo $b", "0: y z | 0: end 0"),
        ("n=0; while read i; do n=$((n + i)); done <<EOF\n1\n2\nEOF\necho $n", "0: 3 | 0: end 0"),
        ("for i in 1 2; do { read x; break; } <<< a; done; echo $i$x", "0: 1a | 0: end 0"),
        ("{ exit 3; } <<< a; echo no", "0: end 3"),
        ("exec echo a; echo b", "0: a | 0: end 0"),
        ("set -e; cat /none || true; false; echo no", "0: cat: /none? | 0: end 1"),
        ("set -e; if false; then echo; fi; ! true; echo yes", "0: yes | 0: end 0"),
        ("sleep 3 & sleep 1 & echo a; wait; echo b", "0: a | 3: b | 3: end 0"),
        ("sleep infinity & wait", "0: sleeps"),
        ("sleep 5 & echo a", "0: a | 0: end 0"),
        ("wait; (sleep 1) & wait", "0: unsupported"),
    ]);
    assert_eq!(World::default().play(&["bash", "-ec", "false; sleep 1"]), "0: end 1");
    assert_eq!(World::default().play(&["sleep", "3"]), "3: end 0");
    assert_eq!(World::default().play(&["echo", "$HOME"]), "0: $HOME | 0: end 0");
    assert_eq!(World::default().play(&["sh", "-c", "echo $0 $1 $#", "a", "b"]), "0: a b 1 | 0: end 0");
}

#[test]
fn a_statement_may_go_on_in_the_next_line() {
    for open in [
        "echo 'a",
        "echo \"a\nb",
        "echo `date",
        "echo $(date",
        "echo ${x:-",
        "echo a \\",
        "ab\\",
        "a &&",
        "a |",
        "(a; b",
        "{ a",
        "if a",
        "if a; then",
        "if a; then b; else",
        "while a; do\nb",
        "for x in a b",
        "for x in a b; do echo $x",
        "case x in",
        "case x in a) b;;",
        "f()",
        "f() {",
        "x=(1 2",
        "cat <<EOF",
        "cat <<EOF\nEO",
        "cat <<A; cat <<B\nA",
    ] {
        assert!(is_open(open) && is_open(&format!("{open}\n")), "{open}");
    }
    for whole in [
        "",
        "# it's",
        "echo a",
        "echo 'a\\'",
        "echo \\\\",
        "a && b",
        "(a)",
        "{ a; }",
        "if a; then b; fi",
        "case x in a) b;; esac",
        "f() { a; }",
        "cat <<EOF\nEOF",
        "cat <<<x",
        // Nothing that follows brings these to an end.
        "fi",
        "a; )",
        "x+=(1 2); echo $x",
        "echo >(a)",
        "select x in a",
        "cat <<EOF\n${x/y/z}\nEOF",
    ] {
        assert!(!is_open(whole) && !is_open(&format!("{whole}\n")), "{whole}");
    }
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    check(&[
        ("echo a; echo b && echo c || echo d\necho e", "0: a | 0: b | 0: c | 0: e | 0: end 0"),
        ("echo 'one  two' \"three; four\"", "0: one  two three; four | 0: end 0"),
        ("echo \\$A # why", "0: $A | 0: end 0"),
        (r#"echo "a\n\"b""#, "0: a\\n\"b | 0: end 0"),
        ("echo a \\\n b", "0: a b | 0: end 0"),
        ("echo $((1 + 2)) $(hostname) `hostname`", "0: 3 web-1 web-1 | 0: end 0"),
        ("a='x  y'; echo $a \"$a\" '$a'", "0: x y x  y $a | 0: end 0"),
        ("HOME_DIR=/home; echo $HOME_DIR ${HOME} $OTHER.", "0: /home /root . | 0: end 0"),
        ("echo ${A:-none} ${HOME:+yes} ${#HOME} ${A:=b c} $A", "0: none yes 5 b c b c | 0: end 0"),
        ("echo ${HOSTNAME##*-} ${HOSTNAME%-*} ${HOSTNAME#*e}", "0: 1 web b-1 | 0: end 0"),
        ("A=1 env; export B=2; env", "0: A=1 | 0: B=2 | 0: end 0"),
        ("echo $(echo $(echo deep))", "0: deep | 0: end 0"),
        ("echo \"$(echo a; echo b)\"", "0: a | 0: b | 0: end 0"),
        ("x=$(false); echo $?", "0: 1 | 0: end 0"),
        ("echo $ $/ a$", "0: $ $/ a$ | 0: end 0"),
        ("echo 'open", "0: unsupported"),
        ("echo $((1 / 0))", "0: unsupported"),
    ]);
}

#[test]
fn output_goes_where_it_is_sent() {
    check(&[
        ("echo a>/x; echo b >> /x; cat /x", "0: a | 0: b | 0: end 0"),
        ("cat /x 2>/dev/null || echo no", "0: no | 0: end 0"),
        ("cat /x > /y 2>&1; cat /y", "0: cat: /x? | 0: end 0"),
        ("cat /x &> /dev/null", "0: end 1"),
        ("{ echo a; echo b; } > /x; echo c; cat /x", "0: c | 0: a | 0: b | 0: end 0"),
        ("for i in 1 2; do echo $i; [ $i = 1 ] || break; done > /x; echo c; cat < /x", "0: c | 0: 1 | 0: 2 | 0: end 0"),
        ("echo a | cat", "0: a | 0: end 0"),
        ("cat /none 2>&1 | cat | cat", "0: cat: /none? | 0: end 0"),
        ("echo a b | while read x y; do echo $y $x; done", "0: b a | 0: end 0"),
        ("x=1; echo | x=2; (x=3); echo $x", "0: 1 | 0: end 0"),
        ("(echo a; exit 2; echo b) | cat; echo $?", "0: a | 0: 0 | 0: end 0"),
        ("> /x; [ -f /x ] && echo there", "0: there | 0: end 0"),
    ]);
}

#[test]
fn a_script_decides() {
    check(&[
        ("if [ -f /x ]; then echo a; elif true; then echo b; else echo c; fi", "0: b | 0: end 0"),
        ("if false; then echo a; fi", "0: end 0"),
        ("echo x > /x; if [ -s /x ]\nthen\n echo a\nelse echo b\nfi", "0: a | 0: end 0"),
        ("case $HOSTNAME in *-0) echo first;; *-1|*-2) echo other;; esac", "0: other | 0: end 0"),
        ("case a in b) echo b;; *) echo rest; esac; echo on", "0: rest | 0: on | 0: end 0"),
        ("case a in \"*\") echo b;; esac", "0: end 0"),
        ("[[ $HOSTNAME =~ -([0-9]+)$ ]] || exit 1; echo ${BASH_REMATCH[1]}", "0: 1 | 0: end 0"),
        ("[[ `hostname` == db-* ]] && echo db", "0: end 1"),
        ("[[ -z \"\" && ! -f /x && a != b* ]] && echo all", "0: all | 0: end 0"),
        ("[[ $HOSTNAME =~ ( ]]", "0: unsupported"),
        ("[ a -lt ]; echo $?", "0: 2 | 0: end 0"),
    ]);
}

#[test]
fn loops_go_round() {
    check(&[
        ("for i in 1 2 3; do echo $i; sleep 1; done", "0: 1 | 1: 2 | 2: 3 | 3: end 0"),
        ("for i in $(echo a b) c; do echo $i; done", "0: a | 0: b | 0: c | 0: end 0"),
        ("i=0; while [ $i -lt 3 ]; do sleep 2; i=$((i+1)); done; echo $i", "6: 3 | 6: end 0"),
        (
            "until nslookup db; do echo waiting; sleep 5; done; echo found",
            "0: waiting | 5: waiting | 10: found | 10: end 0",
        ),
        ("until nslookup x.$(hostname); do sleep 6; done", "12: end 0"),
        ("while true; do echo a; break; done; echo b", "0: a | 0: b | 0: end 0"),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "0: 1 | 0: 3 | 0: end 0"),
        ("for i in 1 2; do for j in 1 2; do continue 2; done; echo no; done; echo $i$j", "0: 21 | 0: end 0"),
        ("for i in 1 2; do while true; do break 2; done; echo no; done; echo $i", "0: 1 | 0: end 0"),
        ("while false; do echo; done; echo $?", "0: 0 | 0: end 0"),
        ("while sleep 2\ndo\n  exit 7\ndone", "2: end 7"),
        ("for i in; do echo a; done", "0: end 0"),
        ("while :; do :; done", "0: unsupported"),
        ("while true; do sleep 0.01; done", "2: goes on"),
        ("x=a; while true; do x=$x$x; done", "0: unsupported"),
        ("while true; do done", "0: unsupported"),
    ]);
}

#[test]
fn arrays_have_elements() {
    check(&[
        ("x=(a 'b c' $(echo d e)); echo ${x[1]} ${x[3]} ${#x[@]} $x", "0: b c e 4 a | 0: end 0"),
        ("x=(a\n  b\n)\ni=1; echo ${x[$i]} ${x[i - 1]} ${x[7]}. ${x[@]}", "0: b a . a b | 0: end 0"),
        ("x=(a 'b c'); for i in \"${x[@]}\"; do echo $i; done", "0: a | 0: b c | 0: end 0"),
        ("x=(a b c); x=(d); echo ${x[@]}; x=(); echo ${#x[@]}", "0: d | 0: 0 | 0: end 0"),
        ("x=(1 2); echo $((${x[1]} + x[0]))", "0: 3 | 0: end 0"),
        ("a='1 2 3 4 5 6 7'; a=\"$a $a $a $a $a $a\"; x=($a $a $a $a $a); echo no", "0: unsupported"),
        ("x=(a", "0: unsupported"),
    ]);
}

#[test]
fn functions_are_called() {
    check(&[
        ("say() { echo $# $2 $1; }; say a 'b c'; echo $#", "0: 2 b c a | 0: 0 | 0: end 0"),
        ("say()\n{\n  echo hi\n}\nx=$(say); echo $x", "0: hi | 0: end 0"),
        ("function a { return 3; echo no; }; a; echo $?", "0: 3 | 0: end 0"),
        ("a() { for i in 1 2; do [ $i = 2 ] && return 5; echo $i; done; }; a || echo $?", "0: 1 | 0: 5 | 0: end 0"),
        ("a() { local x=2 y; x=3; z=$x; }; x=1; a; echo $x $z$y", "0: 1 3 | 0: end 0"),
        ("a() { echo in; }; a > /f; echo out; cat /f", "0: out | 0: in | 0: end 0"),
        ("a() (exit 3); a; echo $?", "0: 3 | 0: end 0"),
        ("a() { exit 6; }; a; echo no", "0: end 6"),
        ("set -e; a() { false; echo on; }; a || echo no; a; echo no", "0: on | 0: end 1"),
        ("a() { break; }; for i in 1 2; do a; done; echo $i", "0: 2 | 0: end 0"),
        ("a() { echo old; b() { echo b; }; }; a; b; a() { echo new; }; a", "0: old | 0: b | 0: new | 0: end 0"),
        ("a() { shift; for i in \"$@\"; do echo $i; done; }; a 1 '2 3' 4", "0: 2 3 | 0: 4 | 0: end 0"),
        ("set -- a b; shift; echo $1; shift; shift || echo none", "0: b | 0: none | 0: end 0"),
        ("count() { [ $1 = 0 ] || { echo $1; count $(($1 - 1)); }; }; count 3", "0: 3 | 0: 2 | 0: 1 | 0: end 0"),
        ("a() { a; }; a", "0: unsupported"),
        ("a() { sleep 1; }; a & echo no", "0: unsupported"),
        ("return 3; echo no", "0: end 3"),
    ]);
}

#[test]
fn who_is_waited_for_is_known() {
    let is_background = |script: &str| {
        let mut shell = Shell::new(Program::of(&["sh", "-c", script].map(str::to_owned)), []);
        matches!(shell.next(Instant(0)), Turn::Sleep { is_background: true, .. })
    };
    assert!(!is_background("sleep 1; while true; do sleep 1; done"));
    assert!(!is_background("for i in 1 2; do sleep 1; done"));
    assert!(is_background("while true; do sleep 1; done"));
    assert!(is_background("until sleep 1; do true; done"));
    assert!(is_background("a() { b; }; b() { sleep 1; }; while true; do a; done"));
    assert!(!is_background("a() { sleep 1; }; a"));
    assert!(is_background("while true; do if true; then for i in 1; do sleep 1; done; fi; done"));
}

#[test]
fn a_trap_springs_when_the_command_has_ended() {
    let after_signal = |script: &str| {
        let mut world = World::default();
        let mut shell = Shell::new(Program::of(&["sh", "-c", script].map(str::to_owned)), []);
        loop {
            match shell.next(Instant(0)) {
                Turn::Run(command) => {
                    let (output, errors, code) = world.run(&command).expect("it ends");
                    shell.done(output, errors, code);
                }
                turn => break assert!(matches!(turn, Turn::Sleep { .. }), "{script}"),
            }
        }
        let at_once = shell.signal();
        (at_once, world.go_on(&mut shell))
    };
    for (script, at_once, expected) in [
        ("trap 'exit 3' TERM; while true; do sleep 1; done", false, "0: end 3"),
        ("trap 'echo bye' TERM; sleep infinity & wait; echo $?", true, "0: bye | 0: 0 | 0: end 0"),
        ("trap : INT; sleep 1", false, "0: end 0"),
        ("trap 'break; x+=(1)' TERM; sleep 1", false, "0: unsupported"),
        ("trap 'echo $x; exit' TERM; while read x; do sleep 1; done <<< a", false, "0: a | 0: end 0"),
        ("end() { echo $1; exit 4; }; trap 'end now' TERM; sleep 1", false, "0: now | 0: end 4"),
    ] {
        assert_eq!(after_signal(script), (at_once, expected.to_owned()), "{script}");
    }
}

#[test]
fn a_shell_is_known_by_its_name_and_flags() {
    for (words, expected) in [
        (&["sh", "-c", "a"][..], Some("a")),
        (&["/bin/bash", "-exc", "a", "b"], Some("a")),
        (&["sh", "a"], None),
        (&["sh", "-x", "a"], None),
        (&["env", "-c", "a"], None),
    ] {
        assert_eq!(of_shell(words).map(|(_, script, _)| script), expected, "{words:?}");
    }
}

#[test]
fn no_script_breaks_it() {
    let pieces = [
        "if ",
        "then ",
        "else ",
        "elif ",
        "fi ",
        "while ",
        "until ",
        "do ",
        "done ",
        "for i in ",
        "case ",
        "esac ",
        " in ",
        ";; ",
        "; ",
        "\n",
        "&& ",
        "|| ",
        "| ",
        "& ",
        "! ",
        "( ",
        ") ",
        "{ ",
        "} ",
        "[[ ",
        "]] ",
        "[ ",
        "] ",
        "=~ ",
        "== ",
        "echo ",
        "cat ",
        "true ",
        "false ",
        "sleep 1 ",
        "exit ",
        "break ",
        "continue 2 ",
        "read x ",
        "f() ",
        "x=(a $x) ",
        "${x[1]} ",
        "\"${x[@]}\" ",
        "${#x[@]} ",
        "f a ",
        "return ",
        "shift ",
        "local x=1 ",
        "set -- a b ",
        "\"$@\" ",
        "set -e ",
        "unset x ",
        "export x=1 ",
        "x=1 ",
        "x=$x$x ",
        "$x ",
        "${x} ",
        "${x:-a} ",
        "${x##*-} ",
        "${#x} ",
        "${ ",
        "$( ",
        "$(echo a) ",
        "$((",
        "1 + x",
        ")) ",
        "` ",
        "\" ",
        "' ",
        "\\",
        "> /f ",
        ">> /f ",
        "2>&1 ",
        "< /f ",
        "<< ",
        "&> ",
        "$",
        "é",
        "*",
        "a ",
        "# ",
    ];
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let length = random.below(14) as usize;
        let text: String = (0..length).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
        played(&text);
    }
    for deep in [
        "if ".repeat(10_000),
        "( ".repeat(100_000),
        "{ ".repeat(100_000),
        "while ".repeat(10_000),
        "! ".repeat(100_000),
        "$(".repeat(100_000),
        "${a:-".repeat(40_000),
        "echo $((".to_owned() + &"(".repeat(100_000) + "))",
        "[[ ".repeat(60_000),
        "case a in a) ".repeat(10_000),
        "x=1; ".repeat(1_000_000),
    ] {
        assert_eq!(played(&deep).split_once(": "), Some(("0", "unsupported")), "{}", &deep[..20]);
    }
    let whole = "if true; then ".repeat(200) + "echo" + &"; fi".repeat(200);
    assert_eq!(played(&whole), "0: unsupported");
    assert_eq!(played(&"echo a | ".repeat(20_000)), "0: unsupported");
    assert!(played(&("echo ".to_owned() + &"a".repeat(200_000))).ends_with("end 0"));
    assert_eq!(played("x=ab; for i in 1 2 3 4 5 6 7 8 9 10; do x=$x$x; done; echo ${x##*b*b*b*c}"), "0: unsupported");
}

#[test]
fn what_reads_its_input_is_known_in_advance() {
    for (line, reads) in [
        ("cat", true),
        ("/bin/cat", true),
        ("cat - /f", true),
        ("cat /f", false),
        ("grep a", true),
        ("head -n 1 /f", false),
        ("tr a b", true),
        ("tar xmf - -C /tmp", true),
        ("tar cf - /f", false),
        ("hostname", false),
        ("psql", false),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(Program::of(&words).reads(), reads, "{line}");
    }
    for (script, reads) in [
        ("echo a; exit 3", false),
        ("cat /f | grep a", false),
        ("grep a | wc -l", true),
        ("cat < /f", false),
        ("cat > /f", true),
        ("echo a > /f; cat $HOME", false),
        ("while read line; do echo $line; done", true),
        ("while read line; do echo $line; done < /f", false),
        ("cat /f | while read line; do cat; done; cat", true),
        ("echo $(cat)", true),
    ] {
        assert_eq!(Program::of(&["sh", "-c", script].map(str::to_owned)).reads(), reads, "{script}");
    }
}
