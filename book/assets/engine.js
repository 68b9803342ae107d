// Where a session runs: in the page, as WebAssembly in a Worker (`book --site`, `src/web`), or in `kubestep book`, at the other
// end of a WebSocket. Both take lines and answer each with one, as docs/json.md says; a page need not know which it has.
"use strict";
(() => {
  const here = document.currentScript.src;
  /** The address of a file of the site. */
  const from = (name) => new URL(name, here.replace(/assets\/[^/]*$/, "")).href;
  // There if `kubestep book` serves the page to a browser that may run sessions.
  const server = document.querySelector('meta[name="kubestep-live"]');
  // There if the site has the module. Workers need an origin, which files have not.
  const module = location.protocol === "file:" ? null : document.querySelector('meta[name="kubestep-module"]')?.content;

  /** Tells the service worker what this page consists of: the first time it has all come before there was one. */
  async function handOver() {
    const { active } = await navigator.serviceWorker.ready;
    if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done));
    const parts = performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.startsWith(location.origin));
    active.postMessage([location.href.split("#")[0], ...new Set(parts)]);
  }

  // A server that builds pages anew has the newest.
  if (module && !server && "serviceWorker" in navigator && isSecureContext) {
    navigator.serviceWorker.register(from("sw.js")).then(handOver).catch(() => { /* It is for readers without a network. */ });
  }

  /** A session in a Worker. `told` has `began(hello)`, `answered(line)` and `ended(why)`. */
  class InPage {
    constructor(open, told) {
      this.told = told;
      this.waiting = new Map();
      this.last = 0;
      this.bytes = 0;
      this.worker = new Worker(from("assets/worker.js"));
      this.worker.onmessage = ({ data }) => this.take(data);
      this.worker.onerror = (event) => this.end(event.message || "the Worker could not be started");
      this.post({ load: from(module) }).then(() => this.ask({ open })).then((hello) => {
        const line = JSON.parse(hello);
        if (line.kind === "error") this.end(line.message);
        else told.began(line);
      }).catch((error) => this.end(error.message));
    }

    post(message) {
      const id = ++this.last;
      return new Promise((resolve, reject) => {
        this.waiting.set(id, { resolve, reject });
        this.worker.postMessage({ id, ...message });
      });
    }

    take({ id, answer, error, bytes }) {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      this.bytes = bytes || this.bytes;
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    }

    /** A request beside the session's lines. Gives its answer. */
    ask(request) {
      return this.post({ request });
    }

    /** Whether something is under way. */
    get busy() {
      return this.waiting.size > 0;
    }

    send(line) {
      this.ask({ line }).then((answer) => this.told.answered(JSON.parse(answer)), (error) => this.end(error.message));
    }

    /** Puts a file into the folder in which commands are typed. */
    file(name, text) {
      this.ask({ file: { name, text } }).catch((error) => this.end(error.message));
    }

    close() {
      this.over = true;
      this.worker.terminate();
    }

    end(why) {
      if (this.over) return;
      this.close();
      this.told.ended(why);
    }
  }

  /** A session in `kubestep book`. */
  class AtServer {
    constructor({ scenario, seed, exercise }, told) {
      const query = new URLSearchParams({ scenario, seed, ...(exercise && { exercise }) });
      this.waiting = 0;
      this.socket = new WebSocket(`ws://${location.host}/.kubestep/live?${query}`);
      this.socket.addEventListener("message", ({ data }) => {
        const line = JSON.parse(data);
        if (line.kind === "hello") return told.began(line);
        this.waiting -= 1;
        told.answered(line);
      });
      this.socket.addEventListener("close", () => this.over || told.ended(""));
    }

    get busy() {
      return this.waiting > 0;
    }

    send(line) {
      if (this.socket.readyState !== WebSocket.OPEN) return;
      this.waiting += 1;
      this.socket.send(JSON.stringify({ line }));
    }

    /** The server has one file for a session, `edit.yaml`. */
    file(_name, text) {
      if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ file: text }));
    }

    close() {
      this.over = true;
      this.socket.close();
    }
  }

  window.Kubestep = {
    server, module, from, InPage,
    /** Whether sessions can run at all. */
    live: Boolean(server || module),
    /** Begins a session: a learner's own code runs at the server, all else in the page where that is possible. */
    begin: (open, told) => (open.exercise || !module ? new AtServer(open, told) : new InPage({ scenario: open.scenario, seed: open.seed }, told)),
  };
})();
