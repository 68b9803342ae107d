//! A page on paper, in a browser.

use serde_json::json;

use crate::chromium::Page;
use crate::project::{built, project};

/// Two questions, in a chapter whose scene tells of more steps than have pictures.
const CHAPTER: &str = "\
# A

```scene deployment captions=tour
```

```quiz
- question: Why?
  answers:
  - {text: a, right: true, why: b}
  - {text: c, why: d}
- question: How?
  answers:
  - {text: e, why: f}
  - {text: g, right: true, why: h}
```

## More

The end.
";

/// Whether all that a selector finds is shown.
fn shown(of: &str) -> String {
    format!(
        "[...document.querySelectorAll('{of}')].every((one) => one.checkVisibility({{visibilityProperty: true}}) && one.offsetHeight > 0)"
    )
}

#[test]
fn a_scene_is_its_captions_with_key_pictures_and_answers_come_last() {
    let Some(mut page) = Page::open() else { return };
    let project = project(CHAPTER);
    let out = built(&project).unwrap_or_else(|error| panic!("{error:#}")).canonicalize().expect("it is there");
    // The page is printed from a telephone: paper is wider.
    for width in [1280, 400] {
        page.size(width, 900);
        page.ask("Emulation.setEmulatedMedia", json!({"media": ""}));
        page.go(&format!("file://{}/a.html?print", out.display()));
        page.until("document.querySelector('.ks-answers-list') !== null");
        let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(page.eval(wide), json!(0), "what is for paper takes no room on the screen");
        assert_eq!(page.eval(&shown(".ks-told-list, .ks-answers-list")), json!(false));

        page.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
        assert_eq!(page.eval(&shown(".ks-told-list > li, .ks-picture .ks-map, .ks-answers-list li")), json!(true));
        for hidden in [".ks-player", ".ks-figure", ".ks-steps", ".ks-quiz .ks-verdict", ".ks-quiz details p"] {
            assert_eq!(page.eval(&shown(hidden)), json!(false), "{hidden}");
        }
        let told = page.eval("document.querySelectorAll('.ks-steps .ks-said').length").as_u64().unwrap_or_default();
        let count = |page: &mut Page, what: &str| page.eval(&format!("document.querySelectorAll('{what}').length"));
        assert!(told > 4, "{told} captions");
        assert_eq!(count(&mut page, ".ks-told-list > li"), json!(told));
        assert_eq!(count(&mut page, ".ks-picture"), json!(4));
        let answers = page.text("document.querySelector('main > :last-child').innerText.replace(/\\s+/g, ' ')");
        assert_eq!(answers, "ANSWERS a. Right. b b. No. d b. Right. h a. No. f");
    }
    // A real print, from that telephone: arrows are drawn for the picture as it stands then. It leaves the page as it was.
    page.ask("Emulation.setEmulatedMedia", json!({"media": ""}));
    page.go(&format!("file://{}/a.html", out.display()));
    page.until("document.querySelectorAll('.ks-mounted').length === 1");
    let look = "matchMedia('print').addEventListener('change', ({ matches }) => { if (matches) window.fit = \
        [...document.querySelectorAll('.ks-picture .ks-arrows')].filter((arrows) => { \
            const { width, height } = arrows.getBoundingClientRect(); \
            return arrows.getAttribute('viewBox') === `0 0 ${width} ${height}`; }).length; })";
    page.eval(look);
    page.ask("Page.printToPDF", json!({}));
    page.until("window.fit === 4 && document.querySelector('.ks-told-list, .ks-on-paper') === null");
    assert_eq!(page.errors, Vec::<String>::new());
}
