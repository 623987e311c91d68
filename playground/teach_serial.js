// SPDX-License-Identifier: MIT
// A board at this browser's own serial port: MicroPython's raw REPL over WebSerial. The board must
// have the device package (acclimate install); the program that teaches goes there from here.

const BAUD = 115200;
const WAIT_MS = 15000;
const REST_MS = 30;

export function canSerial() {
  return "serial" in navigator;
}

/** Raw REPL: one piece of code at a time, its output as text. */
export class RawRepl {
  constructor(port) {
    this.port = port;
    this.got = "";
    this.wake = () => {};
    this.decoder = new TextDecoder("latin1");
  }

  async open() {
    await this.port.open({ baudRate: BAUD });
    this.writer = this.port.writable.getWriter();
    this.pump();
    await this.write("\r\x03\x03\r\x01");
    await this.until("raw REPL; CTRL-B to exit\r\n>");
  }

  async pump() {
    const reader = this.port.readable.getReader();
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        this.got += this.decoder.decode(value, { stream: true });
        this.wake();
      }
    } catch (error) {
      this.gone = error;
    }
    this.gone ??= new Error("the line was closed");
    this.wake();
  }

  write(text) {
    return this.writer.write(new TextEncoder().encode(text));
  }

  /** Text up to an ending, which is taken away as well. */
  async until(ending, ms = WAIT_MS) {
    const deadline = performance.now() + ms;
    for (;;) {
      const at = this.got.indexOf(ending);
      if (at >= 0) {
        const text = this.got.slice(0, at);
        this.got = this.got.slice(at + ending.length);
        return text;
      }
      if (this.gone) throw new Error(`the board is gone: ${this.gone.message}`);
      if (performance.now() > deadline) throw new Error("the board does not answer; reset it");
      await new Promise((next) => {
        this.wake = next;
        setTimeout(next, 200);
      });
    }
  }

  async exec(code, ms) {
    await this.write(code + "\x04");
    await this.until("OK", ms);
    const output = await this.until("\x04", ms);
    const error = await this.until("\x04", ms);
    await this.until(">", ms);
    if (error.trim()) throw new Error("on the board: " + error.trim().split("\n").pop());
    return output.replaceAll("\r\n", "\n");
  }

  async put(text, path) {
    await this.exec(`f = open(${JSON.stringify(path)}, "w")`);
    for (let at = 0; at < text.length; at += 200) {
      await this.exec(`f.write(${JSON.stringify(text.slice(at, at + 200))})`);
    }
    await this.exec("f.close()");
  }
}

let programs;
function load() {
  programs ??= fetch("teach.json").then((answer) => answer.json());
  return programs;
}

/** The verbs of the bridge, straight on the board. */
export class SerialSession {
  static async sensors() {
    return Object.keys((await load()).sensors);
  }

  static async open(labels, sensor, take) {
    if (labels.length < 2 || labels.length > 9) throw new Error("Name two to nine gestures.");
    const session = new SerialSession();
    const { board, sensors, main } = await load();
    const repl = (session.repl = new RawRepl(await navigator.serial.requestPort()));
    await repl.open();
    try {
      await repl.exec("import acclimate.svm, acclimate.loop, acclimate.features");
    } catch (error) {
      throw new Error(`${error.message}. Install the package first: acclimate install --port …`);
    }
    await repl.put(board, "/lib/teach_board.py");
    await repl.put(sensors[sensor], `/lib/${sensor}.py`);
    await repl.exec(`from teach_board import *\nsensor = load_sensor("${sensor}")`);
    const machine = '{"kernel": "rbf", "C": 10, "storage": "int8"}';
    await repl.exec(`t = Teacher(sensor, ${labels.length}, 128, 32, 7, ${machine}, 16, 3)\ngc.collect()`);
    const channels = Number(await repl.exec("print(sensor.channels)"));
    session.main = main
      .replaceAll("{labels}", labels.join(", "))
      .replaceAll("{names!r}", "(" + labels.map((name) => JSON.stringify(name)).join(", ") + ")")
      .replaceAll("{sensor}", sensor)
      .replaceAll("{samples}", "128")
      .replaceAll("{hop}", "32")
      .replaceAll("{shift}", "7");
    take({ hello: "the board at this browser's port", labels, sensor, channels, samples: 128 });
    session.wishes = [];
    session.labels = labels;
    session.run(take);
    return session;
  }

  ask(wish) {
    this.wishes.push(wish);
  }

  code({ do: verb, gesture, unseen }) {
    if (verb === "tell") return `t.tell(${Number(gesture)})`;
    if (verb === "perform") return `t.perform(${Number(gesture)}, ${unseen ? "True" : "False"})`;
    if (verb === "train") return "t.train()";
    return `t.save("", ${JSON.stringify(this.main)})`;
  }

  async run(take) {
    try {
      for (;;) {
        const wish = this.wishes.shift();
        const lines = (await this.repl.exec(wish ? this.code(wish) : "t.poll()")).trim().split("\n");
        const found = JSON.parse(lines[lines.length - 1]);
        if (found.least) {
          const names = found.lacking.map((k) => this.labels[k]).join(" and ");
          found.word = `too few windows to train: show ${names} until each has ${found.least} to learn from`;
        }
        take(found);
        await new Promise((next) => setTimeout(next, REST_MS));
      }
    } catch (error) {
      take({ word: `${error.message}. Reload this page once it is plugged in again.`, gone: true });
    }
  }
}
