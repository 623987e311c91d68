// SPDX-License-Identifier: MIT
// Calls into the worker that runs the device package.
const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let last = 0;

export const ready = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => {
    if (data.ready) return resolve(data.ready);
    if (data.failed) return reject(new Error(data.failed));
    const { take, refuse } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) refuse(new Error(data.error));
    else take({ ...data.out, ...data.grids, list: data.out });
  };
  worker.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
});

/** Call a function of a page program, as call("points.train", [...]); resolves to its answer. */
export function call(name, args = []) {
  return new Promise((take, refuse) => {
    waiting.set(++last, { take, refuse });
    worker.postMessage({ id: last, call: name, args });
  });
}
