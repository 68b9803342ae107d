//! A case of "Broken: find out why": what is seen, hints that open one by one, and, last of all, the cause. Where sessions can
//! run, a script adds a prompt. What was typed to break the cluster runs when the book is built.

use super::block::{Block, Mistake};
use super::html;
use cluster::scenario::{Case, Scenario};
use debugger::Session;

/// The block as HTML.
pub fn render(block: &Block) -> Result<String, Mistake> {
    block.only(&[])?;
    let scenario = Scenario::find(block.word("a case's name")?).map_err(|error| block.mistake(error))?;
    let case = scenario.case.clone().ok_or_else(|| block.mistake(format!("{} is no case", scenario.name)))?;
    let name = html::text(&scenario.name);
    let label = format!("Case, about {} minutes", case.minutes);
    let typed = Session::of(scenario.clone()).cluster.kubectl.printed_since(0);
    Ok(format!(
        "<section class=\"ks-case\" id=\"case-{name}\" aria-label=\"Case: {title}\" data-scenario=\"{name}\">\
         <p class=\"ks-label\">{label}</p><p class=\"ks-question\">{title}</p><p>{story}</p>\
         <pre class=\"ks-transcript\" tabindex=\"0\"><code class=\"nohighlight\">{typed}</code></pre>\
         <div class=\"ks-try\"></div>{hints}{cause}\
         <p class=\"ks-command\">In the terminal: <code>kubestep step {name}</code></p></section>\n",
        title = html::prose(&scenario.title),
        story = html::prose(&scenario.story),
        typed = html::text(typed.trim_end()),
        hints = hints(&case),
        cause = cause(&case),
    ))
}

fn hints(case: &Case) -> String {
    let hint = |(number, hint): (usize, &String)| {
        format!("<details><summary>Hint {number}</summary><p>{}</p></details>", html::prose(hint))
    };
    (1..).zip(&case.hints).map(hint).collect()
}

fn cause(case: &Case) -> String {
    let pre = |lines: &[String]| format!("<pre tabindex=\"0\"><code>{}</code></pre>", html::text(&lines.join("\n")));
    let fixes: String = case.fixes.iter().map(|lines| pre(lines)).collect();
    let refused = case.refused.iter().map(|one| format!("{}<p>{}</p>", pre(&one.lines), html::prose(&one.why)));
    let refused: String = refused.collect();
    format!(
        "<details class=\"ks-cause\"><summary>The cause, and what repairs it</summary><p>{}</p>\
         <p><strong>Each of these repairs it:</strong></p>{fixes}<p><strong>These do not:</strong></p>{refused}</details>",
        html::prose(&case.explanation)
    )
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    #[test]
    fn a_case_shows_what_is_seen_and_keeps_its_cause_closed() {
        let of = |name: &str| render(&block::find(&format!("```case {name}\n```\n")).expect("it is one block")[0]);
        let html = of("no-answer").expect("it is a case");
        assert!(html.contains("$ kubectl exec visitor") && html.contains("Connection refused"), "{html}");
        assert_eq!(html.matches("<summary>Hint ").count(), 3);
        assert!(!html.contains("<details open") && !html.trim_end().contains('\n'));
        assert!(of("deployment").is_err_and(|mistake| mistake.text == "deployment is no case"));
    }
}
