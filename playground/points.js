// SPDX-License-Identifier: MIT
// Draw points; boundary, margins and support vectors follow while one is dragged.
import { call } from "./device.js";
import { color, fresh, keepDrawn, put, rgb } from "./draw.js";

const COLUMNS = 64;
const LINES = 48;
const BOX = [-4, -3, 8 / (COLUMNS - 1), 6 / (LINES - 1), COLUMNS, LINES];
const NAMES = ["one", "two", "three"];
const $ = (id) => document.getElementById(id);
const canvas = $("points-canvas");
let points = [];
let shown = null;
let chosen = -1;
let dragged = false;
let cursor = null; // [x, y], moved by the arrow keys
let kind = 0;
let isBusy = false;
let isStale = false;
let stepping = 0;
const redraws = []; // times, for the measurement

function sample(which) {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const near = (s) => (random() + random() + random() - 1.5) * s;
  points = [];
  for (let k = 0; k < 60; k++) {
    const turn = random() * Math.PI;
    if (which === "moons") {
      points.push(
        k % 2
          ? [Math.cos(turn) * 1.8 - 0.9 + near(0.5), Math.sin(turn) * 1.8 - 0.5 + near(0.5), 0]
          : [Math.cos(turn) * 1.8 + 0.9 + near(0.5), 0.5 - Math.sin(turn) * 1.8 + near(0.5), 1],
      );
    } else if (which === "ring") {
      const far = k % 2 ? 0.4 : 2;
      points.push([Math.cos(2 * turn) * far + near(0.7), Math.sin(2 * turn) * far + near(0.7), k % 2]);
    } else {
      const c = k % 3;
      points.push([[-2, 1.7, 0.2][c] + near(1.1), [-0.9, -1, 1.5][c] + near(1.1), c]);
    }
  }
}

function settings() {
  const gamma = Number($("points-gamma").value);
  return [
    $("points-kernel").value,
    10 ** Number($("points-c").value),
    gamma <= -3 ? 0 : 10 ** gamma,
    Number($("points-degree").value),
  ];
}

function place([x, y], { width, height }) {
  return [((x + 4) / 8) * width, height - ((y + 3) / 6) * height];
}

function spot(event) {
  const box = canvas.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * 8 - 4;
  const y = 3 - ((event.clientY - box.top) / box.height) * 6;
  return [Math.max(-4, Math.min(4, x)), Math.max(-3, Math.min(3, y))];
}

/** The field as a picture: decision values are interpolated between the places where the machine
 * was asked, and coloured by their vote. */
function background(wide, high) {
  const image = new ImageData(wide, high);
  const { field, classes } = shown;
  const size = COLUMNS * LINES;
  const values = new Float32Array(field.length / size);
  const tones = classes.map((c) => rgb(NAMES[c]));
  const base = rgb("panel");
  const winners = new Uint8Array(wide * high);
  for (let py = 0; py < high; py++) {
    const fy = (1 - (py + 0.5) / high) * (LINES - 1);
    const y = Math.min(LINES - 2, Math.floor(fy));
    for (let px = 0; px < wide; px++) {
      const fx = ((px + 0.5) / wide) * (COLUMNS - 1);
      const x = Math.min(COLUMNS - 2, Math.floor(fx));
      for (let p = 0; p < values.length; p++) {
        values[p] = between(field, p * size + y * COLUMNS + x, fx - x, fy - y);
      }
      const [winner, sure] = vote(values, classes.length);
      const share = 0.16 + 0.26 * Math.min(1, sure);
      const at = py * wide + px;
      winners[at] = winner;
      for (let k = 0; k < 3; k++) {
        image.data[4 * at + k] = base[k] * (1 - share) + tones[winner][k] * share;
      }
      image.data[4 * at + 3] = 255;
    }
  }
  if (classes.length > 2) outline(image, winners);
  return image;
}

function between(field, k, u, v) {
  return (
    (field[k] * (1 - u) + field[k + 1] * u) * (1 - v) +
    (field[k + COLUMNS] * (1 - u) + field[k + COLUMNS + 1] * u) * v
  );
}

/** Darken the picture where the winner of the vote changes. */
function outline(image, winners) {
  const ink = rgb("ink");
  const wide = image.width;
  for (let k = 0; k < winners.length - wide - 1; k++) {
    if (winners[k] !== winners[k + 1] || winners[k] !== winners[k + wide]) {
      for (let c = 0; c < 3; c++) image.data[4 * k + c] = ink[c];
    }
  }
}

/** Draw the line on which the field of two classes has a value: each cell has a piece of it. */
function contour(pen, level, width, height) {
  const { field } = shown;
  pen.beginPath();
  for (let y = 0; y < LINES - 1; y++) {
    for (let x = 0; x < COLUMNS - 1; x++) {
      const at = y * COLUMNS + x;
      const ring = [at, at + 1, at + COLUMNS + 1, at + COLUMNS].map((k) => field[k] - level);
      let begun = false;
      for (let side = 0; side < 4; side++) {
        const [a, b] = [ring[side], ring[(side + 1) % 4]];
        if (a > 0 === b > 0) continue;
        const t = a / (a - b);
        const px = x + [t, 1, 1 - t, 0][side];
        const py = y + [0, t, 1, 1 - t][side];
        const to = [(px / (COLUMNS - 1)) * width, height - (py / (LINES - 1)) * height];
        if (begun) pen.lineTo(...to);
        else pen.moveTo(...to);
        begun = !begun;
      }
    }
  }
  pen.stroke();
}

/** Class of most votes, the lowest on a tie, and how far the nearest pair is from a change. */
function vote(values, classes) {
  if (classes === 2) return [values[0] > 0 ? 0 : 1, Math.abs(values[0])];
  const votes = [0, 0, 0];
  let p = 0;
  let least = 9;
  for (let i = 0; i < classes; i++) {
    for (let j = i + 1; j < classes; j++, p++) votes[values[p] > 0 ? i : j]++;
  }
  const best = votes.indexOf(Math.max(...votes));
  p = 0;
  for (let i = 0; i < classes; i++) {
    for (let j = i + 1; j < classes; j++, p++) {
      if (i === best || j === best) least = Math.min(least, Math.abs(values[p]));
    }
  }
  return [best, least];
}

const buffer = document.createElement("canvas");

function draw() {
  const { pen, width, height } = fresh(canvas);
  if (!width) return;
  if (shown?.field) {
    const image = background(Math.ceil(width / 2), Math.ceil(height / 2));
    buffer.width = image.width;
    buffer.height = image.height;
    buffer.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = true;
    pen.drawImage(buffer, 0, 0, width, height);
    if (shown.classes.length === 2) {
      pen.strokeStyle = color("ink");
      pen.lineWidth = 2;
      contour(pen, 0, width, height);
      pen.globalAlpha = 0.45;
      pen.lineWidth = 1.2;
      contour(pen, 1, width, height);
      contour(pen, -1, width, height);
      pen.globalAlpha = 1;
    }
  }
  const vectors = new Set(shown?.vectors);
  points.forEach((point, k) => {
    const [x, y] = place(point, { width, height });
    if (vectors.has(k)) {
      pen.beginPath();
      pen.arc(x, y, 9, 0, 7);
      pen.lineWidth = 1.6;
      pen.strokeStyle = color("ink");
      pen.stroke();
    }
    mark(pen, x, y, point[2], k === chosen);
  });
  if (cursor && document.activeElement === canvas) {
    const [x, y] = place(cursor, { width, height });
    pen.strokeStyle = color("ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x - 9, y);
    pen.lineTo(x + 9, y);
    pen.moveTo(x, y - 9);
    pen.lineTo(x, y + 9);
    pen.stroke();
  }
}

/** Shapes as well as colours: a disc, a square, a triangle. */
function mark(pen, x, y, which, isChosen) {
  const r = isChosen ? 7.5 : 5.5;
  pen.beginPath();
  if (which === 0) pen.arc(x, y, r, 0, 7);
  else if (which === 1) pen.rect(x - r * 0.88, y - r * 0.88, 1.76 * r, 1.76 * r);
  else {
    pen.moveTo(x, y - r * 1.15);
    pen.lineTo(x + r * 1.1, y + r * 0.85);
    pen.lineTo(x - r * 1.1, y + r * 0.85);
    pen.closePath();
  }
  pen.fillStyle = color(NAMES[which]);
  pen.fill();
  pen.lineWidth = 1.3;
  pen.strokeStyle = color("panel");
  pen.stroke();
}

function tell() {
  if (shown.need) {
    put("points-steps", "–");
    put("points-vectors", "–");
    put("points-time", "–");
    put("points-word", shown.need);
    return;
  }
  put("points-steps", shown.steps);
  put("points-vectors", `${shown.count} of ${shown.points}`);
  put("points-time", shown.fit_ms ? `${shown.fit_ms.toFixed(1)} ms` : "–");
  const state = shown.done === false ? "Still training." : "";
  put("points-word", shown.warning ?? (state || (shown.converged ? "Converged." : "Stopped early.")));
}

/** Train on what is there; while one training runs, only the newest wish waits. */
async function train() {
  stepping = 0;
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  do {
    isStale = false;
    try {
      const answer = await call("points.train", [points, BOX, ...settings()]);
      if (stepping) break;
      shown = answer;
      tell();
      draw();
      redraws.push(performance.now());
      window.firstPicture ??= performance.now();
    } catch (error) {
      put("points-word", error.message);
    }
  } while (isStale);
  isBusy = false;
}

async function watch() {
  const mine = (stepping = performance.now());
  const begun = await call("points.begin", [points, ...settings()]);
  if (begun.need) {
    shown = begun;
    return tell();
  }
  for (let done = false; !done && mine === stepping; ) {
    const answer = await call("points.advance", [BOX, 1]);
    if (mine !== stepping) return;
    done = answer.done;
    if (answer.field) {
      shown = answer;
      tell();
      draw();
    }
    await new Promise((next) => setTimeout(next, 60));
  }
}

function nearest(at, within) {
  let best = -1;
  let least = within;
  points.forEach(([x, y], k) => {
    const far = Math.hypot(x - at[0], y - at[1]);
    if (far < least) [best, least] = [k, far];
  });
  return best;
}

function remove() {
  if (chosen < 0) return;
  points.splice(chosen, 1);
  chosen = -1;
  train();
}

function onKey(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (event.key in moves) {
    cursor ??= [0, 0];
    const by = event.shiftKey ? 0.5 : 0.12;
    cursor = [
      Math.max(-4, Math.min(4, cursor[0] + moves[event.key][0] * by)),
      Math.max(-3, Math.min(3, cursor[1] + moves[event.key][1] * by)),
    ];
    if (event.altKey && chosen >= 0) {
      points[chosen] = [...cursor, points[chosen][2]];
      train();
    } else chosen = nearest(cursor, 0.25);
    draw();
  } else if (event.key === " " || event.key === "Enter") {
    cursor ??= [0, 0];
    points.push([...cursor, kind]);
    train();
  } else if (event.key === "Delete" || event.key === "Backspace") remove();
  else if ("123".includes(event.key)) choose(Number(event.key) - 1);
  else return;
  event.preventDefault();
}

function choose(which) {
  kind = which;
  document.querySelectorAll("[name=points-class]").forEach((radio, k) => (radio.checked = k === which));
}

function labels() {
  const [kernel, C, gamma, degree] = settings();
  put("points-c-value", C < 1 ? C.toPrecision(2) : C.toFixed(C < 10 ? 1 : 0));
  put("points-gamma-value", gamma ? gamma.toPrecision(2) : "by the data");
  put("points-degree-value", degree);
  $("points-gamma-row").hidden = kernel === "linear";
  $("points-degree-row").hidden = kernel !== "poly";
}

export function start() {
  canvas.addEventListener("pointerdown", (event) => {
    const at = spot(event);
    chosen = nearest(at, 0.22);
    if (event.button === 2) return remove();
    if (chosen < 0) {
      points.push([...at, kind]);
      chosen = points.length - 1;
      train();
    }
    dragged = true;
    canvas.setPointerCapture(event.pointerId);
    draw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!dragged || chosen < 0) return;
    points[chosen] = [...spot(event), points[chosen][2]];
    train();
  });
  canvas.addEventListener("pointerup", () => (dragged = false));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("keydown", onKey);
  canvas.addEventListener("blur", draw);
  document
    .querySelectorAll("[name=points-class]")
    .forEach((radio, k) => radio.addEventListener("change", () => (kind = k)));
  for (const id of ["points-kernel", "points-c", "points-gamma", "points-degree"]) {
    $(id).addEventListener("input", () => {
      labels();
      train();
    });
  }
  for (const which of ["moons", "ring", "three"]) {
    $("points-" + which).addEventListener("click", () => {
      sample(which);
      chosen = -1;
      train();
    });
  }
  $("points-clear").addEventListener("click", () => {
    points = [];
    shown = null;
    chosen = -1;
    draw();
    train();
  });
  $("points-watch").addEventListener("click", watch);
  keepDrawn(canvas, draw);
  labels();
  sample("moons");
  window.redraws = redraws;
  window.drawn = () => points;
  return train();
}
