// What mdBook's own bar lacks for readers who go by keys, or hear the page: its switch of the table of contents is a label, which
// no key reaches and which cannot say whether it is on, and the bar is no landmark.
"use strict";
(() => {
  const { make } = window.Kubestep;
  const label = document.getElementById("mdbook-sidebar-toggle"), box = document.getElementById("mdbook-sidebar-toggle-anchor");
  document.getElementById("mdbook-menu-bar")?.setAttribute("role", "banner");
  if (!label || !box) return;
  // The label stays: mdBook listens to it.
  const button = make("button", { type: "button", "class": "icon-button", title: label.title, "aria-label": label.title, "aria-controls": "mdbook-sidebar", click: () => label.click() });
  button.append(...label.childNodes);
  label.after(button);
  label.hidden = true;
  const tell = () => button.setAttribute("aria-expanded", String(box.checked));
  box.addEventListener("change", tell);
  tell();
})();
