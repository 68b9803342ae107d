//! What metadata are made of, wherever they stand: labels, annotations, finalizers, and selectors of labels. Mirrors
//! `ValidateLabels`, `ValidateAnnotations` and `ValidateLabelSelector` of `k8s.io/apimachinery`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use object::selector::names::{check_label_key, check_label_value};
use object::validation::field::{Path, Problems};
use object::well_known::{FOREGROUND, KUBERNETES, ORPHAN};

/// The most bytes that the annotations of an object may have.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// Finalizers that Kubernetes itself gives, the only ones without a domain.
const STANDARD_FINALIZERS: &[&str] = &[KUBERNETES, ORPHAN, FOREGROUND];

/// Labels, or what is asked of labels. Mirrors `ValidateLabels`.
pub fn labels(problems: &mut Problems, path: &Path, labels: Option<&BTreeMap<String, String>>) {
    for (key, value) in labels.into_iter().flatten() {
        problems.all_invalid(path, key, check_label_key(key));
        problems.all_invalid(path, value, check_label_value(value));
    }
}

/// Annotations: keys as of labels, in any case; values of any form. Mirrors `ValidateAnnotations`.
pub fn annotations(problems: &mut Problems, path: &Path, annotations: Option<&BTreeMap<String, String>>) {
    let mut bytes = 0;
    for (key, value) in annotations.into_iter().flatten() {
        bytes += key.len() + value.len();
        if key.bytes().any(|c| c.is_ascii_uppercase()) {
            problems.all_invalid(path, key, check_label_key(&key.to_lowercase()));
        } else {
            problems.all_invalid(path, key, check_label_key(key));
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        problems.too_long(path, ANNOTATIONS_BYTES_MAX);
    }
}

/// Whether Kubernetes itself gives this finalizer, of those that have no domain.
pub fn is_standard_finalizer(name: &str) -> bool {
    STANDARD_FINALIZERS.contains(&name)
}

/// A finalizer that Kubernetes itself gives, or one with a domain.
pub fn standard_or_qualified(problems: &mut Problems, path: &Path, name: &str) {
    if !name.contains('/') && !is_standard_finalizer(name) {
        problems.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/// A finalizer that is not in the metadata. Mirrors `validateFinalizerName`.
pub fn finalizer_name(problems: &mut Problems, path: &Path, name: &str) {
    problems.all_invalid(path, name, check_label_key(name));
    standard_or_qualified(problems, path, name);
}

/// A label selector. Mirrors `ValidateLabelSelector`.
pub fn label_selector(problems: &mut Problems, path: &Path, selector: &LabelSelector) {
    labels(problems, &path.child("matchLabels"), selector.match_labels.as_ref());
    let list = path.child("matchExpressions");
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let path = list.index(i);
        if !requirement_values(problems, &path, &expression.operator, expression.values.as_deref()) {
            problems.invalid(&path.child("operator"), expression.operator.as_str(), "not a valid selector operator");
        }
        label_requirement(problems, &path, expression);
    }
}

/// The key of a requirement, and the values that its labels may have.
pub fn label_requirement(problems: &mut Problems, path: &Path, requirement: &LabelSelectorRequirement) {
    problems.all_invalid(&path.child("key"), &requirement.key, check_label_key(&requirement.key));
    for (n, value) in requirement.values.iter().flatten().enumerate() {
        problems.all_invalid(&path.child("values").index(n), value, check_label_value(value));
    }
}

/// Whether there are values where the operator of a requirement wants some, and only there. False: there is no such
/// operator.
pub fn requirement_values(problems: &mut Problems, path: &Path, operator: &str, values: Option<&[String]>) -> bool {
    let none = values.is_none_or(<[String]>::is_empty);
    match operator {
        "In" | "NotIn" if none => {
            problems.required(&path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !none => {
            const WHY: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            problems.forbidden(&path.child("values"), WHY);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => return false,
    }
    true
}
