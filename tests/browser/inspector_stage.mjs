// What the tests of the inspector stand on: its server (`inspector_server.py`), Chromium, and a page that must complain of
// nothing and request nothing of another host. No test is here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

import { chromium } from "playwright-core";

import { Gates } from "./gates.mjs";
import { STARTS_WITHIN, TOKEN, until } from "./harness.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const ARTEFACTS = join(ROOT, "test-artefacts");
const AXE = join(ROOT, "clients/inspector/node_modules/axe-core/axe.min.js");
const WITHIN = 30_000;

export class InspectorStage {
  /**
   * `module`: the server's; it is given its port, the gates', and the texts of `more`, and `TOKEN` in its environment. An object
   * in `more` has options of the browser.
   */
  static async set(module = "tests.browser.inspector_server", ...more) {
    const stage = new InspectorStage();
    try {
      return await stage.#begun(module, more.filter((each) => typeof each !== "object"), more.find((each) => typeof each === "object"));
    } catch (error) {
      await stage.strike(); // else its gates keep the process of the tests
      throw error;
    }
  }

  async #begun(module, more, launch = {}) {
    const stage = this;
    stage.gates = await new Gates().listening();
    stage.port = await freePort();
    stage.url = `http://127.0.0.1:${stage.port}/`;
    stage.page = withToken(stage.url);
    const printed = [];
    stage.printed = () => printed.join("");
    const args = ["-m", module, String(stage.port), String(stage.gates.port), ...more];
    const env = { ...process.env, AGUI_TOKEN: TOKEN };
    stage.server = spawn(process.env.PYTHON ?? "python", args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const output of [stage.server.stdout, stage.server.stderr]) output.on("data", (text) => printed.push(String(text)));
    await until(async () => {
      if (stage.server.exitCode !== null) throw new Error(`the server ended:\n${stage.printed()}`);
      return (await fetch(`${stage.url}health`).catch(() => ({}))).ok;
    }, () => `the server does not answer:\n${stage.printed()}`, STARTS_WITHIN);
    const flags = ["no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update"];
    const leads = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";
    const options = { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...flags.map((flag) => `--${flag}`), `--host-resolver-rules=${leads}`], ...launch };
    stage.browser = await chromium.launch(options);
    stage.axe = await readFile(AXE, "utf8");
    await mkdir(ARTEFACTS, { recursive: true });
    return stage;
  }

  async strike() {
    await this.browser?.close();
    this.gates?.close();
    if (this.server && this.server.exitCode === null && this.server.signalCode === null) {
      this.server.kill("SIGTERM");
      await once(this.server, "exit");
    }
  }

  /** Opens the page for one test, at `address`; keeps a screenshot, and fails on whatever the page complained of. */
  async visit(t, { expected = [], address = this.page, ...options }, play) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 760 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(WITHIN);
    const complaints = [];
    context.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(`${message.type()}: ${message.text()}`));
    context.on("weberror", (error) => complaints.push(`uncaught: ${error.error().stack}`));
    context.on("request", (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(this.url) || complaints.push(`requested ${request.url()}`));
    const page = await context.newPage();
    try {
      await page.goto(address);
      await play(new Inspector(page, this), page);
      const left = complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)));
      if (left.length) throw new Error(`the page complained:\n${left.join("\n")}`);
    } catch (error) {
      error.message += `\n\nThe page:\n${await page.innerText("body").catch(() => "")}\n${complaints.join("\n")}`;
      throw error;
    } finally {
      this.gates.openAll();
      await page.screenshot({ path: join(ARTEFACTS, `inspector-${t.name.replace(/\W+/g, "-")}.png`) });
      await context.close();
    }
  }
}

/** The page, in the words of the tests. */
export class Inspector {
  constructor(page, stage) {
    this.page = page;
    this.stage = stage;
    this.log = page.getByRole("log", { name: "Conversation" });
    this.badge = page.locator(".badge");
    this.slider = page.getByRole("slider", { name: "Event" });
  }

  /** A new thread of an agent, with this message in it. */
  async begins(agent, text) {
    const agents = this.page.getByLabel("Agent", { exact: true });
    await agents.or(this.page.locator(".agent-name").getByText(agent, { exact: true })).waitFor();
    if (await agents.count()) await agents.selectOption(agent); // an only one is no choice
    await this.page.getByRole("button", { name: "New thread" }).click();
    await this.says(text);
  }

  async says(text) {
    await this.page.getByRole("textbox", { name: "Message" }).fill(text);
    await this.page.keyboard.press("Enter");
  }

  async is(status) {
    await this.badge.getByText(status, { exact: true }).waitFor();
  }

  async shows(text) {
    await this.log.getByText(text).first().waitFor();
  }

  press(name) {
    return this.page.getByRole("button", { name, exact: true }).first().click();
  }

  tab(name) {
    return this.page.getByRole("tab", { name }).click();
  }

  /** How many events the page has. */
  async events() {
    return Number(await this.slider.getAttribute("max"));
  }

  /** The open thread's id. */
  get thread() {
    return new URL(this.page.url()).searchParams.get("thread");
  }

  /** What axe finds wrong. */
  async violations() {
    await this.page.evaluate(this.stage.axe);
    const found = await this.page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  }
}

/** The address of the page, with the token in its fragment. */
export const withToken = (address, token = TOKEN) => `${address}#token=${encodeURIComponent(token)}`;

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
