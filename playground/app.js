// SPDX-License-Identifier: MIT
// Tabs, theme, and what says that the device package has loaded.
import { ready } from "./device.js";
import * as drifting from "./drifting.js";
import * as network from "./network.js";
import * as plans from "./plans.js";
import * as points from "./points.js";
import * as swapping from "./swapping.js";
import * as teach from "./teach.js";

const TABS = { points, drift: drifting, swap: swapping, network, plan: plans, teach };
const buttons = [...document.querySelectorAll("[role=tab]")];
let shown = "";

function show(name) {
  if (!(name in TABS)) name = "points";
  if (shown) TABS[shown].close?.();
  shown = name;
  for (const button of buttons) {
    const isIt = button.dataset.tab === name;
    button.setAttribute("aria-selected", isIt);
    button.tabIndex = isIt ? 0 : -1;
    document.getElementById("tab-" + button.dataset.tab).hidden = !isIt;
    if (isIt) button.scrollIntoView({ inline: "center", block: "nearest" });
  }
  history.replaceState(null, "", "#" + name);
  TABS[name].open?.();
}

function onKey(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const next = buttons[(buttons.indexOf(event.target) + by + buttons.length) % buttons.length];
  next.focus();
  show(next.dataset.tab);
  event.preventDefault();
}

function toggleTheme() {
  const root = document.documentElement;
  const isDark = getComputedStyle(root).colorScheme === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  document.dispatchEvent(new Event("theme"));
}

for (const button of buttons) {
  button.addEventListener("click", () => show(button.dataset.tab));
  button.addEventListener("keydown", onKey);
}
document.getElementById("theme").addEventListener("click", toggleTheme);
window.addEventListener("hashchange", () => show(location.hash.slice(1)));
for (const tab of Object.values(TABS)) tab.start();
show(location.hash.slice(1) || "points");
ready.then(
  ({ native, version }) => {
    const core = native ? "its C core as WebAssembly" : "pure Python";
    document.getElementById("engine").textContent =
      `acclimate ${version} on MicroPython, ${core}, in this page`;
  },
  (error) => {
    document.getElementById("engine").textContent = `The device package did not start: ${error.message}`;
  },
);
