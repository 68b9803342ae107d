//! What `-v` makes kubectl log of its requests, on standard error. Mirrors the debugging round tripper of
//! `k8s.io/client-go/transport`, in klog's form.
//!
//! Left out: watches, which are answered as long as they are open; feature gates; from `-v=7` on headers, and from `-v=8` on
//! bodies.

use std::time::Duration;

use crate::config::{self, FILE};
use crate::kubectl::Kubectl;
use rest::uri;
use wire::{Request, Verb, status_text};

/// From this level on requests are logged.
const REQUESTS: i64 = 6;
/// The number of kubectl's process, which each line has.
const PROCESS: u32 = 4242;

impl Kubectl {
    /// Says what was answered with this code after so long, if that is logged. A code of 0 is no answer.
    pub fn log_answer(&self, request: &Request, code: u16, took: Duration) {
        if self.verbosity < REQUESTS {
            return;
        }
        let status = if code == 0 { String::new() } else { format!("{code} {}", status_text(code)) };
        let (method, url) = (method(request.verb), format!("{}{}", config::server(), uri::of(request)));
        let place = "round_trippers.go:632";
        let millis = took.as_millis();
        self.log(place, &format!("\"Response\" verb={method:?} url={url:?} status={status:?} milliseconds={millis}"));
    }

    /// Says where the configuration was read, if requests are logged.
    pub fn log_config(&self) {
        if self.verbosity >= REQUESTS {
            self.log("loader.go:402", &format!("Config loaded from file:  {FILE}"));
        }
    }

    fn log(&self, place: &str, line: &str) {
        let at = self.now().strftime("%m%d %H:%M:%S.%6f").to_string();
        self.complain(format!("I{at} {PROCESS:7} {place}] {line}"));
    }
}

/// How a request is sent over HTTP.
fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
        Verb::Get | Verb::List | Verb::Watch => "GET",
    }
}
