// The picture of a course (course.js): its map, or one of the views from nearer by, as the reader chooses. Scenes, live sessions
// and the playground all have one.
"use strict";
(() => {
  const { make, views, ClusterMap } = window.Kubestep;

  class Board {
    /** `chosen` is told of an object, a component or a message that was clicked; `viewed`, that another view was chosen. */
    constructor(chosen, viewed) {
      this.chosen = chosen;
      this.viewed = viewed;
      this.view = null;
      this.tabs = make("div", { "class": "ks-views", role: "toolbar", "aria-label": "View" });
      this.near = make("div", { "class": "ks-near", tabindex: 0, hidden: true });
      this.stage = make("div", { "class": "ks-stage" }, this.near);
      new ResizeObserver(() => this.redraw?.(false)).observe(this.stage);
    }

    /** Whose picture it is. A course that has grown is taken again: it may have other nodes and actors, and more to show. */
    take(course) {
      this.course = course;
      this.nodes = inOrder(course, this.nodes);
      const boxes = [...this.nodes, "", ...course.actors].join();
      if (this.boxes !== boxes) {
        this.boxes = boxes;
        const map = new ClusterMap(this.nodes, course.actors, (what) => this.chosen(what));
        map.element.hidden = Boolean(this.view);
        if (this.map) this.map.element.replaceWith(map.element);
        else this.stage.prepend(map.element);
        this.map = map;
      }
      this.offer();
    }

    /** The views that have something to show. */
    offer() {
      const offered = [{ name: "Cluster", says: "All processes, and what goes between them" }, ...views.filter((view) => view === this.view || view.has(this.course))];
      const names = offered.map(({ name }) => name).join();
      if (names === this.offered) return;
      this.offered = names;
      this.tabs.replaceChildren(...offered.map((view) => make("button", {
        type: "button", title: view.says, "data-like": `view ${view.name}`, click: () => this.choose(view.draw ? view : null),
      }, view.name)));
      this.mark();
    }

    choose(view) {
      this.view = view;
      this.mark();
      this.viewed();
    }

    mark() {
      for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.textContent === (this.view?.name || "Cluster")));
    }

    /** Draws the view from nearer by, with the place at which something is in sight. */
    draw(at) {
      const { near } = this;
      near.replaceChildren(this.view.draw(this.course, at, (what) => this.chosen(what)));
      const place = near.querySelector("[aria-current]")?.getBoundingClientRect(), frame = near.getBoundingClientRect();
      if (place && (place.top < frame.top || place.bottom > frame.bottom)) near.scrollTop += place.top - frame.top - Math.max(0, frame.height - place.height) / 2;
    }

    /** What is seen: the map or the view. */
    get drawn() {
      return this.view ? this.near.firstElementChild : this.map.element;
    }

    /** Shows what is there after so many steps, and what is under way. `animate`: the last message moves. */
    show(at, flights, animate) {
      const step = this.course.steps[at - 1];
      this.map.element.hidden = Boolean(this.view);
      this.near.hidden = !this.view;
      if (this.view && step) this.draw(at);
      else if (this.view) this.near.replaceChildren(make("p", { "class": "ks-none" }, "Nothing has happened so far."));
      else this.map.show(this.course.state(at), step ? [...new Set([step.from, step.to])] : [], step ? step.changes.map(({ object }) => object) : []);
      this.redraw = (moves) => { if (!this.view) this.map.draw(flights, step, moves); };
      this.redraw(animate);
    }
  }

  /** The nodes in the order in which they were drawn `before`; at first those that have to do with the scene, then the others. */
  function inOrder({ data, actors, states }, before) {
    if (before) {
      const [now, then] = [new Set(data.nodes), new Set(before)];
      return [...before.filter((node) => now.has(node)), ...data.nodes.filter((node) => !then.has(node))];
    }
    const used = new Set(actors.map((actor) => actor.split("/").slice(1).join("/")));
    for (const state of [states[0], states.at(-1)]) for (const object of Object.values(state.objects)) used.add(object.spec?.nodeName);
    return [...data.nodes.filter((node) => used.has(node)), ...data.nodes.filter((node) => !used.has(node))];
  }

  window.Kubestep.Board = Board;
})();
