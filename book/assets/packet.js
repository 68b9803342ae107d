// A packet's way as a picture: machines, in each the namespaces of its Pods and its own, and the devices that lead from one to
// the other. What the packet has passed is lit; what a kernel decided stands where it did.
//
// The devices of a machine hang together as a tree, as they are plugged: a Pod's eth0, its veth, the bridge, the kernel with its
// routes and rules, perhaps a tunnel, the machine's eth0, and the switch between the machines.
"use strict";
(() => {
  const { make, brief, icon, named, chosen, nothing } = window.Kubestep;

  const LOOP = "lo", SWITCH = "the network between the nodes";
  const key = ({ machine, pod, device }) => `${machine}|${pod}|${device}`;
  const kernel = (machine) => `${machine}||`;

  /** The devices that packets of a scene meet: each with what it is, and what it hangs on. */
  const plan = (course) => course.once(allDevices);

  function allDevices(course) {
    const ways = course.steps.flatMap(({ packet }) => (packet ? [[...packet.by, packet.at]] : []));
    const devices = new Map(), machines = [];
    for (const spot of ways.flat()) {
      if (!machines.includes(spot.machine)) machines.push(spot.machine);
      if (!devices.has(key(spot))) devices.set(key(spot), { ...spot, role: spot.pod ? "pod" : "other" });
    }
    const pairs = ways.flatMap((way) => way.slice(1).map((to, n) => [devices.get(key(way[n])), devices.get(key(to))]));
    const meet = (test) => pairs.flatMap(([a, b]) => [[a, b], [b, a]]).forEach(([a, b]) => test(a, b));
    meet((a, b) => { if (a.machine !== b.machine) a.role = "uplink"; });
    meet((a, b) => { if (a.role === "pod" && b.role === "other" && a.machine === b.machine) [b.role, a.on] = ["port", key(b)]; });
    meet((a, b) => { if (a.role === "port" && b.role === "other") b.role = "bridge"; });
    const of = (machine, role) => [...devices.values()].filter((one) => one.machine === machine && one.role === role);
    for (const machine of machines) {
      const [bridge] = of(machine, "bridge"), [uplink] = of(machine, "uplink"), tunnel = of(machine, "other").find(({ device }) => device !== LOOP);
      for (const port of of(machine, "port")) port.on = bridge ? key(bridge) : kernel(machine);
      for (const one of [...of(machine, "bridge"), ...of(machine, "other")]) one.on = kernel(machine);
      if (tunnel) tunnel.on = uplink && key(uplink);
      if (uplink) uplink.on = SWITCH;
      devices.set(kernel(machine), { machine, pod: "", device: "", role: "kernel", on: tunnel ? key(tunnel) : uplink && key(uplink) });
    }
    return { devices, machines, of };
  }

  /** All that is between two devices, both with it. */
  function between(devices, from, to) {
    const up = (start) => { const all = []; for (let at = start; at; at = devices.get(at)?.on) all.push(at); return all; };
    const [a, b] = [up(from), up(to)], top = a.find((one) => b.includes(one));
    return top === undefined ? [from, to] : [...a.slice(0, a.indexOf(top) + 1), ...b.slice(0, b.indexOf(top)).reverse()];
  }

  /** One packet's way up to a step: the places of its steps, the first first. What a Pod sends on is another packet. */
  function way(course, last) {
    const places = [last];
    for (;;) {
      const step = course.steps[places[0]], before = course.place.get(step.cause);
      const came = before !== undefined && course.steps[before].packet;
      if (!step.packet || !came || (came.at.pod && came.at.pod === step.packet.by[0]?.pod)) return places;
      places.unshift(before);
    }
  }

  /** What is lit of the picture at a step. */
  function lit(course, last) {
    const { devices } = plan(course), places = way(course, last);
    const passed = new Set(), now = [];
    const { packet: first, cause } = course.steps[places[0]];
    // What the machine itself sends comes from its kernel.
    let at = first && !first.by[0]?.pod && course.place.has(cause) ? kernel(first.by[0]?.machine) : null;
    for (const place of places) {
      const { packet } = course.steps[place];
      if (!packet) break;
      const stops = [...(at ? [at] : []), ...packet.by.map(key), key(packet.at)];
      const hop = stops.slice(1).flatMap((to, n) => between(devices, stops[n], to).slice(n ? 1 : 0));
      for (const one of hop) passed.add(one);
      if (place === last) now.push(...hop);
      at = key(packet.at);
    }
    if (first) return { passed, now, at };
    // It is about to be sent: from where, the packet knows that comes of it.
    const sent = course.effects(course.steps[last].number).map((place) => course.steps[place].packet).find(Boolean);
    const from = sent && (sent.by[0].pod ? key(sent.by[0]) : kernel(sent.by[0].machine));
    return { passed: new Set([from]), now: [], at: from };
  }

  /** The picture for the first `at` steps. */
  function packets(course, at, open) {
    const found = course.before(at).find(({ step }) => step.packet || step.decisions.length);
    if (!found) return nothing("No packet was sent so far in this scene.");
    const { step, place } = found, { machines, of, devices } = plan(course), here = lit(course, place);
    const where = devices.get(here.at);
    const decided = make("ol", { "class": "ks-rules" }, ...step.decisions.map(({ table, decision }) => make("li", { "class": table === "dropped" ? "ks-no" : "" }, make("b", {}, table), " ", decision)));
    // In a Pod's namespace its own table decides, in all others the machine's.
    const decides = (namespace) => where && namespace.machine === where.machine && namespace.pod === where.pod;
    const style = (id) => `${here.passed.has(id) ? " ks-lit" : ""}${here.at === id ? " ks-at" : ""}`;
    const device = (one, what) => make("div", { "class": `ks-device${style(key(one))}`, "aria-current": here.at === key(one) && "step", title: what }, one.device);
    // A cable leads from a device to what it hangs on. The packet goes over it up, which is towards the Pod, or down.
    const cable = (from, to) => {
      const [a, b] = [here.now.indexOf(from), here.now.indexOf(to)], near = a >= 0 && b >= 0 && Math.abs(a - b) === 1;
      return make("i", { "class": `ks-cable${here.passed.has(from) && here.passed.has(to) ? " ks-lit" : ""}`, "aria-hidden": "true" }, near ? make("svg", { viewBox: "0 0 10 6" }, make("path", { d: a < b ? "M0 0h10L5 6z" : "M0 6h10L5 0z" })) : null);
    };
    // Its own loop leads nowhere else: it is inside.
    const loop = ({ machine, pod, device: end }) => (end !== LOOP && devices.has(key({ machine, pod, device: LOOP })) ? [device(devices.get(key({ machine, pod, device: LOOP })), "the loop, for what a machine or a Pod says to itself")] : []);
    const column = (one) => make("div", { "class": "ks-column" },
      make("div", { "class": `ks-netns${style(key(one))}`, "aria-current": here.at === key(one) && "step" },
        make("p", {}, chosen(named(`Pod ${one.pod}`), open, { object: `Pod ${one.pod}` })), ...loop(one), decides(one) ? decided : null, make("span", { "class": "ks-end" }, one.device)),
      ...(!one.on ? [] : devices.get(one.on)?.role === "port" ? [cable(key(one), one.on), device(devices.get(one.on), "the other end of the pair, in the node's namespace"), cable(one.on, devices.get(one.on).on)] : [cable(key(one), one.on)]));
    const machine = (name) => {
      const one = devices.get(kernel(name)), ends = of(name, "pod");
      const pods = ends.filter(({ pod, device: end }) => end !== LOOP || !ends.some((other) => other.pod === pod && other.device !== LOOP));
      const down = (ones, what) => ones.flatMap((other) => [device(other, what), cable(key(other), other.on)]);
      const tunnels = of(name, "other").filter(({ device: other }) => other !== LOOP);
      return make("div", { "class": "ks-machine" }, make("section", { "class": "ks-inner", "aria-label": name },
        make("p", { "class": "ks-head" }, chosen(make("span", {}, icon("Node"), name), open, { component: `node/${name}` })),
        pods.length ? make("div", { "class": "ks-columns" }, ...pods.map(column)) : null, ...down(of(name, "bridge"), "the bridge that the node's Pods are plugged into"),
        make("div", { "class": `ks-netns ks-kernel${style(kernel(name))}` }, make("p", {}, "routes and rules"), ...loop(one), where && !where.pod && decides(one) ? decided : null), ...(one.on ? [cable(kernel(name), one.on)] : []),
        ...down(tunnels, "the tunnel to other nodes"), ...of(name, "uplink").map((other) => device(other, "the node's own device"))),
        ...of(name, "uplink").map((other) => cable(key(other), SWITCH)));
    };
    const title = step.packet ? brief(step.packet.what) : brief(step.what);
    return make("div", { "class": place === at - 1 ? "" : "ks-past" },
      make("p", { "class": "ks-head" }, chosen(title, open, { message: step }), place === at - 1 ? "" : ` (step ${step.number}, the last packet)`),
      make("div", { "class": "ks-wires", style: `--machines:${machines.length}` }, ...machines.map(machine), machines.length > 1 ? make("div", { "class": `ks-device ks-switch${style(SWITCH)}` }, SWITCH) : null));
  }

  Object.assign(window.Kubestep, { packets });
})();
