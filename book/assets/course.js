// What is where after each step of a scene. Its data stands beside it in the page: src/book/scene/data.rs says what is in it.
"use strict";
(() => {
  const { merge } = window.Kubestep;

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
        stages: (step.s || []).map(([stage, decision]) => ({ name: name(stage), decision: name(decision) })), answer: step.a,
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

  window.Kubestep.Course = Course;
})();
