// SPDX-License-Identifier: MIT
// A stream whose classes turn; the loop notices, forgets and trains again.
import { call } from "./device.js";
import { cells, color, dot, fresh, keepDrawn, put } from "./draw.js";

const $ = (id) => document.getElementById(id);
const SPAN = 400; // readings that the time line shows
const MEMORY = 40; // answers behind a share
let seen = [];
let events = [];
let grid = "";
let isRunning = false;
let isOpen = false;
let last = null;

function share(which, until) {
  const part = seen.slice(Math.max(0, until - MEMORY), until);
  return part.length ? part.reduce((sum, s) => sum + s[which], 0) / part.length : 1;
}

function drawWorld() {
  const { pen, width, height } = fresh($("drift-canvas"));
  if (!width) return;
  cells(pen, grid, 32, width, height, ["one-soft", "two-soft"]);
  const place = (v, size) => ((v + 128) / 256) * size;
  for (const [x, y, truth, right] of seen.slice(-90)) {
    dot(pen, place(x, width), height - place(y, height), ["one", "two"][truth], 4.5);
    if (!right) {
      pen.strokeStyle = color("ink");
      pen.lineWidth = 1.4;
      pen.strokeRect(place(x, width) - 7, height - place(y, height) - 7, 14, 14);
    }
  }
}

function drawLine() {
  const { pen, width, height } = fresh($("drift-line"));
  if (!width) return;
  const bottom = height - 20;
  const y = (part) => 16 + (1 - part) * (bottom - 18);
  const first = Math.max(0, seen.length - SPAN);
  const x = (k) => ((k - first) / SPAN) * width;
  pen.font = "11px system-ui, sans-serif";
  for (const part of [1, 0.75, 0.5, 0.25, 0]) {
    pen.strokeStyle = color("line");
    pen.beginPath();
    pen.moveTo(0, y(part));
    pen.lineTo(width, y(part));
    pen.stroke();
    pen.fillStyle = color("muted");
    pen.fillText(`${Math.round(part * 100)} %`, 2, y(part) - 3);
  }
  let free = 0; // where a word may begin without covering another
  for (const [at, name] of events) {
    if (at < first) continue;
    pen.fillStyle = color(name === "drift" ? "warn" : name === "kept" ? "accent" : "muted");
    pen.fillRect(x(at), 4, 2, bottom);
    if (x(at) < free) continue;
    pen.fillText({ drift: "noticed", kept: "kept", discarded: "tried" }[name], x(at) + 4, height - 5);
    free = x(at) + 56;
  }
  for (const [which, name] of [
    [4, "muted"],
    [3, "accent"],
  ]) {
    pen.strokeStyle = color(name);
    pen.lineWidth = 2;
    pen.beginPath();
    for (let k = first + 1; k <= seen.length; k += 2) pen.lineTo(x(k), y(share(which, k)));
    pen.stroke();
  }
}

function draw() {
  if (!grid) return;
  drawWorld();
  drawLine();
}

function tell() {
  put("drift-now", `${Math.round(share(3, seen.length) * 100)} %`);
  put("drift-fixed", `${Math.round(share(4, seen.length) * 100)} %`);
  put("drift-told", last.drifts);
  put("drift-kept", last.kept);
  put("drift-rows", last.rows);
}

async function go() {
  while (isRunning && isOpen) {
    const wanted = Number($("drift-turn").value);
    last = await call("drifting.run", [2, wanted]);
    for (const reading of last.seen) {
      seen.push(reading);
      if (reading[5]) events.push([seen.length, reading[5]]);
    }
    if (last.grid) grid = last.grid;
    tell();
    draw();
    await new Promise((next) => setTimeout(next, 70));
  }
}

function run(yes) {
  isRunning = yes;
  $("drift-run").textContent = yes ? "Pause" : "Run";
  if (yes) go();
}

async function begin() {
  grid = (await call("drifting.begin")).grid;
  seen = [];
  events = [];
  draw();
}

export async function open() {
  isOpen = true;
  if (!grid) await begin();
  draw();
  run(true);
}

export function close() {
  isOpen = false;
}

export function start() {
  $("drift-run").addEventListener("click", () => run(!isRunning));
  $("drift-again").addEventListener("click", () => {
    $("drift-turn").value = 0;
    put("drift-angle", "0°");
    begin();
  });
  $("drift-turn").addEventListener("input", () => put("drift-angle", `${$("drift-turn").value}°`));
  $("drift-jump").addEventListener("click", () => {
    $("drift-turn").value = (Number($("drift-turn").value) + 110) % 360;
    put("drift-angle", `${$("drift-turn").value}°`);
  });
  for (const id of ["drift-canvas", "drift-line"]) keepDrawn($(id), draw);
}
