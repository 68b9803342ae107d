// The player of scenes. A scene's data stands beside it in the page (src/book/scene/data.rs says what is in it), its words
// in the list of steps. Nothing is fetched, but for live sessions, which only `kubestep book` offers.
"use strict";
(() => {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  // There if `kubestep book` serves the page to a browser that may run sessions.
  const server = document.querySelector('meta[name="kubestep-live"]');
  const PLAY_MS = 1400, TRAVEL_MS = 500;

  // ---- small tools

  /** An element: its tag, its attributes, its children. Functions among the attributes listen. */
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "path", "circle", "g"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(key, value);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== false && value != null) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  }

  /** The class of whoever a process is; the same names as in src/book/svg.rs. */
  function component(name) {
    const base = name.split("/")[0];
    return {
      "user": "ks-user", "kube-apiserver": "ks-api", "kube-controller-manager": "ks-kcm",
      "kube-scheduler": "ks-scheduler", "kubelet": "ks-kubelet", "containerd": "ks-runtime", "cni": "ks-runtime",
      "kube-proxy": "ks-proxy",
    }[base] || "ks-other";
  }

  /** RFC 7386. */
  function merge(target, patch) {
    if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
    const out = target && typeof target === "object" && !Array.isArray(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete out[key];
      else out[key] = merge(out[key], value);
    }
    return out;
  }

  function scalar(value) {
    if (typeof value !== "string") return value === undefined ? "null" : JSON.stringify(value);
    const plain = /^[A-Za-z_/.][\w ./@:=-]*$/.test(value) && !/(: | #|:$|^(true|false|null|yes|no|on|off)$)/i.test(value);
    return plain ? value : JSON.stringify(value);
  }

  /** A value as YAML, as kubectl prints it. */
  function yaml(value, indent = "") {
    if (value === null || typeof value !== "object") return `${indent}${scalar(value)}\n`;
    if (Array.isArray(value)) {
      if (!value.length) return `${indent}[]\n`;
      return value.map((item) => `${indent}- ${yaml(item, `${indent}  `).trimStart()}`).join("");
    }
    const keys = Object.keys(value);
    if (!keys.length) return `${indent}{}\n`;
    return keys.map((key) => {
      const inner = value[key], nested = inner !== null && typeof inner === "object";
      const empty = nested && !Object.keys(inner).length;
      if (!nested || empty) return `${indent}${key}: ${nested ? (Array.isArray(inner) ? "[]" : "{}") : scalar(inner)}\n`;
      return `${indent}${key}:\n${yaml(inner, Array.isArray(inner) ? indent : `${indent}  `)}`;
    }).join("");
  }

  /** `Pod default/web-1` as `Pod web-1`: in most scenes there is one namespace. */
  const short = (object) => object.replace(/ default\//, " ");
  /** Without what nobody reads: uids and other long numbers are cut. Whole they stand in titles and details. */
  const brief = (text) => text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}/g, (number) => `${number.slice(0, 8)}…`);
  const seconds = (us) => `${(us / 1e6).toFixed(3)} s`;

  // ---- what is where after each step

  /** The states before the first step and after each, made when they are asked for. */
  class Course {
    constructor(data) {
      this.data = data;
      this.steps = data.steps.map((step) => this.read(step));
      this.place = new Map(this.steps.map((step, at) => [step.number, at]));
      const revision = {}, queues = {};
      for (const [name, object] of Object.entries(data.objects)) revision[name] = Number(object.metadata.resourceVersion);
      for (const [queue, key] of data.queues) (queues[data.names[queue]] ||= []).push({ key: data.names[key], how: 0 });
      this.states = [{ objects: data.objects, revision, queues, caches: {} }];
    }

    read(step) {
      const name = (place) => this.data.names[place];
      return {
        number: step.n, time: step.t, kind: name(step.k), from: name(step.f), to: name(step.o), what: step.w, cause: step.y,
        changes: (step.x || []).map(([object, revision, patch]) => ({ object: name(object), revision, patch })),
        caches: (step.c || []).map(([actor, object, revision]) => ({ actor: name(actor), object: name(object), revision })),
        queues: (step.q || []).map(([queue, key, how]) => ({ queue: name(queue), key: name(key), how })),
        code: step.l && { excerpt: this.data.code[step.l[0]], task: name(step.l[1]), awaits: name(step.l[2]) },
      };
    }

    /** The state after so many steps. */
    state(count) {
      while (this.states.length <= count) {
        this.states.push(this.after(this.states[this.states.length - 1], this.steps[this.states.length - 1]));
      }
      return this.states[count];
    }

    after(before, step) {
      const state = {
        objects: { ...before.objects }, revision: { ...before.revision }, queues: { ...before.queues },
        caches: { ...before.caches },
      };
      for (const { object, revision, patch } of step.changes) {
        if (patch === null) delete state.objects[object];
        else state.objects[object] = merge(state.objects[object], patch);
        state.revision[object] = revision;
      }
      for (const { actor, object, revision } of step.caches) {
        state.caches[actor] = { ...state.caches[actor], [object]: revision };
      }
      // The scheduler says what comes into its queue; what it takes out of it shows in what it asks for.
      if (step.from === "kube-scheduler" && step.kind === "request") {
        const taken = ({ key }) => !step.what.endsWith(key);
        state.queues["kube-scheduler"] = (state.queues["kube-scheduler"] || []).filter(taken);
      }
      for (const { queue, key, how } of step.queues) {
        const others = (state.queues[queue] || []).filter((entry) => entry.key !== key);
        state.queues[queue] = how === 2 ? others : [...others, { key, how }];
      }
      return state;
    }

    /** What was sent up to here and arrives later, or not within the scene. */
    flights(count) {
      const sent = (cause) => this.place.has(cause) && this.place.get(cause) < count;
      const name = (place) => this.data.names[place];
      const arriving = this.steps.slice(count).filter((step) => step.kind !== "timer" && sent(step.cause));
      const never = this.data.flights.map(([cause, from, to, what]) => ({ cause, from: name(from), to: name(to), what }));
      return [...arriving, ...never.filter((flight) => sent(flight.cause))];
    }

    /** The places of the steps that led to a message, the nearest first. */
    causes(message) {
      const found = [];
      for (let place = this.place.get(message.cause); place !== undefined; place = this.place.get(this.steps[place].cause)) found.push(place);
      return found;
    }

    /** The places of the steps that a step set off. */
    effects(number) {
      return this.steps.flatMap((step, place) => (step.cause === number ? [place] : []));
    }

    /** The changes of an object up to here: places of steps and patches. */
    history(object, count) {
      const found = [];
      this.steps.slice(0, count).forEach((step, at) => {
        for (const change of step.changes) if (change.object === object) found.push({ at, ...change });
      });
      return found;
    }
  }

  // ---- the cluster, drawn

  /** Boxes for processes, and arrows between them. Shows a state; knows no steps. */
  class Map_ {
    /** `chosen` is told of an object, a component or a message that was clicked. */
    constructor(nodes, actors, chosen) {
      this.chosen = chosen;
      this.boxes = new Map();
      this.arrows = make("svg", { "class": "ks-arrows", "aria-hidden": "true" });
      this.pill = make("button", { "class": "ks-pill", type: "button", hidden: true, click: () => this.chosen({ message: this.said }) });
      this.element = make("div", { "class": "ks-map" });
      const clients = make("div", { "class": "ks-row ks-clients" }, this.box("user", "user"),
        this.box("kube-controller-manager", "kube-controller-manager"), this.box("kube-scheduler", "kube-scheduler"));
      const hub = make("div", { "class": "ks-row" }, this.box("kube-apiserver", "kube-apiserver and etcd"));
      const row = nodes.length ? make("div", { "class": "ks-row ks-nodes" }, ...nodes.map((node) => this.box(`node/${node}`, node))) : "";
      // Whoever has no box by now shares one.
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
      const head = make("button", { type: "button", "class": "ks-name", "data-like": name, click: () => this.chosen({ component: name }) }, title);
      const colour = name.startsWith("node/") ? "ks-kubelet" : component(name);
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
      return this.boxes.get(actor) || this.boxes.get(base) || this.boxes.get(`node/${rest.join("/")}`) || this.boxes.get("others");
    }

    show(state, active) {
      for (const [name, box] of this.boxes) {
        box.inside.replaceChildren(...this.content(name, state));
        box.element.classList.toggle("ks-active", active.some((actor) => this.home(actor) === box));
        const several = name.startsWith("node/") || name === "others";
        const parts = active.filter((actor) => several && this.home(actor) === box);
        box.parts.textContent = parts.map((part) => part.split("/")[0]).join(" → ");
      }
    }

    content(name, state) {
      const objects = Object.entries(state.objects);
      const isPod = (object) => object.startsWith("Pod ");
      if (name === "kube-apiserver") {
        return objects.filter(([object, json]) => !isPod(object) || !json.spec?.nodeName).map(([object, json]) => this.chip(object, json));
      }
      if (name.startsWith("node/")) {
        const node = name.slice(5);
        return objects.filter(([object, json]) => isPod(object) && json.spec?.nodeName === node).map(([object, json]) => this.chip(object, json));
      }
      const lines = [];
      const mine = (queue) => {
        const other = this.others.includes(queue), scheduler = queue === "kube-scheduler";
        return { "kube-scheduler": scheduler, "others": other, "kube-controller-manager": !scheduler && !other && !queue.includes("/") }[name];
      };
      for (const [queue, keys] of Object.entries(state.queues)) {
        if (!keys.length || !mine(queue)) continue;
        const marks = ["", "⚙ ", "", "⏱ "];
        lines.push(make("p", { "class": "ks-queue" }, make("span", {}, queue.replace(/-controller$/, "")),
          " ", ...keys.map(({ key, how }) => make("code", { title: `${key}: ${["waits for a worker", "a worker has it", "", "later"][how]}` }, marks[how] + brief(key)))));
      }
      const behind = stale(state, name);
      if (behind.length) {
        lines.push(make("p", { "class": "ks-stale" }, `cache behind etcd: ${behind.map((one) => brief(short(one.object))).join(", ")}`));
      }
      return lines;
    }

    chip(object, json) {
      const phase = json.metadata?.deletionTimestamp ? "Terminating" : json.status?.phase || "";
      const ready = (json.status?.conditions || []).find((one) => one.type === "Ready")?.status === "True";
      const text = object.startsWith("Pod ") ? phase || "Pending" : counts(json) || phase;
      return make("button", {
        type: "button", "class": `ks-chip ks-${(phase || "none").toLowerCase()}${ready ? " ks-ready" : ""}`, "data-like": object,
        title: `${short(object)}: its YAML and its history`, click: () => this.chosen({ object }),
      }, make("span", {}, brief(short(object))), text ? make("em", {}, text) : null);
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
        const from = centre(a), to = centre(b), hub = this.boxes.get("kube-apiserver");
        if (a === hub || b === hub) return upright(from, to, b === hub);
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
      const level = Math.abs(a.y - b.y) < Math.max(a.h, b.h);
      const [start, end] = ends || [{ x: b.x, y: below }, { x: b.x, y: below }];
      if (level) return { start, x: (start.x + end.x) / 2, y: below };
      // Who is not the API server may be beyond it.
      const hub = this.boxes.get("kube-apiserver"), between = centre(from !== hub && to !== hub ? hub : from);
      const y = b.y < between.y ? (b.y + b.h + between.y - between.h) / 2 : (b.y - b.h + between.y + between.h) / 2;
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

  /** `2/3 ready` of what counts something. */
  function counts(json) {
    const wanted = json.spec?.replicas;
    return wanted === undefined ? "" : `${json.status?.readyReplicas || 0}/${wanted} ready`;
  }

  /** What a process knows of objects that changed since. */
  function stale(state, actor) {
    return Object.entries(state.caches[actor] || {})
      .filter(([object, revision]) => state.objects[object] && revision && revision < state.revision[object])
      .map(([object, revision]) => ({ object, revision, now: state.revision[object] }));
  }

  // ---- the player

  class Player {
    constructor(section) {
      this.section = section;
      this.course = new Course(JSON.parse(section.querySelector("script").textContent));
      this.words = [...section.querySelectorAll(".ks-steps > ol > li")];
      this.at = 0;
      this.timer = null;
      this.build();
      this.go(1, false);
    }

    build() {
      const { data, steps } = this.course;
      const actors = [...new Set(steps.flatMap((step) => [step.from, step.to]))];
      const used = new Set(actors.map((actor) => actor.split("/").slice(1).join("/")));
      for (const object of Object.values(this.course.state(steps.length).objects)) used.add(object.spec?.nodeName);
      const nodes = data.nodes.filter((node) => data.nodes.length <= 4 || used.has(node)).slice(0, 12);
      this.map = new Map_(nodes, actors, (what) => this.open(what));
      const icon = (d) => make("svg", { viewBox: "0 0 16 16", "class": "ks-icon", "aria-hidden": "true" }, make("path", { d }));
      this.icons = { play: () => icon("M4 2l9 6-9 6z"), pause: () => icon("M3 2h3.5v12H3zM9.5 2H13v12H9.5z") };
      const button = (name, label, text, act) => make("button", { type: "button", "class": `ks-${name}`, title: label, "aria-label": label, click: act }, text);
      this.playing = button("play", "Play (space)", this.icons.play(), () => this.toggle());
      this.range = make("input", { type: "range", min: 1, max: steps.length, value: 1, "aria-label": "Step of the scene", input: () => this.go(Number(this.range.value), false) });
      this.count = make("span", { "class": "ks-count" });
      const bar = make("div", { "class": "ks-bar", role: "toolbar", "aria-label": "Step through the scene" },
        button("home", "First step (Home)", icon("M3 2h2v12H3zM13 2v12L6 8z"), () => this.go(1)),
        button("back", "Back (left arrow)", icon("M12 2v12L3 8z"), () => this.go(this.at - 1)),
        this.playing,
        button("step", "Step (right arrow)", "Step", () => this.go(this.at + 1)),
        button("next", "To the next informer notification (n)", "Notification", () => this.toNotification()),
        button("end", "Last step (End)", icon("M11 2h2v12h-2zM3 2l7 6-7 6z"), () => this.go(steps.length)),
        this.range, this.count);
      if (server) bar.append(button("live", "Take over: go on from here on your own, with commands", "Take over", () => this.takeOver()), this.offer());
      this.bar = bar;
      this.now = make("div", { "class": "ks-now", "aria-live": "polite" });
      this.detail = make("div", { "class": "ks-detail" });
      this.panel = make("aside", { "class": "ks-panel", "aria-label": `Details of ${this.section.getAttribute("aria-label")}`, hidden: true });
      const player = this.root = this.section.querySelector(".ks-player");
      player.append(bar, this.now, this.map.element, this.panel, this.detail);
      player.tabIndex = 0;
      player.setAttribute("role", "group");
      player.setAttribute("aria-label", "Player. Arrow keys step, space plays, n goes to the next notification, w says why.");
      player.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.redraw(false)).observe(this.map.element);
      this.section.classList.add("ks-mounted");
    }

    /** The choice of whose code a live session runs with. */
    offer() {
      const { exercises, chosen } = server.dataset;
      const option = (name) => make("option", { value: name, selected: name === chosen }, name ? `your ${name}` : "its own code");
      this.whose = make("select", { "class": "ks-whose", "aria-label": "Whose code a live session runs with" }, ...["", ...exercises.split(" ")].map(option));
      return this.whose;
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || (this.live && event.key !== "Escape")) return;
      if (event.target === this.whose) return event.stopPropagation();
      const slides = event.target === this.range, pressed = event.target.closest("button, summary");
      const acts = {
        "ArrowRight": () => this.go(this.at + 1), "ArrowLeft": () => this.go(this.at - 1), "Home": () => this.go(1),
        "End": () => this.go(this.course.steps.length), "n": () => this.toNotification(),
        "w": () => this.open({ message: this.course.steps[this.at - 1] }),
        " ": pressed ? null : () => this.toggle(), "Escape": this.panel.hidden ? null : () => this.close(),
      };
      const act = acts[event.key];
      // mdBook turns pages with the arrow keys.
      if (event.key.startsWith("Arrow")) event.stopPropagation();
      if (!act || (slides && !["n", "w", " ", "Escape"].includes(event.key))) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    }

    /** Exchanges parts of the player. Whoever had the keyboard there has it in the same place after, or else in the player. */
    exchange(act) {
      const before = document.activeElement, like = before.dataset?.like, inside = this.root.contains(before);
      act();
      if (!inside || (before.isConnected && before.offsetParent)) return;
      const same = like && [...this.root.querySelectorAll("[data-like]")].find((one) => one.dataset.like === like);
      (same || this.root).focus({ preventScroll: true });
    }

    /** Goes to the step with this place, from 1. */
    go(at, animate = true) {
      this.exchange(() => this.show(at, animate));
    }

    show(at, animate) {
      const end = this.course.steps.length;
      const before = this.at;
      this.at = Math.max(1, Math.min(end, at));
      if (this.at === end) this.pause();
      const step = this.course.steps[this.at - 1], word = this.words[this.at - 1];
      this.range.value = this.at;
      this.range.setAttribute("aria-valuetext", `step ${this.at} of ${end}`);
      this.count.textContent = `${this.at} / ${end} · ${seconds(step.time)}`;
      const texts = [...word.querySelectorAll(":scope > p")].map((p) => p.cloneNode(true));
      this.now.replaceChildren(make("p", { "class": "ks-where" }, make("span", { "class": `ks-kind ks-kind-${step.kind}` }, step.kind), ` step ${step.number}`), ...texts);
      this.showDetail(step, word);
      this.map.show(this.course.state(this.at), [...new Set([step.from, step.to])]);
      if (this.shown) this.inspect(this.shown);
      this.redraw(animate && this.at === before + 1);
    }

    redraw(animate) {
      if (this.live) return this.live.redraw(animate);
      this.map.draw(this.course.flights(this.at), this.course.steps[this.at - 1], animate);
    }

    showDetail(step, word) {
      const parts = [];
      const list = word.querySelector("ul");
      if (list) parts.push(list.cloneNode(true));
      const place = this.course.place.get(step.cause);
      const cause = place === undefined ? null : this.course.steps[place];
      parts.push(make("p", { "class": "ks-why" }, "caused by ", cause
        ? make("button", { type: "button", "data-like": "cause", click: () => this.toCause() }, `step ${cause.number}: ${cause.what}`)
        : "what was before this scene"));
      if (step.code) parts.push(code(step.code));
      const flights = this.course.flights(this.at);
      if (flights.length) parts.push(this.underWay(flights));
      this.detail.replaceChildren(...parts);
    }

    /** What the dots on the map are, in words. */
    underWay(flights) {
      const items = flights.map((flight) => make("li", {}, make("button", { type: "button", click: () => this.open({ message: flight }) },
        `${flight.from} → ${flight.to}: ${flight.what}`)));
      const list = make("details", { "class": "ks-flights", open: this.listed, toggle: () => { this.listed = list.open; } },
        make("summary", { "data-like": "flights" }, `In flight: ${flights.length}`), make("ul", {}, ...items));
      return list;
    }

    toCause() {
      const place = this.course.place.get(this.course.steps[this.at - 1].cause);
      if (place !== undefined) this.go(place + 1);
    }

    toNotification() {
      const next = this.course.steps.findIndex((step, at) => at >= this.at && step.kind === "notification");
      this.go(next < 0 ? this.course.steps.length : next + 1);
    }

    toggle() {
      if (this.timer) return this.pause();
      if (this.at === this.course.steps.length) this.go(1);
      this.now.setAttribute("aria-live", "off");
      this.playing.replaceChildren(this.icons.pause());
      this.timer = setInterval(() => this.go(this.at + 1), PLAY_MS);
    }

    pause() {
      clearInterval(this.timer);
      this.timer = null;
      this.now.setAttribute("aria-live", "polite");
      this.playing.replaceChildren(this.icons.play());
    }

    takeOver() {
      this.pause();
      this.inspect(null);
      this.live = new Live(this);
    }

    /** The scene as it was before somebody took over. */
    giveBack() {
      this.live = null;
      this.go(this.at, false);
    }

    /** Opens the panel because somebody asked for it, and leads the keyboard there. */
    open(what) {
      if (!this.panel.contains(document.activeElement)) this.asked = document.activeElement.dataset?.like;
      this.inspect(what);
      this.panel.querySelector(".ks-title")?.focus({ preventScroll: true });
      this.panel.scrollIntoView?.({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
    }

    /** Closes it, and leads the keyboard back. */
    close() {
      const asked = this.asked && [...this.root.querySelectorAll("[data-like]")].find((one) => one.dataset.like === this.asked);
      this.inspect(null);
      (asked || this.root).focus({ preventScroll: true });
    }

    /** Shows an object, a component or a message; nothing, if there is nothing to show. */
    inspect(what) {
      if (this.live) return this.live.inspect(what);
      this.shown = what;
      this.panel.hidden = !what;
      if (!what) return;
      const state = this.course.state(this.at);
      const parts = what.message ? this.message(what.message) : what.object ? this.object(what.object, state) : this.component(what.component, state);
      this.panel.replaceChildren(this.closing(), ...parts);
    }

    closing() {
      return make("button", { type: "button", "class": "ks-close", "aria-label": "Close details", title: "Close (Esc)", click: () => this.close() }, "×");
    }

    /** A line of a list of steps. */
    line(place, ...more) {
      const step = this.course.steps[place], here = place === this.at - 1;
      const go = make("button", { type: "button", "aria-current": here && "step", "data-like": `step ${step.number}`, click: () => this.go(place + 1) }, `step ${step.number}`);
      return make("li", {}, go, ` ${seconds(step.time)} · ${step.from} → ${step.to}: ${step.what}`, ...more);
    }

    /** Why a message was sent, back to where the scene begins, and what it set off. A flight has no number: it has yet to arrive. */
    message(message) {
      const causes = this.course.causes(message), arrived = message.number !== undefined && this.at > this.course.place.get(message.number);
      const effects = arrived ? this.course.effects(message.number) : [];
      const first = causes.length ? this.course.steps[causes[causes.length - 1]] : message;
      const where = message.number === undefined ? "It arrives after the end of this scene."
        : arrived ? `Step ${message.number}, at ${seconds(message.time)}.` : `It is on its way, and arrives in step ${message.number}.`;
      return [
        title(`${message.from} → ${message.to}: ${message.what}`),
        make("p", {}, where),
        make("p", { "class": "ks-label" }, "Because of"),
        make("ol", { "class": "ks-chain" }, ...causes.map((place) => this.line(place)),
          make("li", {}, first.cause ? `step ${first.cause}, before this scene` : "what was there at the start")),
        ...(effects.length ? [make("p", { "class": "ks-label" }, "What it sets off in this scene"), make("ul", {}, ...effects.map((place) => this.line(place)))] : []),
      ];
    }

    object(name, state) {
      const json = state.objects[name];
      const history = this.course.history(name, this.at).reverse();
      const items = history.map(({ at, revision, patch }) => this.line(at, `, revision ${revision} `, patch === null ? "(it is gone)"
        : make("details", {}, make("summary", {}, "what changed"), make("pre", { tabindex: 0 }, yaml(patch)))));
      return [
        title(name),
        make("pre", { tabindex: 0 }, json ? yaml(json) : "It is not there at this step.\n"),
        make("p", { "class": "ks-label" }, items.length ? "History in this scene" : "Unchanged so far in this scene"),
        make("ul", {}, ...items),
      ];
    }

    component(name, state) {
      const homes = Object.entries(state.caches).filter(([actor]) => this.map.home(actor) === this.map.boxes.get(name));
      const rows = homes.flatMap(([actor, cache]) => Object.entries(cache).filter(([, revision]) => revision).map(([object, revision]) => {
        const now = state.objects[object] ? state.revision[object] : null;
        const verdict = now === null ? "gone from etcd" : revision < now ? `etcd has ${now}` : "as in etcd";
        return make("tr", { "class": revision === now ? "" : "ks-stale" }, make("td", {}, actor), make("td", {}, short(object)), make("td", {}, String(revision)), make("td", {}, verdict));
      }));
      const table = make("table", {}, make("thead", {}, make("tr", {}, ...["cache of", "object", "revision", ""].map((head) => make("th", {}, head)))), make("tbody", {}, ...rows));
      return [title(name.replace(/^node\//, "")), rows.length ? table : make("p", {}, "Nothing has come into its caches in this scene so far.")];
    }
  }

  /** What a panel is about. The keyboard is led to it. */
  const title = (text) => make("p", { "class": "ks-title", tabindex: -1 }, text);

  /** Lines of source, and the one at which somebody waits. */
  function code({ excerpt: [file, first, line, texts], task, awaits }) {
    const lines = texts.map((text, n) => make("span", { "class": first + n === line ? "ks-here" : "" }, `${String(first + n).padStart(4)}  ${text}\n`));
    return make("details", { "class": "ks-source", open: true },
      make("summary", {}, make("strong", {}, task), ` waits for ${awaits}`),
      make("p", {}, `${file}:${line}`), make("pre", { tabindex: 0 }, ...lines));
  }

  // ---- a live session: commands as at the prompt, answers as docs/json.md says

  /** What is drawn in any case; other kinds are if the scene has them. */
  const KINDS = ["pod", "deployment", "replicaset", "service", "persistentvolumeclaim"];
  const EXAMPLES = ["step", "next", "until create pods request", "break pod/* condition=Ready:True", "continue", "back", "why",
    "explain", "pending", "kubectl get pods -o wide", "scale deployment/web --replicas=3", "delete pod NAME", "crash kube-controller-manager",
    "kill NAME", "choose e1", "hold e1", "help"];

  class Live {
    constructor(player) {
      this.player = player;
      this.asked = [];
      this.state = { objects: {}, revision: {}, queues: {}, caches: {} };
      this.stop = null;
      const { scenario, seed } = player.course.data;
      const there = Object.keys(player.course.state(player.course.steps.length).objects);
      const kinds = new Set([...KINDS, ...there.map((name) => name.split(" ")[0].toLowerCase())]);
      // What the page asks on its own after each stop, to draw what is there.
      this.question = `get ${[...kinds].join(",")} -o json`;
      this.number = player.course.steps[player.at - 1].number;
      this.build();
      // With other code the run is another one: its steps have other numbers.
      const exercise = player.whose.value;
      const query = new URLSearchParams({ scenario, seed, ...(exercise && { exercise }) });
      if (exercise) this.say(`Your ${exercise} is compiled, and the run begins at its start with it.\n`);
      this.socket = new WebSocket(`ws://${location.host}/.kubestep/live?${query}`);
      this.socket.addEventListener("open", () => this.send(exercise ? "step" : `goto ${this.number}`));
      this.socket.addEventListener("message", (event) => this.take(JSON.parse(event.data)));
      this.socket.addEventListener("close", () => this.closed());
    }

    build() {
      const { player } = this;
      const button = (text, label, line) => make("button", { type: "button", title: label, click: () => this.send(line) }, text);
      this.input = make("input", { type: "text", "aria-label": "Command", placeholder: "a command, as at the prompt; Enter alone steps", list: `${player.section.id}-commands`, autocomplete: "off", spellcheck: "false" });
      const form = make("form", { submit: (event) => {
        event.preventDefault();
        this.send(this.input.value || "step");
        this.input.value = "";
      } }, this.input);
      const list = make("datalist", { id: `${player.section.id}-commands` }, ...EXAMPLES.map((value) => make("option", { value })));
      this.log = make("pre", { "class": "ks-log", tabindex: 0, "aria-label": "What was said", "aria-live": "polite" });
      this.bar = make("div", { "class": "ks-live-bar", role: "toolbar", "aria-label": "Live session" },
        make("strong", {}, "Live"), button("Step", "To the next notification", "step"), button("Event", "To the next event of any kind", "stepi"),
        button("Reaction", "Until whoever got something has reacted", "next"), button("Back", "Back to the stop before", "back"),
        button("Continue", "To a breakpoint or the next command", "continue"), button("Why", "What led here", "why"),
        make("button", { type: "button", click: () => this.end() }, "End"));
      this.element = make("div", { "class": "ks-live" }, this.bar, form, list, this.log);
      player.bar.hidden = true;
      player.bar.after(this.element);
      player.detail.replaceChildren();
      this.input.focus({ preventScroll: true });
    }

    /** Sends a line; what is asked silently is not shown. */
    send(line, silent = false) {
      if (this.socket.readyState !== WebSocket.OPEN) return;
      this.asked.push({ line, silent });
      this.socket.send(JSON.stringify({ line }));
      if (!silent) this.say(`(kubestep) ${line}\n`, "b");
    }

    say(text, tag = "span") {
      this.log.append(make(tag, {}, text));
      while (this.log.childNodes.length > 400) this.log.firstChild.remove();
      this.log.scrollTop = this.log.scrollHeight;
    }

    take(answer) {
      if (answer.kind === "hello" || answer.kind === "end") return;
      const { silent } = this.asked.shift() || {};
      if (silent) return this.look(answer);
      this.say((answer.printed || "") + (answer.text || "") + (answer.message ? `${answer.message}\n` : ""));
      if (answer.kind === "stop") this.arrive(answer);
      this.send(this.question, true);
    }

    /** A stop, in the words of the scene. */
    arrive(stop) {
      this.stop = stop;
      const { event, facts, waiting, change, why } = stop;
      const said = make("p", {}, `${event.from}: ${event.what} → ${event.to}`);
      this.player.now.replaceChildren(
        make("p", { "class": "ks-where" }, make("span", { "class": `ks-kind ks-kind-${event.class}` }, event.class), ` step ${stop.step} · ${seconds(stop.t_ns / 1000)}`),
        said, ...(stop.narration ? [make("p", { "class": "ks-said" }, stop.narration)] : []));
      const lines = facts.filter((fact) => fact.topic !== "stage").map((fact) => make("li", {}, `${fact.topic}: ${fact.text}`));
      for (const field of (change?.fields || []).slice(0, 6)) lines.push(make("li", {}, `${change.object}: ${field.path} is ${JSON.stringify(field.new)}`));
      for (const one of waiting.slice(0, 4)) lines.push(make("li", {}, make("strong", {}, one.task), ` waits for ${one.awaits} (${one.file}:${one.line})`));
      const flights = stop.pending.map((one) => make("li", {}, make("button", { type: "button", title: "Deliver it now", click: () => this.send(`choose ${one.event}`) }, one.event), ` ${one.from}: ${one.what} → ${one.to}`));
      this.player.detail.replaceChildren(...(why ? [make("p", {}, `because of step ${why.step}: ${why.what}`)] : []), make("ul", {}, ...lines),
        make("details", { "class": "ks-flights", open: true }, make("summary", {}, `In flight: ${stop.pending_total}; choose one to deliver it first`), make("ul", {}, ...flights)));
    }

    look(answer) {
      let items = [];
      // With nothing there kubectl says so in words.
      try { items = JSON.parse(answer.text || "{}").items || []; } catch { items = []; }
      const objects = {};
      const shown = items.filter((item) => item.metadata.name !== "kubernetes");
      for (const item of shown) objects[`${item.kind} ${item.metadata.namespace}/${item.metadata.name}`] = item;
      this.state = { ...this.state, objects };
      this.redraw(true);
    }

    redraw(animate) {
      const { map } = this.player;
      const event = this.stop && { ...this.stop.event };
      if (event && ["timer", "clock"].includes(event.from)) event.from = event.to;
      map.show(this.state, event ? [...new Set([event.from, event.to])] : []);
      map.draw(this.stop ? this.stop.pending.filter((one) => !["timer", "clock"].includes(one.from)) : [], event, animate);
    }

    /** An object to look at and to edit. What is on its way is delivered; what has arrived says why. */
    inspect(what) {
      if (what?.message) return this.send(what.message.event ? `choose ${what.message.event}` : "why");
      const { panel } = this.player, json = what?.object && this.state.objects[what.object];
      panel.hidden = !what;
      if (!what) return;
      const close = this.player.closing();
      if (!json) {
        panel.replaceChildren(close, title(what.component || what.object), make("p", {}, "Ask with a command: cache, queue, stack, pending, describe."));
        return;
      }
      const { status, ...rest } = json;
      const { uid, resourceVersion, creationTimestamp, generation, managedFields, ...metadata } = rest.metadata;
      const text = make("textarea", { rows: 16, spellcheck: "false", "aria-label": `Manifest of ${what.object}` });
      text.value = yaml({ ...rest, metadata });
      const apply = make("button", { type: "button", click: () => {
        this.socket.send(JSON.stringify({ file: text.value }));
        this.send("apply -f edit.yaml");
      } }, "Apply");
      panel.replaceChildren(close, title(what.object), text, make("p", {}, apply, " types kubectl apply; step on to see what comes of it."),
        make("details", {}, make("summary", {}, "Status"), make("pre", {}, yaml(status || {}))));
    }

    closed() {
      if (!this.ended) this.say("The session is over. End goes back to the scene.\n");
    }

    end() {
      this.ended = true;
      this.socket.close();
      this.element.remove();
      this.player.panel.hidden = true;
      this.player.bar.hidden = false;
      this.player.giveBack();
    }
  }

  /** Loads the page anew when there is a newer build of it, and says what is wrong with one that failed. */
  function followBuilds() {
    let seen = null, banner = null;
    setInterval(async () => {
      if (document.hidden || document.querySelector(".ks-live")) return;
      try {
        const { build, error } = await (await fetch("/.kubestep/build")).json();
        if (seen !== null && build !== seen) return location.reload();
        seen = build;
        banner?.remove();
        banner = error && make("pre", { "class": "ks-banner", role: "alert" }, error);
        if (banner) document.body.append(banner);
      } catch {
        // The server has ended; the page stays readable.
      }
    }, 1000);
  }

  /** What is wider than the page can be scrolled with keys too. */
  function makeReachable() {
    for (const wide of document.querySelectorAll("main pre > code, main .table-wrapper")) {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    }
  }

  // ---- mounting

  function mountAll() {
    const players = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        players.unobserve(entry.target);
        entry.target.ksPlayer = new Player(entry.target);
      }
    }, { rootMargin: "400px" });
    document.querySelectorAll(".ks-scene").forEach((section) => players.observe(section));
    if (server) followBuilds();
    makeReachable();
    addEventListener("resize", makeReachable);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mountAll);
  else mountAll();
})();
