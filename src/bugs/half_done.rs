//! A crash between two writes, and a half-done state that looks done (Sieve: rabbitmq/cluster-operator#782,
//! konpyutaika/nifikop#49, Orange-OpenSource/casskop#370).
//!
//! An operator keeps databases. To make one larger it first resizes the disk and then restarts the server, which only
//! then uses the new size. It finds out what is to do by comparing the disk with what is asked for. If it crashes after
//! the first write, the disk is right when it comes back, so it takes the work for done, and the server keeps the old size
//! for ever.
//!
//! In the first of these it was the other way round: the StatefulSet was deleted, to be made again with the new size, and
//! the crash came before the disks were resized. The new StatefulSet then looked as if all had been done.
//!
//! Right: to compare each thing that one keeps with its desired state, and not to rely on the order of writing. No
//! state may mean "I have been here".

use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts, Program};
use object::{Key, Kind, Object};

use super::records::{field, is_a, look, set};
use super::{FEW, RECORDS};

const NAME: &str = "database-operator";

const fn row(new: client::Make) -> Registration {
    Registration { watches: &[Kind::ConfigMap], ..Registration::new(NAME, new) }
}

static WRONG: &[Registration] = &[row(&|context| Databases::with(false, context))];
static RIGHT: &[Registration] = &[row(&|context| Databases::with(true, context))];

/// The operator, wrong or right.
pub fn parts(right: bool) -> Parts {
    const PROGRAMS: [&[Program]; 2] = [operator!(NAME, WRONG), operator!(NAME, RIGHT)];
    let accounts = &[Account { name: NAME, rules: RECORDS }];
    Parts { controllers: &FEW, programs: PROGRAMS[usize::from(right)], accounts, ..Parts::default() }
}

/// Keeps `NAME-disk` and `NAME-server` at the size that `NAME` asks for.
struct Databases {
    right: bool,
    client: Client,
    queue: Queue,
    records: Lister<ConfigMap>,
}

impl Databases {
    fn with(right: bool, context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Rc::new(Databases { right, client, queue, records: context.lister() })
    }
}

impl Controller for Databases {
    fn on_change(&self, change: &Change) {
        if let Object::ConfigMap(record) = change.latest()
            && is_a(record, "database")
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(database) = self.records.get(&key) else { return Ok(()) };
        let Some(wanted) = field(&database, "size") else { return Ok(()) };
        let part = |part: &str| Key::new(key.namespace(), &format!("{}-{part}", key.name()));
        let (disk, server) = (part("disk"), part("server"));
        let disk_is_right = self.has(&disk, wanted).await?;
        if disk_is_right && !self.right {
            return Ok(());
        }
        if !disk_is_right {
            set(&self.client, &disk, "size", wanted).await?;
        }
        if !self.has(&server, wanted).await? {
            set(&self.client, &server, "size", wanted).await?;
        }
        Ok(())
    }
}

impl Databases {
    async fn has(&self, part: &Key, size: &str) -> Result<bool, Error> {
        Ok(look(&self.client, part).await?.is_some_and(|part| field(&part, "size") == Some(size)))
    }
}
