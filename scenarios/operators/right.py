"""An operator: one ConfigMap for each Greeting. Its name follows from the Greeting's, so it cannot be made twice."""

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
def created(name, namespace, spec, **_):
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"greeting-{name}"},
        "data": {"text": spec["text"]},
    }
    kopf.adopt(body)
    try:
        kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
    return {"configMap": body["metadata"]["name"]}
