"""What lightkube does with a cluster: it applies, waits, reads logs, runs commands, scales, patches, watches and deletes."""

from lightkube import ApiError, Client
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, Pod
from lightkube.types import PatchType

client = Client(field_manager="lightkube")
print("nodes:", len(list(client.list(Node))))


def deployment(image):
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}),
        spec=PodSpec(containers=[Container(name="web", image=image)]),
    )
    selector = LabelSelector(matchLabels={"app": "web"})
    spec = DeploymentSpec(replicas=2, selector=selector, template=template)
    metadata = ObjectMeta(name="web")
    return Deployment(apiVersion="apps/v1", kind="Deployment", metadata=metadata, spec=spec)


web = client.apply(deployment("nginx:1.28"))
print("applied:", [(entry.manager, entry.operation) for entry in web.metadata.managedFields])
client.wait(Deployment, "web", for_conditions=["Available"])
pods = list(client.list(Pod, labels={"app": "web"}))
print("Pods:", [pod.status.phase for pod in pods])
name = pods[0].metadata.name
client.wait(Pod, name, for_conditions=["Ready"])
print("started:", any("start worker process" in line for line in client.log(name)))
# It says of every command that it has input, and ends that only if it has some.
ran = client.exec(name, command=["hostname"], stdout=True, raise_on_error=True)
print("hostname:", ran.stdout.strip() == name, ran.exit_code)
ran = client.exec(name, command=["cat"], stdin="ä line\n", stdout=True)
print("cat:", ran.stdout.strip(), ran.exit_code)
ran = client.exec(name, command=["cat", "/nothing"], stderr=True)
print(ran.stderr.strip(), ran.exit_code)

# Another manager's field is not taken without force.
try:
    client.apply(deployment("nginx:1.29"), field_manager="other")
except ApiError as error:
    print("refused:", error.status.code, error.status.reason)
client.apply(deployment("nginx:1.29"), field_manager="other", force=True)
scale = Deployment.Scale(metadata=ObjectMeta(name="web"), spec=ScaleSpec(replicas=3))
client.replace(scale, "web")
for _, web in client.watch(Deployment, fields={"metadata.name": "web"}):
    status = web.status
    counts = {status.replicas, status.updatedReplicas, status.availableReplicas}
    if status.observedGeneration == web.metadata.generation and counts == {3}:
        break
pods = client.list(Pod, labels={"app": "web"})
stay = [pod for pod in pods if not pod.metadata.deletionTimestamp]
print("rolled out:", [pod.spec.containers[0].image for pod in stay])
client.delete(Deployment, "web")

notes = client.create(ConfigMap(metadata=ObjectMeta(name="notes"), data={"a": "1", "b": "2"}))
begin = notes.metadata.resourceVersion
changes = client.watch(ConfigMap, fields={"metadata.name": "notes"}, resource_version=begin)
client.patch(ConfigMap, "notes", {"data": {"a": "3", "b": None}}, patch_type=PatchType.MERGE)
add = [{"op": "add", "path": "/data/c", "value": "4"}]
client.patch(ConfigMap, "notes", add, patch_type=PatchType.JSON)
client.delete(ConfigMap, "notes")
for _ in range(3):
    event, notes = next(changes)
    print(event, notes.data)
try:
    client.get(ConfigMap, "notes")
except ApiError as error:
    print(error.status.code, error.status.message)
