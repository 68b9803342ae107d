//! The store, as what admission and rules read objects from.

use crate::store::Store;
use kinds::registry::{key, list_prefix};
use object::reader::Reader;
use object::{Kind, Object};

impl Reader for Store {
    fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object> {
        Store::get(self, &key(kind, namespace, name)).map(|entry| entry.value.clone())
    }

    fn list(&self, kind: Kind, namespace: &str) -> Vec<Object> {
        self.prefix(&list_prefix(kind, namespace)).map(|(_, entry)| entry.value.clone()).collect()
    }
}
