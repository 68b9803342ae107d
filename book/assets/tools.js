// Small tools that the pictures and the player share.
"use strict";
(() => {
  /** An element: its tag, its attributes, its children. Functions among the attributes listen. */
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "path", "circle", "g"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(key, value);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== false && value != null) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  }

  /** The class for a process; the same names as in src/book/svg.rs. */
  function component(name) {
    const base = name.split("/")[0];
    return {
      "user": "ks-user", "kube-apiserver": "ks-api", "kube-controller-manager": "ks-kcm",
      "kube-scheduler": "ks-scheduler", "kubelet": "ks-kubelet", "containerd": "ks-runtime", "cni": "ks-runtime",
      "kube-proxy": "ks-proxy",
    }[base] || "ks-other";
  }

  /** Gives the reader a file. */
  function download(name, text, type) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** RFC 7386. */
  function merge(target, patch) {
    if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
    const out = target && typeof target === "object" && !Array.isArray(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete out[key];
      else out[key] = merge(out[key], value);
    }
    return out;
  }

  function scalar(value) {
    if (typeof value !== "string") return value === undefined ? "null" : JSON.stringify(value);
    const plain = /^[A-Za-z_/.][\w ./@:=-]*$/.test(value) && !/(: | #|:$|^(true|false|null|yes|no|on|off)$)/i.test(value);
    return plain ? value : JSON.stringify(value);
  }

  /** A value as YAML, as kubectl prints it. */
  function yaml(value, indent = "") {
    if (value === null || typeof value !== "object") return `${indent}${scalar(value)}\n`;
    if (Array.isArray(value)) {
      if (!value.length) return `${indent}[]\n`;
      return value.map((item) => `${indent}- ${yaml(item, `${indent}  `).trimStart()}`).join("");
    }
    const keys = Object.keys(value);
    if (!keys.length) return `${indent}{}\n`;
    return keys.map((key) => {
      const inner = value[key], nested = inner !== null && typeof inner === "object";
      const empty = nested && !Object.keys(inner).length;
      if (!nested || empty) return `${indent}${key}: ${nested ? (Array.isArray(inner) ? "[]" : "{}") : scalar(inner)}\n`;
      return `${indent}${key}:\n${yaml(inner, Array.isArray(inner) ? indent : `${indent}  `)}`;
    }).join("");
  }

  /** `Pod default/web-1` as `Pod web-1`: in most scenes there is one namespace. */
  const short = (object) => object.replace(/ default\//, " ");
  /** With uids and other long numbers cut: titles and details have them whole. */
  const brief = (text) => text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}/g, (number) => `${number.slice(0, 8)}…`);
  const seconds = (us) => `${(us / 1e6).toFixed(3)} s`;

  /** `2/3 ready` of what counts something. */
  function counts(json) {
    const wanted = json.spec?.replicas;
    return wanted === undefined ? "" : `${json.status?.readyReplicas || 0}/${wanted} ready`;
  }

  /** What a Pod is at: its phase, or that it is going. */
  const phase = (json) => (json.metadata?.deletionTimestamp ? "Terminating" : json.status?.phase || "");
  /** Whether its condition Ready is True. */
  const isReady = (json) => (json.status?.conditions || []).some((one) => one.type === "Ready" && one.status === "True");

  /** What a kind looks like. The name is beside it in words. */
  const icon = (kind) => make("svg", { viewBox: "0 0 16 16", "class": "ks-glyph", "aria-hidden": "true" }, make("path", { d: window.Kubestep.icons[kind] || window.Kubestep.icons[""] }));
  /** An object by the icon of its kind and its name: `Pod web-1`. */
  const named = (object) => make("span", { "class": "ks-named" }, icon(object.split(" ")[0]), brief(short(object)));

  /** A button that opens something: an object, a component or a message. */
  const chosen = (text, open, what, style) => make("button", { type: "button", "class": style, "data-like": what.object || what.component, click: () => open(what) }, text);
  /** That there is nothing to see. */
  const nothing = (text) => make("p", { "class": "ks-none" }, text);

  /** What a panel is about. The keyboard is led to it. */
  const title = (text) => make("p", { "class": "ks-title", tabindex: -1 }, text);

  /** Lines of source, with the line at which a task waits. */
  function code({ excerpt: [file, first, line, texts], task, awaits }) {
    const lines = texts.map((text, n) => make("span", { "class": first + n === line ? "ks-here" : "" }, `${String(first + n).padStart(4)}  ${text}\n`));
    return make("details", { "class": "ks-source", open: true },
      make("summary", {}, make("strong", {}, task), ` waits for ${brief(awaits)}`),
      make("p", {}, `${file}:${line}`), lines.length ? make("pre", { tabindex: 0 }, ...lines) : null);
  }

  /** Lines before and after the one that waits. */
  const AROUND = 4;
  const files = new Map();
  /** The same of a session in the page, whose sources lie beside it in the site. */
  async function sourceOf(waits) {
    const [file, , line, texts] = waits.excerpt, { from } = window.Kubestep;
    if (texts.length) return code(waits);
    if (!files.has(file)) files.set(file, fetch(from(`source/${file}`)).then((answer) => (answer.ok ? answer.text() : ""), () => ""));
    const lines = (await files.get(file)).split("\n"), first = Math.max(1, line - AROUND);
    return code({ ...waits, excerpt: [file, first, line, lines.length > 1 ? lines.slice(first - 1, line + AROUND) : []] });
  }

  Object.assign(window.Kubestep, { make, component, download, merge, yaml, short, brief, seconds, counts, phase, isReady, icon, named, chosen, nothing, title, code, sourceOf });
})();
