// SPDX-License-Identifier: MIT
// A model is swapped in flash; the power goes away at the step that the slider names.
import { call } from "./device.js";
import { cells, color, fresh, keepDrawn, put } from "./draw.js";

const $ = (id) => document.getElementById(id);
const PART = 4;
const WORDS = {
  boot: "start",
  stage: "make room",
  write: "write the new one",
  verify: "check it",
  trial: "use it on trial",
  confirm: "confirm",
};
let plan = null;
let swept = [];
let found = null;
let isBusy = false;
let isStale = false;
let round = 0;

async function cut() {
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  do {
    isStale = false;
    found = await call("swapping.cut", [Number($("swap-step").value), $("swap-torn").value]);
    tell();
    draw();
  } while (isStale);
  isBusy = false;
}

/** The whole sweep, a few steps at a time, so that the slider stays quick. */
async function sweep() {
  const mine = ++round;
  swept = [];
  for (let first = 1; first <= plan.steps + 1 && mine === round; first += PART) {
    const count = Math.min(PART, plan.steps + 2 - first);
    const part = await call("swapping.sweep", [first, count, $("swap-torn").value]);
    if (mine !== round) return;
    swept.push(...Array.from(part.list));
    draw();
  }
  const olds = swept.filter((v) => v === 1).length;
  const news = swept.filter((v) => v === 2).length;
  const none = swept.length - olds - news;
  put("swap-all", `${swept.length} cuts: ${olds} × the old model, ${news} × the new one, ${none} × none`);
}

function stageOf(step) {
  return plan.stages.find(([, end]) => step <= end)?.[0] ?? "done";
}

function tell() {
  const step = Number($("swap-step").value);
  const stage = stageOf(step);
  put("swap-step-value", step > plan.steps ? "no cut" : `step ${step} of ${plan.steps}`);
  put("swap-during", step > plan.steps ? "the swap ends" : WORDS[stage]);
  const version = ["no model", "old, version 1", "new, version 2"];
  put("swap-version", version[found.version]);
  put("swap-state", found.state);
  put("swap-note", found.note || "nothing");
}

function drawFlash() {
  const { pen, width, height } = fresh($("swap-flash"));
  if (!width || !found) return;
  const perPage = plan.page / plan.unit;
  const rowHeight = height / plan.pages;
  const left = 86;
  const unit = (width - left) / perPage;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (let page = 0; page < plan.pages; page++) {
    const at = page * plan.page;
    const slot = found.slots[0] <= at && at < found.slots[0] + found.slots[2] ? 0 : at >= found.slots[1] && at < found.slots[1] + found.slots[2] ? 1 : -1;
    const isUsed = slot >= 0 && slot === found.slot;
    pen.fillStyle = color(isUsed ? "ink" : "muted");
    const name = slot < 0 ? "journal" : `slot ${"AB"[slot]}${isUsed ? " ●" : ""}`;
    pen.fillText(name, 2, (page + 0.5) * rowHeight);
    for (let k = 0; k < perPage; k++) {
      const isFull = found.used[page * perPage + k] === "1";
      const paint = slot < 0 ? "warn" : isUsed ? (found.version === 2 ? "two" : "one") : "muted";
      pen.fillStyle = isFull ? color(paint) : color("empty");
      pen.fillRect(left + k * unit + 0.5, page * rowHeight + 2, unit - 1, rowHeight - 4);
    }
  }
}

function drawSweep() {
  const { pen, width, height } = fresh($("swap-sweep"));
  if (!width || !plan) return;
  const count = plan.steps + 1;
  const w = width / count;
  const bar = height - 22;
  for (let k = 0; k < count; k++) {
    const version = swept[k];
    pen.fillStyle = color(version === undefined ? "empty" : ["warn", "one", "two"][version]);
    pen.fillRect(k * w + 0.3, 0, Math.max(1, w - 0.6), bar);
  }
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "alphabetic";
  pen.fillStyle = color("muted");
  let from = 0;
  for (const [name, end] of plan.stages) {
    if ((end - from) * w > 40) pen.fillText(name, from * w + 3, height - 6);
    pen.fillRect(end * w, bar, 1, 6);
    from = end;
  }
  const at = Number($("swap-step").value) - 0.5;
  pen.strokeStyle = color("ink");
  pen.lineWidth = 2;
  pen.strokeRect((at - 0.5) * w, 1, Math.max(3, w), bar - 2);
}

function drawModel() {
  const { pen, width, height } = fresh($("swap-model"));
  if (!width || !found?.answers) return;
  const names = found.version === 2 ? ["panel", "two"] : ["panel", "one"];
  cells(pen, found.answers, 24, width, height, names);
}

function draw() {
  drawFlash();
  drawSweep();
  drawModel();
}

export async function open() {
  if (!plan) {
    plan = await call("swapping.plan");
    $("swap-step").max = plan.steps + 1;
    $("swap-step").value = Math.round(plan.steps / 2);
    await cut();
    sweep();
  }
  draw();
}

export function start() {
  $("swap-step").addEventListener("input", cut);
  $("swap-torn").addEventListener("change", () => {
    cut();
    sweep();
  });
  for (const id of ["swap-flash", "swap-sweep", "swap-model"]) keepDrawn($(id), draw);
}
