// Keeps what was loaded, for readers without a network. The version is a digest of the site: a new one begins anew.
"use strict";
const CACHE = "kubestep-VERSION";
// The names of the files in assets/.
const ASSETS = "NAMES".split(" ");

addEventListener("install", (event) => {
  // The cluster is kept when it is first used: reading costs nothing.
  const first = ["./", "index.html", "playground.html", ...ASSETS.map((name) => `assets/${name}`)];
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(first)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith("kubestep-") && name !== CACHE);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name)))).then(() => clients.claim()));
});

// What a page has loaded before this was there: the page says it.
addEventListener("message", (event) => {
  const keep = async (cache, part) => (await cache.match(part)) || cache.add(part);
  event.waitUntil(caches.open(CACHE).then((cache) => Promise.allSettled(event.data.map((part) => keep(cache, part)))));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith(caches.open(CACHE).then(async (cache) => {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    const answer = await fetch(request);
    if (answer.ok) cache.put(request, answer.clone());
    return answer;
  }));
});
