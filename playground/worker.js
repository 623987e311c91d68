// SPDX-License-Identifier: MIT
// MicroPython with the device package, beside the page's thread. Messages: {id, call, args} in,
// {id, out, grids} or {id, error} out.
import { loadMicroPython } from "./micropython.mjs";

const HEAP_BYTES = 16 * 1024 * 1024;
const STACK_BYTES = 64 * 1024;
let exportsOfPython;

// The C core works in MicroPython's own memory, which its loader keeps to itself.
for (const name of ["instantiate", "instantiateStreaming"]) {
  const real = WebAssembly[name];
  WebAssembly[name] = async (...args) => {
    const made = await real.apply(WebAssembly, args);
    exportsOfPython ??= (made.instance ?? made).exports;
    return made;
  };
}

function write(python, files) {
  for (const [path, text] of Object.entries(files)) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!python.FS.analyzePath(folder).exists) python.FS.mkdir(folder);
    python.FS.writeFile(path, Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  }
}

async function loadCore(python) {
  const answer = await fetch("core.wasm");
  if (!answer.ok) return false;
  const { memory, __indirect_function_table } = exportsOfPython;
  const fixed = (value, mutable = false) => new WebAssembly.Global({ value: "i32", mutable }, value);
  const made = await WebAssembly.instantiate(await answer.arrayBuffer(), {
    env: {
      memory,
      __indirect_function_table,
      __stack_pointer: fixed(python._module._malloc(STACK_BYTES) + STACK_BYTES, true),
      __memory_base: fixed(python._module._malloc(4096)),
      __table_base: fixed(0),
    },
  });
  globalThis.acclimateCore = made.instance.exports;
  return true;
}

async function start() {
  const files = fetch("device.json").then((answer) => answer.json());
  const python = await loadMicroPython({ heapsize: HEAP_BYTES, stdout: () => {} });
  write(python, await files);
  const native = await loadCore(python);
  python.runPython("import sys\nsys.path[:] = ['/', '/page', '.frozen']");
  if (native) python.runPython("import wasm_net, wasm_svm");
  python.runPython("from calls import call\nfrom acclimate import __version__ as version");
  const version = python.globals.get("version");
  postMessage({ ready: { native, version } });
  return python.globals.get("call");
}

function takeGrids(out) {
  const grids = {};
  for (const [key, value] of Object.entries(out ?? {})) {
    if (value && value.at !== undefined && value.count !== undefined) {
      grids[key] = new Float32Array(exportsOfPython.memory.buffer, value.at, value.count).slice();
      delete out[key];
    }
  }
  return grids;
}

const ready = start();
ready.catch((error) => postMessage({ failed: String(error) }));

onmessage = async ({ data: { id, call, args } }) => {
  try {
    const python = await ready;
    const out = JSON.parse(python(JSON.stringify([call, args])));
    const grids = takeGrids(out);
    postMessage({ id, out, grids }, Object.values(grids).map((grid) => grid.buffer));
  } catch (error) {
    const lines = String(error.message ?? error).trim().split("\n");
    postMessage({ id, error: lines[lines.length - 1] });
  }
};
