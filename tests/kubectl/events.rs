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
    for (line, want) in [
        ("--for web", "error: --for must be in resource/name form\n"),
        ("--for pod/web/nginx", "error: arguments in resource/name form may not have more than one slash\n"),
        ("--for gizmo/web", "the server doesn't have a resource type \"gizmo\"\n"),
        ("-A --types=Warning", "No events found.\n"),
        (
            "-o wide",
            "error: unable to match a printer suitable for the output format \"wide\", allowed formats are: go-template,\
             go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,yaml\n",
        ),
    ] {
        assert_eq!(shell.line(&format!("kubectl events {line}")), want, "{line}");
    }
    for all in ["--for pod/", "--types="] {
        assert_eq!(shell.line(&format!("kubectl events --no-headers {all}")).lines().count(), 5, "{all}");
    }
    let start = "{\n    \"kind\": \"EventList\",\n    \"apiVersion\": \"v1\",\n    \"metadata\": {},\n    \"items\": [\n        {\n            \
                 \"kind\": \"Event\",\n            \"apiVersion\": \"v1\",\n            \"metadata\": {\n                \"name\": \"web.";
    let shown = shell.line("kubectl events -o json");
    assert!(shown.starts_with(start), "{shown}");
    let shown = shell.line("kubectl events -o name");
    assert!(shown.starts_with("event/web.") && shown.lines().count() == 5, "{shown}");
    shell.calls.clear();
    shell.line("kubectl events --watch --no-headers");
    assert!(shell.calls.iter().all(|call| call.starts_with("watch events")), "{:?}", shell.calls);
    shell.line("kubectl events --no-headers");
    assert!(shell.calls.iter().any(|call| call.starts_with("list events")), "{:?}", shell.calls);
    let head = shell.line("kubectl events -A");
    assert!(head.starts_with("NAMESPACE   LAST SEEN   TYPE "), "{head}");
}
