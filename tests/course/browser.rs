//! The player, in a browser.

use std::thread::sleep;
use std::time::Duration;

use lab::progress::{Export, Record};
use serde_json::json;

use crate::chromium::Page;
use crate::project::{Scratch, built, course, project};
use crate::server::Server;

const SCENE: &str = "\
# A

```scene deployment from=\"create deployments request\" to=\"notification pod to=kubelet/*\" title=\"From wish to node\"
create replicasets request: Here comes the ReplicaSet.
```

```quiz
question: Why?
answers:
- {text: a, right: true, why: b}
- {text: c, why: d}
```
";

/// A page of a built book, as a file.
fn file(page: &mut Page, project: &Scratch) {
    let out = built(project).unwrap_or_else(|error| panic!("{error:#}"));
    let file = out.join("a.html").canonicalize().expect("the page is there");
    page.go(&format!("file://{}", file.display()));
}

/// Where the player stands: `3 / 33`.
fn place(page: &mut Page) -> (u64, u64) {
    let text = page.text("document.querySelector('.ks-count').textContent");
    let (at, of) = text.split_once(" / ").unwrap_or_else(|| panic!("{text:?}"));
    let number = |text: &str| text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default();
    (number(at), number(of))
}

/// Presses the key that opens the search, until the page knows it: its script may still be loading.
fn begin_search(page: &mut Page) {
    for _ in 0..300 {
        page.key("/");
        if page.eval("document.activeElement.id === 'mdbook-searchbar'") == json!(true) {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("half a minute went by before the search opened; errors: {:?}", page.errors);
}

const FOCUS: &str = "document.querySelector('.ks-player').focus()";

#[test]
fn a_scene_steps_plays_and_goes_back_from_a_file() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let (first, last) = place(&mut page);
    assert!(first == 1 && last > 20, "{first} {last}");

    page.eval(FOCUS);
    for (key, at) in [
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 1),
        ("ArrowLeft", 1),
    ] {
        page.key(key);
        assert_eq!(place(&mut page).0, at, "{key}");
    }
    page.key("n");
    assert_eq!(page.text("document.querySelector('.ks-kind').textContent"), "notification");
    // What stands in the list of steps is what the player says.
    let said = page.text("document.querySelector('.ks-now p:last-child').textContent");
    let at = place(&mut page).0;
    let listed =
        format!("document.querySelectorAll('.ks-steps li[value]')[{}].querySelector(':scope > p').textContent", at - 1);
    assert_eq!(page.text(&listed), said);

    // Fast clicking ends where so many steps end.
    page.key("Home");
    page.eval("for (let i = 0; i < 200; i++) document.querySelector('.ks-bar .ks-step').click()");
    assert_eq!(place(&mut page).0, last);
    page.eval("for (let i = 0; i < 200; i++) document.querySelector('.ks-bar .ks-back').click()");
    assert_eq!(place(&mut page).0, 1);

    page.eval(FOCUS);
    page.key(" ");
    page.until("parseInt(document.querySelector('.ks-count').textContent) > 2");
    page.key(" ");
    let stopped = place(&mut page).0;
    assert!(stopped < last);
    assert!(page.eval("document.querySelector('[aria-live]').getAttribute('aria-live') === 'polite'") == json!(true));
    // The arrow keys did not turn the page, and the page reports no errors.
    assert!(page.text("location.pathname").ends_with("a.html"));
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn objects_show_their_yaml_and_messages_their_cause() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("document.querySelector('.ks-end').click()");
    // The Pods are on their nodes, the others in etcd.
    assert!(page.eval("document.querySelectorAll('[data-box^=\"node/\"] .ks-chip').length") != json!(0));
    page.eval(
        "[...document.querySelectorAll('.ks-chip')].find((chip) => chip.textContent.startsWith('ReplicaSet')).click()",
    );
    let panel = page.text("document.querySelector('.ks-panel').textContent");
    for part in ["kind: ReplicaSet", "replicas: 2", "revision", "uid: "] {
        assert!(panel.contains(part), "{part}: {panel}");
    }
    assert_eq!(page.eval("document.querySelector('.ks-panel').hidden"), json!(false));
    let cause = page.text("document.querySelector('.ks-why button').textContent");
    page.eval("document.querySelector('.ks-why button').click()");
    let what = page.text("document.querySelector('.ks-where').textContent");
    let number = cause.trim_start_matches("step ").split(':').next().unwrap_or_default().to_owned();
    assert!(what.ends_with(&format!("step {number}")), "{cause} / {what}");
    page.eval("document.querySelector('.ks-name').click()");
    // The state that is drawn is the one that patches lead to, backwards and forwards.
    page.eval("document.querySelector('.ks-home').click()");
    assert_eq!(page.eval("document.querySelectorAll('[data-box^=\"node/\"] .ks-chip').length"), json!(0));
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The text of the element that has the keyboard.
const HELD: &str = "document.activeElement.textContent";

#[test]
fn a_message_says_why_it_was_sent() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let chain =
        "[...document.querySelectorAll('.ks-chain button')].map((b) => parseInt(b.textContent.slice(5))).join(' ')";
    let listed = |chain: String| -> Vec<u64> { chain.split(' ').filter_map(|number| number.parse().ok()).collect() };

    // The message that has just arrived: its causes go back one by one, and each leads there.
    page.eval("document.querySelector('.ks-end').click()");
    page.eval("document.querySelector('.ks-pill').click()");
    let title = page.text("document.querySelector('.ks-title').textContent");
    assert!(title.contains("ADDED Pod"), "{title}");
    let causes = listed(page.text(chain));
    assert!(causes.len() > 4 && causes.is_sorted_by(|a, b| a > b), "{causes:?}");
    page.eval("document.querySelector('.ks-chain button').click()");
    let place = page.text("document.querySelector('.ks-where').textContent");
    assert!(place.ends_with(&format!("step {}", causes[0])), "{place}");
    assert_eq!(listed(page.text(chain)), causes, "the chain stays while it is walked");
    assert_eq!(
        page.text("document.querySelector('.ks-chain [aria-current]').textContent"),
        format!("step {}", causes[0])
    );

    // One that is on its way: its dot and its line in the list say the same.
    page.eval("document.querySelector('.ks-home').click()");
    page.eval("for (let i = 0; i < 9 && !document.querySelector('.ks-message'); i++) document.querySelector('.ks-step').click()");
    let dot = "document.querySelector('.ks-message').dispatchEvent(new MouseEvent('click', {bubbles: true}))";
    page.eval(dot);
    let panel = page.text("document.querySelector('.ks-panel').textContent");
    assert!(panel.contains("It is on its way, and arrives in step "), "{panel}");
    page.eval(
        "document.querySelector('.ks-flights').open = true; document.querySelector('.ks-flights button').click()",
    );
    assert_eq!(page.text("document.querySelector('.ks-panel').textContent"), panel);
    let dots = page.eval("document.querySelectorAll('.ks-message').length").as_u64().unwrap_or_default();
    let lines = page.eval("document.querySelectorAll('.ks-flights li').length").as_u64().unwrap_or_default();
    assert!(dots > 0 && dots <= lines, "{dots} dots, {lines} lines");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn keys_alone_reach_everything_and_get_lost_nowhere() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval(FOCUS);
    page.key("End");
    page.key("w");
    let title = page.text(HELD);
    assert!(
        title.contains("ADDED Pod") && page.eval("document.activeElement.className") == json!("ks-title"),
        "{title}"
    );
    // The next thing to reach is the nearest cause.
    page.key("Tab");
    let cause = page.text(HELD);
    assert!(cause.starts_with("step "), "{cause}");
    page.key("Enter");
    assert!(page.text("document.querySelector('.ks-where').textContent").ends_with(&cause));
    assert_eq!(page.text(HELD), cause, "what was pressed is there still");
    page.key("Escape");
    assert_eq!(page.eval("document.querySelector('.ks-panel').hidden"), json!(true));
    assert_eq!(page.eval("document.activeElement.className"), json!("ks-player"));

    // An object keeps the keyboard from step to step, and has it again when its details are closed.
    page.eval("document.querySelector('[data-like^=\"Deployment\"]').focus()");
    for _ in 0..3 {
        page.key("ArrowLeft");
    }
    assert!(page.text(HELD).starts_with("Deployment web"), "{}", page.text(HELD));
    page.key("Enter");
    assert_eq!(page.text(HELD), "Deployment default/web");
    page.key("Escape");
    assert!(page.text(HELD).starts_with("Deployment web"), "{}", page.text(HELD));
    // Before it was made the player has the keyboard: the arrows must not turn the page.
    page.key("Home");
    page.key("ArrowLeft");
    assert_eq!(place(&mut page).0, 1);
    assert_eq!(page.eval("document.activeElement.closest('.ks-player') !== null"), json!(true));
    assert!(page.text("location.pathname").ends_with("a.html"));
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn the_words_of_a_message_stand_still_when_steps_go_fast() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("for (let i = 0; i < 5; i++) document.querySelector('.ks-bar .ks-step').click()");
    page.eval("document.querySelector('.ks-bar .ks-back').click()");
    assert_eq!(
        page.eval("document.querySelector('.ks-pill').getAnimations().length"),
        json!(0),
        "only a step forward moves"
    );
}

#[test]
fn a_page_is_whole_without_a_script_and_on_paper() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    page.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    file(&mut page, &project);
    let shown = |of: &str| format!("document.querySelector('{of}').getBoundingClientRect().height > 0");
    assert_eq!(page.eval(&shown(".ks-figure svg")), json!(true));
    assert_eq!(page.eval(&shown(".ks-steps summary")), json!(true));
    assert_eq!(page.eval("document.querySelectorAll('.ks-steps li[value]').length > 20"), json!(true));
    page.ask("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    assert_eq!(page.eval(&shown(".ks-figure svg")), json!(false), "the player is there instead");
    // Paper is narrow and white, even if the screen was dark.
    page.eval("localStorage.setItem('mdbook-theme', 'navy')");
    page.size(700, 900);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(page.eval(&shown(".ks-figure svg")), json!(true));
    assert_eq!(page.eval(&shown(".ks-player")), json!(false));
    let colours = "(() => { const of = getComputedStyle(document.documentElement); return [of.backgroundColor, of.color].join(' '); })()";
    assert_eq!(page.text(colours), "rgb(255, 255, 255) rgb(0, 0, 0)");
    let words = "getComputedStyle(document.querySelector('.ks-what')).transform";
    assert_eq!(page.text(words), "none", "the words of a diagram stand beside it");
}

#[test]
fn nothing_is_wider_than_a_telephone() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    for width in [400, 1280] {
        page.size(width, 900);
        file(&mut page, &project);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        page.eval("document.querySelector('.ks-end').click()");
        let wide = page.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(wide, json!(0), "at {width}");
        let out = "[...document.querySelectorAll('.ks-scene *')].filter((e) => !e.closest('pre, .ks-figure, .ks-arrows') && \
            e.getBoundingClientRect().right > document.querySelector('.ks-scene').getBoundingClientRect().right + 1)\
            .map((e) => e.className || e.tagName).join(' ')";
        assert_eq!(page.text(out), "", "at {width}");
        // All that is drawn is there in words as well.
        page.eval("document.querySelector('.ks-steps > summary').click()");
        page.eval("document.querySelectorAll('.ks-run > details').forEach((run) => { run.open = true; })");
        let words = "[...document.querySelectorAll('.ks-steps li[value]')].filter((li) => li.offsetHeight && li.innerText).length";
        assert_eq!(page.eval(words).as_u64(), Some(place(&mut page).1), "at {width}");
        page.eval("document.querySelector('.ks-steps > summary').click()");
    }
    // On a telephone what steps stays in sight while the cluster is looked at.
    page.size(400, 400);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let bar = "(() => { document.querySelector('.ks-nodes').scrollIntoView({block: 'center', behavior: 'instant'}); \
        return Math.round(document.querySelector('.ks-step').getBoundingClientRect().top); })()";
    let top = page.eval(bar).as_i64().unwrap_or(-1);
    assert!((40..120).contains(&top), "at {top}");
}

#[test]
fn thirty_scenes_on_a_page_mount_when_they_are_looked_at() {
    let Some(mut page) = Page::open() else { return };
    let scene = "```scene deployment from=\"create deployments request\" to=\"create pods request\"\n```\n\n";
    let project = project(&format!("# A\n\n{}", scene.repeat(30)));
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length > 0");
    let mounted = page.eval("document.querySelectorAll('.ks-mounted').length").as_u64().unwrap_or_default();
    assert!(mounted < 30, "{mounted} are mounted that nobody sees");
    page.eval("window.scrollTo(0, document.body.scrollHeight)");
    page.until("[...document.querySelectorAll('.ks-scene')].pop().classList.contains('ks-mounted')");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_page_offers_to_run_with_a_learners_code() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    crate::project::with_exercise(&project, "no Rust");
    let server = Server::start_with(&project, &["--exercise", "replicaset"]);
    page.go(&server.url);
    page.go(&format!("http://{}/a.html", server.address));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let offered = page.text("[...document.querySelector('.ks-whose').options].map((one) => one.value).join(' ')");
    assert_eq!(
        offered,
        " ownership admission replicaset expectations deployment rollout fit score sync restart cni endpointslice proxy \
         heartbeat collect finalizer job operator"
    );
    assert_eq!(page.text("document.querySelector('.ks-whose').value"), "replicaset", "as the command said");
    page.eval("document.querySelector('.ks-bar .ks-live').click()");
    page.until("document.querySelector('.ks-log').textContent.includes('expected item')");
    page.until("document.querySelector('.ks-log').textContent.includes('The session is over')");
    let end = "[...document.querySelectorAll('.ks-live-bar button')].find((b) => b.textContent === 'End').click()";
    page.eval(end);
    // Mended, it runs from the start.
    std::fs::write(project.0.join("exercises/06_replicaset/src/lib.rs"), "fn mended() {}").expect("it can be written");
    page.eval("document.querySelector('.ks-bar .ks-live').click()");
    page.until("document.querySelector('.ks-flights') !== null && document.querySelector('.ks-log').textContent.includes('(kubestep) step')");
    page.eval(end);
    page.until("document.querySelector('.ks-live-bar') === null");
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The poster is one sheet, A3 across, and nothing of its page is printed beside it. Its words stay within it.
#[test]
fn the_poster_is_one_sheet() {
    let Some(mut page) = Page::open() else { return };
    page.go(&format!("file://{}/poster.html", course().display()));
    page.until("document.querySelector('.ks-poster svg') !== null");
    let right = "Math.max(...[...document.querySelectorAll('.ks-poster text')].map((one) => { \
                 const box = one.getBBox(); return one.hasAttribute('transform') ? 0 : box.x + box.width; })) < 1414";
    assert_eq!(page.eval(right), json!(true), "a line is too long");
    let printed = page.ask("Page.printToPDF", json!({"preferCSSPageSize": true, "printBackground": true}));
    let data = printed["data"].as_str().unwrap_or_default().replace('+', "-").replace('/', "_");
    let pdf = object::base64::decode(data.trim_end_matches('=')).expect("it is in base64");
    let pdf = String::from_utf8_lossy(&pdf).into_owned();
    assert!(pdf.contains("/Count 1\n"), "it has more than one sheet");
    assert!(pdf.contains("/MediaBox [0 0 1191"), "it is as wide as A3 is high");
}

/// The notes for leaders are open in the window of a presenter, on every page, and closed in all others.
#[test]
fn a_presenters_window_has_its_notes_open() {
    let Some(mut page) = Page::open() else { return };
    let open = "String(document.querySelector('.ks-leader').open)";
    for (address, expected) in [("00-tour.html", "false"), ("00-tour.html?leader", "true"), ("01-objects.html", "true")]
    {
        page.go(&format!("file://{}/{address}", course().display()));
        page.until("document.querySelector('.ks-leader') !== null");
        assert_eq!(page.text(open), expected, "{address}");
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

/// What people search for when something is broken is explained on one page, and that page is found first.
#[test]
fn a_term_leads_to_its_page_first() {
    let Some(mut page) = Page::open() else { return };
    let index = format!("file://{}/index.html", course().display());
    for (term, first) in [
        ("kubeconfig", "02-kubectl.html"),
        ("SIGKILL", "12-how-a-pod-ends.html"),
        ("OOMKilled", "09-configuration.html"),
        ("ephemeral", "09-when-a-container-ends.html"),
        ("preStop", "12-how-a-pod-ends.html"),
        ("CrashLoopBackOff", "09-when-a-container-ends.html"),
        ("drain", "12-draining.html"),
    ] {
        page.go(&index);
        begin_search(&mut page);
        for letter in term.chars() {
            page.key(&letter.to_string());
        }
        page.until(&format!("document.querySelector('#mdbook-searchresults-header').textContent.includes('{term}')"));
        let found = page.text("document.querySelector('#mdbook-searchresults a').pathname.split('/').pop()");
        assert_eq!(found, first, "{term}");
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn words_are_found_from_a_file() {
    let Some(mut page) = Page::open() else { return };
    let project = project(&format!("{SCENE}\n## Slow start\n\nTwo, four, eight.\n\n## Slow food\n\nA start.\n"));
    file(&mut page, &project);
    begin_search(&mut page);
    for letter in "slow eight".chars() {
        page.key(&letter.to_string());
    }
    page.until("document.querySelectorAll('#mdbook-searchresults a').length > 0");
    // Both words stand in one section only.
    assert_eq!(page.text("document.querySelector('#mdbook-searchresults a').hash"), "#slow-start");
    page.key("Enter");
    page.until("location.hash === '#slow-start'");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn a_scene_is_taken_over_and_given_back() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    let server = Server::start(&project);
    page.go(&server.url);
    page.go(&format!("http://{}/a.html", server.address));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("document.querySelector('.ks-bar .ks-next').click()");
    page.eval("document.querySelector('.ks-bar .ks-live').click()");
    let stopped = "document.querySelector('.ks-log')?.textContent.includes('goto') && document.querySelector('.ks-flights') !== null";
    page.until(stopped);
    // A reader types.
    page.eval("document.querySelector('.ks-live input').focus()");
    for letter in "until create pods/binding request".chars() {
        page.key(&letter.to_string());
    }
    page.key("Enter");
    page.until("document.querySelector('.ks-now').textContent.includes('create pods/binding')");
    page.until("document.querySelectorAll('.ks-chip').length >= 3");
    // The views of a scene are those of the session.
    let see = |page: &mut Page, view: &str| {
        page.eval(&format!(
            "[...document.querySelectorAll('.ks-views button')].find((b) => b.textContent === '{view}').click()"
        ));
        page.until(
            "!document.querySelector('.ks-near').hidden && document.querySelector('.ks-near').textContent.length > 20",
        );
        page.text("document.querySelector('.ks-near').textContent")
    };
    let request = see(&mut page, "Request");
    assert!(request.contains("authorization") && request.contains("create pods/binding"), "{request}");
    assert!(see(&mut page, "etcd").contains("Deployment web"));
    assert!(see(&mut page, "Informer").contains("work queue"));
    page.eval("[...document.querySelectorAll('.ks-views button')].find((b) => b.textContent === 'Cluster').click()");
    page.eval("[...document.querySelectorAll('.ks-live-bar button')].find((b) => b.textContent === 'Step').click()");
    page.until("document.querySelector('.ks-kind').textContent === 'notification'");
    // A manifest is edited.
    page.eval(
        "[...document.querySelectorAll('.ks-chip')].find((chip) => chip.textContent.startsWith('Deployment')).click()",
    );
    page.eval("(() => { const t = document.querySelector('.ks-panel textarea'); t.value = t.value.replace('replicas: 2', 'replicas: 3'); })()");
    page.eval("[...document.querySelectorAll('.ks-panel button')].find((b) => b.textContent === 'Apply').click()");
    page.eval(
        "(() => { const i = document.querySelector('.ks-live input'); i.value = 'run'; i.form.requestSubmit(); })()",
    );
    page.until("[...document.querySelectorAll('.ks-chip')].filter((c) => c.textContent.startsWith('Pod') && c.classList.contains('ks-ready')).length === 3");
    page.eval("[...document.querySelectorAll('.ks-live-bar button')].find((b) => b.textContent === 'End').click()");
    page.until("document.querySelector('.ks-live-bar') === null && !document.querySelector('.ks-bar').hidden");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn a_view_is_chosen_and_nothing_below_moves() {
    let Some(mut page) = Page::open() else { return };
    let project = project(&format!("{SCENE}\nBelow.\n"));
    for width in [1280, 400] {
        page.size(width, 900);
        file(&mut page, &project);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        let height = "document.querySelector('.ks-scene').offsetHeight";
        let first = page.eval(height);
        let last = place(&mut page).1;
        for at in 0..last {
            page.eval("document.querySelector('.ks-bar .ks-step').click()");
            assert_eq!(page.eval(height), first, "at {width}, step {}", at + 2);
        }
        for view in ["Request", "Informer", "Owners", "etcd", "Over time"] {
            page.eval(&format!(
                "[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === '{view}').click()"
            ));
            assert_eq!(page.eval(height), first, "{view} at {width}");
            let shown = page.text("document.querySelector('.ks-near').innerText");
            assert!(shown.len() > 40, "{view}: {shown:?}");
        }
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The words of a message stand between the rows, also where two API servers share an etcd.
#[test]
fn the_words_of_a_message_hide_no_box() {
    let Some(mut page) = Page::open() else { return };
    let scene = "```scene api-servers from=\"method=crash to=kubelet/node-1\" to=\"method=StartContainer\"\n```\n";
    let project = project(&format!("{SCENE}\n{scene}"));
    file(&mut page, &project);
    for n in 0..2 {
        page.eval(&format!("document.querySelectorAll('.ks-scene')[{n}].scrollIntoView()"));
        page.until(&format!("document.querySelectorAll('.ks-scene')[{n}].ksPlayer !== undefined"));
        let hidden = page.text(&format!(
            "(() => {{ const player = document.querySelectorAll('.ks-scene')[{n}].ksPlayer, {{ course, board: {{ map }} }} = player; \
             const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; \
             return course.steps.flatMap((step, at) => {{ player.go(at + 1, false); const pill = map.pill.getBoundingClientRect(); \
               return pill.width ? [...map.element.querySelectorAll('.ks-box')].filter((box) => over(pill, box.getBoundingClientRect())).map((box) => `${{step.number}}: ${{box.dataset.box}}`) : []; }}).join(', '); }})()"
        ));
        assert_eq!(hidden, "", "scene {n}");
        assert!(place(&mut page).1 > 1);
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The file that is saved has what is seen, and needs no page around it.
#[test]
fn what_is_seen_is_saved_as_a_picture() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("(() => { const made = URL.createObjectURL; URL.createObjectURL = (file) => { window.saved = file; return made.call(URL, file); }; })()");
    page.eval("document.querySelector('.ks-end').click()");
    for view in ["Cluster", "Request", "Owners", "etcd", "Over time"] {
        page.eval(&format!(
            "[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === '{view}').click()"
        ));
        page.eval("document.querySelector('.ks-save').click()");
        page.eval(
            "saved.text().then((text) => { window.drawn = new DOMParser().parseFromString(text, 'image/svg+xml'); })",
        );
        assert_eq!(page.text("drawn.documentElement.tagName"), "svg", "{view}");
        assert_eq!(
            page.eval("drawn.querySelectorAll('parsererror, foreignObject, script, image').length"),
            json!(0),
            "{view}"
        );
        let words = page.text("[...drawn.querySelectorAll('text')].map((one) => one.textContent).join(' ')");
        let said = page.text("document.querySelector('.ks-now p:last-child').textContent");
        assert!(words.contains(&said), "{view}: {said} / {words}");
        assert!(words.contains("From wish to node (kubestep step deployment, step "), "{view}: {words}");
        // Each word that is seen is there, and each box and icon.
        let missing = page.text(
            "(() => { const of = (text) => text.replace(/\\s+/g, ''), seen = document.querySelector('.ks-near:not([hidden]), .ks-map:not([hidden])'), \
             all = of([...drawn.querySelectorAll('text')].map((one) => one.textContent).join('')); \
             return [...seen.querySelectorAll('.ks-chip span, .ks-name, td, .ks-pipe b, .ks-pill, .ks-span')].filter((one) => one.offsetWidth && !all.includes(of(one.innerText))).map((one) => one.innerText).join(', '); })()",
        );
        assert_eq!(missing, "", "{view}");
        let few = "drawn.querySelectorAll('path').length < document.querySelectorAll('.ks-stage :is(.ks-map, .ks-near):not([hidden]) svg.ks-glyph').length";
        assert_eq!(page.eval(few), json!(false), "{view}");
        assert_eq!(
            page.eval("drawn.documentElement.getAttribute('xmlns') === 'http://www.w3.org/2000/svg'"),
            json!(true)
        );
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The first page: a picture at its end, which plays when it is touched, and the whole scene for those who look closer.
#[test]
fn a_cover_plays_when_it_is_touched() {
    let Some(mut page) = Page::open() else { return };
    let project = project(&SCENE.replace(" title=", " form=cover title="));
    let seen = |of: &str| format!("[...document.querySelectorAll('{of}')].filter((one) => one.offsetHeight).length");
    page.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    file(&mut page, &project);
    assert_eq!(page.eval("document.querySelector('.ks-topology').getBoundingClientRect().width > 300"), json!(true));
    assert_eq!(page.eval(&seen(".ks-steps > summary")), json!(1), "without a script the steps are there in words");
    page.ask("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    for width in [390, 1600] {
        page.size(width, 900);
        file(&mut page, &project);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        let (at, last) = place(&mut page);
        assert_eq!(at, last);
        assert_eq!(page.eval(&seen(".ks-touch")), json!(1));
        assert_eq!(page.eval(&seen(".ks-views, .ks-detail, .ks-steps, .ks-step")), json!(0), "a cover is a picture");
        assert_eq!(page.eval("document.documentElement.scrollWidth <= innerWidth"), json!(true), "at {width}");
        let wide = page.eval("document.querySelector('.ks-cover').offsetWidth").as_u64().unwrap_or_default();
        assert!(width < 800 || wide > 1000, "{wide} at {width}");
        page.eval("document.querySelector('.ks-touch').click()");
        assert_eq!((place(&mut page).0, page.eval(&seen(".ks-touch"))), (1, json!(0)));
        page.until("parseInt(document.querySelector('.ks-count').textContent) > 3");
        // What is said stays while the steps after it go by.
        page.until("document.querySelector('.ks-now .ks-said')?.textContent === 'Here comes the ReplicaSet.'");
        let told = place(&mut page).0;
        page.until(&format!("parseInt(document.querySelector('.ks-count').textContent) > {}", told + 1));
        assert_eq!(page.text("document.querySelector('.ks-now .ks-said').textContent"), "Here comes the ReplicaSet.");
        page.eval("document.querySelector('.ks-closer').click()");
        assert_eq!(place(&mut page).0, 1);
        assert_eq!(page.eval(&seen(".ks-views, .ks-detail, .ks-steps, .ks-step")), json!(4));
        assert_eq!(page.eval(&seen(".ks-closer, .ks-touch")), json!(0));
    }
    assert_eq!(page.errors, Vec::<String>::new());
}

const PING: &str = "\
# A

```scene cross-node from=\"get service/far request\" to=\"from=kernel/node-1 to=user/kubectl\" title=\"There and back\"
```
";

/// Where a packet is, what it has passed and what was decided there, on a screen of any width.
#[test]
fn a_packet_is_seen_on_its_way() {
    let Some(mut page) = Page::open() else { return };
    let project = project(PING);
    for width in [1280, 390] {
        page.size(width, 900);
        file(&mut page, &project);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        page.eval(
            "[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === 'Packet').click()",
        );
        let here = |page: &mut Page| page.text("document.querySelector('.ks-wires [aria-current]').textContent");
        let lit = |page: &mut Page| page.eval("document.querySelectorAll('.ks-device.ks-lit').length").as_u64();
        page.eval("for (let i = 0; i < 4; i++) document.querySelector('.ks-bar .ks-step').click()");
        // Before it is sent the Pod asks its own table.
        assert!(here(&mut page).starts_with("Pod client"), "{}", here(&mut page));
        assert!(here(&mut page).contains("route default via 10.244.0.1 dev eth0"), "{}", here(&mut page));
        for (place, passed, decided) in [
            ("veth", 1, "bridge cni0: 10.244.0.1 is the bridge itself"),
            ("cni0", 2, "wire out by eth0, to node-2"),
            ("eth0", 5, "bridge cni0: 10.244.1.2 is behind veth"),
            ("Pod far", 7, "icmp the kernel answers echo requests itself"),
            // The answer is another packet.
            ("veth", 1, "bridge cni0: 10.244.1.1 is the bridge itself"),
        ] {
            page.eval("document.querySelector('.ks-bar .ks-step').click()");
            assert!(here(&mut page).starts_with(place), "{place}: {}", here(&mut page));
            assert_eq!(lit(&mut page), Some(passed), "{place} at {width}");
            let rules = page.text("document.querySelector('.ks-wires .ks-rules').textContent");
            assert!(rules.contains(decided), "{place}: {rules}");
            let seen = "(() => { const of = (one) => document.querySelector(one).getBoundingClientRect(), at = of('.ks-wires [aria-current]'), near = of('.ks-near'); \
                return at.top < near.bottom && at.bottom > near.top && at.right <= near.right + 1; })()";
            assert_eq!(page.eval(seen), json!(true), "{place} at {width}");
        }
    }
    // What a node sends begins in its kernel, where the rules for the Service are.
    let service = "# A\n\n```scene service from=\"method=exec\" to=\"packet if message.to.pod != ''\"\n```\n";
    let service = crate::project::project(service);
    file(&mut page, &service);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === 'Packet').click()");
    page.eval("document.querySelector('.ks-bar .ks-step').click()");
    assert_eq!(
        page.text("document.querySelector('.ks-wires [aria-current]').textContent"),
        "lo",
        "nothing is behind the Service yet"
    );
    page.eval("document.querySelector('.ks-end').click()");
    assert_eq!(page.eval("document.querySelectorAll('.ks-kernel.ks-lit').length"), json!(1));
    assert_eq!(
        page.eval("document.querySelectorAll('.ks-cable.ks-lit').length"),
        json!(3),
        "to the bridge, its port, the Pod"
    );
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn the_next_told_step_is_one_key_away() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    page.eval("document.querySelector('.ks-told').click()");
    let said = "document.querySelector('.ks-now .ks-said').textContent";
    assert_eq!(page.text(said), "Here comes the ReplicaSet.");
    let (at, last) = place(&mut page);
    assert!(1 < at && at < last);
    page.eval(FOCUS);
    page.key("t");
    assert_eq!(place(&mut page).0, last, "nothing more is told");
}

#[test]
fn of_many_nodes_those_of_the_scene_are_drawn_and_the_others_are_counted() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.eval(
        "(() => {
          const { Board, Course } = window.Kubestep, names = Array.from({ length: 20 }, (_, n) => `n${n + 1}`);
          const pod = { metadata: { name: 'a', resourceVersion: '1' }, spec: { nodeName: 'n17' }, status: {} };
          const other = { ...pod, metadata: { name: 'b', resourceVersion: '1' }, spec: { nodeName: 'n9' } };
          const data = { nodes: names, names: ['request', 'kubelet/n17', 'kube-apiserver'], objects: { 'Pod default/a': pod },
            queues: [], code: [], flights: [], steps: [{ n: 1, t: 0, k: 0, f: 1, o: 2, w: 'x', y: 0 }] };
          const board = window.board = new Board(() => {}, () => {}), course = new Course(data);
          document.body.append(board.stage);
          board.take(course);
          board.show(1, [], false);
          const count = ({ steps }) => steps.length;
          window.counted = [course.once(count)];
          course.follow({ told: { after: 1 }, scene: { ...data, names: ['request', 'x', 'kube-apiserver', 'Pod default/b'], steps: [{ n: 2, t: 0, k: 0, f: 1, o: 2, w: 'x', y: 0, x: [[3, 2, [other]]] }] } });
          board.take(course);
          board.show(2, [], false);
          counted.push(course.once(count));
        })()",
    );
    let boxes =
        page.text("[...board.stage.querySelectorAll('.ks-nodes .ks-box')].map((one) => one.dataset.box).join()");
    assert_eq!(boxes, "node/n17,node/n1,node/n2,node/n3,node/n4,node/n5,more", "the order stays when another is used");
    assert_eq!(page.eval("counted"), json!([1, 2]), "what was made of one step is made anew of two");
    let more = page.text("board.stage.querySelector('[data-box=more]').textContent");
    assert!(more.starts_with("14 more nodes") && more.ends_with("n9: 1 Pod, 0 ready"), "{more}");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn a_scene_asks_what_comes_next() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let at = place(&mut page).0;
    page.eval("document.querySelector('.ks-predict').click()");
    page.eval("document.querySelector('.ks-bar .ks-step').click()");
    let asked = page.text("document.querySelector('.ks-asked').textContent");
    assert!(asked.starts_with("Which component is notified next?"), "{asked}");
    assert_eq!(place(&mut page).0, at, "it waits for an answer");
    page.key("1");
    page.until("document.querySelector('.ks-asked') === null");
    let told = page.text("document.querySelector('.ks-detail').textContent");
    assert!(told.starts_with("Right: ") || told.starts_with("No, it is "), "{told}");
    assert_eq!(page.text("document.querySelector('.ks-kind').textContent"), "notification");
    assert!(place(&mut page).0 > at);
    let score = page.text("document.querySelector('.ks-predict').textContent");
    assert_eq!(score, format!("Predict: {} of 1", u8::from(told.starts_with("Right"))));
    // Another kind of question, which a move along the scene takes back.
    page.eval("document.querySelector('.ks-bar .ks-step').click()");
    assert!(page.text("document.querySelector('.ks-asked').textContent").starts_with("Who writes to etcd next?"));
    page.eval("document.querySelector('.ks-bar .ks-home').click()");
    page.until("document.querySelector('.ks-asked') === null");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn a_prediction_is_committed_and_remembered() {
    let Some(mut page) = Page::open() else { return };
    let project = project(SCENE);
    file(&mut page, &project);
    page.until("document.querySelectorAll('.ks-answers input').length === 2");
    let button = "document.querySelector('.ks-quiz button')";
    assert_eq!(page.eval(&format!("{button}.disabled")), json!(true), "nothing is chosen");
    let answer = |text: &str| {
        format!("[...document.querySelectorAll('.ks-answers label')].find((one) => one.textContent === '{text}')")
    };
    page.eval(&format!("{}.click()", answer("c")));
    assert_eq!(page.text("document.querySelector('.ks-verdict').textContent"), "", "not before Check");
    page.eval(&format!("{button}.click()"));
    assert!(page.text("document.querySelector('.ks-verdict').textContent").starts_with("No. d"));
    page.eval(&format!("{}.click()", answer("a")));
    page.eval(&format!("{button}.click()"));
    assert!(page.text("document.querySelector('.ks-verdict').textContent").starts_with("Right. b"));
    // The first answer is the prediction; later ones do not change it.
    let kept = "Object.values(JSON.parse(localStorage.getItem('kubestep-course')).quiz)[0].right";
    assert_eq!(page.eval(kept), json!(false));
    file(&mut page, &project);
    page.until("document.querySelector('.ks-verdict').textContent.startsWith('Right. b')");
    assert_eq!(page.errors, Vec::<String>::new());
}

/// The page takes the file that `kubestep progress --export` writes.
#[test]
fn exercises_are_taken_over_from_an_export() {
    let Some(mut page) = Page::open() else { return };
    let project = project("# A\n\n<div id=\"ks-progress\"></div>\n");
    file(&mut page, &project);
    page.until("document.querySelector('#ks-progress input') !== null");
    let record = |digest: &str| Record { digest: digest.to_owned(), attempts: 2, ..Record::default() };
    let exercises = [("queue", record("2f0a")), ("replicaset", record(""))];
    let exercises = exercises.map(|(name, record)| (name.to_owned(), record)).into();
    let export =
        serde_yaml::to_string(&Export { name: "exercises: x".to_owned(), exercises }).expect("it can be written");
    for (text, said) in [(export.as_str(), "2 exercises"), ("name: x\n", "no file of kubestep progress")] {
        page.eval(&format!(
            "(() => {{ const files = new DataTransfer(), input = document.querySelector('#ks-progress input'); \
             files.items.add(new File([{}], 'me.yaml')); input.files = files.files; \
             input.dispatchEvent(new Event('change')); }})()",
            json!(text)
        ));
        page.until(&format!("document.querySelector('#ks-progress').textContent.includes({})", json!(said)));
    }
    let shown = page.text("document.querySelector('#ks-progress').textContent");
    assert!(shown.contains("queue: passed") && shown.contains("replicaset: started"), "{shown}");
    assert_eq!(page.errors, Vec::<String>::new());
}
