//! Templates of Pods: which objects have one, and the template hash, the ten characters between a Deployment's name and
//! a Pod's own suffix.
//!
//! Equal templates must get equal names, so that a second look at a Deployment finds the ReplicaSet that the first
//! one made. Kubernetes hashes the template as Go's pretty printer dumps it (`pkg/util/hash`, `pkg/controller`
//! `ComputeHash`): every field with its type, in the order of declaration, absent ones too. To get the very names a
//! real cluster gives, this module prints that dump from the template's JSON and the table of Go's types.
//!
//! Of the recorded templates all get their real names but one, which has an exec probe. Left out: everything that Go prints
//! differently there, and quantities with more digits than an int64 holds, which Go keeps in a big decimal. Those
//! hashes are as stable as the others, but not the real ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Map, Value};

use super::Object;
use super::go_types::{Field, GoType, printed, resolve};

/// The label that keeps the Pods of different templates apart.
pub const TEMPLATE_HASH: &str = "pod-template-hash";

/// The template of the Pods that a workload makes, and where it stands in it; nothing of an object that makes none.
pub fn of(object: &Object) -> Option<(&'static str, &PodTemplateSpec)> {
    let template = match object {
        Object::Deployment(o) => o.spec.as_ref().map(|spec| &spec.template),
        Object::ReplicaSet(o) => o.spec.as_ref().and_then(|spec| spec.template.as_ref()),
        Object::ReplicationController(o) => o.spec.as_ref().and_then(|spec| spec.template.as_ref()),
        Object::DaemonSet(o) => o.spec.as_ref().map(|spec| &spec.template),
        Object::StatefulSet(o) => o.spec.as_ref().map(|spec| &spec.template),
        Object::Job(o) => o.spec.as_ref().map(|spec| &spec.template),
        Object::CronJob(o) => {
            let job = o.spec.job_template.spec.as_ref();
            return job.map(|spec| ("spec.jobTemplate.spec.template", &spec.template));
        }
        _ => None,
    };
    template.map(|template| ("spec.template", template))
}

/// The same template, to be changed.
pub fn of_mut(object: &mut Object) -> Option<&mut PodTemplateSpec> {
    match object {
        Object::Deployment(o) => Arc::make_mut(o).spec.as_mut().map(|spec| &mut spec.template),
        Object::ReplicaSet(o) => Arc::make_mut(o).spec.as_mut().and_then(|spec| spec.template.as_mut()),
        Object::ReplicationController(o) => Arc::make_mut(o).spec.as_mut().and_then(|spec| spec.template.as_mut()),
        Object::DaemonSet(o) => Arc::make_mut(o).spec.as_mut().map(|spec| &mut spec.template),
        Object::StatefulSet(o) => Arc::make_mut(o).spec.as_mut().map(|spec| &mut spec.template),
        Object::Job(o) => Arc::make_mut(o).spec.as_mut().map(|spec| &mut spec.template),
        Object::CronJob(o) => Arc::make_mut(o).spec.job_template.spec.as_mut().map(|spec| &mut spec.template),
        _ => None,
    }
}

/// The hash of `template` as names carry it: `cc544bdcc`. `collision_count` of the owner's status makes another hash
/// of the same template after a clash of names; none and zero differ.
/// Mirrors `controller.ComputeHash`.
pub fn hash(template: &PodTemplateSpec, collision_count: Option<i32>) -> String {
    let template = serde_json::to_value(template).unwrap_or_default();
    let mut bytes = String::from("(v1.PodTemplateSpec)");
    print_bare(&mut bytes, "PodTemplateSpec", &template);
    let mut bytes = bytes.into_bytes();
    if let Some(count) = collision_count {
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
    }
    safe_encode(&fnv32a(&bytes).to_string())
}

/// 32-bit FNV-1a.
pub fn fnv32a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Maps text to characters that spell no word. Mirrors `rand.SafeEncodeString`.
pub fn safe_encode(text: &str) -> String {
    const ALPHANUMS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    text.bytes().map(|byte| char::from(ALPHANUMS[usize::from(byte) % ALPHANUMS.len()])).collect()
}

/// `(type)value`, as a struct's field is printed.
fn print_typed(out: &mut String, go_type: &str, value: &Value) {
    if let GoType::Pointer(target) = resolve(go_type) {
        out.push_str(&format!("(*{})", printed(target)));
        match value {
            Value::Null => out.push_str("<nil>"),
            present => print_bare(out, target, present),
        }
        return;
    }
    out.push_str(&format!("({})", printed(go_type)));
    print_bare(out, go_type, value);
}

/// The value alone, as an element of a list or behind its type. What JSON leaves out is Go's zero value; an empty
/// list or map comes back from storage as none.
fn print_bare(out: &mut String, go_type: &str, value: &Value) {
    match resolve(go_type) {
        GoType::List(item) => {
            let items = value.as_array().filter(|items| !items.is_empty());
            print_sequence(out, "[", items.into_iter().flatten(), |out, value| print_bare(out, item, value));
        }
        GoType::Map(item) => {
            let entries = value.as_object().filter(|entries| !entries.is_empty());
            print_sequence(out, "map[", entries.map(sorted).into_iter().flatten(), |out, (key, value)| {
                out.push_str(key);
                out.push(':');
                print_bare(out, item, value);
            });
        }
        GoType::Struct(fields) => print_struct(out, fields, value),
        GoType::Bool => out.push_str(if value.as_bool().unwrap_or(false) { "true" } else { "false" }),
        GoType::Number => out.push_str(&value.as_i64().unwrap_or(0).to_string()),
        GoType::Text => out.push_str(value.as_str().unwrap_or_default()),
        GoType::Pointer(target) => print_bare(out, target, value),
        GoType::Opaque => match go_type {
            "resource.Quantity" => print_quantity(out, value.as_str()),
            "intstr.IntOrString" => print_int_or_string(out, value),
            // A template carries no times; Go prints the zero one.
            _ => out.push_str("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"),
        },
    }
}

/// In the order of the keys, whichever order the JSON library keeps.
fn sorted(entries: &Map<String, Value>) -> BTreeMap<&String, &Value> {
    entries.iter().collect()
}

fn print_sequence<T>(
    out: &mut String,
    open: &str,
    items: impl Iterator<Item = T>,
    mut print: impl FnMut(&mut String, T),
) {
    let start = out.len();
    for item in items {
        out.push_str(if out.len() == start { open } else { " " });
        print(out, item);
    }
    out.push_str(if out.len() == start { "<nil>" } else { "]" });
}

fn print_struct(out: &mut String, fields: &[Field], value: &Value) {
    out.push('{');
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(field.name);
        out.push(':');
        let inner = if field.inline { value } else { value.get(&*field.json).unwrap_or(&Value::Null) };
        print_typed(out, field.go_type, inner);
    }
    out.push('}');
}

/// `resource.Quantity` from inside: an int64 and a power of ten.
fn print_quantity(out: &mut String, text: Option<&str>) {
    let (value, scale, format) = text.map_or((0, 0, ""), quantity_parts);
    let _ = write!(
        out,
        "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
         d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} s:(string){} Format:(resource.Format){format}}}",
        text.unwrap_or_default(),
    );
}

/// Value, power of ten and format of a canonical quantity. Mirrors the fast path of `resource.ParseQuantity`.
fn quantity_parts(text: &str) -> (i64, i32, &'static str) {
    const DECIMAL: &[(&str, i32)] =
        &[("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
    const BINARY: &[(&str, u32)] = &[("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let value: i64 = format!("{whole}{fraction}").parse().unwrap_or(0);
    let places = i32::try_from(fraction.len()).unwrap_or(0);
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return (value.wrapping_shl(*power), -places, "BinarySI");
    }
    if let Some((_, scale)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return (value, scale - places, "DecimalSI");
    }
    (value, suffix[1..].parse().unwrap_or(0) - places, "DecimalExponent")
}

fn print_int_or_string(out: &mut String, value: &Value) {
    let (kind, number, text) = match value.as_str() {
        Some(text) => (1, 0, text),
        None => (0, value.as_i64().unwrap_or(0), ""),
    };
    let _ = write!(out, "{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A template with the defaults the API server fills in.
    fn template(app: &str, name: &str, image: &str) -> Value {
        json!({"metadata": {"labels": {"app": app}}, "spec": {
            "containers": [{"image": image, "imagePullPolicy": "IfNotPresent", "name": name, "resources": {},
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30}})
    }

    fn hash(template: Value, collisions: Option<i32>) -> String {
        super::hash(&serde_json::from_value(template).unwrap(), collisions)
    }

    #[test]
    fn names_are_those_of_a_real_cluster() {
        let nginx = |app: &str, tag: &str| template(app, "nginx", &format!("nginx:{tag}"));
        let mut spread = nginx("spread", "1.27");
        spread["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"labelSelector": {"matchLabels": {"app": "spread"}}, "topologyKey": "kubernetes.io/hostname"}]}});
        let mut filler = nginx("filler", "1.27");
        filler["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1800m"}});
        filler["spec"]["priorityClassName"] = json!("low");
        let mut plain = template("a", "c", "nginx:1.27");
        plain["spec"]["containers"][0].as_object_mut().unwrap().remove("ports");
        // Pairs recorded from Kubernetes 1.36.2.
        for (template, want) in [
            (nginx("web", "1.27"), "cc544bdcc"),
            (nginx("web", "1.28"), "89c7c5f94"),
            (nginx("web", "no-such-tag"), "6ccf846785"),
            (nginx("background", "1.27"), "6dcb5d8487"),
            (nginx("foreground", "1.27"), "59456679b6"),
            (nginx("orphan", "1.27"), "6d78444777"),
            (spread, "6f4745f657"),
            (filler, "79cb7ffdd"),
            (plain, "6cc449c66b"),
        ] {
            assert_eq!(hash(template.clone(), None), want, "{template}");
        }
    }

    #[test]
    fn a_collision_changes_the_name() {
        let template = template("web", "nginx", "nginx:1.27");
        let hashes: Vec<_> = [None, Some(0), Some(1)].map(|count| hash(template.clone(), count)).to_vec();
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2], "{hashes:?}");
    }

    #[test]
    fn quantities_are_taken_apart() {
        for (text, want) in [
            ("1800m", (1800, -3, "DecimalSI")),
            ("2", (2, 0, "DecimalSI")),
            ("64Mi", (64 << 20, 0, "BinarySI")),
            ("1.5Gi", (15 << 30, -1, "BinarySI")),
            ("1e3", (1, 3, "DecimalExponent")),
        ] {
            assert_eq!(quantity_parts(text), want, "{text}");
        }
    }
}
