// The cluster, drawn: boxes for processes, and arrows between them. Shows a state (course.js); knows no steps.
"use strict";
(() => {
  const { make, component, short, brief, icon, named, counts, phase: phaseOf, isReady } = window.Kubestep;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const TRAVEL_MS = 500;
  // So many nodes have a box of their own; the others share one.
  const NODES = 6;

  /** Boxes for processes, and arrows between them. Shows a state; knows no steps. */
  class ClusterMap {
    /** `chosen` is told of an object, a component or a message that was clicked. */
    constructor(nodes, actors, chosen) {
      this.chosen = chosen;
      this.boxes = new Map();
      this.arrows = make("svg", { "class": "ks-arrows", "aria-hidden": "true" });
      this.pill = make("button", { "class": "ks-pill", type: "button", hidden: true, click: () => this.chosen({ message: this.said }) });
      this.element = make("div", { "class": "ks-map" });
      const clients = make("div", { "class": "ks-row ks-clients" }, this.box("user", "user"),
        this.box("kube-controller-manager", "kube-controller-manager"), this.box("kube-scheduler", "kube-scheduler"));
      // Several API servers share the etcd between them: so no arrow of theirs crosses it.
      const servers = [...new Set(actors.filter((actor) => actor.startsWith("kube-apiserver/")))].sort();
      const several = servers.length > 1;
      this.hubs = several ? servers.map((name) => this.box(name, name)) : [this.box("kube-apiserver", "kube-apiserver and etcd")];
      this.keeper = several ? "etcd" : "kube-apiserver";
      const half = Math.ceil(this.hubs.length / 2), etcd = several ? [this.box("etcd", "etcd")] : [];
      const hub = make("div", { "class": "ks-row" }, ...this.hubs.slice(0, half), ...etcd, ...this.hubs.slice(half));
      const own = nodes.length > NODES + 1 ? nodes.slice(0, NODES) : nodes;
      this.folded = new Set(nodes.slice(own.length));
      const row = nodes.length ? make("div", { "class": "ks-row ks-nodes" }, ...own.map((node) => this.box(`node/${node}`, node)),
        this.folded.size ? this.box("more", `${this.folded.size} more nodes`) : null) : "";
      // Actors without a box of their own share one.
      this.others = [...new Set(actors.filter((actor) => !this.home(actor)).map((actor) => actor.split("/")[0]))];
      if (this.others.length) {
        clients.classList.add("ks-four");
        clients.append(this.box("others", this.others.length > 2 ? "others" : this.others.join(", ")));
      }
      this.element.append(clients, hub, row, this.arrows, this.pill);
    }

    box(name, title) {
      const inside = make("div", { "class": "ks-inside" });
      const parts = make("p", { "class": "ks-parts" });
      const head = make("button", { type: "button", "class": "ks-name", "data-like": name, click: () => this.chosen({ component: name }) }, name.startsWith("node/") ? icon("Node") : null, title);
      const colour = name.startsWith("node/") || name === "more" ? "ks-kubelet" : component(name);
      const element = make("div", { "class": `ks-box ${colour}`, "data-box": name }, head, parts, inside);
      this.boxes.set(name, { element, inside, parts });
      return element;
    }

    /** The box in which an actor lives. */
    home(name) {
      // Of `pod informer in kube-scheduler` the last part; a controller lives in its manager.
      const actor = name.split(" in ").pop();
      const [base, ...rest] = actor.split("/");
      if (base.endsWith("-controller")) return this.boxes.get("kube-controller-manager");
      if (base === "kube-apiserver" && !this.boxes.has(actor)) return this.boxes.get("kube-apiserver") || this.boxes.get("etcd");
      const node = rest.join("/");
      return this.boxes.get(actor) || this.boxes.get(base) || this.boxes.get(this.folded.has(node) ? "more" : `node/${node}`) || this.boxes.get("others");
    }

    /** Shows a state, with those at work and the objects that changed just now marked. */
    show(state, active, changed = []) {
      this.changed = new Set(changed);
      for (const [name, box] of this.boxes) {
        box.inside.replaceChildren(...this.content(name, state));
        box.element.classList.toggle("ks-active", active.some((actor) => this.home(actor) === box));
        const several = name.startsWith("node/") || ["more", "others"].includes(name);
        const parts = active.filter((actor) => several && this.home(actor) === box);
        box.parts.textContent = parts.map((part) => part.split("/")[0]).join(" → ");
      }
    }

    content(name, state) {
      const objects = Object.entries(state.objects);
      const isPod = (object) => object.startsWith("Pod ");
      if (name === this.keeper) {
        return objects.filter(([object, json]) => !isPod(object) || !json.spec?.nodeName).map(([object, json]) => this.chip(object, json));
      }
      if (name.startsWith("node/")) {
        const node = name.slice(5);
        return objects.filter(([object, json]) => isPod(object) && json.spec?.nodeName === node).map(([object, json]) => this.chip(object, json));
      }
      if (name === "more") return this.counted(objects.filter(([object]) => isPod(object)).map(([, json]) => json));
      const lines = [];
      const mine = (queue) => {
        const other = this.others.includes(queue), scheduler = queue === "kube-scheduler";
        return { "kube-scheduler": scheduler, "others": other, "kube-controller-manager": !scheduler && !other && !queue.includes("/") }[name];
      };
      for (const [queue, keys] of Object.entries(state.queues)) {
        if (!keys.length || !mine(queue)) continue;
        const marks = ["", "⚙ ", "", "later: "];
        lines.push(make("p", { "class": "ks-queue" }, make("span", {}, queue.replace(/-controller$/, "")),
          " ", ...keys.map(({ key, how }) => make("code", { title: `${key}: ${["waits for a worker", "a worker has it", "", "later"][how]}` }, marks[how] + brief(key)))));
      }
      const behind = stale(state, name);
      if (behind.length) {
        lines.push(make("p", { "class": "ks-stale" }, `cache behind etcd: ${behind.map((one) => brief(short(one.object))).join(", ")}`));
      }
      return lines;
    }

    /** Of nodes that share a box, how many Pods are on each. */
    counted(pods) {
      return [...this.folded].map((node) => [node, pods.filter(({ spec }) => spec?.nodeName === node)]).filter(([, here]) => here.length)
        .map(([node, here]) => make("p", {}, `${node}: ${here.length} ${here.length === 1 ? "Pod" : "Pods"}, ${here.filter(isReady).length} ready`));
    }

    chip(object, json) {
      const phase = phaseOf(json), ready = isReady(json);
      const text = object.startsWith("Pod ") ? phase || "Pending" : counts(json) || phase;
      return make("button", {
        type: "button", "class": `ks-chip ks-${(phase || "none").toLowerCase()}${ready ? " ks-ready" : ""}${this.changed.has(object) ? " ks-changed" : ""}`, "data-like": object,
        title: `${short(object)}: its YAML and its history`, click: () => this.chosen({ object }),
      }, named(object), text ? make("em", {}, text) : null);
    }

    /** Lines for what is under way, and the message that has just arrived. */
    draw(flights, step, animate) {
      const frame = this.element.getBoundingClientRect();
      this.arrows.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
      const centre = (box) => {
        const r = box.element.getBoundingClientRect();
        return { x: r.left - frame.left + r.width / 2, y: r.top - frame.top + r.height / 2, w: r.width / 2, h: r.height / 2 };
      };
      // Lines to and from the API server are upright, requests left of answers and notifications; all others lead from
      // middle to middle.
      const upright = (from, to, up) => {
        const [small, hub] = up ? [from, to] : [to, from];
        const x = small.x + (up ? -7 : 7), above = small.y < hub.y;
        const ends = [{ x, y: small.y + (above ? small.h : -small.h) }, { x, y: hub.y + (above ? -hub.h : hub.h) }];
        return up ? ends : ends.reverse();
      };
      // Where the line between two boxes leaves the first.
      const edge = (a, b) => {
        const dx = b.x - a.x, dy = b.y - a.y;
        const k = Math.min(dx ? a.w / Math.abs(dx) : 9, dy ? a.h / Math.abs(dy) : 9, 0.5);
        return { x: a.x + dx * k, y: a.y + dy * k };
      };
      const line = (message) => {
        const a = this.home(message.from), b = this.home(message.to);
        if (!a || !b || a === b) return null;
        const from = centre(a), to = centre(b), isHub = (box) => this.hubs.includes(box.element);
        if (this.hubs.length === 1 && isHub(a) !== isHub(b)) return upright(from, to, isHub(b));
        // From row to row between the rows: no box of either is crossed.
        const low = from.y < to.y ? 1 : -1;
        if (Math.abs(from.y - to.y) > from.h + to.h) return [{ x: from.x, y: from.y + low * from.h }, { x: to.x, y: to.y - low * to.h }];
        return [edge(from, to), edge(to, from)];
      };
      const drawn = [];
      const seen = new Map();
      for (const flight of flights) {
        const ends = line(flight);
        if (!ends) continue;
        const [a, b] = ends, path = `M${a.x} ${a.y}L${b.x} ${b.y}`;
        const nth = seen.get(path) || 0;
        seen.set(path, nth + 1);
        const t = Math.min(0.92, 0.3 + 0.16 * nth);
        if (!nth) drawn.push(make("path", { "class": `ks-flight ${component(flight.from)}`, d: path }));
        const at = { cx: a.x + (b.x - a.x) * t, cy: a.y + (b.y - a.y) * t }, message = () => this.chosen({ message: flight });
        // Fingers are wider than dots. Keys find the same messages in the list below.
        drawn.push(make("g", { "class": "ks-message", click: message }, make("circle", { "class": "ks-reach", r: 11, ...at }),
          make("circle", { "class": `ks-dot ${component(flight.from)}`, r: 4.5, ...at })));
      }
      const ends = step && line(step);
      if (ends) {
        const [a, b] = ends, angle = Math.atan2(b.y - a.y, b.x - a.x);
        const wing = (turn) => `${b.x - 9 * Math.cos(angle + turn)} ${b.y - 9 * Math.sin(angle + turn)}`;
        drawn.push(make("path", { "class": `ks-line ${component(step.from)}`, d: `M${a.x} ${a.y}L${b.x} ${b.y}M${wing(0.45)}L${b.x} ${b.y}L${wing(-0.45)}` }));
      }
      this.arrows.replaceChildren(...drawn);
      this.say(step, this.words(step, ends, centre), frame, animate);
    }

    /** Where the words of a step stand: below boxes of one row, else before the receiver's row. They hide no box. */
    words(step, ends, centre) {
      const from = step && this.home(step.from), to = step && this.home(step.to);
      if (!to) return null;
      const a = centre(from || to), b = centre(to);
      const below = Math.max(a.y + a.h, b.y + b.h) + 17;
      const level = Math.abs(a.y - b.y) < a.h + b.h;
      const [start, end] = ends || [{ x: b.x, y: below }, { x: b.x, y: below }];
      if (level) return { start, x: (start.x + end.x) / 2, y: below };
      // Other rows may be between them: the nearest to the receiver counts.
      const rows = [a, ...[...this.boxes].filter(([name, { element }]) => this.hubs.includes(element) || name === "etcd").map(([, box]) => centre(box))];
      const y = b.y < a.y ? (b.y + b.h + Math.min(...rows.map((row) => row.y - row.h).filter((top) => top >= b.y + b.h))) / 2
        : (b.y - b.h + Math.max(...rows.map((row) => row.y + row.h).filter((bottom) => bottom <= b.y - b.h))) / 2;
      return { start, x: start.x + ((end.x - start.x) * (y - start.y)) / (end.y - start.y), y };
    }

    say(step, place, frame, animate) {
      this.pill.getAnimations?.().forEach((running) => running.cancel());
      this.said = step;
      this.pill.hidden = !place;
      if (!place) return;
      this.pill.textContent = brief(step.what);
      this.pill.className = `ks-pill ${component(step.from)}`;
      this.pill.setAttribute("aria-label", `${brief(step.what)}: why`);
      this.pill.title = `${step.what}: why`;
      const half = this.pill.offsetWidth / 2;
      const x = Math.max(half + 2, Math.min(frame.width - half - 2, place.x));
      this.pill.style.transform = `translate(${x - half}px, ${place.y - 12}px)`;
      if (!animate || still.matches || !this.pill.animate) return;
      const start = `translate(${place.start.x - half}px, ${place.start.y - 12}px)`;
      const frames = [{ transform: start, opacity: 0.2 }, { transform: this.pill.style.transform, opacity: 1 }];
      this.pill.animate(frames, { duration: TRAVEL_MS, easing: "ease-out" });
    }
  }

  /** What a process knows of objects that changed since. */
  function stale(state, actor) {
    return Object.entries(state.caches[actor] || {})
      .filter(([object, revision]) => state.objects[object] && revision && revision < state.revision[object])
      .map(([object, revision]) => ({ object, revision, now: state.revision[object] }));
  }

  Object.assign(window.Kubestep, { ClusterMap, stale });
})();
