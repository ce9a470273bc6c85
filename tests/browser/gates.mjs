// The test's side of a gate: at which points runs are held, and when they go on. The runs' side: fixtures/gates.py.
//
// A run that comes to a point opens a connection, says the point's name, and goes on when the connection is closed.

import { once } from "node:events";
import { createServer } from "node:net";

const WITHIN = 30_000;

export class Gates {
  #held = new Set();
  #waiting = new Map(); // point -> connections of the runs that wait there
  #seen = new Map(); // point -> called when a run comes to it
  #server = createServer((connection) => this.#greet(connection));

  /** Listens; gives itself. */
  async listening() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port() {
    return this.#server.address().port;
  }

  /** From now on runs wait at this point. */
  hold(point) {
    this.#held.add(point);
  }

  /** Returns when a run waits at this point, which is held. */
  async reached(point) {
    if (this.#waiting.get(point)?.size) return;
    const { promise, resolve, reject } = deferred();
    const timer = setTimeout(() => reject(new Error(`no run came to ${point}`)), WITHIN);
    this.#seen.set(point, resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  /** From now on runs pass this point, and those that wait there go on. */
  open(point) {
    this.#held.delete(point);
    for (const connection of this.#waiting.get(point) ?? []) connection.end();
    this.#waiting.delete(point);
  }

  /** Returns when no run waits at this point: it was let on, or stopped. */
  async left(point) {
    const here = this.#waiting.get(point) ?? [];
    await Promise.all([...here].map((connection) => once(connection, "close", { signal: AbortSignal.timeout(WITHIN) })));
  }

  /** Everybody goes on. */
  openAll() {
    for (const point of [...this.#held, ...this.#waiting.keys()]) this.open(point);
  }

  close() {
    this.openAll();
    this.#server.close();
  }

  #greet(connection) {
    connection.on("error", () => {}); // its run was stopped, or its server is gone
    connection.once("data", (said) => this.#came(said.toString().trim(), connection));
  }

  #came(point, connection) {
    if (!this.#held.has(point)) return void connection.end();
    const here = this.#waiting.get(point) ?? new Set();
    this.#waiting.set(point, here.add(connection));
    connection.once("close", () => here.delete(connection));
    connection.once("end", () => connection.end());
    this.#seen.get(point)?.();
  }
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
