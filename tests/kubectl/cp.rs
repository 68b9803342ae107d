//! `kubectl cp`: `tar` in a container, and what is left of it here.

use crate::bench::Bench;

const SCENE: &str = include_str!("../scenes/exec.yaml");

#[test]
fn files_come_and_go() {
    let mut bench = Bench::new(SCENE);
    for (line, said) in [
        ("echo hello > note", ""),
        ("kubectl cp note app:/scratch -c shell", ""),
        // It is a directory, so the file keeps its name; and the volume is both containers'.
        ("kubectl exec app -c side -- cat /share/note", "hello"),
        ("kubectl cp note default/app:/tmp/other -c shell", ""),
        ("kubectl exec app -c shell -- cat /tmp/other", "hello"),
        ("kubectl exec app -c side -- cat /tmp/other", "cat: can't open '/tmp/other': No such file or directory"),
        ("kubectl cp app:/etc/settings/color -c shell ./color", "tar: removing leading '/' from member names"),
        ("cat color", "blue"),
        ("kubectl cp app:/etc/settings -c shell all", "tar: removing leading '/' from member names"),
        ("cat all/color all/shape", "blueround"),
        ("kubectl exec app -c shell -- ls -a /etc/settings", "color\nshape"),
        ("kubectl cp all app:/scratch/copy -c shell --no-preserve", ""),
        ("kubectl exec app -c shell -- ls /scratch/copy", "color\nshape"),
        ("echo \'hostname; cat\' | kubectl exec -i app -c shell -- sh", "app"),
        ("echo in | kubectl exec -i app -c shell -- cat", "in"),
        ("echo in | kubectl exec app -c shell -- cat", ""),
        // What it says of the container is said once.
        ("kubectl cp note app:/tmp/x", "Defaulted container \"shell\" out of: shell, side, first (init)"),
    ] {
        let (line, told) = (line.replace("\\'", "'"), bench.line(&line.replace("\\'", "'")));
        let told = told.split("\ncommand terminated").next().unwrap_or_default().to_owned();
        assert_eq!(told, said, "{line}");
    }
}

#[test]
fn it_is_tar_by_exec() {
    let mut bench = Bench::new(SCENE);
    bench.line("echo hello > note");
    let asked = bench.asked("kubectl cp note app:/scratch -c shell");
    let once = ["get pods default/app", "get pods/exec default/app"];
    let lines: Vec<&str> = asked.iter().map(String::as_str).collect();
    assert_eq!(lines[..2], once);
    assert_eq!(lines[2], "exec/default/app/shell test -d /scratch");
    assert!(lines.contains(&"exec/default/app/shell tar -xmf - -C /scratch"), "{lines:?}");
    let asked = bench.asked("kubectl cp app:/scratch/note back -c shell");
    assert!(asked.contains(&"exec/default/app/shell tar cf - /scratch/note".to_owned()), "{asked:?}");
}

#[test]
fn it_fails_as_a_real_one_does() {
    let mut bench = Bench::new(SCENE);
    bench.line("echo hello > note");
    let lost = bench.line("kubectl exec app -c shell -- cat /nothing 2>/dev/null");
    assert_eq!(lost, "", "standard error is apart");
    for (line, said) in [
        ("note", "error: source and destination are required"),
        ("note other", "error: one of src or dest must be a remote file specification"),
        ("app:/a app:/b", "error: one of src or dest must be a local file specification"),
        ("app: x", "error: filepath can not be empty"),
        (":/x y", "error: filespec must match the canonical format: [[namespace/]pod:]file/path"),
        ("nothing app:/tmp", "error: nothing doesn't exist in local filesystem"),
        ("note nobody:/tmp", "Error from server (NotFound): pods \"nobody\" not found"),
        (
            "app:/nothing x -c shell",
            "tar: nothing: No such file or directory\ntar: error exit delayed from previous errors",
        ),
        ("app:/etc/hosts . -c shell", "error: open .: is a directory"),
        ("note app:/etc/settings -c shell", "tar: can't open 'note': Read-only file system"),
        ("note app:/a/b/c -c shell", "tar: can't change directory to '/a/b': No such file or directory"),
        ("note once:/tmp", "error: cannot exec into a container in a completed pod; current phase is Succeeded"),
        (
            "note app:/tmp -c nobody",
            "error: container nobody is not valid for pod app out of: shell, side, first (init)",
        ),
        ("note app:/tmp --retries=3", "error: --retries is left out here"),
    ] {
        let told = bench.line(&format!("kubectl cp {line}"));
        assert!(told.contains(said), "{line}: {said:?} is not in {told:?}");
    }
}
