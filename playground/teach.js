// SPDX-License-Identifier: MIT
// Teach a board: over the bridge of `acclimate teach --web`, or straight over WebSerial.
import { color, fresh, keepDrawn, put, whole } from "./draw.js";
import { SerialSession, canSerial } from "./teach_serial.js";

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const TONES = ["one", "two", "three", "warn", "violet", "accent"];
const AGAIN_MS = 1000;
let board = null; // has ask({do, gesture})
let made = null; // labels, channels, samples
let wave = [];
let state = {};
let isOver = false;

function say(text) {
  if (text) put("teach-word", text);
}

function drawWave() {
  const { pen, width, height } = fresh($("teach-wave"));
  if (!width || !made) return;
  const most = wave.reduce((top, v) => Math.max(top, Math.abs(v)), 400);
  for (let c = 0; c < made.channels; c++) {
    pen.strokeStyle = color(TONES[c % TONES.length]);
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (let k = c, n = 0; k < wave.length; k += made.channels, n++) {
      pen.lineTo((n / made.samples) * width, height / 2 - (wave[k] / most) * (height / 2 - 8));
    }
    pen.stroke();
  }
}

function samplesOf(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return Array.from(new Int16Array(bytes.buffer));
}

function button(parent, text, onClick, note) {
  const made = document.createElement("button");
  made.textContent = text;
  if (note) {
    const small = document.createElement("small");
    small.textContent = note;
    made.append(small);
  }
  made.addEventListener("click", onClick);
  parent.append(made);
  return made;
}

function drawLabels() {
  $("teach-labels").replaceChildren();
  made.labels.forEach((label, k) => {
    const one = button($("teach-labels"), label, () => board.ask({ do: "tell", gesture: k }), `this was it – key ${k + 1}`);
    one.dataset.gesture = k;
  });
  $("teach-connect").replaceChildren();
  if (made.sensor === "replay") {
    made.labels.forEach((label, k) =>
      button($("teach-connect"), `▶ ${label}`, () => board.ask({ do: "perform", gesture: k })),
    );
  }
}

function drawConfusion() {
  const count = made.labels.length;
  const cell = (text, kind = "td") => {
    const one = document.createElement(kind);
    one.textContent = text;
    return one;
  };
  const head = document.createElement("tr");
  head.append(cell("", "th"), ...made.labels.map((label) => cell(label, "th")));
  const rows = made.labels.map((label, truth) => {
    const row = document.createElement("tr");
    row.append(cell(label, "th"));
    for (let said = 0; said < count; said++) {
      const n = state.confusion?.[truth * count + said] ?? 0;
      const one = cell(n || "·");
      if (n) one.style.background = color(said === truth ? "good-soft" : "bad-soft");
      row.append(one);
    }
    return row;
  });
  $("teach-confusion").replaceChildren(head, ...rows);
}

const VERDICTS = {
  first: "it has learned",
  kept: "it knows better now",
  discarded: "the new training was not better, so the old one stays",
};

function tell() {
  put("teach-said", state.said == null ? "–" : made.labels[state.said]);
  const more = (state.lacking ?? []).map((k) => made.labels[k]).join(", ");
  const word = VERDICTS[state.last] ?? (more && `show it more of: ${more}`);
  put("teach-verdict", state.training ? "training…" : word);
  put("teach-recent", state.recent == null ? "–" : `${Math.round(state.recent / 10)} %`);
  const total = (state.told ?? []).reduce((a, b) => a + b, 0);
  put("teach-counts", `${total - (state.held ?? 0)} / ${state.held ?? 0}`);
  put("teach-trainings", `${state.kept ?? 0} / ${state.discarded ?? 0}`);
  put("teach-heap", (state.heap ?? []).map((b) => `${whole(b / 1000)} KB`).join(" / "));
  document.querySelectorAll("#teach-labels button").forEach((one, k) => {
    one.classList.toggle("main", k === state.said);
    one.querySelector("small").textContent = `${state.told?.[k] ?? 0} windows – key ${k + 1}`;
  });
}

/** Take what the board, or the bridge, says. */
function take(found) {
  if (found.hello) {
    made = found;
    wave = [];
    $("teach-live").hidden = false;
    drawLabels();
    say(found.word || `${found.hello}: do a gesture, then press its button at once. Four of each are enough to begin.`);
  }
  if (found.gone) $("teach-live").classList.add("gone");
  else $("teach-live").classList.remove("gone");
  if (found.told) {
    const before = JSON.stringify(state.confusion);
    state = { ...state, ...found, last: found.verdict ?? state.last };
    if (found.hello || JSON.stringify(state.confusion) !== before) drawConfusion();
    tell();
  } else if (found.hello) {
    drawConfusion();
    tell();
  }
  if (found.new && made) {
    wave = [...wave, ...samplesOf(found.new)].slice(-made.samples * made.channels);
    drawWave();
  }
  if (found.saved) {
    const before = found.before ? ` What it did before is in ${found.before}.` : "";
    say(`Saved: from the next start on the board does this alone.${before}`);
  } else if (!found.hello) say(found.word ?? found.note);
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/board?token=${encodeURIComponent(token)}`);
  socket.onmessage = ({ data }) => take(JSON.parse(data));
  socket.onopen = () => (board = { ask: (wish) => socket.send(JSON.stringify(wish)) });
  socket.onclose = ({ code }) => {
    board = null;
    isOver = code === 4000;
    say(isOver ? "Another page has taken the board; reload this one to take it back." : "acclimate teach has ended, or refuses this address. Start it again; this page looks for it.");
    if (!isOver) setTimeout(connect, AGAIN_MS);
  };
}

async function openSerial() {
  const labels = prompt("Names of the gestures, with commas between", "one, two, three");
  if (!labels) return;
  try {
    board = await SerialSession.open(labels.split(",").map((name) => name.trim()), $("teach-sensor").value, take);
  } catch (error) {
    say(error.message);
  }
}

function offer() {
  const place = $("teach-connect");
  if (canSerial()) {
    button(place, "Connect a board", openSerial).classList.add("main");
    const pick = document.createElement("select");
    pick.id = "teach-sensor";
    pick.setAttribute("aria-label", "Its sensor");
    SerialSession.sensors().then((names) => pick.append(...names.map((name) => new Option(name))));
    place.append(pick);
  }
  const other = canSerial() ? "Or run" : "This browser has no WebSerial. Run";
  say(`${other} “acclimate teach --board nrf52840 --web” for an emulated board, “--port /dev/ttyACM0 --web” for yours; it opens this page with the board beside it.`);
}

export function open() {
  drawWave();
}

export function start() {
  $("teach-train").addEventListener("click", () => board?.ask({ do: "train" }));
  $("teach-save").addEventListener("click", () => board?.ask({ do: "save" }));
  document.addEventListener("keydown", (event) => {
    const number = Number(event.key);
    const isTyping = /^(SELECT|INPUT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || $("tab-teach").hidden || !board || !made || !(number >= 1 && number <= made.labels.length)) return;
    board.ask({ do: "tell", gesture: number - 1 });
  });
  keepDrawn($("teach-wave"), drawWave);
  if (token) connect();
  else offer();
}
