// Views of a scene beside the map of the cluster: the same steps seen from nearer by. Each is drawn from what the scene has
// recorded, and knows the step at which the player stands.
//
// A view has a name, `has(course)`: whether the scene has something to show in it, and `draw(course, at, open)`: an element
// for the first `at` steps. One that is `whole` is seen at its full height; others scroll.
// `open` is given an object, a component or a message that was chosen.
"use strict";
(() => {
  const { make, component, short, brief, seconds, phase, isReady, counts, icon, named, chosen, nothing, packets } = window.Kubestep;

  const uidOf = (json) => json?.metadata?.uid;

  // ---- a request's way through the API server

  /** What each write must pass, in this order. What one did not come to stays dark. */
  const STAGES = ["authentication", "authorization", "mutating admission", "validation", "validating admission", "etcd"];

  /** What refuses a request after all of them: it asks for what is not there, or would overwrite what is. */
  const STORED = { 404: "it is not there", 409: "what stands there is another version, or has the name already" };

  function request(course, at, open) {
    const found = course.before(at).find(({ step }) => step.stages.length);
    if (!found) return nothing("No request has come to the API server so far in this scene.");
    const { step, place } = found, now = place === at - 1;
    const passed = new Map(step.stages.map(({ name, decision }) => [name, decision]));
    const writes = /^(create|update|patch|delete)/.test(step.what);
    const refused = step.answer >= 400, stored = !passed.has("etcd") && STORED[step.answer];
    const row = [...passed.keys(), ...(writes && refused && !stored ? STAGES.filter((name) => !passed.has(name)) : [])].filter((name) => name !== "etcd" || !step.changes.length);
    const last = step.stages.at(-1)?.name;
    const stages = row.map((name) => {
      const stopped = refused && !stored && name === last;
      const style = stopped ? "ks-no" : passed.has(name) ? "ks-yes" : "ks-dark";
      return make("li", { "class": style }, make("b", {}, name), make("span", {}, passed.has(name) ? brief(passed.get(name)) : "not reached"));
    });
    const changes = step.changes.map(({ object, revision, patch }) => make("li", { "class": "ks-yes" }, make("b", {}, "etcd"),
      make("span", {}, `revision ${revision}: `, chosen(named(object), open, { object }), patch === null ? " deleted" : "")));
    if (stored) stages.push(make("li", { "class": "ks-no" }, make("b", {}, "etcd"), make("span", {}, stored)));
    const answer = step.answer === undefined ? [] : [make("li", { "class": refused ? "ks-no" : "ks-yes ks-answer" }, make("b", {}, "answer"), make("span", {}, `${step.answer} to ${step.from}`))];
    return make("div", { "class": now ? "" : "ks-past" },
      make("p", { "class": "ks-head" }, chosen(`${step.from}: ${brief(step.what)}`, open, { message: step }), now ? "" : ` (step ${step.number}, the last request)`),
      make("ol", { "class": "ks-pipe" }, ...stages, ...changes, ...answer));
  }

  // ---- an informer: from the watch to the worker

  function informer(course, at, open) {
    const found = course.before(at).find(({ step }) => step.caches.length || step.queues.length);
    if (!found) return nothing("No informer was notified so far in this scene.");
    const { step, place } = found, now = place === at - 1;
    const state = course.state(place + 1), earlier = course.state(place);
    const actor = step.caches[0]?.actor || step.to;
    const old = (one) => earlier.caches[one.actor]?.[one.object];
    const cache = step.caches.map((one) => make("p", {}, chosen(named(one.object), open, { object: one.object }), one.revision
      ? ` ${old(one) ? `revision ${old(one)} → ${one.revision}` : `new, at revision ${one.revision}`}` : " is gone"));
    const queues = Object.entries(state.queues).filter(([queue, keys]) => keys.length && (step.queues.some((one) => one.queue === queue) || actor.startsWith(queue)));
    const keys = (wanted) => queues.flatMap(([queue, all]) => all.filter(({ how }) => wanted.includes(how)).map(({ key, how }) => make("p", {}, make("code", {}, brief(key)), ` ${queue}${how === 3 ? ", later" : ""}`)));
    const done = step.queues.filter(({ how }) => how === 2).map(({ queue, key }) => make("p", {}, make("code", {}, brief(key)), ` ${queue}: done`));
    const box = (name, what, parts, lit) => make("li", { "class": lit ? "ks-yes" : "ks-dark" }, make("b", {}, name), make("i", {}, what), ...(parts.length ? parts : [make("p", { "class": "ks-none" }, "–")]));
    const [waits, works] = [keys([0, 3]), keys([1])];
    const source = step.code ? [make("p", {}, `${step.code.task} waits for ${brief(step.code.awaits)}`), make("p", { "class": "ks-where" }, `${step.code.excerpt[0]}:${step.code.excerpt[2]}`)] : [];
    return make("div", { "class": now ? "" : "ks-past" },
      make("p", { "class": "ks-head" }, chosen(actor, open, { message: step }), now ? "" : ` (step ${step.number}, the last notification or work)`),
      make("ol", { "class": "ks-pipe ks-informer" },
        box("watch", "what the API server sent", step.kind === "notification" ? [make("p", {}, brief(step.what))] : [], step.kind === "notification"),
        box("cache", "what the informer knows", cache, cache.length),
        box("work queue", "keys, each once", waits, waits.length),
        box("worker", "one key at a time", [...works, ...done, ...source], works.length + done.length + source.length)));
  }

  // ---- inside a node

  function node(course, at, open) {
    const state = course.state(at), step = course.steps[at - 1];
    const on = (name) => Object.entries(state.objects).filter(([object, json]) => object.startsWith("Pod ") && json.spec?.nodeName === name);
    const names = course.data.nodes.filter((name) => on(name).length || [step.from, step.to].some((actor) => actor.endsWith(`/${name}`)));
    if (!names.length) return nothing("No Pod is on a node so far in this scene.");
    return make("div", { "class": "ks-insides" }, ...names.slice(0, 6).map((name) => make("section", { "class": "ks-box ks-kubelet" },
      make("p", { "class": "ks-head" }, chosen(make("span", {}, icon("Node"), name), open, { component: `node/${name}` })),
      calls(course, at, name), ...on(name).map(([object, json]) => pod(object, json, open)))),
      names.length > 6 ? nothing(`and ${names.length - 6} more nodes`) : "");
  }

  /** The last calls between the kubelet of a node, its runtime and its plugins. */
  function calls(course, at, name) {
    const here = (actor) => actor.endsWith(`/${name}`) && !actor.startsWith("kube-proxy");
    const made = course.before(at).filter(({ step }) => here(step.from) && here(step.to) && step.from !== step.to).slice(0, 4);
    return make("ol", { "class": "ks-calls" }, ...made.map(({ step, place }) => make("li", { "class": place === at - 1 ? "ks-yes" : "" },
      `${step.from.split("/")[0]} → ${step.to.split("/")[0]}: ${brief(step.what)}`)));
  }

  function pod(object, json, open) {
    const statuses = [...(json.status?.initContainerStatuses || []), ...(json.status?.containerStatuses || [])];
    const containers = [...(json.spec?.initContainers || []), ...(json.spec?.containers || [])].map((container) => {
      const status = statuses.find(({ name }) => name === container.name);
      const [how, more] = Object.entries(status?.state || {})[0] || ["not started", {}];
      const probes = ["startupProbe", "livenessProbe", "readinessProbe"].filter((probe) => container[probe]).map((probe) => probe.replace("Probe", ""));
      return make("li", { "class": status?.ready || (how === "terminated" && more.exitCode === 0) ? "ks-good" : how === "terminated" ? "ks-bad" : "ks-wait" },
        make("b", {}, container.name), ` ${container.image}`, make("span", {}, [how, more.reason, how === "terminated" && `exit code ${more.exitCode}`, status?.restartCount && `restarted ${status.restartCount} times`,
          probes.length && `probes: ${probes.join(", ")}`].filter(Boolean).join(" · ")));
    });
    const volumes = (json.spec?.volumes || []).map(({ name, ...source }) => `${name} (${Object.keys(source)[0] || "emptyDir"})`);
    return make("div", { "class": "ks-sandbox" }, make("p", {}, chosen(named(object), open, { object }), ` ${phase(json) || "Pending"}${json.status?.podIP ? ` · sandbox ${json.status.podIP}` : ""}`),
      make("ul", {}, ...containers), volumes.length ? make("p", { "class": "ks-where" }, `volumes: ${volumes.join(", ")}`) : "");
  }

  // ---- who owns whom

  function owners(course, at, open) {
    const state = course.state(at), step = course.steps[at - 1];
    const changed = new Set(step.changes.map(({ object }) => object));
    const all = Object.entries(state.objects), uids = new Set(all.map(([, json]) => uidOf(json)));
    const owner = (json) => (json.metadata.ownerReferences || []).find(({ controller }) => controller) || json.metadata.ownerReferences?.[0];
    const below = (uid) => all.filter(([, json]) => owner(json)?.uid === uid);
    const branch = ([object, json]) => {
      const missing = owner(json) && !uids.has(owner(json).uid);
      const children = below(uidOf(json));
      const ready = isReady(json), going = json.metadata.deletionTimestamp;
      return make("li", {}, chosen(named(object), open, { object }, `ks-chip${going ? " ks-terminating" : ready ? " ks-running ks-ready" : ""}${changed.has(object) ? " ks-changed" : ""}`),
        make("span", { "class": "ks-where" }, [counts(json) || phase(json), going && "deletionTimestamp is set", json.metadata.finalizers?.length && `finalizers: ${json.metadata.finalizers.join(", ")}`, missing && `its owner ${owner(json).kind} ${owner(json).name} is gone`].filter(Boolean).join(" · ")),
        children.length ? make("ul", {}, ...children.map(branch)) : "");
    };
    const roots = all.filter(([, json]) => !owner(json) || !uids.has(owner(json).uid));
    const inTrees = roots.filter(([, json]) => below(uidOf(json)).length || owner(json));
    if (!inTrees.length) return nothing("No object here has an owner so far.");
    return make("ul", { "class": "ks-tree" }, ...inTrees.map(branch));
  }

  // ---- etcd's log

  function log(course, at, open) {
    const writes = course.before(at).flatMap(({ step, place }) => step.changes.map((change) => ({ ...change, step, place })).reverse());
    if (!writes.length) return nothing("Nothing was written to etcd so far in this scene.");
    const rows = writes.slice(0, 200).map(({ object, revision, patch, step, place }) => make("tr", { "class": place === at - 1 ? "ks-now-row" : "" },
      make("td", {}, String(revision)), make("td", {}, chosen(named(object), open, { object })),
      make("td", {}, patch === null ? "deleted" : fields(course, place, object, patch)), make("td", { "class": component(step.from) }, step.from)));
    return make("table", { "class": "ks-log-table" }, make("thead", {}, make("tr", {}, ...["revision", "object", "what was written", "by"].map((head) => make("th", {}, head)))), make("tbody", {}, ...rows));
  }

  /** The names of the fields that a write changed, without those that every write changes. */
  function fields(course, place, object, patch) {
    if (!course.state(place).objects[object]) return "created";
    const paths = [];
    const walk = (value, path) => {
      if (value === null || typeof value !== "object" || Array.isArray(value)) paths.push(path);
      else for (const [key, inner] of Object.entries(value)) if (!["resourceVersion", "generation", "lastTransitionTime", "lastUpdateTime"].includes(key)) walk(inner, path ? `${path}.${key}` : key);
    };
    walk(patch, "");
    return paths.slice(0, 4).join(", ") + (paths.length > 4 ? `, and ${paths.length - 4} more` : "");
  }

  // ---- over time

  /** How each object of a kind fared: [from, to, what]. */
  const lanes = (course) => course.once(allLanes);

  function allLanes(course) {
    const found = new Map();
    const note = (object, json, time) => {
      const kind = object.split(" ")[0];
      const what = !json ? null : kind === "Pod" ? (phase(json) === "Terminating" ? "terminating" : isReady(json) ? "ready" : json.spec?.nodeName ? (phase(json) || "Pending").toLowerCase() : "unscheduled")
        : kind === "Node" ? (isReady(json) ? "ready" : "not ready") : kind === "Lease" ? "held" : json.spec?.replicas !== undefined ? counts(json) : null;
      if (what === null && !found.has(object)) return;
      const spans = found.get(object) || found.set(object, []).get(object), last = spans.at(-1);
      if (last && last.what === what) return;
      if (last) last.to = time;
      if (what !== null) spans.push({ from: time, to: Infinity, what, share: json.spec?.replicas ? (json.status?.readyReplicas || 0) / json.spec.replicas : 0 });
    };
    const start = course.steps[0]?.time || 0;
    for (const [object, json] of Object.entries(course.data.objects)) note(object, json, start);
    course.steps.forEach((step, place) => {
      const state = course.state(place + 1);
      for (const { object } of step.changes) note(object, state.objects[object], step.time);
    });
    const order = (object) => ["Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Node", "Pod"].indexOf(object.split(" ")[0]);
    return [...found].sort(([a], [b]) => order(a) - order(b) || (a < b ? -1 : 1));
  }

  function time(course, at, open) {
    const all = lanes(course), first = course.steps[0].time, last = course.steps.at(-1).time, now = course.steps[at - 1].time;
    const share = (moment) => 100 * (Math.min(moment, last) - first) / Math.max(1, last - first);
    const rows = all.slice(0, 24).map(([object, spans]) => make("li", {}, chosen(named(object), open, { object }),
      make("div", { "class": "ks-lane" }, ...spans.filter(({ from }) => from <= now).map(({ from, to, what, share: part }) => make("span", {
        "class": `ks-span ks-span-${what.replace(/[^a-z]+.*$/i, "") || "count"}`, style: `left:${share(from)}%;width:${Math.max(0.6, share(Math.min(to, now)) - share(from))}%;--part:${part}`, title: `${what}, from ${seconds(from)}`,
      }, what)))));
    return make("div", { "class": "ks-time" }, make("ol", {}, ...rows), all.length > 24 ? nothing(`and ${all.length - 24} more`) : "",
      make("div", { "class": "ks-axis" }, make("span", {}, seconds(first)), make("span", { "class": "ks-clock", style: `left:${share(now)}%;--back:${share(now)}%` }, seconds(now)), make("span", {}, seconds(last))));
  }

  const VIEWS = [
    { name: "Request", says: "A request's way through the API server", has: (course) => course.steps.some((step) => step.stages.length), draw: request },
    { name: "Informer", says: "From the watch to the worker", has: (course) => course.steps.some((step) => step.caches.length), draw: informer },
    { name: "Node", says: "Sandboxes, containers and volumes on each node", has: (course) => course.data.nodes.length && course.steps.some((step) => /^(kubelet|containerd)\//.test(step.to)), draw: node },
    { name: "Packet", says: "A packet's way, from place to place", has: (course) => course.steps.some((step) => step.packet), draw: packets, whole: true },
    { name: "Owners", says: "Which object owns which", has: (course) => Object.values(course.state(course.steps.length).objects).some((json) => json.metadata?.ownerReferences), draw: owners },
    { name: "etcd", says: "What was written to etcd, the last first", has: (course) => course.steps.some((step) => step.changes.length), draw: log },
    { name: "Over time", says: "How objects fare over virtual time", has: (course) => lanes(course).length > 1, draw: time },
  ];

  window.Kubestep.views = VIEWS;
})();
