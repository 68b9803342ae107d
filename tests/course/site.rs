//! The static site, in a browser: the cluster runs in the page, and takes the same steps as in a terminal.
//!
//! The module comes from `.ci/wasm`, or from `kubestep book --site`: `KUBESTEP_MODULE` names it. Without one, these say
//! "skipped: needs the cluster as WebAssembly, see .ci/wasm".

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use cluster::scenario::Scenario;
use flate2::Compression;
use flate2::write::GzEncoder;
use kubestep_book::site;
use kubestep_web::page::Page as Native;
use serde_json::{Value, json};

use crate::chromium::Page;
use crate::project::{from_root, program, project};
use crate::skip;

const SCENE: &str = "\
# A

```scene deployment from=\"create deployments request\" to=\"notification pod to=kubelet/*\" title=\"From wish to node\"
create replicasets request: Here comes the ReplicaSet.
```
";

const CASE: &str = "\
# B

```case no-answer
```
";

/// A site that is served.
struct Site {
    /// Its folder.
    folder: &'static Path,
    /// Where it is served.
    address: String,
    /// Whether it is.
    is_up: Arc<AtomicBool>,
}

impl Site {
    /// The address of a page.
    fn at(&self, page: &str) -> String {
        format!("{}/{page}", self.address)
    }
}

/// A site with two chapters; none if there is no module.
fn served() -> Option<Site> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let Some(module) = std::env::var_os("KUBESTEP_MODULE").map(PathBuf::from) else {
        skip::skipped("the cluster as WebAssembly, see .ci/wasm");
        return None;
    };
    let folder = BUILT.get_or_init(|| built(&module));
    let is_up = Arc::new(AtomicBool::new(true));
    Some(Site { folder, address: serve(folder, is_up.clone()), is_up })
}

/// Its folder, with this module in it.
fn built(module: &Path) -> PathBuf {
    let project = project(SCENE);
    let chapter = |name: &str, text: &str| {
        fs::write(project.0.join("book/src").join(name), text).expect("a file can be written");
    };
    chapter("b.md", CASE);
    chapter("SUMMARY.md", "# Summary\n\n- [A](a.md)\n- [B](b.md)\n");
    // Stops show the lines at which these wait.
    for folder in
        ["cluster", "controllers", "kubectl", "kubelet", "network", "scheduler"].map(|name| format!("src/{name}"))
    {
        copy_folder(&from_root(&folder), &project.0.join(&folder));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("site");
    let _ = fs::remove_dir_all(&folder);
    site::build(&project.0.join("book"), &folder, &program(), module).expect("the site is built");
    let size = fs::metadata(folder.join("kubestep.wasm.gz")).expect("it has the module").len();
    println!("the cluster as a page loads it: {} kB", size / 1000);
    folder
}

#[test]
fn the_module_gets_smaller_where_wasm_opt_is() {
    let Some(site) = served() else { return };
    if Command::new("wasm-opt").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip::skipped("wasm-opt");
    }
    let module = std::env::var_os("KUBESTEP_MODULE").map(fs::read).expect("it is named").expect("it can be read");
    let mut whole = GzEncoder::new(Vec::new(), Compression::best());
    whole.write_all(&module).expect("it is written to memory");
    let whole = whole.finish().expect("it is written to memory").len() as u64;
    let packed = fs::metadata(site.folder.join("kubestep.wasm.gz")).expect("it has the module").len();
    println!("without wasm-opt: {} kB", whole / 1000);
    assert!(packed < whole, "{packed} bytes, and {whole} as it was compiled");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it can be listed").flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy_folder(&path, &copy),
            false => drop(fs::copy(&path, &copy).expect("a file can be copied")),
        }
    }
}

/// A server that knows files and nothing else, as any web server does. Its address. Unless it is up, no answer comes.
fn serve(folder: &'static Path, is_up: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten().filter(|_| is_up.load(Ordering::SeqCst)) {
            thread::spawn(move || answer(stream, folder));
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream, folder: &Path) -> Option<()> {
    let mut line = String::new();
    let mut lines = BufReader::new(stream.try_clone().ok()?);
    lines.read_line(&mut line).ok()?;
    lines.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let path = line.split(' ').nth(1)?.split(['?', '#']).next()?.trim_start_matches('/');
    let file = folder.join(if path.is_empty() { "index.html" } else { path });
    let kind = match file.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        _ => "application/octet-stream",
    };
    let (status, bytes) = fs::read(file).map_or(("404 Not Found", Vec::new()), |bytes| ("200 OK", bytes));
    let length = bytes.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(&bytes).ok()
}

/// What the log of the playground says.
const LOG: &str = "document.getElementById('pg-log').textContent";

/// Waits until nothing is under way.
const RESTS: &str = "window.playground.session !== undefined && !window.playground.session.busy && window.playground.hello !== undefined";

/// Types a line at the playground's prompt, and waits for its answer.
fn types(page: &mut Page, line: &str) {
    page.eval(&format!("window.playground.send({})", json!(line)));
    page.until(RESTS);
}

#[test]
fn the_playground_walks_keeps_its_session_and_shares_it() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    page.go(&site.at("playground.html"));
    page.until(RESTS);
    types(&mut page, "until create pods request");
    let what = "document.querySelector('.pg-what').textContent";
    assert!(page.text(what).starts_with("create pods"), "{}", page.text(what));
    assert!(page.text(LOG).contains("deployment.apps/web created"));
    let at = page.eval("window.playground.stop.step");
    // What is seen is a file on its own.
    page.eval("(() => { const made = URL.createObjectURL; URL.createObjectURL = (file) => { window.saved = file; return made.call(URL, file); }; })()");
    page.eval("document.getElementById('pg-picture').click()");
    page.eval(
        "saved.text().then((text) => { window.drawn = new DOMParser().parseFromString(text, 'image/svg+xml'); })",
    );
    let drawn = page.text("[...drawn.querySelectorAll('svg > text, g text')].map((one) => one.textContent).join(' ')");
    assert!(drawn.contains("create pods") && drawn.contains("kube-scheduler"), "{drawn}");

    // Opened again, the session goes on; a link opens at the same step.
    page.go(&site.at("playground.html?again"));
    page.until(&format!("{RESTS} && window.playground.stop?.step === {at}"));
    page.eval("window.playground.share()");
    page.until("location.hash.startsWith('#s=')");
    let link = page.text("location.href");
    page.eval("localStorage.clear()");
    page.go(&site.at("a.html"));
    page.go(&link);
    page.until(&format!("{RESTS} && window.playground.stop?.step === {at}"));

    // One's own YAML, from the editor.
    page.eval("window.playground.begin({scenario: 'playground'})");
    page.until(RESTS);
    page.eval("window.playground.apply()");
    page.until(RESTS);
    // The map is drawn meanwhile.
    page.until("window.playground.board.nodes?.join() === 'control-plane,node-1,node-2,node-3'");
    types(&mut page, "run");
    assert!(page.text(LOG).contains("deployment.apps/hello created"), "{}", page.text(LOG));
    assert_eq!(page.errors, Vec::<String>::new());
}

/// What was seen is seen again without the site: the replay is one file, in which the player has the session's steps.
#[test]
fn a_session_is_saved_as_a_page_that_plays_anywhere() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    page.go(&site.at("playground.html?scenario=deployment"));
    page.until(RESTS);
    types(&mut page, "run");
    let drawn = "window.playground.followed.course";
    page.until(&format!("{drawn}?.steps.at(-1)?.number > 200"));
    page.eval("[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === 'Owners').click()");
    let owners = page.text("document.querySelector('.ks-near').textContent");
    assert!(owners.contains("Deployment web") && owners.contains("2/2 ready"), "{owners}");
    // Back and on along another course: what is drawn is what the session is.
    types(&mut page, "goto 60");
    page.until(&format!("{drawn}.steps.at(-1).number <= 60"));
    types(&mut page, "delete deployment web");
    types(&mut page, "run");
    page.until(&format!("{drawn}.steps.at(-1).number > 100"));
    let gone = "document.querySelector('.ks-near').textContent.includes('Deployment web')";
    page.until(&format!("!{gone}"));

    page.eval("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }");
    page.eval("window.playground.replay()");
    page.until("window.saved !== undefined");
    let (count, text) = (page.eval(&format!("{drawn}.steps.length")), page.text("window.saved.text()"));
    let file = site.folder.join("replay.html");
    std::fs::write(&file, text).expect("it is written");
    page.go(&format!("file://{}", file.canonicalize().expect("it is there").display()));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    assert!(page.text("document.querySelector('.ks-count').textContent").starts_with(&format!("1 / {count}")));
    page.eval("document.querySelector('.ks-bar .ks-end').click()");
    page.until("document.querySelector('.ks-now').textContent.length > 20");
    page.eval("[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === 'etcd').click()");
    assert!(page.text("document.querySelector('.ks-near').textContent").contains("deleted"));
    assert_eq!(page.errors, Vec::<String>::new());
}

/// A session in the page, line by line.
const SESSION: &str = "\
window.talk = (requests) => new Promise((done) => {
  const { open } = requests[0], times = [];
  let before = performance.now();
  const session = new Kubestep.InPage(open, {
    began: async (hello) => {
      const took = () => { times.push(performance.now() - before); before = performance.now(); };
      took();
      const answers = [JSON.stringify(hello)];
      for (const request of requests.slice(1)) {
        const answer = await session.ask(request);
        took();
        answers.push(JSON.stringify(JSON.parse(answer)));
      }
      session.close();
      done(Object.assign(answers, { times, bytes: session.bytes }));
    },
    answered: () => {},
    ended: (why) => done([why]),
  });
})";

#[test]
fn the_page_takes_the_steps_that_a_terminal_takes() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.go(&site.at("a.html"));
    page.eval(SESSION);
    let lines = |lines: &[&str]| lines.iter().map(|line| json!({"line": line})).collect::<Vec<_>>();
    let whole = lines(&["run"]);
    let broken = lines(&[
        "until create pods request",
        "hold kube-scheduler pods",
        "run",
        "crash kube-controller-manager",
        "release",
        "run",
        "back",
        "goto 40",
        "crash kubelet/node-1",
        "run",
        "branches",
    ]);
    let walks = Scenario::shipped().into_iter().flat_map(|one| [0, 7].map(|seed| (one.name.clone(), seed, &whole)));
    let walks = walks.chain([("deployment".to_owned(), 0, &broken)]);
    for (scenario, seed, lines) in walks {
        let mut requests = vec![json!({"open": {"scenario": scenario, "seed": seed}})];
        requests.extend(lines.iter().cloned());
        requests.push(json!("digest"));
        let mut native = Native::default();
        let plain = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
        let there: Vec<Value> = requests.iter().map(|request| plain(&native.answer(&request.to_string()))).collect();
        let here = page.eval(&format!("talk({})", json!(requests)));
        let here: Vec<Value> =
            here.as_array().expect("it answers").iter().map(|one| plain(one.as_str().unwrap_or_default())).collect();
        for (here, there) in here.iter().zip(&there) {
            assert_eq!(here, there, "{scenario}, seed {seed}");
        }
        assert_eq!(here.len(), there.len(), "{scenario}, seed {seed}");
    }
}

/// A click, and how many milliseconds later something is so.
const CLICK: &str = "\
window.click = (what, is_so) => new Promise((done) => {
  const clicked = performance.now();
  const look = () => (is_so() ? done(Math.round(performance.now() - clicked)) : setTimeout(look));
  document.querySelector(what).click();
  look();
})";

#[test]
fn a_scene_is_taken_over_in_the_page() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    page.go(&site.at("a.html"));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval(CLICK);
    // Only a live session says what is in flight.
    let first = page.eval("click('.ks-bar .ks-live', () => document.querySelector('.ks-detail .ks-flights'))");
    let shown = "document.querySelector('.ks-where').textContent";
    let mut press = |button: &str| {
        let before = json!(page.text(shown));
        page.eval(&format!("click('.ks-live-bar [title^=\"{button}\"]', () => {shown} !== {before})"))
    };
    // Before the first notification there is none to go back to.
    press("To the next notification");
    let (forward, back) = (press("To the next notification"), press("Back"));
    println!("ms until a touched scene answers: {first}; a step in it: {forward}; a step back: {back}");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn a_case_is_solved_in_the_page() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    page.go(&site.at("b.html"));
    let says = |page: &mut Page, line: &str, words: &str| {
        page.eval("document.querySelector('.ks-live input').focus()");
        page.ask("Input.insertText", json!({"text": line}));
        page.key("Enter");
        page.until("document.querySelector('.ks-live-bar [role=status]').textContent === ''");
        let log = page.text("document.querySelector('.ks-log').textContent");
        let answer = log.rsplit("(kubestep) ").next().unwrap_or_default();
        assert!(answer.starts_with(line) && answer.contains(words), "{line}: {log}");
    };
    page.until("document.querySelector('.ks-try button')?.textContent === 'Repair it here'");
    page.eval("document.querySelector('.ks-try button').click()");
    page.until("document.querySelector('.ks-live-bar [role=status]').textContent === ''");
    says(&mut page, "get pods", "Running");
    says(&mut page, "hint", "hint 1 of 3");
    says(&mut page, "solved", "not yet");
    let is_open = "document.querySelector('.ks-cause').open";
    assert_eq!(page.eval(is_open), json!(false), "the cause stays closed");
    says(&mut page, "kubectl set selector service shop app=shop", "selector updated");
    says(&mut page, "solved", "solved");
    assert_eq!(page.eval(is_open), json!(true));
    page.go(&site.at("a.html"));
    assert!(page.text("JSON.stringify({...localStorage})").contains("broken/no-answer"), "it is remembered");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn what_was_loaded_is_there_without_a_network() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    let take_over = |page: &mut Page| {
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        page.eval("document.querySelector('.ks-bar .ks-live').click()");
        page.until("document.querySelector('.ks-where')?.textContent.includes('step')");
    };
    // One page is read, and its scene touched.
    page.go(&site.at("a.html"));
    page.until("navigator.serviceWorker.controller !== null");
    take_over(&mut page);
    page.until(
        "caches.keys().then(async ([name]) => { const kept = await (await caches.open(name)).keys(); \
         return ['a.html', 'kubestep.wasm.gz', '/book-'].every((part) => kept.some(({url}) => url.includes(part))); })",
    );
    site.is_up.store(false, Ordering::SeqCst);
    page.eval(&format!(
        "fetch({}).then(() => {{ throw new Error('there is a network') }}, () => 0)",
        json!(site.at("b.html"))
    ));
    page.errors.clear();

    page.go(&site.at("a.html?again"));
    take_over(&mut page);
    assert_eq!(page.errors, Vec::<String>::new());
    page.go(&site.at("playground.html"));
    page.until(RESTS);
    types(&mut page, "until create pods request");
    let what = page.text("document.querySelector('.pg-what').textContent");
    assert!(what.starts_with("create pods"), "{what}");
    types(&mut page, "back");
}

#[test]
fn from_a_file_scenes_play_and_no_session_is_offered() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 800);
    let file = |name: &str| format!("file://{}", site.folder.join(name).display());
    page.go(&file("a.html"));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let count = "parseInt(document.querySelector('.ks-count').textContent)";
    assert_eq!(page.eval(count), json!(1));
    page.eval("document.querySelector('.ks-bar .ks-step').click()");
    assert_eq!(page.eval(count), json!(2));
    assert_eq!(page.eval("document.querySelectorAll('.ks-bar .ks-live').length"), json!(0), "nothing is offered");
    page.go(&file("b.html"));
    assert_eq!(page.eval("document.querySelectorAll('.ks-try button').length"), json!(0), "nothing is offered");
    page.go(&file("playground.html"));
    page.until("document.querySelector('main').textContent.includes('web server')");
    assert_eq!(page.errors, Vec::<String>::new());
}

/// What the memory of a scenario's whole run may be: phones give a page more.
const MEMORY_MAX: u64 = 64 << 20;

#[test]
fn scenarios_have_room_in_a_page() {
    let Some(site) = served() else { return };
    let Some(mut page) = Page::open() else { return };
    page.go(&site.at("a.html"));
    page.eval(SESSION);
    let milliseconds = |value: &Value| value.as_f64().unwrap_or_default().round();
    let mut too_large = Vec::new();
    for scenario in Scenario::shipped() {
        let name = scenario.name;
        let mut requests = vec![json!({"open": {"scenario": name}}), json!({"line": "run"})];
        requests.extend([json!({"line": "back"}), json!({"line": "back"}), json!({"line": "back"})]);
        let seen = page.eval(&format!("talk({}).then(({{ bytes, times }}) => ({{ bytes, times }}))", json!(requests)));
        let bytes = seen["bytes"].as_u64().unwrap_or_else(|| panic!("{name}: {seen}"));
        let times: Vec<f64> = seen["times"].as_array().into_iter().flatten().map(milliseconds).collect();
        println!("{name}: {} MiB; ms of open, run and three steps back: {times:?}", bytes >> 20);
        if bytes > MEMORY_MAX {
            too_large.push(format!("{name} takes {} MiB", bytes >> 20));
        }
    }
    assert!(too_large.is_empty(), "a page has {} MiB for a cluster, and {too_large:?}", MEMORY_MAX >> 20);
}
