// What the tests of the inspector stand on: its server (`inspector_server.py`), a browser, and a page that must complain of
// nothing and request nothing of another host. No test is here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { IN_FIREFOX, launched } from "./browsers.mjs";
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
    stage.downloads = await mkdtemp(join(tmpdir(), "downloads-"));
    stage.launch = { ...launch, downloadsPath: stage.downloads };
    stage.browser = await launched(stage.launch);
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
    if (this.downloads) await rm(this.downloads, { recursive: true, force: true });
  }

  /** Opens the page for one test, at `address`; keeps a screenshot, and fails on whatever the page complained of. */
  async visit(t, { expected = [], address = this.page, ...options }, play) {
    const isDark = IN_FIREFOX && options.colorScheme === "dark";
    const browser = isDark ? await launched({ ...this.launch, colorScheme: "dark" }) : this.browser;
    const context = await browser.newContext({ viewport: { width: 1280, height: 760 }, reducedMotion: "reduce", ...options });
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
      await this.picture(page, `inspector-${t.name.replace(/\W+/g, "-")}`);
      await context.close();
      if (isDark) await browser.close();
    }
  }

  /** Keeps a screenshot, with the caret: to hide it, Playwright adds a style, which the page's policy refuses in Firefox. */
  async picture(page, name) {
    await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), caret: "initial" });
  }

  /** Does this, and returns the name and the path of the file that the page saves. */
  async saved(page, act) {
    if (!IN_FIREFOX) {
      const [download] = await Promise.all([page.waitForEvent("download"), act()]);
      return { name: download.suggestedFilename(), path: await download.path() };
    }
    // Firefox gives a download of a page no id, and Playwright has no event for one that has none.
    const before = await readdir(this.downloads);
    await act();
    let names;
    await until(async () => {
      names = (await readdir(this.downloads)).filter((name) => !before.includes(name));
      return names.length === 1 && (await stat(join(this.downloads, names[0]))).size > 0;
    }, () => `no file was saved: ${names}`);
    return { name: names[0].replace(/\(\d+\)(?=\.\w+$)/, ""), path: join(this.downloads, names[0]) };
  }

  /** What is in the clipboard. */
  async copied(page) {
    if (!IN_FIREFOX) await page.context().grantPermissions(["clipboard-read"]);
    return page.evaluate(() => navigator.clipboard.readText());
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

  /** Opens a recording of these events. */
  async opens(name, events) {
    const buffer = Buffer.from(events.map((event) => (typeof event === "string" ? event : JSON.stringify(event))).join("\n"));
    await this.page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/jsonl", buffer });
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
