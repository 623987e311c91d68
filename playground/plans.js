// SPDX-License-Identifier: MIT
// Memory over time of a training step, for the RAM that the slider gives it. The plans come ready
// from the host's solver.
import { color, fresh, keepDrawn, put, whole } from "./draw.js";

const $ = (id) => document.getElementById(id);
const PAINT = { compute: "accent", again: "one", pagein: "warn", pageout: "violet" };
let all = null;

function chosen() {
  const network = all[$("plan-network").value];
  return { network, plan: network.plans[Number($("plan-ram").value)] };
}

function bytes(n) {
  return n >= 1e6 ? `${(n / 1e6).toFixed(2)} MB` : n >= 1e4 ? `${(n / 1e3).toFixed(0)} KB` : `${whole(n)} bytes`;
}

function drawMemory() {
  const { pen, width, height } = fresh($("plan-memory"));
  if (!width || !all) return;
  const { network, plan } = chosen();
  const left = 62;
  const most = network.full.ram * 1.06;
  const y = (b) => height - 22 - (b / most) * (height - 34);
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = color("muted");
  pen.strokeStyle = color("line");
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const at = y(part * network.full.ram);
    pen.beginPath();
    pen.moveTo(left, at);
    pen.lineTo(width, at);
    pen.stroke();
    pen.fillText(bytes(part * network.full.ram), 2, at + 4);
  }
  const base = network.plans[0];
  if (base.used) {
    line(pen, base.used, left, width, y, "muted", [4, 4]);
  }
  if (plan.used) {
    const w = (width - left) / plan.used.length;
    plan.used.forEach((b, k) => {
      pen.fillStyle = color(PAINT[plan.marks[k][0]]);
      pen.fillRect(left + k * w, y(b), Math.max(1, w - 0.6), y(0) - y(b));
    });
  }
  pen.strokeStyle = color("bad");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(left, y(plan.ram));
  pen.lineTo(width, y(plan.ram));
  pen.stroke();
  pen.fillStyle = color("bad");
  pen.fillText("the RAM there is", width - 92, y(plan.ram) - 5);
  pen.fillStyle = color("muted");
  pen.fillText("steps of one training step", left, height - 5);
}

function line(pen, used, left, width, y, name, dash) {
  pen.setLineDash(dash);
  pen.strokeStyle = color(name);
  pen.lineWidth = 1.2;
  pen.beginPath();
  used.forEach((b, k) => pen.lineTo(left + ((k + 0.5) * (width - left)) / used.length, y(b)));
  pen.stroke();
  pen.setLineDash([]);
}

function drawTensors() {
  const { pen, width, height } = fresh($("plan-tensors"));
  if (!width || !all) return;
  const { network, plan } = chosen();
  if (!plan.spans) return;
  const left = 62;
  const steps = plan.used.length;
  const w = (width - left) / steps;
  const h = (height - 18) / network.tensors.length;
  pen.fillStyle = color("soft");
  for (const [tensor, first, last] of plan.spans) {
    pen.fillRect(left + first * w, tensor * h, (last - first + 1) * w, Math.max(1, h - 0.5));
  }
  plan.marks.forEach(([kind, tensor], k) => {
    pen.fillStyle = color(PAINT[kind]);
    pen.fillRect(left + k * w, tensor * h, Math.max(2, w), Math.max(2, h - 0.5));
  });
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = color("muted");
  pen.fillText("tensors", 2, 12);
  pen.fillText("when each is in RAM", left, height - 4);
}

function draw() {
  if (!all) return;
  drawMemory();
  drawTensors();
}

function tell() {
  const { network, plan } = chosen();
  put("plan-ram-value", `${bytes(plan.ram)}, ${plan.share} % of keeping all`);
  const names = ["plan-energy", "plan-time", "plan-again", "plan-pages", "plan-proof"];
  if (plan.fault) {
    for (const id of names) put(id, "–");
    put("plan-word", plan.fault[0].toUpperCase() + plan.fault.slice(1) + ".");
    return;
  }
  const more = (a, b) => `+${(100 * (a / b - 1)).toFixed(1)} %`;
  put("plan-energy", more(plan.energy, network.full.energy));
  put("plan-time", more(plan.time, network.full.time));
  put("plan-again", plan.again);
  put("plan-pages", `${plan.out} / ${plan.in}`);
  put("plan-proof", plan.proven ? "yes" : "not within the limit");
  put("plan-word", "");
}

function change() {
  $("plan-ram").max = chosen().network.plans.length - 1;
  tell();
  draw();
}

export async function open() {
  if (!all) {
    all = await (await fetch("plans.json")).json();
    for (const [name, network] of Object.entries(all)) {
      const option = new Option(network.title, name);
      $("plan-network").append(option);
    }
    $("plan-network").value = Object.keys(all)[1] ?? Object.keys(all)[0];
    $("plan-ram").max = chosen().network.plans.length - 1;
    $("plan-ram").value = 8;
    tell();
  }
  draw();
}

export function start() {
  $("plan-network").addEventListener("change", change);
  $("plan-ram").addEventListener("input", change);
  for (const id of ["plan-memory", "plan-tensors"]) keepDrawn($(id), draw);
}
