"""What kr8s does with a cluster: it creates, waits, reads logs, runs commands, forwards ports, scales, patches,
watches and deletes."""

import time

import httpx
import kr8s
from kr8s.objects import ConfigMap, Deployment, Service

print("nodes:", len(list(kr8s.get("nodes"))))
labels = {"app": "web"}
container = {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}]}
template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
web = Deployment({"metadata": {"name": "web"}, "spec": spec})
web.create()
web.wait("condition=Available")
[pod] = web.pods()
print("ready:", web.ready(), pod.ready())
print("started:", any("start worker process" in line for line in pod.logs()))
ran = pod.exec(["hostname"])
print("hostname:", ran.stdout.decode().strip() == pod.name, ran.returncode)
ran = pod.exec(["cat", "/nothing"], check=False)
print(ran.stderr.decode().strip(), ran.returncode)

# By a WebSocket for which it names no protocol.
with pod.portforward(remote_port=80, local_port="auto") as port:
    page = httpx.get(f"http://127.0.0.1:{port}/", timeout=60)
print("forwarded:", page.status_code, "answers GET /" in page.text)
service = Service({"metadata": {"name": "web"}, "spec": {"selector": labels, "ports": [{"port": 80}]}})
service.create()
of_service = {"kubernetes.io/service-name": "web"}
while not any(one.raw.endpoints for one in kr8s.get("endpointslices", label_selector=of_service)):
    time.sleep(0.1)
# It asks for `//`.
page = service.proxy_http_get("/")
print("by the Service:", page.status_code, "answers GET /" in page.text)

web.scale(3)
web.wait("jsonpath='{.status.readyReplicas}'=3")
print("scaled:", len(web.pods()))
web.annotate(note="mine")
web.label({"tier": "front"})
web.patch([{"op": "remove", "path": "/metadata/labels/tier"}], type="json")
print("patched:", web.annotations["note"], dict(web.labels))

notes = ConfigMap({"metadata": {"name": "notes"}, "data": {"a": "1"}})
notes.create()
seen = ConfigMap.get("notes")
notes.patch({"data": {"b": "2"}})
for event, _ in seen.watch():
    print(event, dict(seen.data))
    if event == "DELETED":
        break
    notes.delete()
print("there:", notes.exists())
web.delete(propagation_policy="Foreground")
web.wait("delete")
print("Pods:", len(list(kr8s.get("pods", label_selector=labels))))
