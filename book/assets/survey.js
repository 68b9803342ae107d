// What stands where in a session: objects, queues and caches, as the map draws them.
"use strict";
(() => {
  /** Whose queues and caches the map shows in any case. */
  const COMPONENTS = ["kube-controller-manager", "kube-scheduler"];

  /**
   * Asks a session. `ask(line)` gives a promise of the answer to a line; `question` is the `get` that names the kinds, which waits for no line that was typed; `more` are
   * components beside the usual ones. Gives a state as course.js has them, and the names of the nodes.
   */
  async function survey(ask, question, more = []) {
    const state = { objects: {}, revision: {}, queues: {}, caches: {} }, nodes = [];
    // A controller lives in its manager; a kubelet has caches of its own.
    const components = [...new Set([...COMPONENTS, ...more.filter((name) => /^(kubelet|kube-proxy)\//.test(name))])];
    const [answer, ...asked] = await Promise.all([ask(`peek ${question}`), ...components.flatMap((name) => [ask(`queue ${name}`), ask(`cache ${name}`)])]);
    let items = [];
    // With nothing there kubectl says so in words.
    try { items = JSON.parse(answer.text || "{}").items || []; } catch { items = []; }
    for (const item of items.filter(({ metadata }) => metadata.name !== "kubernetes")) {
      if (item.kind === "Node") nodes.push(item.metadata.name);
      else state.objects[`${item.kind} ${item.metadata.namespace}/${item.metadata.name}`] = item;
    }
    for (const [name, item] of Object.entries(state.objects)) state.revision[name] = Number(item.metadata.resourceVersion);
    for (const { value } of asked.filter((one) => one.value)) {
      for (const { queue, queued, working, later } of value.queues || []) {
        state.queues[queue] = [...working.map((key) => ({ key, how: 1 })), ...queued.map((key) => ({ key, how: 0 })), ...later.filter(({ key }) => !key.startsWith("*")).map(({ key }) => ({ key, how: 3 }))];
      }
      for (const { kind, objects } of value.caches || []) {
        const known = state.caches[value.component] ||= {};
        for (const { object, revision } of objects) known[object.includes(" ") ? object : `${kind} ${object}`] = revision;
      }
    }
    return { state, nodes };
  }

  window.Kubestep.survey = survey;
})();
