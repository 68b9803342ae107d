// Quizzes as committed predictions, and what was read: both are remembered in this browser alone. Without this script a quiz is a
// list of answers that open (src/book/quiz.rs).
"use strict";
(() => {
  const { make } = window.Kubestep;
  const KEPT = "kubestep-course";

  /** What is remembered: chapters by file, questions by chapter and words. Where nothing can be kept, the page's own memory. */
  const memory = {
    all: null,
    load() {
      if (this.all) return this.all;
      try { this.all = JSON.parse(localStorage.getItem(KEPT)) || {}; } catch { this.all = {}; }
      for (const part of ["read", "quiz", "exercises"]) if (typeof this.all[part] !== "object" || this.all[part] === null) this.all[part] = {};
      return this.all;
    },
    save() {
      try { localStorage.setItem(KEPT, JSON.stringify(this.load())); } catch { /* Private windows keep nothing. */ }
    },
  };

  /** A number of a text: FNV-1a. */
  function hash(text) {
    let number = 2166136261;
    for (let at = 0; at < text.length; at++) number = Math.imul(number ^ text.charCodeAt(at), 16777619) >>> 0;
    return number;
  }

  const chapter = () => location.pathname.split("/").pop().replace(/\.html$/, "") || "index";

  /** One question: the reader chooses, commits by Check, and then sees why. */
  class Question {
    constructor(group) {
      this.group = group;
      this.text = group.querySelector(".ks-question");
      this.key = `${chapter()}/${hash(this.text.textContent).toString(36)}`;
      const answers = [...group.querySelectorAll(":scope > details")].map((details) => ({
        details, text: details.querySelector("summary"), right: details.classList.contains("ks-right"),
      }));
      // In an order that gives no answer away, the same at each visit.
      this.answers = answers.sort((a, b) => hash(this.key + a.text.textContent) - hash(this.key + b.text.textContent));
      this.build();
      const kept = memory.load().quiz[this.key];
      if (kept && this.answers[kept.chosen]) this.tell(kept.chosen);
    }

    build() {
      const several = this.answers.filter(({ right }) => right).length > 1;
      this.inputs = this.answers.map((_, n) => make("input", { type: "radio", name: this.key, value: String(n), change: () => { this.check.disabled = false; } }));
      const rows = this.answers.map(({ text }, n) => {
        const words = make("span", {});
        words.append(...text.cloneNode(true).childNodes);
        return make("label", {}, this.inputs[n], words);
      });
      this.check = make("button", { type: "button", disabled: true, click: () => this.commit() }, "Check");
      this.said = make("div", { "class": "ks-verdict", role: "status" });
      this.form = make("div", { "class": "ks-answers", role: "radiogroup", "aria-labelledby": this.text.id }, ...rows);
      if (several) this.form.append(make("p", { "class": "ks-none" }, "More than one is right; choose any of them."));
      this.group.append(this.form, make("p", {}, this.check), this.said);
      for (const { details } of this.answers) details.hidden = true;
    }

    commit() {
      const chosen = this.inputs.findIndex((input) => input.checked);
      if (chosen < 0) return;
      const first = memory.load().quiz[this.key];
      // The first answer counts: that is what a prediction is.
      memory.load().quiz[this.key] = { chosen, right: first ? first.right : this.answers[chosen].right };
      memory.save();
      this.tell(chosen);
    }

    tell(chosen) {
      this.inputs[chosen].checked = true;
      this.check.disabled = false;
      const { right, details } = this.answers[chosen];
      const why = make("p", { "class": right ? "ks-right" : "ks-wrong" });
      why.append(...details.querySelector("p").cloneNode(true).childNodes);
      for (const [n, input] of this.inputs.entries()) {
        input.parentElement.classList.toggle("ks-right", n === chosen && right);
        input.parentElement.classList.toggle("ks-wrong", n === chosen && !right);
      }
      const others = this.answers.filter((_, n) => n !== chosen).map(({ text, details: other }) => {
        const words = other.querySelector("p").cloneNode(true);
        return make("li", {}, make("em", {}, text.textContent), " ", ...words.childNodes);
      });
      const rest = make("details", {}, make("summary", {}, "The other answers, and why"), make("ul", {}, ...others));
      this.said.replaceChildren(why, ...(right ? [rest] : [make("p", {}, "Choose another and check again, or "), rest]));
    }
  }

  /** Remembers that an exercise or a case was solved. */
  window.Kubestep.passed = (name) => {
    memory.load().exercises[name] = "passed";
    memory.save();
  };

  // ---- what was read

  /** A chapter is read when its end was in sight. */
  function watchEnd() {
    const end = document.querySelector("main > :last-child");
    if (!end || !/^\d\d-/.test(chapter())) return;
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting) || scrollY < 200) return;
      observer.disconnect();
      memory.load().read[chapter()] = true;
      memory.save();
    }).observe(end);
  }

  /** Fills the page that says how far the reader has come; `told` is what came of an import. */
  function showProgress(place, told = "") {
    const { read, quiz, exercises } = memory.load();
    const chapters = [...document.querySelectorAll("#mdbook-sidebar a, .sidebar a")].map((link) => ({ name: link.textContent.trim(), href: link.getAttribute("href") || "" }))
      .map((one) => ({ ...one, id: one.href.split("/").pop().replace(/\.html.*$/, "") })).filter(({ id }, n, all) => /^\d\d-/.test(id) && all.findIndex((other) => other.id === id) === n);
    const rows = chapters.map(({ name, href, id }) => {
      const answered = Object.entries(quiz).filter(([key]) => key.startsWith(`${id}/`)).map(([, one]) => one);
      return make("tr", {}, make("td", {}, make("a", { href }, name)), make("td", {}, read[id] ? "read" : ""),
        make("td", {}, answered.length ? `${answered.filter(({ right }) => right).length} of ${answered.length} predicted right` : ""));
    });
    const solved = Object.entries(exercises);
    const file = make("input", { type: "file", accept: ".yaml,.yml", "aria-label": "A file that kubestep progress --export wrote", change: async () => {
      const text = await file.files[0]?.text();
      const found = text === undefined ? [] : importExport(text);
      showProgress(place, found.length ? `${found.length} exercises were taken over.` : "This is no file of kubestep progress --export: it has no exercises.");
    } });
    const forget = make("button", { type: "button", click: () => {
      memory.all = { read: {}, quiz: {}, exercises: {} };
      memory.save();
      showProgress(place);
    } }, "Forget all of this");
    place.replaceChildren(
      make("table", {}, make("thead", {}, make("tr", {}, ...["chapter", "read", "first answers"].map((head) => make("th", {}, head)))), make("tbody", {}, ...rows)),
      make("h2", {}, "Exercises"),
      solved.length ? make("ul", {}, ...solved.map(([name, how]) => make("li", {}, `${name}: ${how}`))) : make("p", {}, "None are known here yet."),
      make("p", {}, "To show them, write a file with ", make("code", {}, "cargo run -- progress --export me.yaml"), " and open it here: ", file), make("p", { role: "status" }, told),
      make("p", {}, forget));
  }

  /** The exercises in an export of progress, which is YAML of two levels. */
  function importExport(text) {
    const { exercises } = memory.load(), found = [];
    let inside = false, name = null;
    for (const line of text.split("\n")) {
      if (/^\S/.test(line)) inside = line.startsWith("exercises:");
      const one = inside && line.match(/^ {2}(["']?)([\w/-]+)\1:/);
      if (one) {
        name = one[2];
        exercises[name] = "started";
        found.push(name);
      } else if (inside && name && /^ {4}digest: *['"]?[0-9a-z]/.test(line)) exercises[name] = "passed";
    }
    memory.save();
    return found;
  }

  function mount() {
    for (const group of document.querySelectorAll(".ks-quiz [role=group]")) new Question(group);
    const place = document.getElementById("ks-progress");
    if (place) showProgress(place);
    watchEnd();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
  else mount();
})();
