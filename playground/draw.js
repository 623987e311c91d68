// SPDX-License-Identifier: MIT
// Canvas helpers: sharp at any pixel density, colours from the style sheet.

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

export function rgb(name) {
  const text = color(name).replace("#", "");
  return [0, 2, 4].map((k) => parseInt(text.slice(k, k + 2), 16));
}

/** Fit the canvas to its place on the page; returns its context in CSS pixels, cleared. */
export function fresh(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

/** Fill the canvas with cells of a text of digits, one colour a digit, line 0 at the bottom. */
export function cells(pen, text, side, width, height, names) {
  const paint = names.map((name) => color(name));
  for (let k = 0; k < text.length; k++) {
    const x = k % side;
    const y = side - 1 - Math.floor(k / side);
    pen.fillStyle = paint[text.charCodeAt(k) - 48];
    pen.fillRect((x * width) / side, (y * height) / side, width / side + 0.6, height / side + 0.6);
  }
}

export function dot(pen, x, y, name, radius = 5) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.fillStyle = color(name);
  pen.fill();
  pen.lineWidth = 1.2;
  pen.strokeStyle = color("panel");
  pen.stroke();
}

/** Draw again whenever the canvas or the colours change. */
export function keepDrawn(canvas, draw) {
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.addEventListener("theme", draw);
}

export function put(id, text) {
  document.getElementById(id).textContent = text;
}

export function whole(number) {
  return Math.round(number).toLocaleString("en-US");
}
