"""The same with a bug: the API server makes up the name, which the operator remembers in the status alone, later."""

import os

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.posting.enabled = False
    # Its clock is that of the wall: an exploration need not wait long for it.
    settings.networking.error_backoffs = [0.1, 0.2]
    settings.watching.reconnect_backoff = 0.1


@kopf.on.login()
def login(**_):
    kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
    return kopf.ConnectionInfo(server=kubernetes.client.Configuration.get_default_copy().host)


@kopf.on.create("example.com", "v1", "greetings", backoff=0.2)
def created(name, namespace, spec, status, **_):
    if "created" in status:
        return None
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"generateName": f"greeting-{name}-"},
        "data": {"text": spec["text"]},
    }
    kopf.adopt(body)
    made = kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
    return {"configMap": made.metadata.name}
