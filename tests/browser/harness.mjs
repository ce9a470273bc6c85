// What a browser test stands on: the planner's server, the built pages, and a browser; CopilotKit's Node runtime between
// page and server, or a LangGraph server behind it, where a test asks for it. No test is here.
//
// The pages are built as an owner would build them, for `http://localhost:8000`; the browser finds our server there, or
// the runtime. Every other name leads nowhere: what a page asked of the outside would fail, and be told as a failure.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize, resolve } from "node:path";

import { launched } from "./browsers.mjs";
import { Gates } from "./gates.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples");
export const ARTEFACTS = join(ROOT, "test-artefacts");
const PYTHON = process.env.PYTHON ?? "python";
const WITHIN = 30_000;
/** A process that starts compiles and imports first, which on a busy machine takes long. */
export const STARTS_WITHIN = 180_000;
/** What the servers list threads for. */
export const TOKEN = "the+token/of~these-tests";
export const BEARER = { Authorization: `Bearer ${TOKEN}` };
export const FRAGMENT = `#token=${encodeURIComponent(TOKEN)}`;

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Starts everything once; `visit` opens a page for one test. `example`: whose pages are served. */
export class Stage {
  /**
   * `guide`: the guide's own server, with its page, in place of the planner's. `platform`: the planner is on a LangGraph
   * server, and pages are named by their paths in the repository. `features`: the server of the features. `continues`: the
   * planner's runs outlive their server.
   */
  static async set({ runtime, guide, platform, features, continues, example = "copilotkit" } = {}) {
    const stage = new Stage();
    stage.fragment = platform ? "" : FRAGMENT; // the platform's page lists no threads
    stage.gates = await new Gates().listening();
    stage.pages = await servedPages(platform ? ROOT : join(EXAMPLES, example, "dist"));
    stage.folder = await mkdtemp(join(tmpdir(), "browser-"));
    stage.env = continues ? { PLANNER_RUNS: join(stage.folder, "runs.sqlite") } : {};
    stage.port = await freePort();
    stage.origin = `http://127.0.0.1:${guide ? stage.port : stage.pages.address().port}`;
    const planner = ["tests.browser.server", stage.port, join(stage.folder, "threads.sqlite"), stage.origin];
    if (guide) stage.command = ["tests.browser.guide_server", stage.port];
    else if (features) stage.command = ["tests.browser.features_server", stage.port, stage.origin];
    else stage.command = platform ? ["tests.browser.platform_server", stage.port, stage.origin] : planner;
    stage.health = guide ? "/agui/health" : "/health";
    await stage.startServer();
    if (platform) stage.platform = await (await fetch(`http://127.0.0.1:${stage.port}/platform`)).text();
    const front = runtime ? await stage.startRuntime({ default: "planner" }) : stage.port;
    stage.browser = await launched({ port: front });
    await mkdir(ARTEFACTS, { recursive: true });
    return stage;
  }

  async strike() {
    await this.browser?.close();
    this.gates.close();
    await this.stopServer("SIGTERM");
    this.runtime?.kill("SIGKILL");
    this.pages.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  async startServer() {
    const said = (this.said = []);
    const args = ["-m", ...this.command, this.gates.port];
    const env = { ...process.env, ...this.env, AGUI_TOKEN: TOKEN };
    this.server = spawn(PYTHON, args.map(String), { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const output of [this.server.stdout, this.server.stderr]) output.on("data", (text) => said.push(text));
    await until(async () => {
      if (this.server.exitCode !== null) throw new Error(`the server ended:\n${said.join("")}`);
      return (await fetch(`http://127.0.0.1:${this.port}${this.health}`).catch(() => ({}))).ok;
    }, () => `the server does not answer:\n${said.join("")}`, STARTS_WITHIN);
  }

  /**
   * The runtime's port. It runs in a process of its own; what it prints is in `runtimeOutput`. `agents`: the names that its
   * pages know, with those of the server.
   */
  async startRuntime(agents) {
    const port = await freePort();
    const named = Object.entries(agents).map(([name, served]) => `${name}=http://127.0.0.1:${this.port}/${served}`);
    const args = [join(import.meta.dirname, "runtime.mjs"), String(port), ...named];
    const env = { ...process.env, COPILOTKIT_TELEMETRY_DISABLED: "true" };
    this.runtime = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.runtimeOutput = [];
    for (const output of [this.runtime.stdout, this.runtime.stderr]) {
      output.on("data", (text) => this.runtimeOutput.push(String(text)));
    }
    await until(async () => {
      if (this.runtime.exitCode !== null) throw new Error(`the runtime ended:\n${this.runtimeOutput.join("")}`);
      return (await fetch(`http://127.0.0.1:${port}/info`).catch(() => ({}))).ok;
    }, () => `the runtime does not answer:\n${this.runtimeOutput.join("")}`, STARTS_WITHIN);
    return port;
  }

  /** SIGTERM: it may say goodbye. SIGKILL: it may not. */
  async stopServer(signal) {
    if (this.server.exitCode === null && this.server.signalCode === null) {
      this.server.kill(signal);
      await once(this.server, "exit");
    }
  }

  /** Kills the LangGraph server behind ours, or starts it again. */
  async platformIs(told) {
    const { ok } = await fetch(`http://127.0.0.1:${this.port}/platform/${told}`, { method: "POST" });
    if (!ok) throw new Error(`the LangGraph server was not told to ${told}`);
  }

  /** A client without a page asks the guide, or the agent at this URL; returns when the run has ended. */
  async ask(content, url = `${this.origin}/agui/default`, threadId = crypto.randomUUID()) {
    const ids = { threadId, runId: crypto.randomUUID() };
    const rest = { messages: [{ id: crypto.randomUUID(), role: "user", content }], state: {}, tools: [], context: [], forwardedProps: {} };
    const headers = { "Content-Type": "application/json" };
    await (await fetch(url, { method: "POST", headers, body: JSON.stringify({ ...ids, ...rest }) })).text();
  }

  /** Deletes the threads of the guide, so that the next test begins with none. */
  async deleteThreads() {
    const url = `${this.origin}/agui/threads`;
    const { threads } = await (await fetch(`${url}?includeArchived=true`, { headers: BEARER })).json();
    for (const { id } of threads) await fetch(`${url}/${id}`, { method: "DELETE", headers: BEARER });
  }

  /** Runs a test on a page with a thread of its own; keeps a screenshot, and fails on anything the page complained of. */
  async visit(t, { page: name = "headless", query = "", expected = [], ...options }, play) {
    const context = await this.browser.newContext({ viewport: { width: 1000, height: 700 }, ...options });
    context.setDefaultTimeout(WITHIN);
    const complaints = this.#heard(context);
    const page = await context.newPage();
    try {
      await page.goto(`${this.origin}/${name && `${name}.html`}${query}${this.fragment}`);
      await play(page);
      const left = complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)));
      if (left.length) throw new Error(`the page complained:\n${left.join("\n")}`);
    } catch (error) {
      for (const each of context.pages()) error.message += `\n\n${each.url()}:\n${await each.innerText("body").catch(() => "")}`;
      error.message += `\n${complaints.join("\n")}\nThe server:\n${this.said.join("").slice(-4000)}`;
      throw error;
    } finally {
      this.gates.openAll();
      await page.screenshot({ path: join(ARTEFACTS, `${t.name.replace(/\W+/g, "-")}.png`) });
      await context.close();
    }
  }

  /** What the pages say that they should not say, or ask of somebody else. */
  #heard(context) {
    const complaints = [];
    context.on("console", (said) => {
      if (["error", "warning"].includes(said.type())) complaints.push(`${said.type()}: ${said.text()}`);
    });
    context.on("weberror", (error) => complaints.push(`uncaught: ${error.error()}`));
    context.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      const ours = [new URL(this.origin).origin, `http://127.0.0.1:${this.port}`, "http://localhost:8000", this.platform].includes(origin);
      if (!ours && protocol !== "data:" && protocol !== "blob:") complaints.push(`asked ${origin}`);
    });
    return complaints;
  }
}

/** Waits until a condition holds; it is looked at again and again. `within`: for at most so many milliseconds. */
export async function until(condition, failure, within = WITHIN) {
  const end = Date.now() + within;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(typeof failure === "function" ? await failure() : failure);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}

async function servedPages(folder) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://page").pathname);
    try {
      const body = await readFile(join(folder, path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
