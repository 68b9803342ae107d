//! What bad volumes, claims, classes, attachments and drivers get.

use serde_json::{Value, json};

use crate::defaults::set_defaults;
use crate::validation::{validate_create, validate_status_update, validate_update};
use object::{Kind, Object};

fn object(kind: Kind, mut manifest: Value) -> Object {
    let name =
        if kind == Kind::PersistentVolumeClaim { json!({"name": "x", "namespace": "n"}) } else { json!({"name": "x"}) };
    manifest["metadata"] = name;
    let mut object = kind.decode(manifest).expect("the manifest decodes");
    set_defaults(&mut object);
    object
}

fn texts(causes: Vec<object::status::Cause>) -> String {
    let lines = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
    lines.collect::<Vec<_>>().join("; ")
}

fn claim(more: Value) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({"spec": spec})
}

fn volume(more: Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/mnt/a"},
    });
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    json!({"spec": spec})
}

#[test]
fn new_objects_in_the_api_servers_words() {
    use Kind::{PersistentVolume, PersistentVolumeClaim};
    const NO_CAPACITY: &str = "spec.capacity: Required value; spec.capacity: Unsupported value: null: supported values: \
        \"storage\"";
    let modes = "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"";
    let cases = [
        (PersistentVolumeClaim, claim(json!({})), String::new()),
        (
            PersistentVolumeClaim,
            claim(json!({"accessModes": []})),
            "spec.accessModes: Required value: at least 1 access mode is required".into(),
        ),
        (
            PersistentVolumeClaim,
            claim(json!({"accessModes": ["ReadWrite"]})),
            format!("spec.accessModes: Unsupported value: \"ReadWrite\": {modes}"),
        ),
        (
            PersistentVolumeClaim,
            claim(json!({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]})),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes".into(),
        ),
        (PersistentVolumeClaim, claim(json!({"resources": {}})), "spec.resources[storage]: Required value".into()),
        (
            PersistentVolumeClaim,
            claim(json!({"resources": {"requests": {"storage": "0"}}})),
            "spec.resources[storage]: Invalid value: \"0\": must be greater than zero".into(),
        ),
        (
            PersistentVolumeClaim,
            claim(json!({"volumeMode": "Tape"})),
            "spec.volumeMode: Unsupported value: \"Tape\": supported values: \"Block\", \"Filesystem\"".into(),
        ),
        (PersistentVolume, volume(json!({})), String::new()),
        (PersistentVolume, volume(json!({"capacity": {}})), NO_CAPACITY.into()),
        (
            PersistentVolumeClaim,
            claim(json!({"accessModes": ["A"], "selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}})),
            format!(
                "spec.selector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator; \
                 spec.accessModes: Unsupported value: \"A\": {modes}"
            ),
        ),
        (
            PersistentVolume,
            volume(json!({"hostPath": null})),
            "spec: Required value: must specify a volume type".into(),
        ),
        (
            PersistentVolume,
            volume(json!({"csi": {"driver": "a.b", "volumeHandle": "v"}})),
            "spec.csi: Forbidden: may not specify more than 1 volume type".into(),
        ),
        (
            PersistentVolume,
            volume(json!({"hostPath": null, "csi": {"driver": "a.b", "volumeHandle": ""}})),
            "spec.csi.volumeHandle: Required value".into(),
        ),
        (
            PersistentVolume,
            volume(json!({"hostPath": null, "local": {"path": "/mnt"}})),
            "spec.nodeAffinity: Required value: Local volume requires node affinity".into(),
        ),
        (
            PersistentVolume,
            volume(json!({"hostPath": null, "local": {"path": "../mnt"}, "nodeAffinity": {}})),
            "spec.nodeAffinity.required: Required value: must specify required node constraints; \
             spec.local.path: Invalid value: \"../mnt\": must not contain '..'"
                .into(),
        ),
        (
            PersistentVolume,
            volume(json!({"nodeAffinity": {"required": {"nodeSelectorTerms": []}}})),
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term"
                .into(),
        ),
        (
            PersistentVolume,
            volume(json!({"persistentVolumeReclaimPolicy": "Burn"})),
            "spec.persistentVolumeReclaimPolicy: Unsupported value: \"Burn\": supported values: \"Delete\", \
             \"Recycle\", \"Retain\""
                .into(),
        ),
        (Kind::StorageClass, json!({"provisioner": ""}), "provisioner: Required value".into()),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b/c", "volumeBindingMode": "Later"}),
            "volumeBindingMode: Unsupported value: \"Later\": supported values: \"Immediate\", \
             \"WaitForFirstConsumer\""
                .into(),
        ),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b/c", "parameters": {"": "a"}}),
            "parameters: Invalid value: \"\": field can not be empty.".into(),
        ),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b/c", "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}, {"key": "rack", "values": ["1"]}]},
                {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]}),
            String::new(),
        ),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b/c", "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}, {"key": "zone", "values": []}]},
                {"matchLabelExpressions": [{"key": "b", "values": ["a", "a"]}]},
                {"matchLabelExpressions": [{"key": "b", "values": ["a"]}]}]}),
            "allowedTopologies[0].matchLabelExpressions[1].values: Required value; \
             allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"zone\"; \
             allowedTopologies[1].matchLabelExpressions[0].values[1]: Duplicate value: \"a\"; \
             allowedTopologies[2].matchLabelExpressions: Duplicate value: \"\""
                .into(),
        ),
        (
            Kind::VolumeAttachment,
            json!({"spec": {"attacher": "a.b", "nodeName": "N", "source": {}}}),
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName; \
             spec.nodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
             for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .into(),
        ),
        (
            Kind::CSINode,
            json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "1"}, {"name": "a.b", "nodeID": "2"}]}}),
            "spec.drivers[1].name: Duplicate value: \"a.b\"".into(),
        ),
        (
            Kind::CSIDriver,
            json!({"spec": {"fsGroupPolicy": "All", "volumeLifecycleModes": ["Persistent", "Brief"],
                "tokenRequests": [{"audience": "a"}, {"audience": "a"}, {"audience": "", "expirationSeconds": 599}],
                "nodeAllocatableUpdatePeriodSeconds": 9}}),
            "spec.fsGroupPolicy: Unsupported value: \"All\": \
             supported values: \"File\", \"None\", \"ReadWriteOnceWithFSType\"; \
             spec.tokenRequests[1].audience: Duplicate value: \"a\"; \
             spec.tokenRequests[2].expirationSeconds: Invalid value: 599: \
             may not specify a duration less than 10 minutes; \
             spec.volumeLifecycleModes: Unsupported value: \"Brief\": supported values: \"Persistent\", \"Ephemeral\"; \
             spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"
                .into(),
        ),
        (
            Kind::CSIDriver,
            json!({"spec": {"serviceAccountTokenInSecrets": false}}),
            "spec.serviceAccountTokenInSecrets: Invalid value: false: \
             serviceAccountTokenInSecrets is set but no tokenRequests are specified"
                .into(),
        ),
    ];
    for (kind, manifest, want) in cases {
        assert_eq!(texts(validate_create(&object(kind, manifest.clone()), None)), want, "{kind} {manifest}");
    }
}

#[test]
fn changes_in_the_api_servers_words() {
    use Kind::{CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass};
    let drivers = |id: &str, count: i32| json!({"spec": {"drivers": [{"name": "a.b", "nodeID": id, "allocatable": {"count": count}}]}});
    let size = |size: &str| json!({"resources": {"requests": {"storage": size}}});
    let bound = |mut manifest: Value| {
        manifest["status"] = json!({"phase": "Bound", "capacity": {"storage": "2Gi"}});
        manifest
    };
    let class = |more: Value| {
        let mut class = json!({"provisioner": "a.b", "parameters": {"type": "fast"}});
        class.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        class
    };
    const IMMUTABLE: &str = "spec: Forbidden: spec is immutable after creation except resources.requests and \
        volumeAttributesClassName for bound claims\n";
    let cases = [
        (PersistentVolumeClaim, claim(json!({})), claim(json!({"volumeName": "pv"})), ""),
        (PersistentVolumeClaim, claim(json!({"volumeName": "a"})), claim(json!({"volumeName": "b"})), IMMUTABLE),
        (PersistentVolumeClaim, claim(json!({})), claim(json!({"storageClassName": "fast"})), ""),
        (
            PersistentVolumeClaim,
            claim(json!({"storageClassName": "slow"})),
            claim(json!({"storageClassName": "fast"})),
            IMMUTABLE,
        ),
        (PersistentVolumeClaim, claim(json!({})), claim(size("2Gi")), IMMUTABLE),
        (PersistentVolumeClaim, bound(claim(size("2Gi"))), claim(size("3Gi")), ""),
        (
            PersistentVolumeClaim,
            bound(claim(size("2Gi"))),
            claim(size("1Gi")),
            "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
        ),
        (
            PersistentVolume,
            volume(json!({})),
            volume(json!({"hostPath": {"path": "/mnt/b"}})),
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n",
        ),
        (PersistentVolume, volume(json!({})), volume(json!({"persistentVolumeReclaimPolicy": "Delete"})), ""),
        (CSINode, drivers("1", 1), drivers("1", 2), ""),
        (
            CSINode,
            drivers("1", 1),
            drivers("2", 1),
            "spec.drivers: Invalid value: {\"Name\":\"a.b\",\"NodeID\":\"2\",\"TopologyKeys\":null,\"Allocatable\":null}: \
             field is immutable",
        ),
        (
            StorageClass,
            class(json!({})),
            class(json!({"parameters": {}})),
            "parameters: Invalid value: null: field is immutable",
        ),
        (
            StorageClass,
            class(json!({})),
            class(json!({"provisioner": "y", "reclaimPolicy": "Retain"})),
            "provisioner: Invalid value: \"y\": field is immutable; reclaimPolicy: Invalid value: \"Retain\": field is \
             immutable",
        ),
        (
            StorageClass,
            class(json!({"provisioner": ""})),
            class(json!({"provisioner": ""})),
            "provisioner: Required value",
        ),
        (
            StorageClass,
            class(json!({})),
            class(json!({"volumeBindingMode": "WaitForFirstConsumer"})),
            "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable",
        ),
    ];
    for (kind, old, new, want) in cases {
        let text = texts(validate_update(&object(kind, new.clone()), &object(kind, old.clone()), None));
        assert!(text.starts_with(want) && text.is_empty() == want.is_empty(), "{kind} {old} {new}: {text}");
    }
}

#[test]
fn attachments_drivers_and_classes_as_of_late() {
    let attached = |spec: Value| json!({"spec": spec});
    let to = |more: Value| {
        let mut spec = json!({"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "pv"}});
        spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        attached(spec)
    };
    let long = "a".repeat(64);
    let many: serde_json::Map<String, Value> = (0..513).map(|i| (format!("p{i}"), json!(""))).collect();
    let keys = |keys: Value| json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "1", "topologyKeys": keys}]}});
    let cases = [
        (Kind::VolumeAttachment, to(json!({})), ""),
        (
            Kind::VolumeAttachment,
            to(json!({"source": {"persistentVolumeName": "pv", "inlineVolumeSpec": {}}})),
            "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ),
        (
            Kind::VolumeAttachment,
            to(json!({"nodeName": ""})),
            "spec.nodeName: Invalid value: \"\": a lowercase RFC 1123",
        ),
        (
            Kind::VolumeAttachment,
            to(json!({"source": {"persistentVolumeName": "P"}})),
            "spec.source.persistentVolumeName: Invalid value: \"P\": a lowercase RFC 1123",
        ),
        (
            Kind::VolumeAttachment,
            to(json!({"attacher": format!("{long}_")})),
            "spec.attacher: Too long: may not be more than 63 bytes; spec.attacher: Invalid value: \"aaa",
        ),
        (Kind::CSINode, keys(json!(["a", "b"])), ""),
        (Kind::CSINode, keys(json!(["a", "a"])), "spec.drivers[0]: Duplicate value: \"a\""),
        (Kind::CSINode, keys(json!(["a b"])), "spec.drivers[0]: Invalid value: \"a b\": name part must consist"),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b", "parameters": many}),
            "parameters: Too long: may not be more than 512 bytes",
        ),
        (
            Kind::StorageClass,
            json!({"provisioner": "a.b", "parameters": {"a": "b".repeat(1 << 18)}}),
            "parameters: Too long: may not be more than 262144 bytes",
        ),
        (
            Kind::StorageClass,
            json!({"provisioner": "A.b c"}),
            "provisioner: Invalid value: \"a.b c\": name part must consist",
        ),
    ];
    for (kind, manifest, want) in cases {
        let text = texts(validate_create(&object(kind, manifest), None));
        assert!(text.starts_with(want) && text.is_empty() == want.is_empty(), "{kind} {want}: {text}");
    }
    let mut failed = to(json!({}));
    failed["status"] = json!({"attached": false, "attachError": {"message": "a".repeat(1025), "errorCode": -1}});
    let failed = object(Kind::VolumeAttachment, failed);
    let want = "status.attachError.message: Too long: may not be more than 262144 bytes; status.attachError.errorCode: \
                Invalid value: -1: must be between 0 and 2147483647, inclusive";
    assert_eq!(texts(validate_status_update(&failed, &failed, None)), want);
    let mut capacity = json!({"storageClassName": "fast", "maximumVolumeSize": "-1"});
    capacity["metadata"] = json!({"name": "x", "namespace": "n"});
    let capacity = Kind::CSIStorageCapacity.decode(capacity).expect("it decodes");
    assert_eq!(texts(validate_create(&capacity, None)), "", "nobody looks at the largest volume");
}
