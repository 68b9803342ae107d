"""An operator: for each Greeting a ConfigMap with its text. It has a finalizer, so a Greeting waits for it to say goodbye."""

import os

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.posting.enabled = False
    settings.persistence.finalizer = "example.com/goodbye"


@kopf.on.login()
def login(**_):
    kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
    host = kubernetes.client.Configuration.get_default_copy().host
    return kopf.ConnectionInfo(server=host)


def config_map(name, text):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"text": text},
    }


@kopf.on.create("example.com", "v1", "greetings")
def created(name, namespace, spec, **_):
    body = config_map(f"greeting-{name}", spec["text"])
    kopf.adopt(body)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
    return {"said": spec["text"]}


@kopf.on.field("example.com", "v1", "greetings", field="spec.text")
def changed(old, new, name, namespace, **_):
    if old is None:
        return
    api = kubernetes.client.CoreV1Api()
    api.patch_namespaced_config_map(f"greeting-{name}", namespace, {"data": {"text": new}})


@kopf.on.delete("example.com", "v1", "greetings")
def deleted(name, namespace, **_):
    body = config_map(f"goodbye-{name}", "goodbye")
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
