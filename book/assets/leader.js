// A presenter's window: once a page was opened in it with `?leader`, the notes for leaders are open on every page of this window.
// Others, such as the one that a projector shows, keep them closed.
"use strict";
(() => {
  const KEY = "kubestep-leader";
  let leads = new URLSearchParams(location.search).has("leader");
  // Where nothing can be kept, the notes are open on the page that was asked for.
  try {
    if (leads) sessionStorage.setItem(KEY, "yes");
    leads ||= sessionStorage.getItem(KEY) === "yes";
  } catch {}
  const open = () => document.querySelectorAll(".ks-leader").forEach((notes) => { notes.open = true; });
  if (!leads) return;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", open);
  else open();
})();
