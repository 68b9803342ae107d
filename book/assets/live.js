// A live session in the place of a scene: commands as at the prompt, answers as docs/json.md says.
"use strict";
(() => {
  const { make, yaml, seconds, brief, title, sourceOf, Followed } = window.Kubestep;

  const EXAMPLES = ["step", "next", "until create pods request", "break pod/* condition=Ready:True", "continue", "back", "why",
    "explain", "pending", "kubectl get pods -o wide", "scale deployment/web --replicas=3", "delete pod NAME", "crash kube-controller-manager",
    "kill NAME", "choose e1", "hold e1", "help"];

  class Live {
    constructor(player) {
      this.player = player;
      this.asked = [];
      this.history = [];
      this.place = 0;
      this.stop = null;
      this.followed = new Followed((line) => this.ask(line));
      const { scenario, seed } = player.course.data;
      this.number = player.course.steps[player.at - 1].number;
      this.build();
      // With other code the run is another one: its steps have other numbers.
      const exercise = player.whose?.value;
      if (exercise) this.say(`Your ${exercise} is compiled, and the run begins at its start with it.\n`);
      this.session = window.Kubestep.begin({ scenario, seed, exercise }, {
        began: () => this.send(exercise ? "step" : `goto ${this.number}`),
        answered: (line) => this.take(line),
        ended: (why) => this.closed(why),
      });
    }

    build() {
      const { player } = this;
      const button = (text, label, line) => make("button", { type: "button", title: label, click: () => this.send(line) }, text);
      this.input = make("input", { type: "text", "aria-label": "Command", placeholder: "a command, as at the prompt; Enter alone steps", list: `${player.section.id}-commands`, autocomplete: "off", spellcheck: "false", keydown: (event) => this.recall(event) });
      const form = make("form", { submit: (event) => {
        event.preventDefault();
        const line = this.input.value.trim();
        if (line && this.history.at(-1) !== line) this.history.push(line);
        this.place = this.history.length;
        this.send(line || "step");
        this.input.value = "";
      } }, this.input);
      const list = make("datalist", { id: `${player.section.id}-commands` }, ...EXAMPLES.map((value) => make("option", { value })));
      this.log = make("pre", { "class": "ks-log", tabindex: 0, "aria-label": "What was said", "aria-live": "polite" });
      this.bar = make("div", { "class": "ks-live-bar", role: "toolbar", "aria-label": "Live session" },
        make("strong", {}, "Live"), button("Step", "To the next notification", "step"), button("Event", "To the next event of any kind", "stepi"),
        button("Reaction", "Until the receiver has reacted", "next"), button("Back", "Back to the stop before", "back"),
        button("Continue", "To a breakpoint or the next command", "continue"), button("Why", "What led here", "why"),
        make("button", { type: "button", click: () => this.end() }, "End"), this.waits = make("span", { role: "status", hidden: true }, "Running …"));
      this.element = make("div", { "class": "ks-live" }, this.bar, form, list, this.log);
      player.bar.hidden = true;
      player.bar.after(this.element);
      player.detail.replaceChildren();
      this.input.focus({ preventScroll: true });
    }

    /** Sends a line, as if it was typed. */
    send(line) {
      this.asked.push({});
      this.session.send(line);
      this.say(`(kubestep) ${line}\n`, "b");
      this.busy();
    }

    /** Asks for something that the page draws. Gives a promise of the answer. */
    ask(line) {
      return new Promise((then) => {
        this.asked.push({ then });
        this.session.send(line);
      });
    }

    /** Says that a command takes its time. */
    busy() {
      clearTimeout(this.slow);
      this.waits.hidden = true;
      if (this.asked.length) this.slow = setTimeout(() => { this.waits.hidden = false; }, 500);
    }

    /** The lines that were typed, with the arrow keys. */
    recall(event) {
      if (!["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      this.place = Math.max(0, Math.min(this.history.length, this.place + (event.key === "ArrowUp" ? -1 : 1)));
      this.input.value = this.history[this.place] || "";
    }

    say(text, tag = "span") {
      this.log.append(make(tag, {}, text));
      while (this.log.childNodes.length > 400) this.log.firstChild.remove();
      this.log.scrollTop = this.log.scrollHeight;
    }

    take(answer) {
      if (answer.kind === "end") return;
      const { then } = this.asked.shift() || {};
      this.busy();
      if (then) return then(answer);
      this.say((answer.printed || "") + (answer.text || "") + (answer.message ? `${answer.message}\n` : ""));
      this.arrive(answer);
      this.look();
    }

    /** A stop, in the words of the scene. */
    arrive(stop) {
      if (stop.kind !== "stop") return;
      this.stop = stop;
      const { event, facts, waiting, change, why } = stop;
      const said = make("p", {}, `${event.from}: ${event.what} → ${event.to}`);
      this.player.now.replaceChildren(
        make("p", { "class": "ks-where" }, make("span", { "class": `ks-kind ks-kind-${event.class}` }, event.class), ` step ${stop.step} · ${seconds(stop.t_ns / 1000)}`),
        said, ...(stop.narration ? [make("p", { "class": "ks-said" }, stop.narration)] : []));
      const lines = facts.filter((fact) => fact.topic !== "stage").map((fact) => make("li", {}, `${fact.topic}: ${fact.text}`));
      for (const field of (change?.fields || []).slice(0, 6)) lines.push(make("li", {}, `${change.object}: ${field.path} is ${JSON.stringify(field.new)}`));
      for (const one of waiting.slice(0, 4)) lines.push(make("li", {}, make("strong", {}, one.task), ` waits for ${brief(one.awaits)}`));
      const flights = stop.pending.map((one) => make("li", {}, make("button", { type: "button", title: `Deliver it now: choose ${one.event}`, click: () => this.send(`choose ${one.event}`) }, `${one.from}: ${brief(one.what)} → ${one.to}`)));
      this.player.detail.replaceChildren(...(why ? [make("p", {}, `because of step ${why.step}: ${why.what}`)] : []), make("ul", {}, ...lines), this.code = make("div"),
        make("details", { "class": "ks-flights", open: true }, make("summary", {}, `In flight: ${stop.pending_total}; choose one to deliver it first`), make("ul", {}, ...flights)));
    }

    /** Draws what is there now. */
    async look() {
      const stop = await this.followed.follow(this.stop);
      if (stop === undefined || this.ended) return;
      if (stop !== this.stop) this.arrive(stop);
      const { course } = this.followed, step = course.steps.at(-1);
      this.player.board.take(course);
      this.draw(step && step.number === this.stop?.step);
      if (step?.code && step.number === this.stop?.step) this.code.replaceChildren(await sourceOf(step.code));
    }

    draw(animate) {
      const { course } = this.followed;
      if (!course) return;
      this.player.board.show(course.steps.length, this.followed.flights(this.stop), animate);
    }

    /** An object to look at and to edit. What is on its way is delivered; what has arrived says why. */
    inspect(what) {
      if (what?.message) return this.send(what.message.event ? `choose ${what.message.event}` : "why");
      const { panel } = this.player, { course } = this.followed;
      panel.hidden = !what || !course;
      if (panel.hidden) return;
      const close = this.player.closing(), state = course.state(course.steps.length), json = state.objects[what.object];
      if (!json) {
        const about = what.component ? this.player.component(what.component, state) : [title(what.object), make("p", {}, "It is not there now.")];
        panel.replaceChildren(close, ...about);
        return;
      }
      const { status, ...rest } = json;
      const { uid, resourceVersion, creationTimestamp, generation, managedFields, ...metadata } = rest.metadata;
      const text = make("textarea", { rows: 16, spellcheck: "false", "aria-label": `Manifest of ${what.object}` });
      text.value = yaml({ ...rest, metadata });
      const apply = make("button", { type: "button", click: () => {
        this.session.file("edit.yaml", text.value);
        this.send("apply -f edit.yaml");
      } }, "Apply");
      panel.replaceChildren(close, title(what.object), text, make("p", {}, apply, " types kubectl apply; step on to see what comes of it."),
        make("details", {}, make("summary", {}, "Status"), make("pre", {}, yaml(status || {}))));
    }

    closed(why) {
      if (!this.ended) this.say(`${why ? `${why}\n` : ""}The session is over. End goes back to the scene.\n`);
    }

    end() {
      this.ended = true;
      this.session.close();
      this.element.remove();
      this.player.panel.hidden = true;
      this.player.bar.hidden = false;
      this.player.giveBack();
    }
  }

  window.Kubestep.Live = Live;
})();
