//! Admission webhooks as a scenario scripts them: which Service they stand behind, and what they answer.
//!
//! A real one is a program in Pods, and so is this, as far as clients see: the configuration names a Service, and while no
//! endpoint of it is ready, no webhook can be called. What the program would do is a list of rules. The first that fits a request
//! answers it, after as long as it says; what no rule fits is allowed at once.
//!
//! Left out: each Pod's own program; all Pods of a Service answer alike, and what one was busy with is answered though it has
//! died since.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use apiserver::host::webhook::{REVIEW, Review, Reviewed};
use engine::{Actor, ActorId, Delivery, Hub};
use network::kernel::Fabric;
use rules::cel::eval::Activation;
use rules::cel::failure::Budget;
use rules::cel::types::Type;
use rules::cel::{Program, Value};
use rules::expression::Environment;
use rules::webhook::{AdmissionResponse, Call};

/// A webhook in a scenario.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where it listens: `NAMESPACE/SERVICE`, or the host of a URL.
    pub at: String,
    /// What it answers.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// What is answered to some requests.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The path that is asked for; any, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An expression in CEL over `object`, `oldObject` and `request`. Where it comes to nothing, the rule does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// How many seconds it takes.
    #[serde(default)]
    pub after: f64,
    /// It never answers.
    #[serde(default)]
    pub hangs: bool,
    /// Why the request is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<String>,
    /// The HTTP status of the refusal; 403 unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The reason of the refusal; `Forbidden` unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A JSON patch of the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<Json>,
    /// What the sender is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What is wrong with the webhooks of a scenario.
pub fn check(webhooks: &[Webhook]) -> Result<(), String> {
    for webhook in webhooks {
        for (number, rule) in (1..).zip(&webhook.rules) {
            let wrong = |why: String| format!("webhook {}, rule {number}: {why}", webhook.at);
            compiled(rule).map_err(wrong)?;
            if Duration::try_from_secs_f64(rule.after).is_err() {
                return Err(wrong(format!("after: {} is not a number of seconds", rule.after)));
            }
            if rule.deny.is_some() && !rule.patch.is_empty() {
                return Err(wrong("who denies a request does not patch its object; write two rules".to_owned()));
            }
        }
    }
    Ok(())
}

fn compiled(rule: &Rule) -> Result<Option<Program>, String> {
    let compile = |text: &String| Environment::new(false, false).compile(text, Some(&Type::Bool));
    rule.when.as_ref().map(compile).transpose().map_err(|why| format!("when: {why}"))
}

impl Rule {
    fn verdict(&self) -> AdmissionResponse {
        let reason = || self.reason.clone().unwrap_or_else(|| "Forbidden".to_owned());
        AdmissionResponse {
            allowed: self.deny.is_none(),
            message: self.deny.clone().unwrap_or_default(),
            code: self.deny.as_ref().map_or(200, |_| self.code.unwrap_or(403)),
            reason: self.deny.as_ref().map_or_else(String::new, |_| reason()),
            patch: self.patch.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// A webhook's process.
pub struct WebhookServer {
    hub: Hub,
    actor: ActorId,
    name: String,
    fabric: Fabric,
    rules: Vec<(Option<Program>, Rule)>,
}

impl WebhookServer {
    /// The process of a scenario's webhook.
    pub fn new(hub: Hub, actor: ActorId, webhook: &Webhook, fabric: Fabric) -> WebhookServer {
        let rules = webhook.rules.iter().map(|rule| (compiled(rule).unwrap_or_default(), rule.clone())).collect();
        WebhookServer { hub, actor, name: format!("webhook/{}", webhook.at), fabric, rules }
    }

    /// What is answered, and after how long; None: never. Allowed at once is what no rule fits.
    fn answer(&self, call: &Call) -> Option<(AdmissionResponse, Duration)> {
        let fits = |(when, rule): &&(Option<Program>, Rule)| {
            rule.path.as_ref().is_none_or(|path| *path == call.path)
                && when.as_ref().is_none_or(|program| holds(program, &call.request))
        };
        match self.rules.iter().find(fits) {
            None => {
                Some((AdmissionResponse { allowed: true, code: 200, ..AdmissionResponse::default() }, Duration::ZERO))
            }
            Some((_, rule)) if rule.hangs => None,
            Some((_, rule)) => Some((rule.verdict(), Duration::try_from_secs_f64(rule.after).unwrap_or_default())),
        }
    }
}

/// Whether an expression is true of a request.
fn holds(program: &Program, request: &Json) -> bool {
    let part = |name: &str| (name.to_owned(), Value::of_json(&request[name]));
    let whole = ("request".to_owned(), Value::of_json(request));
    let none = ("namespaceObject".to_owned(), Value::Null);
    let activation = Activation { values: [part("object"), part("oldObject"), whole, none].into(), variables: &[] };
    matches!(program.evaluate(&activation, &mut Budget::new(Budget::ALL)), Ok(Value::Bool(true)))
}

impl Actor for WebhookServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery::Rpc { call, from, message } = delivery else { return };
        let any: &dyn Any = &*message;
        let Some(Review { uid, call: asked }) = any.downcast_ref::<Review>().cloned() else { return };
        // What is sent to a machine that is off is lost.
        let off = !asked.node.is_empty() && self.fabric.machine(&asked.node).is_none();
        let Some((verdict, after)) = self.answer(&asked).filter(|_| !off) else { return };
        let (hub, me) = (self.hub.clone(), self.actor);
        let label = format!("{} {}", self.name, asked.about());
        self.hub.spawn(me, label, async move {
            if !after.is_zero() {
                hub.sleep(after).await;
            }
            hub.reply(me, from, call, REVIEW, Ok(Rc::new(Reviewed { uid, verdict })));
        });
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
