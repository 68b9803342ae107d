// The playground: a session in the page, its prompt, and what it shows. The session is in a Worker (engine.js); what is drawn is
// what the answers say (docs/json.md). Nothing is sent anywhere: a link carries a session in its fragment.
"use strict";
(() => {
  const { make, yaml, seconds, brief, component, download, picture, sourceOf, Followed, Board, InPage, from, module } = window.Kubestep;
  const by = (id) => document.getElementById(id);
  const FIRST = "deployment", KEPT = "kubestep-playground", KEPT_MAX = 1 << 20;
  // A replay is one file: the styles and scripts of this page, and in the place of this script the player.
  const STYLES = ["kubestep.css", "playground.css"], PLAYER = ["predict.js", "player.js"];
  const SCRIPTS = [...document.scripts].filter((one) => one !== document.currentScript).map(({ src }) => src.replace(/.*\//, "")).concat(PLAYER);

  /** Text to and from what fits into a link. */
  const packed = async (text) => {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let chars = "";
    for (const byte of bytes) chars += String.fromCharCode(byte);
    return btoa(chars).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };
  const unpacked = (text) => {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  };

  class Playground {
    constructor() {
      this.asked = [];
      this.history = [];
      this.place = 0;
      this.listen();
      this.start();
    }

    // ---- a session begins, and ends

    async start() {
      const shared = location.hash.match(/^#s=([\w-]+)$/)?.[1];
      if (shared) {
        try {
          return this.begin({ session: await unpacked(shared) });
        } catch {
          this.say("This link is damaged: it cannot be opened. A new session begins.\n", "pg-error");
        }
      }
      const left = localStorage.getItem(KEPT);
      this.begin(left ? { session: left, left: true } : { scenario: new URLSearchParams(location.search).get("scenario") || FIRST });
    }

    begin({ left, ...open }) {
      this.session?.close();
      this.asked = [];
      this.journal = "";
      this.stop = null;
      this.followed = new Followed((line) => this.ask(line));
      this.board = new Board((what) => this.inspect(what), () => this.redraw(false));
      for (const id of ["pg-map", "pg-strip", "pg-now", "pg-flights", "pg-changes", "pg-code"]) by(id).replaceChildren();
      this.state("The cluster is loading …");
      const session = this.session = new InPage(open, {
        began: (hello) => this.began(hello, open, left),
        answered: (line) => session === this.session && this.take(line),
        ended: (why) => session === this.session && this.ended(why, open, left),
      });
    }

    async began(hello, open, left) {
      this.hello = hello;
      if (!by("pg-scenario").options.length) await this.offer();
      by("pg-scenario").value = hello.scenario;
      this.say(`${hello.title}\n`, "pg-typed");
      if (hello.story) this.say(`${hello.story}\n`, "pg-told");
      if (left) this.say(`Your last session goes on at step ${hello.step}. Restart begins a new one.\n`, "pg-place");
      if (hello.text) this.say(`${hello.text}\n`);
      if (hello.step) this.ask("show").then((line) => this.arrive(line));
      else this.idle();
      by("pg-map").replaceChildren(make("div", { "class": "ks-looks" }, this.board.tabs), this.board.stage);
      this.look();
      by("pg-input").focus({ preventScroll: true });
    }

    async offer() {
      const offered = JSON.parse(await this.session.ask("scenarios"));
      by("pg-scenario").replaceChildren(...offered.map(({ name, title }) => make("option", { value: name, title }, name)));
    }

    /** The module is of no more use: what was typed before is repeated in a new one. */
    ended(why, open, left) {
      if (left) localStorage.removeItem(KEPT);
      this.say(`${why}\n`, "pg-error");
      if (!this.journal || open.session === this.journal) return this.say("Restart begins a new session.\n");
      const journal = this.journal;
      this.say("", "pg-place").append(make("button", { type: "button", click: () => this.begin({ session: journal }) }, "Go on from before this command"));
    }

    interrupt() {
      const journal = this.journal;
      this.say("Interrupted. The session goes on from before this command.\n", "pg-error");
      this.begin({ session: journal });
    }

    // ---- lines to and fro

    /** Sends a line. `then` takes its answer in the place of the log. */
    send(line, silent = false, then = null) {
      this.asked.push({ line, then });
      if (!silent) {
        this.say(`${line || "step"}\n`, "pg-typed");
        if (line && this.history.at(-1) !== line) this.history.push(line);
        this.place = this.history.length;
      }
      this.session.send(line);
      this.busy();
    }

    /** Asks for something that the page draws. Gives a promise of the answer. */
    ask(line) {
      return new Promise((then) => this.send(line, true, then));
    }

    take(answer) {
      const { then } = this.asked.shift() || {};
      this.busy();
      if (then) return then(answer);
      this.keep();
      if (answer.printed) this.say(answer.printed);
      if (answer.text) this.say(answer.text);
      if (answer.kind === "error") this.say(`${answer.message}\n`, "pg-error");
      if (answer.narration) this.say(`${answer.narration}\n`, "pg-told");
      if (answer.kind === "question") this.question(answer);
      if (answer.kind === "end") return;
      this.arrive(answer);
      this.look();
    }

    question({ question, choices }) {
      const log = this.say(`${question}\n`);
      choices.forEach((choice, at) => log.append(make("button", { type: "button", "class": "pg-choice", click: () => this.send(String(at + 1)) }, `${at + 1}. ${choice}`)));
      by("pg-log").scrollTop = by("pg-log").scrollHeight;
    }

    /** Keeps what was typed, for the next time the page is opened. */
    async keep() {
      const { anew, text } = JSON.parse(await this.session.ask("journal"));
      this.journal = anew ? text : this.journal + text;
      if (this.journal.length < KEPT_MAX) localStorage.setItem(KEPT, this.journal);
    }

    busy() {
      clearTimeout(this.slow);
      by("pg-interrupt").hidden = true;
      if (this.asked.length) this.slow = setTimeout(() => { by("pg-interrupt").hidden = false; this.state("Running …"); }, 600);
      else this.rest();
    }

    rest() {
      const memory = `${Math.round(this.session.bytes / (1 << 20))} MiB`;
      this.state(this.stop ? `step ${this.stop.step} · ${seconds(this.stop.t_ns / 1000)} · ${memory}` : memory);
    }

    state(text) {
      by("pg-state").textContent = text;
    }

    say(text, style) {
      const log = by("pg-log"), part = make("p", { "class": style }, text.replace(/\n$/, ""));
      log.append(part);
      while (log.childNodes.length > 600) log.firstChild.remove();
      log.scrollTop = log.scrollHeight;
      return part;
    }

    // ---- what is shown

    idle() {
      const { title, nodes } = this.hello;
      by("pg-now").replaceChildren(make("p", { "class": "ks-where" }, "before the first step"), make("p", { "class": "pg-what" }, title),
        make("p", {}, `${nodes === 1 ? "1 node is" : `${nodes} nodes are`} up, and nothing is deployed. Step, or press Enter.`));
    }

    arrive(stop) {
      if (stop.kind !== "stop") return;
      this.stop = stop;
      const { event, why } = stop;
      by("pg-now").replaceChildren(
        make("p", { "class": "ks-where" }, make("span", { "class": `ks-kind ks-kind-${event.class}` }, event.class), ` step ${stop.step} · ${seconds(stop.t_ns / 1000)}`),
        make("p", { "class": `pg-what ${component(event.from)}` }, brief(event.what)),
        make("p", {}, `${event.from} → ${event.to}`, why ? `, because of step ${why.step}: ${brief(why.what)}` : ""));
      this.strip(stop);
      this.flights(stop);
      this.changes(stop);
      this.code(stop);
    }

    /** The stages that a request has passed, or what a notification did in the component. */
    strip({ facts }) {
      by("pg-strip").replaceChildren(...facts.map(({ topic, text, value }, n) => {
        const [name, rest] = value?.stage ? [value.stage, value.decision] : [topic, text];
        const style = topic === "answer" ? `pg-answer${value.code >= 400 ? " pg-refused" : ""}` : "";
        return make("li", { title: text, style: `--n:${n}`, "class": style }, make("b", {}, name), rest ? ` ${brief(rest)}` : null);
      }));
    }

    flights(stop) {
      by("pg-flights-head").textContent = `In flight: ${stop.pending_total}`;
      by("pg-flights").replaceChildren(...stop.pending.map((one) => make("li", { "class": component(one.from) },
        make("button", { type: "button", title: `Deliver this event now: choose ${one.event}`, click: () => this.send(`choose ${one.event}`) }, `${one.from}: ${brief(one.what)} → ${one.to}`))));
    }

    changes({ change, also }) {
      const all = [change, ...also].filter(Boolean);
      by("pg-changes").replaceChildren(...all.map((one) => make("div", {}, make("p", {}, make("strong", {}, one.object), ` ${one.how}`),
        make("ul", {}, ...[...one.summary.map(([name, value]) => `${name}: ${value}`), ...one.fields.map(({ path, old, new: now }) => `${path}: ${old === null ? "" : `${JSON.stringify(old)} → `}${JSON.stringify(now)}`)]
          .slice(0, 12).map((text) => make("li", {}, text))))));
      if (!all.length) by("pg-changes").append(make("p", {}, "Nothing in etcd."));
    }

    async code({ waiting, step }) {
      const parts = await Promise.all(waiting.slice(0, 2).map(({ task, awaits, file, line }) => sourceOf({ task, awaits, excerpt: [file, line, line, []] })));
      if (this.stop?.step === step) by("pg-code").replaceChildren(...(parts.length ? parts : [make("p", {}, "No reconcile waits.")]));
    }

    /** Draws what is there now. */
    async look() {
      const { followed, board } = this;
      const stop = await followed.follow(this.stop);
      if (stop === undefined || followed !== this.followed) return;
      if (stop !== this.stop) this.arrive(stop);
      board.take(followed.course);
      this.redraw(true);
    }

    redraw(animate) {
      const { course } = this.followed;
      if (!course) return;
      this.board.show(course.steps.length, this.followed.flights(this.stop), animate);
    }

    inspect(what) {
      if (what?.message) return this.send(what.message.event ? `choose ${what.message.event}` : "why");
      const { course } = this.followed, panel = by("pg-object"), json = what?.object && course.state(course.steps.length).objects[what.object];
      panel.hidden = !json;
      if (!json) return;
      const close = () => { panel.hidden = true; by("pg-input").focus(); };
      const { uid, resourceVersion, creationTimestamp, generation, managedFields, ...metadata } = json.metadata;
      const { status, ...rest } = json;
      const edit = () => {
        by("pg-files").open = true;
        this.edit("edit.yaml", yaml({ ...rest, metadata }));
        close();
        by("pg-yaml").focus();
      };
      panel.replaceChildren(make("button", { type: "button", "class": "pg-close", click: close }, "Close"), make("h2", {}, what.object),
        make("p", {}, make("button", { type: "button", click: edit }, "Edit"), " ", make("button", { type: "button", click: () => this.send(`describe ${json.kind.toLowerCase()} ${json.metadata.name} -n ${json.metadata.namespace}`) }, "Describe")),
        make("pre", { tabindex: 0 }, yaml({ ...rest, metadata: json.metadata, status })));
      panel.scrollIntoView({ block: "nearest" });
    }

    // ---- the editor

    edit(name, text) {
      by("pg-file").value = name;
      by("pg-yaml").value = text;
      this.number();
    }

    number(wrong) {
      const area = by("pg-yaml"), count = area.value.split("\n").length;
      by("pg-numbers").replaceChildren(...Array.from({ length: count }, (_, n) => make("span", { "class": n + 1 === wrong ? "pg-wrong" : "" }, `${n + 1}\n`)));
      by("pg-numbers").scrollTop = area.scrollTop;
    }

    apply() {
      const name = by("pg-file").value.trim() || "my.yaml";
      this.session.file(name, by("pg-yaml").value);
      by("pg-fault").textContent = "";
      this.number();
      this.say(`kubectl apply -f ${name}\n`, "pg-typed");
      this.send(`kubectl apply -f ${name}`, true, (answer) => {
        const text = answer.message || answer.text || "", line = Number(text.match(/line (\d+)/)?.[1]);
        if (line) {
          this.number(line);
          by("pg-fault").textContent = text.trim();
        }
        this.asked.unshift({ line: "" });
        this.take(answer);
      });
    }

    // ---- keys, buttons, files

    listen() {
      const input = by("pg-input"), area = by("pg-yaml");
      for (const button of document.querySelectorAll(".pg-bar [data-line]")) button.addEventListener("click", () => this.send(button.dataset.line));
      by("pg-interrupt").addEventListener("click", () => this.interrupt());
      by("pg-form").addEventListener("submit", (event) => {
        event.preventDefault();
        if (this.choosing()) return this.choose();
        this.send(input.value.trim());
        input.value = "";
      });
      input.addEventListener("keydown", (event) => this.key(event));
      input.addEventListener("input", () => this.hide());
      input.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
      by("pg-scenario").addEventListener("change", () => this.begin({ scenario: by("pg-scenario").value, quiz: by("pg-quiz").checked }));
      by("pg-anew").addEventListener("click", () => this.begin({ scenario: by("pg-scenario").value, quiz: by("pg-quiz").checked }));
      by("pg-quiz").addEventListener("change", () => this.begin({ scenario: by("pg-scenario").value, quiz: by("pg-quiz").checked }));
      by("pg-share").addEventListener("click", () => this.share());
      by("pg-picture").addEventListener("click", () => this.picture());
      by("pg-save").addEventListener("click", async () => download(`${this.hello.scenario}.yaml`, await this.saved(), "application/yaml"));
      by("pg-open").addEventListener("click", () => by("pg-session").click());
      by("pg-session").addEventListener("change", async ({ target }) => {
        if (target.files[0]) this.begin({ session: await target.files[0].text() });
        target.value = "";
      });
      by("pg-large").addEventListener("click", ({ target }) => {
        const large = document.documentElement.classList.toggle("pg-projector");
        target.setAttribute("aria-pressed", large);
        this.redraw(false);
      });
      by("pg-apply").addEventListener("click", () => this.apply());
      by("pg-download").addEventListener("click", () => download(by("pg-file").value, area.value, "application/yaml"));
      by("pg-upload").addEventListener("change", async ({ target }) => {
        const file = target.files[0];
        if (file) this.edit(file.name, await file.text());
        target.value = "";
      });
      area.addEventListener("input", () => this.number());
      area.addEventListener("scroll", () => { by("pg-numbers").scrollTop = area.scrollTop; });
      by("pg-replay").addEventListener("click", () => this.replay());
      this.edit("my.yaml", EXAMPLE);
    }

    key(event) {
      const input = by("pg-input");
      const recall = (more) => {
        this.place = Math.max(0, Math.min(this.history.length, this.place + more));
        input.value = this.history[this.place] || "";
      };
      if (this.choosing() && ["ArrowUp", "ArrowDown", "Escape"].includes(event.key)) {
        event.preventDefault();
        return event.key === "Escape" ? this.hide() : this.mark(event.key === "ArrowDown" ? 1 : -1);
      }
      if (event.ctrlKey && event.key === "ArrowLeft") this.send("back");
      else if (event.ctrlKey && event.key === "ArrowRight") this.send("step");
      else if (event.key === "ArrowUp") recall(-1);
      else if (event.key === "ArrowDown") recall(1);
      else if (event.key === "Tab" && input.value && !event.shiftKey) this.complete();
      else return;
      event.preventDefault();
    }

    // ---- completion

    async complete() {
      const input = by("pg-input"), line = input.value;
      const lines = JSON.parse(await this.session.ask({ complete: line }));
      if (line !== input.value || !lines.length) return;
      if (lines.length === 1) return this.put(`${lines[0]} `);
      let same = lines[0];
      for (const one of lines) while (!one.startsWith(same)) same = same.slice(0, -1);
      if (same.length > line.length) return this.put(same);
      const start = line.lastIndexOf(" ") + 1;
      by("pg-choices").replaceChildren(...lines.map((one, n) => make("li", {
        role: "option", id: `pg-choice-${n}`, "data-line": one, mousedown: () => { this.mark(0, n); this.choose(); },
      }, one.slice(start))));
      by("pg-choices").hidden = false;
      input.setAttribute("aria-expanded", "true");
      this.mark(0, 0);
    }

    put(line) {
      const input = by("pg-input");
      input.value = line;
      input.setSelectionRange(line.length, line.length);
    }

    choosing() {
      return !by("pg-choices").hidden;
    }

    mark(step, to) {
      const options = [...by("pg-choices").children], now = options.findIndex((one) => one.getAttribute("aria-selected") === "true");
      const next = to ?? (now + step + options.length) % options.length;
      options.forEach((one, n) => one.setAttribute("aria-selected", n === next));
      options[next]?.scrollIntoView({ block: "nearest" });
      by("pg-input").setAttribute("aria-activedescendant", options[next]?.id || "");
    }

    choose() {
      const chosen = by("pg-choices").querySelector('[aria-selected="true"]');
      if (chosen) this.put(`${chosen.dataset.line} `);
      this.hide();
      by("pg-input").focus();
    }

    hide() {
      by("pg-choices").hidden = true;
      by("pg-input").setAttribute("aria-expanded", "false");
      by("pg-input").removeAttribute("aria-activedescendant");
    }

    // ---- sharing

    /** Saves what is seen as a picture. */
    picture() {
      const { title, scenario } = this.hello, step = this.stop?.step || 0;
      if (!this.followed.course) return;
      const words = [...by("pg-now").querySelectorAll("p:not(.ks-where)")].map((p) => p.textContent);
      download(`${scenario}-${step}.svg`, picture(this.board.drawn, `${title} (kubestep step ${scenario}, step ${step})`, words), "image/svg+xml");
    }

    /** All steps so far as a page of its own: one file, which needs neither this site nor a network. */
    async replay() {
      const { value } = await this.ask("scene");
      const text = (name) => fetch(from(`assets/${name}`)).then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(`${name}: ${answer.status}`))));
      if (!value?.scene.steps.length) return this.say("There is nothing to replay before the first step.\n", "pg-place");
      try {
        const [styles, scripts] = await Promise.all([STYLES, SCRIPTS].map((names) => Promise.all(names.map(text))));
        download(`${this.hello.scenario}.html`, page(value.scene, styles.join("\n"), scripts.join("\n")), "text/html");
        this.say(`Steps ${value.scene.steps[0].n} to ${value.scene.steps.at(-1).n} are saved as one page: ${this.hello.scenario}.html.\n`, "pg-place");
      } catch (error) {
        this.say(`The replay cannot be made: ${error.message}.\n`, "pg-error");
      }
    }

    async saved() {
      return JSON.parse(await this.session.ask("session")).text;
    }

    async share() {
      const link = `${location.href.split("#")[0].split("?")[0]}#s=${await packed(await this.saved())}`;
      history.replaceState(null, "", link);
      const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
      this.say(copied ? "The link is copied. It opens at this step.\n" : "The address of this page is the link now. It opens at this step.\n", "pg-place");
    }
  }

  /** A page with a scene and its player in it. Nothing of the data or the scripts can end the element that it stands in. */
  function page(scene, styles, scripts) {
    const plain = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
    const title = `${scene.title}: steps ${scene.steps[0].n} to ${scene.steps.at(-1).n}`;
    return `<!DOCTYPE html>
<html lang="en" class="js"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${plain(title)}</title><style>${styles.replaceAll("</", "<\\/")}</style></head>
<body class="pg-replay"><main><h1>${plain(title)}</h1>
<section class="ks-scene" aria-label="${plain(title)}"><div class="ks-player"></div>
<p class="ks-command">In the terminal: <code>kubestep step ${plain(scene.scenario)}${scene.seed ? ` --seed ${scene.seed}` : ""}</code></p>
<script type="application/json">${JSON.stringify(scene).replaceAll("<", "\\u003c")}</script></section></main>
<noscript><p>This replay is drawn by a script.</p></noscript>
<script>${scripts.replaceAll("</script", "<\\/script")}</script></body></html>
`;
  }

  const EXAMPLE = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: hello
spec:
  replicas: 2
  selector:
    matchLabels: {app: hello}
  template:
    metadata:
      labels: {app: hello}
    spec:
      containers:
      - name: web
        image: nginx:1.29
        ports:
        - containerPort: 80
`;

  /** A page that is a file may run no Worker. */
  const none = () => {
    for (const part of document.querySelectorAll(".pg-top > :not(.pg-brand), .ks-skip")) part.remove();
    document.querySelector("main").replaceChildren(make("p", { "class": "pg-none" }, "The playground runs a cluster in this page, which browsers allow no page that is a file. Serve this folder with a web server, any will do, and open it there. ",
      make("a", { href: "index.html" }, "The course"), " reads without, and its scenes play."));
  };

  if (module) window.playground = new Playground();
  else none();
})();
