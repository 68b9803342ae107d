// The player of scenes: a scene's data stands beside it in the page, its words in the list of steps. Nothing is fetched, but for
// live sessions (engine.js).
"use strict";
(() => {
  const { server, live, make, download, picture, short, seconds, yaml, title, code, views, Course, Board, Live, Predictions } = window.Kubestep;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  // A step that the author tells of is played for as long as its words take to read.
  // A cover plays like a film: what is said stays while the steps after it go by.
  const PLAY_MS = 900, COVER_MS = 150, TOLD_MS = 1600, LETTER_MS = 42;
  // So many steps are tried to learn how high the picture becomes.
  const TRIED = 12;
  // So much of the window may a picture take that is seen whole.
  const TALL = 0.75;

  class Player {
    constructor(section) {
      this.section = section;
      this.cover = section.classList.contains("ks-cover");
      this.course = new Course(JSON.parse(section.querySelector("script").textContent));
      // A replay's words stand in its data, a scene's in the page.
      if (!this.course.words.length) this.course.words = [...section.querySelectorAll(".ks-steps li[value]")];
      this.words = this.course.words;
      this.told = this.words.flatMap((word, place) => (word.querySelector(":scope > .ks-said") ? [place + 1] : []));
      this.at = 0;
      this.timer = null;
      this.build();
      this.go(this.cover ? this.course.steps.length : 1, false);
      this.hold();
      new ResizeObserver(() => this.hold()).observe(this.root);
    }

    build() {
      const { steps } = this.course;
      this.course.state(steps.length);
      this.board = new Board((what) => this.open(what), () => this.go(this.at, false));
      this.board.take(this.course);
      const icon = (d) => make("svg", { viewBox: "0 0 16 16", "class": "ks-icon", "aria-hidden": "true" }, make("path", { d }));
      this.icons = { play: () => icon("M4 2l9 6-9 6z"), pause: () => icon("M3 2h3.5v12H3zM9.5 2H13v12H9.5z") };
      const button = (name, label, text, act) => make("button", { type: "button", "class": `ks-${name}`, title: label, "aria-label": label, click: act }, text);
      this.predictions = new Predictions(this);
      this.playing = button("play", "Play (space)", this.icons.play(), () => this.toggle());
      const ticks = make("span", { "class": "ks-ticks", "aria-hidden": "true" }, ...this.told.map((at) => make("i", { style: `left:${steps.length > 1 ? 100 * (at - 1) / (steps.length - 1) : 0}%` })));
      this.range = make("input", { type: "range", min: 1, max: steps.length, value: 1, "aria-label": "Step of the scene", input: () => this.go(Number(this.range.value), false) });
      this.count = make("span", { "class": "ks-count" });
      const bar = make("div", { "class": "ks-bar", role: "toolbar", "aria-label": "Step through the scene" },
        button("home", "First step (Home)", icon("M3 2h2v12H3zM13 2v12L6 8z"), () => this.go(1)),
        button("back", "Back (left arrow)", icon("M12 2v12L3 8z"), () => this.go(this.at - 1)),
        this.playing,
        ...(this.told.length ? [button("told", "To the next step that is told of (t)", "Next", () => this.predictions.ask() || this.toTold())] : []),
        button("step", "Step (right arrow)", "Step", () => this.forward()),
        button("next", "To the next informer notification (n)", "Notification", () => this.toNotification()),
        button("end", "Last step (End)", icon("M11 2h2v12h-2zM3 2l7 6-7 6z"), () => this.go(steps.length)),
        make("span", { "class": "ks-slider" }, this.range, ticks), this.count);
      if (this.cover) bar.append(button("closer", "Look closer: step through it, with all there is to see", "Look closer", () => this.closer()));
      if (live) bar.append(button("live", "Take over: go on from here on your own, with commands", "Take over", () => this.takeOver()));
      if (server) bar.append(this.offer());
      this.bar = bar;
      this.now = make("div", { "class": "ks-now", "aria-live": "polite" });
      this.detail = make("div", { "class": "ks-detail" });
      this.panel = make("aside", { "class": "ks-panel", "aria-label": `Details of ${this.section.getAttribute("aria-label")}`, hidden: true });
      const player = this.root = this.section.querySelector(".ks-player");
      const extras = make("div", { "class": "ks-extras" }, this.predictions.button, button("save", "Save what is seen as a picture (SVG)", "Picture", () => this.save()));
      this.touch = this.cover && make("button", { type: "button", "class": "ks-touch", "aria-label": "Play", click: () => this.toggle() }, make("span", {}, icon("M5 2.5l9 5.5-9 5.5z")));
      if (this.touch) this.board.stage.append(this.touch);
      player.append(bar, this.now, make("div", { "class": "ks-looks" }, this.board.tabs, extras), this.board.stage, this.panel, this.detail);
      player.tabIndex = 0;
      player.setAttribute("role", "group");
      player.setAttribute("aria-label", "Player. Arrow keys step, space plays, n goes to the next notification, w says why.");
      player.addEventListener("keydown", (event) => this.key(event));
      this.section.classList.add("ks-mounted");
    }

    /** Gives words and picture the room that they need at most, so that nothing below moves from step to step. */
    hold() {
      const width = this.root.clientWidth;
      if (!width || width === this.held || this.live) return;
      this.held = width;
      const { at, board } = this, { view } = board;
      board.view = null;
      board.stage.style.minHeight = this.now.style.minHeight = board.near.style.height = "";
      const length = (word) => [...word.querySelectorAll(":scope > p")].reduce((sum, p) => sum + p.textContent.length, 0);
      const fill = (place) => Object.keys(this.course.state(place + 1).objects).length;
      const by = (measure) => this.words.map((word, place) => [measure(word, place), place]).sort(([a], [b]) => b - a).slice(0, TRIED / 3).map(([, place]) => place);
      const even = Array.from({ length: TRIED }, (_, n) => Math.round((n * (this.words.length - 1)) / (TRIED - 1)));
      let words = 0, picture = 0;
      for (const place of new Set([...by(length), ...by((_, at) => fill(at)), ...even])) {
        this.show(place + 1, false);
        words = Math.max(words, this.now.getBoundingClientRect().height);
        picture = Math.max(picture, board.map.element.getBoundingClientRect().height);
      }
      for (board.view of views.filter((one) => one.whole && one.has(this.course))) {
        for (const place of even) {
          this.show(place + 1, false);
          picture = Math.max(picture, Math.min(board.near.scrollHeight, innerHeight * TALL));
        }
      }
      // Half pixels would be told apart.
      this.now.style.minHeight = `${Math.ceil(words)}px`;
      board.stage.style.minHeight = board.near.style.height = `${Math.ceil(picture)}px`;
      board.view = view;
      this.show(at, false);
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
        "ArrowRight": () => this.forward(), "ArrowLeft": () => this.go(this.at - 1), "Home": () => this.go(1),
        "End": () => this.go(this.course.steps.length), "n": () => this.toNotification(), "t": () => this.predictions.ask() || this.toTold(),
        "w": () => this.open({ message: this.course.steps[this.at - 1] }),
        " ": pressed ? null : () => this.toggle(), "Escape": this.panel.hidden ? null : () => this.close(),
      };
      for (const [n] of (this.predictions.open?.choices || []).entries()) acts[n + 1] = () => this.predictions.take(n);
      const act = acts[event.key];
      // mdBook turns pages with the arrow keys.
      if (event.key.startsWith("Arrow")) event.stopPropagation();
      if (!act || (slides && !["n", "t", "w", " ", "Escape"].includes(event.key))) return;
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

    /** A step on, or a question about it. */
    forward() {
      if (!this.predictions.ask()) this.go(this.at + 1);
    }

    /** Goes to the step with this place, from 1. */
    go(at, animate = true) {
      this.exchange(() => (this.live ? this.live.draw(false) : this.show(at, animate)));
    }

    show(at, animate) {
      const end = this.course.steps.length;
      const before = this.at;
      this.at = Math.max(1, Math.min(end, at));
      this.predictions.open = null;
      if (this.at === end) this.pause();
      const step = this.course.steps[this.at - 1], word = this.words[this.at - 1];
      this.range.value = this.at;
      this.range.setAttribute("aria-valuetext", `step ${this.at} of ${end}`);
      this.count.textContent = `${this.at} / ${end} · ${seconds(step.time)}`;
      const told = this.cover ? this.words[this.told.findLast((place) => place <= this.at) - 1] : word;
      const texts = [told?.querySelector(":scope > .ks-said"), ...word.querySelectorAll(":scope > p:not(.ks-said)")].filter(Boolean).map((p) => p.cloneNode(true));
      if (this.touch) this.touch.hidden = this.at !== end;
      this.now.replaceChildren(make("p", { "class": "ks-where" }, make("span", { "class": `ks-kind ks-kind-${step.kind}` }, step.kind), ` step ${step.number}`), ...texts);
      this.showDetail(step, word);
      this.board.show(this.at, this.course.flights(this.at), animate && this.at === before + 1);
      if (this.shown) this.inspect(this.shown);
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

    /** Saves what is seen as a file: the cluster or the view, with the scene, the step, and what is said of it. */
    save() {
      const { data, steps } = this.course, step = this.live ? this.live.followed.course?.steps.at(-1) : steps[this.at - 1];
      if (!step) return;
      const words = [...this.now.querySelectorAll("p:not(.ks-where)")].map((p) => p.textContent);
      const title = `${this.section.getAttribute("aria-label").replace(/^Scene: /, "")} (kubestep step ${data.scenario}, step ${step.number}, ${seconds(step.time)})`;
      download(`${data.scenario}-${step.number}.svg`, picture(this.board.drawn, title, words), "image/svg+xml");
    }

    toCause() {
      const place = this.course.place.get(this.course.steps[this.at - 1].cause);
      if (place !== undefined) this.go(place + 1);
    }

    /** To the next step that the author tells of; after the last of them, to the end. */
    toTold() {
      this.go(this.told.find((at) => at > this.at) || this.course.steps.length);
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
      this.timer = setTimeout(() => this.play(), PLAY_MS);
    }

    play() {
      this.go(this.at + 1);
      if (!this.timer) return;
      const said = this.told.includes(this.at) && this.now.querySelector(".ks-said").textContent.length;
      this.timer = setTimeout(() => this.play(), said ? TOLD_MS + LETTER_MS * said : this.cover ? COVER_MS : PLAY_MS);
    }

    pause() {
      clearTimeout(this.timer);
      this.timer = null;
      this.now.setAttribute("aria-live", "polite");
      this.playing.replaceChildren(this.icons.play());
    }

    /** From the cover to the scene, at its first step. */
    closer() {
      this.pause();
      this.cover = false;
      for (const part of [this.touch, this.bar.querySelector(".ks-closer")]) part.remove();
      this.touch = null;
      this.section.classList.remove("ks-cover");
      this.held = null;
      this.go(1, false);
      this.hold();
      this.root.focus({ preventScroll: true });
    }

    takeOver() {
      this.pause();
      this.inspect(null);
      this.board.choose(null);
      this.predictions.button.hidden = true;
      this.live = new Live(this);
    }

    /** The scene as it was before the reader took over. */
    giveBack() {
      this.live = null;
      this.predictions.button.hidden = false;
      this.board.take(this.course);
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
      const homes = Object.entries(state.caches).filter(([actor]) => this.board.map.home(actor) === this.board.map.boxes.get(name));
      const rows = homes.flatMap(([actor, cache]) => Object.entries(cache).filter(([, revision]) => revision).map(([object, revision]) => {
        const now = state.objects[object] ? state.revision[object] : null;
        const verdict = now === null ? "gone from etcd" : revision < now ? `etcd has ${now}` : "as in etcd";
        return make("tr", { "class": revision === now ? "" : "ks-stale" }, make("td", {}, actor), make("td", {}, short(object)), make("td", {}, String(revision)), make("td", {}, verdict));
      }));
      const table = make("table", {}, make("thead", {}, make("tr", {}, ...["cache of", "object", "revision", ""].map((head) => make("th", {}, head)))), make("tbody", {}, ...rows));
      return [title(name.replace(/^node\//, "")), rows.length ? table : make("p", {}, "Nothing has come into its caches in this scene so far.")];
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
