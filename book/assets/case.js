// A case of "Broken: find out why": a prompt below what is seen, where sessions can run. The text of the page is whole without it.
"use strict";
(() => {
  const { live, make, begin, passed } = window.Kubestep;
  const EXAMPLES = ["get pods", "get pods,services -o wide", "describe pod NAME", "get events", "run", "back", "hint", "solved", "help"];

  class Case {
    constructor(section) {
      this.section = section;
      this.name = section.dataset.scenario;
      this.place = section.querySelector(".ks-try");
      this.history = [];
      this.at = 0;
      this.offer();
    }

    offer() {
      this.place.replaceChildren(make("button", { type: "button", click: () => this.open() }, "Repair it here"));
    }

    open() {
      const button = (text, label, line) => make("button", { type: "button", title: label, click: () => this.send(line) }, text);
      this.input = make("input", { type: "text", "aria-label": `Command for ${this.name}`, placeholder: "a command, such as get pods; Enter alone steps", list: `${this.section.id}-commands`, autocomplete: "off", autocapitalize: "off", spellcheck: "false", keydown: (event) => this.recall(event) });
      const form = make("form", { submit: (event) => {
        event.preventDefault();
        const line = this.input.value.trim();
        if (line && this.history.at(-1) !== line) this.history.push(line);
        this.at = this.history.length;
        this.input.value = "";
        this.send(line || "step");
      } }, this.input);
      const list = make("datalist", { id: `${this.section.id}-commands` }, ...EXAMPLES.map((value) => make("option", { value })));
      this.log = make("pre", { "class": "ks-log", tabindex: 0, "aria-label": "What was said", "aria-live": "polite" });
      const bar = make("div", { "class": "ks-live-bar", role: "toolbar", "aria-label": `Session of ${this.name}` },
        make("strong", {}, "Live"), button("Pods", "kubectl get pods", "get pods -o wide"), button("Run", "On until nothing is left to do", "run"),
        button("Back", "Back to the stop before", "back"), button("Hint", "The next hint", "hint"), button("Solved?", "Whether the cluster is right", "solved"),
        make("button", { type: "button", click: () => this.end() }, "End"), this.waits = make("span", { role: "status" }, "Starting …"));
      this.place.replaceChildren(make("div", { "class": "ks-live" }, bar, form, list, this.log));
      this.quiet = [];
      // Commands run on to their end: here the result counts, not the way there.
      this.session = begin({ scenario: this.name, seed: 0 }, {
        began: () => this.send("option to-end on", true),
        answered: (answer) => this.take(answer),
        ended: (why) => this.say(`${why ? `${why}\n` : ""}The session is over.\n`),
      });
      this.input.focus({ preventScroll: true });
    }

    /** Sends a line, as if it was typed. */
    send(line, quietly = false) {
      this.quiet.push(quietly);
      if (!quietly) this.say(`(kubestep) ${line}\n`, "b");
      this.session.send(line);
      this.waits.textContent = "Running …";
    }

    take(answer) {
      if (answer.kind === "end") return;
      const quietly = this.quiet.shift();
      if (!this.quiet.length) this.waits.textContent = "";
      if (quietly) return;
      this.say((answer.printed || "") + (answer.text || "") + (answer.message ? `${answer.message}\n` : ""));
      if (answer.kind === "stop") this.say(`step ${answer.step}: ${answer.event.from}: ${answer.event.what} → ${answer.event.to}\n`);
      if (answer.value?.topic === "solved" && answer.value.solved) this.solved();
    }

    solved() {
      passed(`broken/${this.name}`);
      this.section.classList.add("ks-solved");
      this.section.querySelector(".ks-cause").open = true;
    }

    /** The lines that were typed, with the arrow keys. */
    recall(event) {
      if (!["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      this.at = Math.max(0, Math.min(this.history.length, this.at + (event.key === "ArrowUp" ? -1 : 1)));
      this.input.value = this.history[this.at] || "";
    }

    say(text, tag = "span") {
      this.log.append(make(tag, {}, text));
      while (this.log.childNodes.length > 400) this.log.firstChild.remove();
      this.log.scrollTop = this.log.scrollHeight;
    }

    end() {
      this.session.close();
      this.offer();
    }
  }

  function mount() {
    if (!live) return;
    for (const section of document.querySelectorAll(".ks-case")) new Case(section);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
  else mount();
})();
