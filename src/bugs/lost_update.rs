//! A lost update: two who read, add and write back. It is why every object has a resourceVersion.
//!
//! An operator counts orders in a record. Two of its workers read 0 at about the same time, both write 1, and an order is
//! missing. The wrong one sends a merge patch with the new value, which never conflicts; an update with the
//! resourceVersion left out does the same.
//!
//! Right: to write back what one has read together with the resourceVersion that one has read. The API server refuses
//! with 409 if the object has changed since, and the worker begins again.

use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts, Program};
use object::{Key, Kind, Object};

use super::records::{field, is_a, set};
use super::{FEW, RECORDS};

const NAME: &str = "order-operator";

const fn row(new: client::Make) -> Registration {
    Registration { watches: &[Kind::ConfigMap], workers: 2, ..Registration::new(NAME, new) }
}

static WRONG: &[Registration] = &[row(&|context| Orders::with(false, context))];
static RIGHT: &[Registration] = &[row(&|context| Orders::with(true, context))];

/// The operator, wrong or right.
pub fn parts(right: bool) -> Parts {
    const PROGRAMS: [&[Program]; 2] = [operator!(NAME, WRONG), operator!(NAME, RIGHT)];
    let accounts = &[Account { name: NAME, rules: RECORDS }];
    Parts { controllers: &FEW, programs: PROGRAMS[usize::from(right)], accounts, ..Parts::default() }
}

/// Counts the orders that it has not counted yet in the record `total`.
struct Orders {
    right: bool,
    client: Client,
    queue: Queue,
    records: Lister<ConfigMap>,
}

impl Orders {
    fn with(right: bool, context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Rc::new(Orders { right, client, queue, records: context.lister() })
    }
}

impl Controller for Orders {
    fn on_change(&self, change: &Change) {
        if let (Change::Added(_), Object::ConfigMap(record)) = (change, change.latest())
            && is_a(record, "order")
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(order) = self.records.get(&key) else { return Ok(()) };
        if field(&order, "counted").is_some() {
            return Ok(());
        }
        let total = self.client.get::<ConfigMap>(key.namespace(), "total").await?;
        let count: u32 = field(&total, "count").and_then(|count| count.parse().ok()).unwrap_or(0);
        let more = (count + 1).to_string();
        if self.right {
            let mut total = (*total).clone();
            total.data.get_or_insert_default().insert("count".to_owned(), more);
            self.client.update(total).await?;
        } else {
            set(&self.client, &Key::new(key.namespace(), "total"), "count", &more).await?;
        }
        set(&self.client, &key, "counted", "yes").await
    }
}
