// A page on paper: of each scene what is told, with the cluster as it stands at a few of those steps, and the answers of all
// questions at the end of their chapter. Made when a page is printed, gone after; with `?print` it stays, for tests. Without this
// script paper has the diagram of a scene, what is told, and each answer below its question.
"use strict";
(() => {
  const { make, Course, Board } = window.Kubestep;
  // So many pictures tell a scene.
  const PICTURES = 4;
  const LETTERS = "abcdefgh";
  let made = [], pictures = [];

  /** The places of the steps that are told; of a scene in which none is, the first and the last. */
  function tellings(words) {
    const told = words.flatMap((word, place) => (word.querySelector(":scope > .ks-said") ? [place] : []));
    return told.length ? told : [...new Set([0, words.length - 1])];
  }

  /** As many as there is room for, from the first to the last. */
  function chosen(places) {
    if (places.length <= PICTURES) return new Set(places);
    return new Set(Array.from({ length: PICTURES }, (_, n) => places[Math.round((n * (places.length - 1)) / (PICTURES - 1))]));
  }

  /** A scene as a list of its captions, the key pictures with them. */
  function scene(section) {
    const course = new Course(JSON.parse(section.querySelector("script").textContent));
    const words = [...section.querySelectorAll(".ks-steps li[value]")], places = tellings(words), pictured = chosen(places);
    course.state(course.steps.length);
    const items = places.map((place) => {
      const texts = [...words[place].querySelectorAll(":scope > p")].map((text) => text.cloneNode(true));
      const item = make("li", {}, ...texts);
      if (!pictured.has(place)) return item;
      const board = new Board(() => {}, () => {});
      board.take(course);
      pictures.push(() => board.show(place + 1, course.flights(place + 1), false));
      item.append(make("div", { "class": "ks-picture" }, board.stage));
      return item;
    });
    const list = make("ol", { "class": "ks-told-list" }, ...items);
    section.querySelector(".ks-player").after(list);
    made.push(list);
  }

  /** Draws the pictures where they stand: arrows know their boxes then. */
  function draw() {
    for (const picture of pictures) picture();
  }

  /** The heading of the chapter in which something stands: the page of the whole book has many. */
  function chapterOf(node) {
    return [...document.querySelectorAll("main > h1")].filter((heading) => heading.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING).pop();
  }

  /** The answers of a chapter's questions, by their numbers. */
  function answers(heading, questions) {
    const items = questions.map((group, n) => {
      group.querySelector(".ks-question").dataset.number = n + 1;
      const all = [...group.querySelectorAll(":scope > details")].map((details, at) => ({ letter: LETTERS[at], right: details.classList.contains("ks-right"), why: details.querySelector("p") }));
      const sorted = [...all.filter(({ right }) => right), ...all.filter(({ right }) => !right)];
      return make("li", {}, ...sorted.flatMap(({ letter, why }) => [make("b", {}, `${letter}. `), ...why.cloneNode(true).childNodes, " "]));
    });
    const part = make("section", { "class": "ks-answers-list", "aria-label": "Answers" }, make("p", { "class": "ks-label" }, "Answers"), make("ol", {}, ...items));
    const next = heading && [...document.querySelectorAll("main > h1")].find((other) => heading.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (next) next.before(part);
    else document.querySelector("main").append(part);
    made.push(part);
  }

  function prepare() {
    if (made.length) return;
    document.documentElement.classList.add("ks-on-paper");
    document.querySelectorAll(".ks-scene").forEach(scene);
    draw();
    const chapters = new Map();
    for (const group of document.querySelectorAll(".ks-quiz [role=group]")) {
      const heading = chapterOf(group);
      chapters.set(heading, [...(chapters.get(heading) || []), group]);
    }
    chapters.forEach((questions, heading) => answers(heading, questions));
  }

  function clear() {
    for (const node of made) node.remove();
    made = [];
    pictures = [];
    document.documentElement.classList.remove("ks-on-paper");
  }

  addEventListener("beforeprint", prepare);
  // Boxes stand closer on a narrow screen than on paper.
  matchMedia("print").addEventListener("change", draw);
  if (new URLSearchParams(location.search).has("print")) addEventListener("load", prepare);
  else addEventListener("afterprint", clear);
})();
