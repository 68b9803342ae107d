//! Every reader: with a small screen, one at 200 %, no pointer, no wish for motion, or a page that is read aloud.

use std::path::Path;

use serde_json::json;

use crate::chromium::Page;
use crate::project::{built, course, pages, project};

/// mdBook's themes.
const THEMES: [&str; 5] = ["light", "rust", "coal", "navy", "ayu"];

/// Of everything one.
const ALL: &str = "\
# A

After this chapter you can
- read

```leader
5: Ask.
```

```scene deployment from=\"create deployments request\" to=\"notification pod to=kubelet/*\" title=\"From wish to node\"
create replicasets request: Here comes the ReplicaSet.
```

```quiz
question: Why?
answers:
- {text: a, right: true, why: b}
- {text: c, why: d}
```

```code src/lib.rs#long
`1 + 1` Two, in `Rust`.
```

```diagram topology scenario=pod
```
```diagram conditions scenario=pod pod=web
```
```exercise fit
```
```case no-answer
```

See [here](a.md), too.
";

/// The pages that readers come to one by one: without the whole book, and without the one for wrong addresses, which is at home
/// at the root of a site.
fn chapters() -> Vec<std::path::PathBuf> {
    let alone =
        |path: &std::path::PathBuf| !["print.html", "404.html", "toc.html"].iter().any(|name| path.ends_with(name));
    pages(course()).into_iter().filter(alone).collect()
}

fn go(page: &mut Page, path: &Path) {
    page.go(&format!("file://{}", path.canonicalize().expect("the page is there").display()));
}

/// What is wrong with the page, as axe-core sees it. That is a file which `.ci/run` fetches and names in KUBESTEP_AXE.
fn violations(page: &mut Page, axe: &str) -> String {
    page.eval(axe);
    page.text(
        "axe.run(document).then((found) => found.violations.flatMap((one) => \
         one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 120)}: ${node.failureSummary}`)).join('\\n'))",
    )
}

fn axe() -> Option<String> {
    let Some(axe) = std::env::var_os("KUBESTEP_AXE") else {
        crate::skip::skipped("axe-core, named in KUBESTEP_AXE");
        return None;
    };
    Some(std::fs::read_to_string(axe).expect("KUBESTEP_AXE names a script"))
}

fn paint(page: &mut Page, path: &Path, theme: &str) {
    go(page, path);
    page.eval(&format!("localStorage.setItem('mdbook-theme', '{theme}')"));
    go(page, path);
    page.until(&format!("document.documentElement.classList.contains('{theme}')"));
}

#[test]
fn everything_is_accessible_in_all_themes() {
    let (Some(axe), Some(mut page)) = (axe(), Page::open()) else { return };
    let wide = format!("\n```text\n{}\n```\n\n|a|b|\n|-|-|\n|{0}|`{0}`|\n", "word".repeat(60));
    let project = project(&format!("{ALL}{wide}"));
    let path = built(&project).unwrap_or_else(|error| panic!("{error:#}")).join("a.html");
    for (theme, width) in THEMES.map(|theme| (theme, 1280)).into_iter().chain([("light", 400), ("navy", 400)]) {
        page.size(width, 900);
        paint(&mut page, &path, theme);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        page.eval("document.querySelector('.ks-end').click()");
        page.eval("document.querySelector('.ks-chip').click()");
        page.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
        for view in ["Cluster", "Request", "Informer", "Owners", "etcd", "Over time"] {
            page.eval(&format!(
                "[...document.querySelectorAll('.ks-views button')].find((one) => one.textContent === '{view}').click()"
            ));
            assert_eq!(violations(&mut page, &axe), "", "{view}, {theme} at {width}");
        }
    }
}

/// Each page of the course in one of the themes.
#[test]
fn every_page_is_accessible() {
    let (Some(axe), Some(mut page)) = (axe(), Page::open()) else { return };
    page.size(1280, 900);
    for (place, theme) in THEMES.into_iter().enumerate() {
        for (turn, path) in chapters().iter().skip(place).step_by(THEMES.len()).enumerate() {
            match turn {
                0 => paint(&mut page, path, theme),
                _ => go(&mut page, path),
            }
            assert_eq!(violations(&mut page, &axe), "", "{} in {theme}", path.display());
        }
    }
}

/// What reaches beyond the right edge, and can be seen there by nothing but scrolling the page.
const TOO_WIDE: &str = "(() => { \
    const edge = document.documentElement.clientWidth; \
    const scrolls = (node) => { for (let at = node.parentElement; at && at.tagName !== 'MAIN'; at = at.parentElement) \
        if (getComputedStyle(at).overflowX !== 'visible') return true; return false; }; \
    const wide = [...document.querySelectorAll('main, main *')].filter((node) => { const box = node.getBoundingClientRect(); \
        return box.width && box.right > edge + 1 && !scrolls(node); }); \
    const names = wide.map((node) => node.getAttribute('class') || node.tagName); \
    const page = [document.documentElement, document.querySelector('#mdbook-content')]; \
    return (page.some((one) => one.scrollWidth > one.clientWidth) ? ['the page'] : []).concat(names.slice(0, 5)).join(', '); })()";

#[test]
fn no_page_is_wider_than_its_screen() {
    let Some(mut page) = Page::open() else { return };
    let mut wrong = Vec::new();
    for path in chapters() {
        page.size(390, 900);
        go(&mut page, &path);
        for width in [390, 768, 1280, 1920] {
            page.size(width, 900);
            let wide = page.text(TOO_WIDE);
            if !wide.is_empty() {
                wrong.push(format!("{} at {width}: {wide}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // It would be seen.
    page.eval("document.querySelector('main').append(Object.assign(document.createElement('p'), {className: 'wide', style: 'width: 3000px; height: 1em'}))");
    assert_eq!(page.text(TOO_WIDE), "the page, wide");
    assert_eq!(page.errors, Vec::<String>::new());
}

/// At 200 % a screen has half the width and height. All words are there, and all that can be pressed.
#[test]
fn a_page_at_200_percent_has_all_that_it_has() {
    let Some(mut page) = Page::open() else { return };
    let project = project(ALL);
    let path = built(&project).unwrap_or_else(|error| panic!("{error:#}")).join("a.html");
    let shown = "[...document.querySelectorAll('main :is(p, li, h1, td, figcaption, summary, button, a, input, select, text)')] \
        .filter((one) => one.checkVisibility({visibilityProperty: true})).map((one) => [one.tagName, one.getAttribute('aria-label'), \
        one.childElementCount ? '' : one.textContent].join(' ')).sort().join('\\n')";
    let [whole, zoomed] = [(1280, 900, 1), (640, 450, 2)].map(|(width, height, scale)| {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false});
        page.ask("Emulation.setDeviceMetricsOverride", size);
        go(&mut page, &path);
        page.eval("document.querySelector('.ks-scene').scrollIntoView({behavior: 'instant'})");
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        assert_eq!(page.text(TOO_WIDE), "", "at {width}");
        // What stays in sight leaves room for the rest.
        let stuck = "[...document.querySelectorAll('.ks-bar, #mdbook-menu-bar')].reduce((sum, one) => sum + \
            (getComputedStyle(one).position === 'sticky' ? one.offsetHeight : 0), 0) < innerHeight / 2";
        assert_eq!(page.eval(stuck), json!(true), "at {width}");
        page.text(shown)
    });
    assert!(whole.lines().count() > 60, "{whole}");
    assert_eq!(zoomed, whole);
}

#[test]
fn nothing_moves_for_a_reader_who_wants_no_motion() {
    let Some(mut page) = Page::open() else { return };
    let project = project(ALL);
    let path = built(&project).unwrap_or_else(|error| panic!("{error:#}")).join("a.html");
    for (wish, moves) in [("no-preference", true), ("reduce", false)] {
        let features = json!([{"name": "prefers-reduced-motion", "value": wish}]);
        page.ask("Emulation.setEmulatedMedia", json!({"features": features}));
        go(&mut page, &path);
        page.until("document.querySelectorAll('.ks-mounted').length === 1");
        let moved = "(() => { let most = 0; for (let i = 0; i < 6; i++) { document.querySelector('.ks-bar .ks-step').click(); \
            most = Math.max(most, document.getAnimations().filter(({ effect }) => effect.target.closest('main')).length); } return most > 0; })()";
        assert_eq!(page.eval(moved), json!(moves), "{wish}");
        let smooth = "getComputedStyle(document.documentElement).scrollBehavior";
        assert_eq!(page.text(smooth), "auto", "{wish}");
    }
}

/// What has the keyboard: where it stands in the page, its name, and whether a reader sees that it has it.
const HELD: &str = "(() => { const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect(); \
    const name = one.getAttribute('aria-label') || one.labels?.[0]?.textContent || one.textContent || one.title || ''; \
    return { at: [...document.querySelectorAll('*')].indexOf(one), body: one === document.body, name: name.trim().slice(0, 60), \
        kind: one.getAttribute('class') || one.tagName, inside: Boolean(one.closest('main')), \
        ring: style.outlineStyle !== 'none' || style.boxShadow !== 'none' || Boolean(one.closest(':has(:focus-visible)') && one.type === 'radio'), \
        sight: box.width > 0 && box.bottom > 0 && box.top < innerHeight }; })()";

/// From the first key to the last: everything has its turn in the order of the page, is in sight, has a name and shows that it
/// has the keyboard, and nothing keeps it.
#[test]
fn keys_alone_walk_through_a_page() {
    let Some(mut page) = Page::open() else { return };
    page.size(1280, 900);
    let project = project(ALL);
    let path = built(&project).unwrap_or_else(|error| panic!("{error:#}")).join("a.html");
    go(&mut page, &path);
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    // The first key leads past the menus.
    page.key("Tab");
    assert_eq!(page.text("document.activeElement.className"), "ks-skip");
    page.key("Enter");
    page.until("location.hash === '#mdbook-content'");
    let (mut walked, mut last) = (Vec::new(), 0);
    for _ in 0..300 {
        page.key("Tab");
        let held = page.eval(HELD);
        if held["body"] == json!(true) || held["inside"] == json!(false) {
            break;
        }
        let at = held["at"].as_u64().unwrap_or_default();
        assert!(at > last, "behind {walked:?} comes {held}, which stands before it");
        last = at;
        for needs in ["ring", "sight"] {
            assert_eq!(held[needs], json!(true), "{needs}: {held}");
        }
        assert_ne!(held["name"], json!(""), "{held}");
        walked.push(held["kind"].as_str().unwrap_or_default().to_owned());
    }
    for kind in ["ks-player", "ks-told", "ks-step", "ks-chip", "ks-diagram", "SUMMARY", "INPUT", "A"] {
        assert!(walked.iter().any(|one| one.split(' ').any(|one| one == kind)), "{kind} was not reached: {walked:?}");
    }
    // The switch of the table of contents is a button.
    let switch = "document.querySelector('#mdbook-menu-bar button[aria-controls=mdbook-sidebar]')";
    let open = page.text(&format!("{switch}.getAttribute('aria-expanded')"));
    page.eval(&format!("{switch}.focus()"));
    page.key("Enter");
    assert_ne!(page.text(&format!("{switch}.getAttribute('aria-expanded')")), open);
    assert_eq!(page.errors, Vec::<String>::new());
}
