//! What writes do to who manages what.

use serde_json::{Value, json};

use super::*;
use crate::Kind;
use crate::time::Instant;

fn writer(manager: &'static str, operation: Operation, subresource: &'static str) -> Writer {
    Writer { manager: manager.into(), operation, api_version: "apps/v1".into(), subresource: subresource.into() }
}

fn deployment() -> BuiltIn {
    BuiltIn::new(Kind::Deployment)
}

/// One object and who manages it.
#[derive(Default)]
struct Bench {
    live: Value,
    managers: Managers,
}

impl Bench {
    fn update(&mut self, manager: &'static str, new: Value) {
        let by = writer(manager, Operation::Update, "");
        let write = Write { by: &by, at: Some(Instant(0).time()), ignored: &Set::default() };
        self.managers = self.managers.update(&deployment(), &self.live, &new, &write);
        self.live = new;
    }

    fn apply(&mut self, manager: &'static str, config: Value, force: bool) -> Result<(), String> {
        let by = writer(manager, Operation::Apply, "");
        let write = Write { by: &by, at: Some(Instant(0).time()), ignored: &Set::default() };
        match self.managers.apply(&deployment(), &self.live, &config, &write, force) {
            Ok((live, managers)) => {
                (self.live, self.managers) = (live, managers);
                Ok(())
            }
            Err(Refused::Config(why)) => Err(why),
            Err(Refused::Conflicts(all)) => {
                let text = |(with, fields): &(Writer, Set)| format!("{with}: {}", fields.paths().join(" "));
                Err(all.iter().map(text).collect::<Vec<_>>().join("; "))
            }
        }
    }

    /// `apply a: {…}`.
    fn managed(&self) -> Vec<String> {
        let entries = self.managers.entries();
        let line = |entry: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry| {
            let set = Set::from_json(&entry.fields_v1.as_ref().unwrap().0).unwrap();
            format!(
                "{} {}: {}",
                entry.operation.as_ref().unwrap(),
                entry.manager.as_ref().unwrap(),
                set.paths().join(" ")
            )
        };
        entries.iter().map(line).collect()
    }
}

fn replicas(count: i64) -> Value {
    json!({"spec": {"replicas": count}})
}

#[test]
fn who_changes_a_field_takes_it() {
    let mut bench = Bench { live: json!({}), ..Bench::default() };
    bench.update("a", json!({"spec": {"replicas": 1, "paused": true}}));
    bench.update("b", json!({"spec": {"replicas": 2, "paused": true}}));
    assert_eq!(bench.managed(), ["Update a: .spec .spec.paused", "Update b: .spec.replicas"]);
    bench.update("c", replicas(2));
    assert_eq!(bench.managed(), ["Update a: .spec", "Update b: .spec.replicas"], "what is gone is nobody's");
}

#[test]
fn a_changed_value_of_another_is_a_conflict_and_force_takes_it() {
    let mut bench = Bench::default();
    bench.apply("a", replicas(1), false).unwrap();
    assert_eq!(bench.apply("b", replicas(2), false), Err("\"a\": .spec.replicas".to_owned()));
    bench.apply("b", replicas(1), false).unwrap();
    assert_eq!(bench.managed(), ["Apply b: .spec.replicas", "Apply a: .spec.replicas"], "equal values are shared");
    bench.apply("b", replicas(2), true).unwrap();
    assert_eq!(bench.managed(), ["Apply b: .spec.replicas"]);
    bench.update("kubectl-scale", replicas(3));
    let conflict = "\"kubectl-scale\" using apps/v1: .spec.replicas";
    assert_eq!(bench.apply("b", replicas(2), false), Err(conflict.to_owned()));
}

#[test]
fn what_is_no_more_applied_goes_unless_another_has_it() {
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let mut bench = Bench::default();
    bench.apply("a", labels(json!({"x": "1", "y": "1", "z": "1"})), false).unwrap();
    bench.apply("b", labels(json!({"y": "1"})), false).unwrap();
    bench.apply("a", labels(json!({"z": "1"})), false).unwrap();
    assert_eq!(bench.live, labels(json!({"y": "1", "z": "1"})));
    bench.apply("b", json!({}), false).unwrap();
    assert_eq!(bench.live, labels(json!({"z": "1"})));
    assert_eq!(bench.managed(), ["Apply a: .metadata.labels.z"]);
}

#[test]
fn an_item_that_another_has_written_into_stays() {
    let of = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let mut bench = Bench::default();
    bench.apply("a", of(json!([{"name": "web", "image": "x"}, {"name": "log", "image": "y"}])), false).unwrap();
    bench.apply("b", of(json!([{"name": "log", "tty": true}])), false).unwrap();
    bench.apply("a", of(json!([{"name": "web", "image": "x"}])), false).unwrap();
    assert_eq!(bench.live, of(json!([{"name": "web", "image": "x"}, {"name": "log", "tty": true}])));
    bench.apply("b", json!({}), false).unwrap();
    assert_eq!(bench.live, of(json!([{"name": "web", "image": "x"}])));
}

#[test]
fn the_oldest_of_many_updaters_become_one() {
    const NAMES: [&str; 13] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"];
    let mut bench = Bench { live: json!({}), ..Bench::default() };
    let mut labels = serde_json::Map::new();
    for name in NAMES {
        labels.insert(name.to_owned(), json!("1"));
        bench.update(name, json!({"metadata": {"labels": labels.clone()}}));
    }
    let managed = bench.managed();
    assert_eq!(managed.len(), 10);
    let ancient = "Update ancient-changes: .metadata.labels .metadata.labels.a .metadata.labels.b .metadata.labels.c .metadata.labels.d";
    assert!(managed.iter().any(|line| line == ancient), "{managed:#?}");
}

#[test]
fn entries_are_read_as_they_were_written() {
    let mut bench = Bench { live: json!({}), ..Bench::default() };
    bench.update("a", json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "x"}]}}}}));
    bench.apply("b", replicas(1), false).unwrap();
    let again = Managers::of_entries(&bench.managers.entries()).unwrap();
    assert!(again.same(&bench.managers));
    assert_eq!(again.entries(), bench.managers.entries());
    let mut broken = bench.managers.entries();
    broken[0].operation = Some("Merge".to_owned());
    assert_eq!(Managers::of_entries(&broken), None);
}
