// SPDX-License-Identifier: MIT
// An int8 network learns a new hand: the digits of a slanted writer, or one's own.
import { call } from "./device.js";
import { color, dot, fresh, keepDrawn, put, whole } from "./draw.js";

const $ = (id) => document.getElementById(id);
const pad = $("net-pad");
let made = null;
let curve = [];
let said = [];
let isRunning = false;
let pixels = new Float32Array(64);
let drawing = false;
let at = [3, 3]; // the pad's cursor for keys

function drawDigits() {
  const { pen, width, height } = fresh($("net-digits"));
  if (!width || !made) return;
  const columns = 12;
  const tested = made.digits.slice(made.learn);
  const lines = Math.ceil(tested.length / columns);
  const w = width / columns;
  const h = height / lines;
  const side = Math.min(w, h) - 8;
  tested.forEach(([x, truth], k) => {
    const left = (k % columns) * w + (w - side) / 2;
    const top = Math.floor(k / columns) * h + (h - side) / 2;
    const isRight = said[k] === truth;
    pen.fillStyle = color(isRight ? "good-soft" : "bad-soft");
    pen.fillRect(left - 3, top - 3, side + 6, side + 6);
    for (let p = 0; p < 64; p++) {
      pen.fillStyle = color("ink");
      pen.globalAlpha = (x[p] < 128 ? x[p] + 128 : x[p] - 128) / 255;
      pen.fillRect(left + ((p % 8) * side) / 8, top + (Math.floor(p / 8) * side) / 8, side / 8, side / 8);
    }
    pen.globalAlpha = 1;
    pen.font = "600 11px system-ui, sans-serif";
    pen.fillStyle = color(isRight ? "good" : "bad");
    pen.fillText(said[k], left + side - 5, top + side + 1);
  });
}

function drawCurve() {
  const { pen, width, height } = fresh($("net-curve"));
  if (!width || !made) return;
  const most = Math.max(120, curve[curve.length - 1]?.[0] ?? 0);
  const x = (n) => 30 + (n / most) * (width - 40);
  const y = (share) => 8 + (1 - share) * (height - 30);
  pen.font = "11px system-ui, sans-serif";
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    pen.strokeStyle = color("line");
    pen.beginPath();
    pen.moveTo(30, y(share));
    pen.lineTo(width, y(share));
    pen.stroke();
    pen.fillStyle = color("muted");
    pen.fillText(`${share * 100}`, 4, y(share) + 4);
  }
  pen.fillText("digits learned from", 34, height - 4);
  pen.fillText(String(most), width - 26, height - 4);
  pen.strokeStyle = color("accent");
  pen.lineWidth = 2;
  pen.beginPath();
  for (const [n, right] of curve) pen.lineTo(x(n), y(right / made.tested));
  pen.stroke();
  for (const [n, right] of curve) dot(pen, x(n), y(right / made.tested), "accent", 3);
}

function drawPad() {
  const { pen, width, height } = fresh(pad);
  const side = width / 8;
  for (let p = 0; p < 64; p++) {
    pen.fillStyle = color("empty");
    pen.fillRect((p % 8) * side + 0.5, Math.floor(p / 8) * side + 0.5, side - 1, side - 1);
    pen.fillStyle = color("ink");
    pen.globalAlpha = pixels[p] / 16;
    pen.fillRect((p % 8) * side + 0.5, Math.floor(p / 8) * side + 0.5, side - 1, side - 1);
    pen.globalAlpha = 1;
  }
  if (document.activeElement === pad) {
    pen.strokeStyle = color("accent");
    pen.lineWidth = 2;
    pen.strokeRect(at[0] * side + 1, at[1] * side + 1, side - 2, side - 2);
  }
}

function draw() {
  drawDigits();
  drawCurve();
  drawPad();
}

function tell(right, seen) {
  put("net-right", `${right} of ${made.tested}`);
  put("net-seen", seen);
}

async function train() {
  isRunning = true;
  $("net-train").textContent = "Pause";
  for (let k = 0; k < 12 && isRunning; k++) {
    const answer = await call("network.train", [10]);
    said = answer.said;
    curve.push([answer.seen, answer.right]);
    tell(answer.right, answer.seen);
    drawDigits();
    drawCurve();
  }
  isRunning = false;
  $("net-train").textContent = "Learn 120 times";
}

async function begin() {
  isRunning = false;
  made = await call("network.begin");
  said = made.said;
  curve = [[0, made.right]];
  tell(made.right, 0);
  put("net-arena", `${whole(made.arena)} bytes`);
  put("net-delta", `${whole(made.weights)} bytes`);
  draw();
}

function brush(column, line, strong) {
  for (let p = 0; p < 64; p++) {
    const far = Math.hypot((p % 8) + 0.5 - column, Math.floor(p / 8) + 0.5 - line);
    pixels[p] = Math.max(pixels[p], 16 * Math.max(0, Math.min(1, strong - far)));
  }
}

async function guess() {
  if (!made) return;
  const { said: answer } = await call("network.say", [Array.from(pixels)]);
  put("net-guess", answer);
}

function onPad(event) {
  const box = pad.getBoundingClientRect();
  brush(((event.clientX - box.left) / box.width) * 8, ((event.clientY - box.top) / box.height) * 8, 1.35);
  drawPad();
}

function onKey(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.key in moves) at = at.map((v, k) => Math.max(0, Math.min(7, v + moves[event.key][k])));
  else if (event.key === " ") {
    brush(at[0] + 0.5, at[1] + 0.5, 1.2);
    guess();
  } else if (event.key >= "0" && event.key <= "9") teach(Number(event.key));
  else return;
  event.preventDefault();
  drawPad();
}

async function teach(label) {
  if (!made) return;
  const answer = await call("network.teach", [Array.from(pixels), label]);
  put("net-guess", answer.said);
}

export async function open() {
  if (!made) await begin();
  draw();
}

export function close() {
  isRunning = false;
}

export function start() {
  $("net-train").addEventListener("click", () => {
    if (isRunning) isRunning = false;
    else train();
  });
  $("net-again").addEventListener("click", begin);
  $("net-clear").addEventListener("click", () => {
    pixels = new Float32Array(64);
    put("net-guess", "–");
    drawPad();
  });
  for (let k = 0; k < 10; k++) {
    const button = document.createElement("button");
    button.textContent = k;
    button.title = `This is a ${k}: learn it`;
    button.addEventListener("click", () => teach(k));
    $("net-labels").append(button);
  }
  pad.addEventListener("pointerdown", (event) => {
    drawing = true;
    pad.setPointerCapture(event.pointerId);
    onPad(event);
  });
  pad.addEventListener("pointermove", (event) => drawing && onPad(event));
  pad.addEventListener("pointerup", () => {
    drawing = false;
    guess();
  });
  pad.addEventListener("keydown", onKey);
  for (const event of ["focus", "blur"]) pad.addEventListener(event, drawPad);
  for (const id of ["net-digits", "net-curve", "net-pad"]) keepDrawn($(id), draw);
}
