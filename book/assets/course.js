// What is where after each step of a run: of a scene in the page, whose data never changes, or of a session, which grows and
// goes back. src/debugger/scene/data.rs says what is in the data.
"use strict";
(() => {
  const { make, merge } = window.Kubestep;

  /** The states before the first step and after each, made when they are asked for. */
  class Course {
    constructor(data) {
      this.begin(data);
    }

    begin(data) {
      this.data = data;
      this.steps = [];
      this.place = new Map();
      this.words = [];
      const revision = {}, queues = {};
      for (const [name, object] of Object.entries(data.objects)) revision[name] = Number(object.metadata.resourceVersion);
      for (const [queue, key] of data.queues) (queues[data.names[queue]] ||= []).push({ key: data.names[key], how: 0 });
      this.states = [{ objects: data.objects, revision, queues, caches: {} }];
      this.add(data);
    }

    /** More steps, with what is under way behind them. */
    add(data) {
      for (const raw of data.steps) {
        const step = this.read(raw, data);
        this.place.set(step.number, this.steps.length);
        this.steps.push(step);
        if (raw.said) this.words.push(inWords(raw));
      }
      const name = (place) => data.names[place];
      this.never = data.flights.map(([cause, from, to, what]) => ({ cause, from: name(from), to: name(to), what }));
      this.actors = [...new Set(this.steps.flatMap((step) => [step.from, step.to]))];
      this.made = new Map();
    }

    /** What `work` makes of all steps: it is done again when there are others. */
    once(work) {
      if (!this.made.has(work)) this.made.set(work, work(this));
      return this.made.get(work);
    }

    /** Forgets the steps behind one, by its number. */
    cut(number) {
      const count = this.steps.filter((step) => step.number <= number).length;
      for (const step of this.steps.slice(count)) this.place.delete(step.number);
      this.steps.length = this.words.length = count;
      this.states.length = Math.min(this.states.length, count + 1);
    }

    /** What a session's `scene` says of the steps since the last one. */
    follow({ told, scene }) {
      if (told.anew) return this.begin(scene);
      this.cut(told.after);
      this.data.nodes = scene.nodes;
      this.add(scene);
    }

    read(step, data) {
      const name = (place) => data.names[place];
      const spot = ([machine, pod, device]) => ({ machine: name(machine), pod: name(pod), device: name(device) });
      return {
        number: step.n, time: step.t, kind: name(step.k), from: name(step.f), to: name(step.o), what: step.w, cause: step.y,
        changes: (step.x || []).map(([object, revision, patch]) => ({ object: name(object), revision, patch })),
        caches: (step.c || []).map(([actor, object, revision]) => ({ actor: name(actor), object: name(object), revision })),
        queues: (step.q || []).map(([queue, key, how]) => ({ queue: name(queue), key: name(key), how })),
        stages: (step.s || []).map(([stage, decision]) => ({ name: name(stage), decision: name(decision) })), answer: step.a,
        packet: step.p && { what: name(step.p[0]), at: spot(step.p[1]), by: step.p[2].map(spot) },
        decisions: (step.d || []).map(([table, decision]) => ({ table: name(table), decision: name(decision) })),
        code: step.l && { excerpt: data.code[step.l[0]], task: name(step.l[1]), awaits: name(step.l[2]) },
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
        else state.objects[object] = Array.isArray(patch) ? patch[0] : merge(state.objects[object], patch);
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

    /** The steps up to here, with their places, the last first. */
    before(count) {
      return this.steps.slice(0, count).map((step, place) => ({ step, place })).reverse();
    }

    /** What was sent up to here and arrives later, or not within the scene. */
    flights(count) {
      const sent = (cause) => this.place.has(cause) && this.place.get(cause) < count;
      const arriving = this.steps.slice(count).filter((step) => step.kind !== "timer" && sent(step.cause));
      return [...arriving, ...this.never.filter((flight) => sent(flight.cause))];
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

  /** A step in words, as the list of steps beside a scene has them. */
  function inWords({ n: number, said: [sentence, ...effects] }) {
    return make("li", { value: number }, make("p", {}, sentence), effects.length ? make("ul", {}, ...effects.map((effect) => make("li", {}, effect))) : null);
  }

  // A course of more steps is begun anew with the last ones, of which a session tells half as many.
  const KEPT = 3_000;

  /** The course of a session, step by step. `ask(line)` gives a promise of the answer to a line. */
  class Followed {
    constructor(ask) {
      this.ask = ask;
      this.course = null;
      this.marks = [];
    }

    /**
     * Brings the course to where the session stands. `stop` is the last one that it came to, null before the first. Gives the stop
     * where it stands: some commands go on and stop at nothing. Gives nothing if it was asked again meanwhile.
     */
    async follow(stop) {
      const turn = this.turn = (this.turn || 0) + 1, step = stop?.step || 0;
      // What lies before this step may have been drawn on any course that came there.
      this.marks = this.course?.steps.length > KEPT ? [] : this.marks.filter((mark) => mark.step <= step);
      const mark = this.marks.at(-1);
      const { value } = await this.ask(mark ? `scene ${mark.step} ${mark.digest}` : "scene");
      if (turn !== this.turn || !value) return undefined;
      const { told } = value;
      if (told.anew) this.marks = [];
      if (this.course) this.course.follow(value);
      else this.course = new Course(value.scene);
      this.marks.push({ step: told.step, digest: told.digest });
      if (!told.step || told.step === step) return stop;
      const shown = await this.ask("show");
      return turn === this.turn ? shown : undefined;
    }

    /** What is under way at a stop, as it is drawn. */
    flights(stop) {
      return stop ? stop.pending.filter((one) => !["timer", "clock"].includes(one.from)) : this.course.never;
    }
  }

  Object.assign(window.Kubestep, { Course, Followed });
})();
