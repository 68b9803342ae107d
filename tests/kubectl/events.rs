//! `events`: of one object, of a type, and as they come.

use std::path::Path;

use crate::shell::Shell;

#[test]
fn events_are_told_by_time() {
    let mut shell = Shell::new(Path::new("."), "told");
    assert_eq!(shell.line("kubectl events"), "No events found in told namespace.\n");
    shell.line("kubectl run web --image=nginx:1.27");
    let shown = shell.line("kubectl events --watch --for pod/web");
    assert!(shown.contains(" Normal   Scheduled   Pod/web   Successfully assigned told/web to "), "{shown}");
    assert!(shown.trim_end().ends_with("Started     Pod/web   Container started"), "{shown}");
    let shown = shell.line("kubectl events --types=normal --no-headers");
    assert_eq!(shown.lines().count(), 5, "{shown}");
    assert_eq!(shell.line("kubectl events --types Warning"), "No events found in told namespace.\n");
    let shown = shell.line("kubectl events -o jsonpath={.items[*].involvedObject.name}");
    assert_eq!(shown, "web web web web web");
    assert_eq!(shell.line("kubectl events --types=Bad"), "error: valid --types are Normal or Warning\n");
    assert_eq!(shell.line("kubectl events --for web"), "error: --for must be in resource/name form\n");
    let head = shell.line("kubectl events -A");
    assert!(head.starts_with("NAMESPACE   LAST SEEN   TYPE "), "{head}");
}
