use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::workdir::{Disk, OUTSIDE, PageFiles};

fn read(file: &str, text: &str) -> Result<Vec<Manifest>, ManifestError> {
    read_text(file, text, &Discovery::default(), Reading::Whole)?.all()
}

fn read_at(base: &Path, path: &str) -> Result<Vec<Manifest>, ManifestError> {
    read_path(&Workdir::plain(base), path, &Discovery::default(), Reading::Whole)?.all()
}

/// A directory that is removed again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kubestep-manifest-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn error(text: &str) -> ManifestError {
    read("web.yaml", text).unwrap_err()
}

#[test]
fn documents_become_objects_with_their_place() {
    let text = "# first\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n\n---\n# only this\n---\n\
                apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n- {apiVersion: v1, kind: Pod}\n---\n";
    let manifests = read("web.yaml", text).unwrap();
    let found: Vec<(Kind, usize)> = manifests.iter().map(|m| (m.kind, m.source.line)).collect();
    assert_eq!(found, [(Kind::Pod, 3), (Kind::Service, 11), (Kind::Pod, 11)]);
    assert_eq!(manifests[0].object, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}));
    assert_eq!(read("-", r#"{"apiVersion": "v1", "kind": "Pod"}"#).unwrap()[0].kind, Kind::Pod);
}

/// JSON writes a character beyond the first 65,536 as two halves.
#[test]
fn halves_of_characters_are_put_together() {
    let text = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {
        "whole": "\ud83d\ude00\u00e9", "half": "a\ud83d.", "low": "\ude00\ud83d", "not": "\\ud83d\\ude00"}}"#;
    let data = read("a.json", text).unwrap().remove(0).object["data"].take();
    assert_eq!(data, json!({"whole": "😀é", "half": "a\u{fffd}.", "low": "\u{fffd}\u{fffd}", "not": "\\ud83d\\ude00"}));
}

#[cfg(unix)]
#[test]
fn a_pipe_with_a_name_and_a_device_are_no_files() {
    let folder = Scratch::new("pipe");
    let pipe = folder.0.join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for path in [pipe.to_str().unwrap(), "/dev/zero", "/dev/null"] {
        let error = read_at(&folder.0, path).unwrap_err().to_string();
        assert!(error.contains("it is no file, but a device or a pipe"), "{error}");
    }
}

#[test]
fn a_bound_session_sees_its_own_folder_only() {
    let folder = Scratch::new("bound");
    folder.write("here.yaml", b"{apiVersion: v1, kind: Pod, metadata: {name: here}}");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", folder.0.join("link.yaml")).unwrap();
    let bound = Workdir::plain(&folder.0).on(Disk::Folder(folder.0.clone()));
    let found = |path: &str| bound.look(path).found.clone();
    assert!(matches!(found("here.yaml"), Found::Text(_)) && matches!(found("."), Found::Directory(_)));
    assert_eq!(found("missing.yaml"), Found::Nothing(Unread::Missing));
    let outside = Found::Nothing(Unread::Failed(OUTSIDE.to_owned()));
    for path in ["/etc/passwd", "../x", "link.yaml", "/", "..", "sub/../../x", "/nowhere/at/all"] {
        assert_eq!(found(path), outside, "{path}");
    }
    assert_eq!(bound.at(Path::new("/etc")).look("passwd").found, outside, "a scenario's own folder is no way out");
}

#[test]
fn a_page_has_files_without_a_disk() {
    let files = PageFiles::default();
    files.put("web.yaml", b"{}".to_vec()).unwrap();
    files.put("./app/../app/base.bin", vec![0xff]).unwrap();
    let page = Workdir::plain(Path::new(".")).on(Disk::Page(files.clone()));
    let found = |path: &str| page.look(path).found.clone();
    let listing = |files: &[&str]| {
        Found::Directory(Listing { files: files.iter().map(|one| (*one).to_owned()).collect(), links: Vec::new() })
    };
    assert_eq!(found("web.yaml"), Found::Text("{}".to_owned()));
    assert_eq!(found("./app/base.bin"), Found::Bytes(vec![0xff]));
    assert_eq!((found("."), found("app")), (listing(&["web.yaml"]), listing(&["base.bin"])));
    for path in ["/etc/passwd", "../x", "web", "Cargo.toml"] {
        assert_eq!(found(path), Found::Nothing(Unread::Missing), "{path}");
    }
    assert_eq!(files.names("w"), ["web.yaml"]);
    assert!(files.put("big", vec![0; FILE_BYTES_MAX as usize + 1]).unwrap_err().contains("64 MiB"));
}

#[test]
fn words_are_read_as_kubectl_reads_them() {
    let text = "apiVersion: v1\nkind: Pod\nspec:\n  mode: 0644\n  text: \"0755\"\n  on: yes\n  quoted: 'no'\n  port: 80\n\
                \x20 base: &b {x: 1, y: 2}\n  derived: {<<: *b, y: 3}\n  5: five\n";
    let spec = read("web.yaml", text).unwrap().remove(0).object["spec"].take();
    assert_eq!(spec["mode"], 420);
    assert_eq!(spec["text"], "0755");
    assert_eq!(spec["true"], true);
    assert_eq!(spec["quoted"], "no");
    assert_eq!(spec["derived"], json!({"x": 1, "true": 3}));
    assert_eq!(spec["5"], "five");
}

#[test]
fn mistakes_have_a_line_and_a_way_out() {
    #[rustfmt::skip]
    let cases = [
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x\nspec: {}\n",
            "yaml: line 3: did not find expected ',' or '}'", 4, "not closed"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n", "error converting YAML to JSON: yaml: invalid map \
            key: map[interface {}]interface {}{\".Values.name\":interface {}(nil)}", 1, ""),
        ("apiVersion: v1\nkind: Pod\nspec: {[1, no]: x}\n", "invalid map key: []interface {}{1, \"no\"}", 1, ""),
        ("apiVersion: v1\nkind: Pod\nmetadata: {labels: {v: 1}}\n", "unable to decode \"web.yaml\": json: cannot unmarshal number \
            into Go struct field ObjectMeta.metadata.labels of type string", 1, "needs quotes"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: no}\n", "unable to decode \"web.yaml\": json: cannot unmarshal bool \
            into Go struct field ObjectMeta.metadata.name of type string", 1, "needs quotes"),
        ("apiVersion: v1\nkind: Pod\nmetadata: [x]\n", "cannot unmarshal array into Go struct field \
            metadataOnlyObject.metadata of type v1.ObjectMeta", 1, "needs quotes"),
        ("apiVersion: v1\nkind: Pod\n\tspec: {}\n", "yaml: line 3: found a tab character that violates indentation", 3,
            "replace the tab"),
        ("kind: Pod\nmetadata:\n\tname: x\n", "yaml: line 3: found character that cannot start any token", 3, "replace the tab"),
        ("kind: Pod\ndata:\n  x: @y\n", "yaml: line 3: found character that cannot start any token", 3, "needs quotes"),
        ("kind: Pod\ndata:\n  x: \"\\q\"\n", "yaml: line 3: found unknown escape character", 3, ""),
        ("kind: Pod\ndata:\n  x: \"y\n", "yaml: line 4: found unexpected end of stream", 4, ""),
        ("kind: Pod\ndata\n  x: y\n", "yaml: line 3: could not find expected ':'", 3, ""),
        ("kind: Pod\ndata:\n  x: *foo-1\n", "yaml: unknown anchor 'foo-1' referenced", 3, "needs quotes"),
        ("apiVersion: v1\nkind: Pod: x\n", "yaml: line 2: mapping values are not allowed in this context", 2, "one line"),
        ("kind: Pod: x\n", "JSON: yaml: mapping values are not allowed in this context", 1, "one line"),
        ("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\n", "ensure CRDs are installed first", 1, "since Kubernetes 1.25. A label"),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "ensure CRDs are installed first", 1, "apply -k DIRECTORY"),
        ("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n", "ensure CRDs are installed first", 1, "Gateway in gateway.networking.k8s.io is not defined here"),
        ("just words\n", "error validating data: invalid object to validate; if you choose", 1, "is a mapping"),
        ("kind: Pod\n", "apiVersion not set", 1, "add `apiVersion:`"),
        ("apiVersion: v1\n", "kind not set", 1, "add `kind:`"),
        ("apiVersion: v1\nkind: pod\n", "no matches for kind \"pod\" in version \"v1\"", 1, "`kind: Pod`"),
        ("apiVersion: v1\nkind: Deployment\n", "no matches for kind \"Deployment\" in version \"v1\"", 1, "apps/v1"),
        ("apiVersion: apps/v1\nkind: Deploymnet\n", "ensure CRDs are installed first", 1, "Perhaps `kind: Deployment`"),
        ("apiVersion: x/v1\nkind: Shirt\n", "ensure CRDs are installed first", 1, "knows these kinds"),
        ("# nothing\n---\n", "no objects passed to apply", 0, "no objects in it"),
    ];
    for (text, message, line, advice) in cases {
        let error = error(text);
        assert!(error.message.contains(message), "{text:?}: {}", error.message);
        assert!(error.advice.contains(advice), "{text:?}: {}", error.advice);
        assert_eq!(error.source.line, line, "{text:?}");
        assert!(error.to_string().contains("\n  hint: "), "{error}");
    }
}

#[test]
fn typed_lists_and_streams_of_json_are_parted() {
    let list =
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Pod}\n";
    let found: Vec<Kind> = read("web.yaml", list).unwrap().iter().map(|m| m.kind).collect();
    assert_eq!(found, [Kind::Deployment, Kind::Pod]);
    assert!(
        error("apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n").message.contains("apiVersion not set")
    );
    let pod = "{\"apiVersion\": \"v1\",\n \"kind\": \"Pod\"}";
    let places = |text: &str| read("a.json", text).unwrap().iter().map(|m| m.source.line).collect::<Vec<_>>();
    assert_eq!(places(&format!("{pod}\n{pod}{pod}\n---\n{pod}\n")), [1, 3, 4, 7]);
    assert_eq!(places("{apiVersion: v1, kind: Pod}\n"), [1]);
    assert!(error(&format!("{pod}\n{{\n")).message.starts_with("error parsing web.yaml"));
}

#[test]
fn words_and_keys_are_those_of_yaml_1_1() {
    let text = "apiVersion: v1\nkind: Pod\nspec:\n  values: [08, 1_000, 0b11, 0o17, -012, 1_0.5, 1_x, 0x1_0, \"07\"]\n  y: 1\n  'n': 2\n\
                \x20 on: 3\n  0644: 4\n  flow: {no: 5, \"off\": 6}\n";
    let spec = read("web.yaml", text).unwrap().remove(0).object["spec"].take();
    let values = json!([8, 1000, 3, 15, -10, 10.5, "1_x", 16, "07"]);
    let flow = json!({"false": 5, "off": 6});
    assert_eq!(spec, json!({"values": values, "true": 3, "n": 2, "420": 4, "flow": flow}));
}

/// Each kind was still served in its old version for a while after others had gone.
#[test]
fn an_old_version_is_told_with_the_release_that_dropped_it() {
    let cases = [
        ("extensions/v1beta1", "Deployment", "1.16. Write `apiVersion: apps/v1`, and add spec.selector"),
        ("apps/v1beta1", "StatefulSet", "1.16. Write `apiVersion: apps/v1`, and add spec.selector"),
        ("extensions/v1beta1", "NetworkPolicy", "1.16. Write `apiVersion: networking.k8s.io/v1`."),
        ("extensions/v1beta1", "Ingress", "1.22. Write `apiVersion: networking.k8s.io/v1`."),
        ("networking.k8s.io/v1beta1", "Ingress", "1.22. Write `apiVersion: networking.k8s.io/v1`."),
        (
            "apiextensions.k8s.io/v1beta1",
            "CustomResourceDefinition",
            "1.22. Write `apiVersion: apiextensions.k8s.io/v1`.",
        ),
        (
            "certificates.k8s.io/v1beta1",
            "CertificateSigningRequest",
            "1.22. Write `apiVersion: certificates.k8s.io/v1`, and add spec.signerName",
        ),
        (
            "flowcontrol.apiserver.k8s.io/v1beta3",
            "FlowSchema",
            "1.32. Write `apiVersion: flowcontrol.apiserver.k8s.io/v1`.",
        ),
        ("rbac.authorization.k8s.io/v1alpha1", "Role", "1.23. Write `apiVersion: rbac.authorization.k8s.io/v1`."),
        ("batch/v1beta1", "CronJob", "1.25. Write `apiVersion: batch/v1`."),
        ("policy/v1beta1", "PodDisruptionBudget", "1.25. Write `apiVersion: policy/v1`."),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26. Write `apiVersion: autoscaling/v2`."),
        ("storage.k8s.io/v1beta1", "CSIStorageCapacity", "1.27. Write `apiVersion: storage.k8s.io/v1`."),
    ];
    for (version, kind, advice) in cases {
        let error = error(&format!("apiVersion: {version}\nkind: {kind}\n"));
        let told = format!("{version} is gone since Kubernetes {advice}");
        assert!(error.advice.starts_with(&told), "{version} {kind}: {}", error.advice);
    }
    let never = error("apiVersion: batch/v1beta1\nkind: Job\n");
    assert_eq!(never.advice, "Job is in batch/v1. Write `apiVersion: batch/v1`.");
}

/// What kubectl takes of a file that begins no run.
#[test]
fn a_stream_is_read_up_to_what_is_broken() {
    let read = |text: &str| read_text("web.yaml", text, &Discovery::default(), Reading::Stream).unwrap();
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    let unknown = "apiVersion: x/v1\nkind: Shirt\n";
    #[rustfmt::skip]
    let cases: [(String, usize, &[&str]); 5] = [
        (format!("{good}---\n{{\n---\n{good}"), 1, &["error parsing web.yaml"]),
        (format!("{good}---\nkind: Pod\n---\n{good}"), 1, &["apiVersion not set"]),
        (format!("{good}---\n{unknown}---\n{good}"), 2, &["no matches for kind \"Shirt\""]),
        (format!("{unknown}---\n{good}---\nwords\n"), 1, &["no matches for kind \"Shirt\"", "invalid object to validate;"]),
        ("# nothing\n".to_owned(), 0, &[]),
    ];
    for (text, known, faults) in cases {
        let manifests = read(&text);
        assert_eq!((manifests.known.len(), manifests.faults.len()), (known, faults.len()), "{text}");
        for (fault, part) in manifests.faults.iter().zip(faults) {
            assert!(fault.message.contains(part), "{text}\n{fault}");
        }
        assert_eq!(manifests.names_unknown_kinds, text.contains("Shirt"));
    }
}

#[test]
fn of_a_key_that_stands_twice_the_last_counts() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b}\nspec: &s\n  - {x: 1, y: !t [1.5, true, ~], x: -2}\n\
                kind: Pod\nmore: *s\n";
    let manifests = read_text("web.yaml", text, &Discovery::default(), Reading::Stream).unwrap();
    let spec = json!([{"x": -2, "true": [1.5, true, null]}]);
    let want = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "spec": spec, "more": spec});
    assert_eq!(manifests.known[0].object, want);
    let whole = read_text("web.yaml", text, &Discovery::default(), Reading::Whole).unwrap();
    assert_eq!((&whole.known, &whole.doubled), (&manifests.known, &manifests.doubled));
    assert_eq!(whole.doubled[0].source, Source { file: "web.yaml".to_owned(), line: 3, column: 21 });
    let refused = values("web.yaml", text).unwrap_err();
    assert!(refused.message.ends_with("key \"name\" already set in map"), "{refused}");
}

#[test]
fn a_removed_version_says_what_to_write() {
    let text = "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata:\n  name: test-service-deploy\n";
    let error = read("basic-deployment.yml", text).unwrap_err();
    let want = "resource mapping not found for name: \"test-service-deploy\" namespace: \"\" from \"basic-deployment.yml\": \
                no matches for kind \"Deployment\" in version \"apps/v1beta1\"\nensure CRDs are installed first";
    assert_eq!(error.message, want);
    assert!(
        error.advice.contains("`apiVersion: apps/v1`") && error.advice.contains("spec.selector"),
        "{}",
        error.advice
    );
}

#[test]
fn a_bomb_is_refused() {
    let mut text = String::from("apiVersion: v1\nkind: Pod\na: &a [x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h"].into_iter().zip(["a", "b", "c", "d", "e", "f", "g"]) {
        let items = vec![format!("*{before}"); 9].join(", ");
        text.push_str(&format!("{name}: &{name} [{items}]\n"));
    }
    assert!(error(&text).message.contains("excessive aliasing"), "{}", error(&text).message);
    let deep = format!("apiVersion: v1\nkind: Pod\nx: {}", "[".repeat(100_000));
    assert!(error(&deep).message.starts_with("error parsing web.yaml"));
}

#[test]
fn ten_thousand_documents_are_read() {
    let text: String =
        (0..10_000).map(|i| format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}}}\n")).collect();
    let manifests = read("many.yaml", &text).unwrap();
    assert_eq!(manifests.len(), 10_000);
    assert_eq!(manifests[9_999].source.line, 39_998);
}

#[test]
fn files_and_directories_are_read() {
    let scratch = Scratch::new("files");
    for (name, pod) in [("b.yml", "b"), ("a.yaml", "a"), ("c.json", "c")] {
        scratch.write(
            name,
            format!("{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {{\"name\": \"{pod}\"}}}}").as_bytes(),
        );
    }
    scratch.write("notes.txt", b"no manifest");
    let names = |path: &str| -> Vec<String> {
        let manifests = read_at(&scratch.0, path).unwrap();
        manifests.iter().map(|m| format!("{} {}", m.source.file, m.object["metadata"]["name"])).collect()
    };
    assert_eq!(names("a.yaml"), ["a.yaml \"a\""]);
    assert_eq!(names("."), ["./a.yaml \"a\"", "./b.yml \"b\"", "./c.json \"c\""]);
    assert_eq!(read_at(&scratch.0, "nowhere.yaml").unwrap_err().message, "the path \"nowhere.yaml\" does not exist");
}

#[test]
fn what_is_no_manifest_is_refused() {
    let scratch = Scratch::new("wrong");
    scratch.write("binary.yaml", b"kind: \xff\xfe\x00");
    assert!(read_at(&scratch.0, "binary.yaml").unwrap_err().advice.contains("UTF-8"));
    scratch.write("empty.yaml", b"");
    assert_eq!(read_at(&scratch.0, "empty.yaml").unwrap_err().message, "no objects passed to apply");
    let huge = fs::File::create(scratch.0.join("huge.yaml")).unwrap();
    huge.set_len(FILE_BYTES_MAX + 1).unwrap();
    assert!(read_at(&scratch.0, "huge.yaml").unwrap_err().message.contains("too large"));
    fs::create_dir(scratch.0.join("none")).unwrap();
    assert!(read_at(&scratch.0, "none").unwrap_err().message.contains("recognized file extensions"));
}

/// A file is read or refused, with any bytes in it.
#[test]
fn mangled_manifests_are_read_or_refused() {
    const TEXT: &str = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: &m {name: web, x: 0644}\n  \
                        spec:\n    replicas: 2\n    base: {<<: *m, on: yes}\n    text: |\n      one\n---\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n";
    const BITS: &[&str] = &[
        "\t", "\n", "---\n", "{", "}", "[", "]", ":", ": ", "- ", "&a ", "*a", "*m", "\"", "'", "|", "é", "\u{feff}",
        "!t ", "? ", "#", "<<: ",
    ];
    let mut random = object::random::Random::new(3);
    for _ in 0..3_000 {
        let mut chars: Vec<char> = TEXT.chars().collect();
        for _ in 0..=random.below(4) {
            let place = random.below(chars.len() as u64) as usize;
            let end = (place + random.below(3) as usize).min(chars.len());
            let bit = BITS[random.below(BITS.len() as u64) as usize];
            chars.splice(place..end, bit.chars());
        }
        let text: String = chars.into_iter().collect();
        if let Err(error) = read("web.yaml", &text) {
            assert!(!error.message.is_empty(), "{text}");
            assert!(error.source.line <= text.lines().count() + 1, "{text}\n{error}");
        }
    }
}
