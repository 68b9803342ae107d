//! What a stranger has written, in a page: a scenario's texts, manifests, logs and annotations are text there, and nothing else.

use std::fs;

use indicatif::ProgressBar;
use kubestep_book::build::build;

use crate::project::{Scratch, program, project};

/// Ends the element that it stands in, and brings a script of its own; and what a terminal would obey.
const HARM: &str = r"</script></title><script>harm()</script><img src=x onerror=harm()>[x](javascript:harm())<javascript:harm()>\e]52;c;eA==\a";

#[test]
fn nothing_that_a_scenario_says_is_markup() {
    let scratch = Scratch::new();
    let scenario = scratch.0.join("hostile.yaml");
    let text = format!(
        "title: \"{HARM}\"\nstory: \"{HARM}\"\nnodes: 1\ntimeline:\n- kubectl apply -f m.yaml\ntour:\n\
             - {{until: create pods request, text: \"{HARM}\"}}\nfiles:\n  m.yaml: |\n    apiVersion: v1\n    kind: Pod\n    metadata:\n      \
             name: img\n      annotations: {{a: \"{HARM}\"}}\n    spec: {{containers: [{{name: a, image: \"nginx{}\"}}]}}\n",
        HARM.replace('/', "")
    );
    fs::write(&scenario, text).expect("there is room");
    let place = scenario.display();
    let chapter = format!(
        "# A\n\n```scene {place} to=\"create pods request\" captions=tour\n```\n\n\
             ```diagram sequence scenario={place} to=\"create pods request\"\n```\n\n\
         ```transcript\n$ kubestep step {place}\n…\n(kubestep) until create pods request\n…\n(kubestep) get pod img -o yaml\n…\n```\n"
    );
    let (project, bar) = (project(&chapter), ProgressBar::hidden());
    let out = project.0.join("out");
    build(&project.0.join("book"), &out, &program(), &bar).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!((bar.position(), bar.length()), (1, Some(1)), "how far it has come is shown by chapters");
    let page = fs::read_to_string(out.join("a.html")).expect("it is built");
    assert!(page.contains("harm()") && page.matches("ks-scene").count() > 0, "what is said is there:\n{page}");
    for harm in ["<script>harm", "<img src=x", "href=\"javascript", "\u{1b}", "\u{7}"] {
        assert!(!page.contains(harm), "{harm:?}: {}", page.split(harm).next().unwrap_or_default().len());
    }
}
