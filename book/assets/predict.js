// "What comes next?" in a scene: the questions that the stepper's quiz asks, of the steps that the scene has.
"use strict";
(() => {
  const { make } = window.Kubestep;
  const CHOICES = 4;

  /** What can be asked at a place, in turn: whom a step is about, and which steps count. */
  const QUESTIONS = [
    { text: "Which component is notified next?", counts: (step) => step.kind === "notification", who: (step) => step.to },
    { text: "Who writes to etcd next?", counts: (step) => step.changes.length > 0, who: (step) => step.from },
  ];

  /** A question, its choices, and where its answer shows; nothing if there is only one choice. */
  function question(course, at, turn) {
    const { text, counts, who } = QUESTIONS[turn % QUESTIONS.length];
    const place = course.steps.findIndex((step, n) => n >= at && counts(step));
    if (place < 0) return null;
    const names = (steps) => steps.filter(counts).map(who);
    const others = [...names(course.steps.slice(place)), ...names(course.steps.slice(0, place).reverse())];
    const choices = [...new Set(others)].slice(0, CHOICES), right = choices[0];
    if (choices.length < 2) return null;
    // Anywhere, and the same each time.
    const turned = (course.steps[place].number * 7 + turn) % choices.length;
    return { text, right, place, choices: [...choices.slice(turned), ...choices.slice(0, turned)] };
  }

  /** The questions of a player, if its reader wants them. */
  class Predictions {
    constructor(player) {
      this.player = player;
      this.on = false;
      this.turn = this.answered = this.right = 0;
      this.button = make("button", { type: "button", "class": "ks-predict", "aria-pressed": "false", title: "Be asked what comes next before each step", click: () => this.toggle() }, "Predict");
    }

    toggle() {
      this.on = !this.on;
      this.open = null;
      this.button.setAttribute("aria-pressed", String(this.on));
      this.player.go(this.player.at, false);
    }

    /** Asks in the place of a step. Whether there was something to ask. */
    ask() {
      const { course, at, detail } = this.player;
      if (!this.on) return false;
      this.open ||= question(course, at, this.turn) || question(course, at, this.turn + 1);
      if (!this.open) return false;
      const choice = (name, n) => make("li", {}, make("button", { type: "button", "data-like": `choice ${n}`, click: () => this.take(n) }, `${n + 1}. ${name}`));
      detail.replaceChildren(make("fieldset", { "class": "ks-asked" }, make("legend", {}, this.open.text), make("ol", {}, ...this.open.choices.map(choice))));
      detail.scrollTop = 0;
      detail.querySelector("button").focus({ preventScroll: true });
      return true;
    }

    /** Takes an answer, and goes to where it shows. */
    take(n) {
      const { open, player } = this;
      if (!open?.choices[n]) return;
      const right = open.choices[n] === open.right;
      this.open = null;
      this.turn += 1;
      this.answered += 1;
      this.right += right ? 1 : 0;
      this.button.textContent = `Predict: ${this.right} of ${this.answered}`;
      player.go(open.place + 1);
      player.detail.prepend(make("p", { "class": right ? "ks-right" : "ks-wrong", role: "status" }, right ? `Right: ${open.right}.` : `No, it is ${open.right}.`));
      player.detail.scrollTop = 0;
      player.root.focus({ preventScroll: true });
    }
  }

  window.Kubestep.Predictions = Predictions;
})();
