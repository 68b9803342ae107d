//! The page at `/`: who is connected, what was asked last, and the clock. It carries no secret.

use debugger::Choice;
use stepper::Stepper;

/// So many of the last requests are shown.
const LAST: usize = 20;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1f24;\
    background:#fff}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem;border-bottom:1px solid \
    #d0d7de;overflow-wrap:anywhere}code{font:14px/1.4 ui-monospace,monospace}\
    @media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}a{color:#79b8ff}}";

/// The page.
pub fn html(stepper: &Stepper) -> String {
    let session = &stepper.session;
    let now = session.time(session.cluster.engine.now());
    let clock = stepper.clock.map_or("", |clock| clock.name());
    let under_way = rows(session.cluster.clients.exchanges(&session.cluster.engine).iter().map(|exchange| {
        let state = if exchange.is_watch { "watches" } else { "waits" };
        [exchange.client.clone(), state.to_owned(), exchange.label.clone()]
    }));
    let arrivals = session.choices().iter().rev().filter_map(|chosen| match &chosen.choice {
        Choice::Arrive(arrival) => {
            let user = arrival.user.as_ref().map_or("by token", |user| &user.name);
            Some([format!("{} ({user})", arrival.program()), format!("after step {}", chosen.after), arrival.label()])
        }
        _ => None,
    });
    let last = rows(arrivals.take(LAST));
    let title = escaped(&session.scenario().title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"refresh\" content=\"3\"><title>kubestep</title><style>{STYLE}</style></head><body>\
         <h1>kubestep</h1><p>{title}. The clock is {clock}; it is {now}, after {} steps.</p>\
         <h2>Under way</h2>{under_way}<h2>Last requests</h2>{last}\
         <p>The course explains what happens to each of them: <code>cargo run -- book</code> opens it at \
         <a href=\"http://127.0.0.1:4180/\">127.0.0.1:4180</a>.</p></body></html>\n",
        session.history().len(),
    )
}

fn rows(rows: impl Iterator<Item = [String; 3]>) -> String {
    let row = |[who, what, label]: [String; 3]| {
        format!("<tr><td>{}<td>{}<td><code>{}</code>", escaped(&who), escaped(&what), escaped(&label))
    };
    let rows: String = rows.map(row).collect();
    if rows.is_empty() { "<p>None.</p>".to_owned() } else { format!("<table>{rows}</table>") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
