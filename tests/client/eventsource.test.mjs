// The page of examples/eventsource: its script runs here with an EventSource that a test feeds, and a page of two
// elements.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const HTML = readFileSync(new URL("../../examples/eventsource/index.html", import.meta.url), "utf8");
const SCRIPT = /<script type="module">([^]*?)<\/script>/.exec(HTML)[1];

const page = () => {
  const elements = { "#messages": { replaceChildren: (...lines) => (elements.lines = lines) }, "#state": {}, lines: [] };
  const document = { querySelector: (name) => elements[name], createElement: () => ({}) };
  const sources = [];
  class EventSource {
    constructor(url) {
      sources.push(Object.assign(this, { url }));
    }
  }
  new Function("document", "location", "EventSource", SCRIPT)(document, { search: "?thread=t" }, EventSource);
  const [source] = sources;
  const emit = (...events) => events.forEach((event) => source.onmessage({ data: JSON.stringify(event) }));
  return { source, emit, state: () => elements["#state"].textContent, texts: () => elements.lines.map((line) => line.textContent) };
};

test("the page has the texts of a thread, before and after a reconnect", () => {
  const { source, emit, state, texts } = page();
  assert.equal(source.url, "http://127.0.0.1:8000/watch/t?agent=planner");
  const question = { id: "q", role: "user", content: "Hi" };
  emit({ type: "RUN_STARTED" }, { type: "STATE_SNAPSHOT", snapshot: { n: 1 } });
  emit({ type: "MESSAGES_SNAPSHOT", messages: [question, { id: "a", role: "assistant", content: "One " }] });
  emit({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "two" });
  assert.deepEqual([texts(), JSON.parse(state())], [["Hi", "One two"], { n: 1 }]);
  emit({ type: "MESSAGES_SNAPSHOT", messages: [question, { id: "a", role: "assistant", content: "One two" }] });
  emit({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: " three" });
  assert.deepEqual(texts(), ["Hi", "One two three"]);
});
