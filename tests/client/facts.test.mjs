// What this package relies on in the real clients, as tests: a new client version that differs fails here first.
// Run: node --test (from this folder, after npm ci).

import assert from "node:assert/strict";
import { test } from "node:test";

import { drive } from "./drive.mjs";

const BOTH = ["1.0.0", "0.0.59"];
const RUN = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const END = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const text = (messageId, ...deltas) => [
  { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
  ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
  { type: "TEXT_MESSAGE_END", messageId },
];
const said = (id, content) => ({ id, role: "assistant", content });
const snapshot = (...messages) => ({ type: "MESSAGES_SNAPSHOT", messages });
const call = (id, args = "") => ({ id, type: "function", function: { name: "f", arguments: args } });
const callStart = (toolCallId, parentMessageId) => ({
  type: "TOOL_CALL_START",
  toolCallId,
  toolCallName: "f",
  ...(parentMessageId && { parentMessageId }),
});
const activity = (id, activityType = "media") => ({ id, role: "activity", activityType, content: {} });
const reasoning = (id) => ({ id, role: "reasoning", content: "hm" });
const ids = (answer) => answer.messages.map((message) => message.id);
const frame = (event) => `data: ${JSON.stringify(event)}\n\n`;

const each = (name, versions, check) => {
  for (const version of versions) test(`${version}: ${name}`, () => check(version));
};
const play = (version, events, rest = {}) => drive({ version, events, ...rest });
const accepted = async (version, events, rest) => {
  const answer = await play(version, events, rest);
  assert.equal(answer.error, null);
  assert.deepEqual(answer.warnings, []);
  return answer;
};
const refused = async (version, events, pattern, rest) => {
  const answer = await play(version, events, rest);
  assert.match(answer.error ?? "nothing", pattern);
};

// --- frames ----------------------------------------------------------------------------------------------------------

each("an empty stream is fine", BOTH, (version) => accepted(version, [], { mode: "connect" }));

each("frames end in LF LF, not CRLF", BOTH, async (version) => {
  const frames = [RUN, END].map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
  const answer = await drive({ version, frames });
  assert.match(answer.error, /JSON/);
});

each("comments and ids between frames are passed over", BOTH, async (version) => {
  const frames = `: beat\n\nid: 7\n${frame(RUN)}: beat\n\n${frame(END)}`;
  assert.equal((await drive({ version, frames })).error, null);
});

const large = [RUN, { type: "CUSTOM", name: "n", value: "x".repeat(11 * 1024 * 1024) }, END];
test("1.0.0: a frame beyond 10 MB is refused", () => refused("1.0.0", large, /maximum limit of 10 MB/));
test("0.0.59: a frame beyond 10 MB is read", () => accepted("0.0.59", large));
each("a frame of 8 MB is read", BOTH, (version) =>
  accepted(version, [RUN, { type: "CUSTOM", name: "n", value: "x".repeat(8_000_000) }, END]),
);

// --- what 0.0.59 does not know ---------------------------------------------------------------------------------------

const cancelled = [RUN, { ...END, outcome: { type: "cancelled" } }];
const pending = [RUN, { ...END, outcome: { type: "success", pendingToolCallIds: ["c"] } }];
const unknown = [RUN, { type: "NEW_EVENT" }, END];
test("1.0.0: the outcome cancelled is read", () => accepted("1.0.0", cancelled));
test("0.0.59: the outcome cancelled ends the client", () => refused("0.0.59", cancelled, /./));
test("1.0.0: pending tool calls are read", () => accepted("1.0.0", pending));
test("0.0.59: pending tool calls end the client", () => refused("0.0.59", pending, /./));
test("1.0.0: an unknown event is warned of", async () => {
  const answer = await play("1.0.0", unknown);
  assert.equal(answer.error, null);
  assert.equal(answer.warnings.length, 1);
});
test("0.0.59: an unknown event ends the client", () => refused("0.0.59", unknown, /./));

// --- what 0.0.58 does not know ---------------------------------------------------------------------------------------

const subagent = [
  RUN,
  { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n" },
  { type: "SUBAGENT_FINISHED", subagentRunId: "s" },
  END,
];
const steps = [
  RUN,
  { type: "STEP_STARTED", stepName: "n" },
  { type: "STEP_STARTED", stepName: "n", subagentRunId: "s" },
  { type: "STEP_FINISHED", stepName: "n", subagentRunId: "s" },
  { type: "STEP_FINISHED", stepName: "n" },
  END,
];
each("subagents are read", BOTH, (version) => accepted(version, subagent));
test("0.0.58: a subagent ends the client", () => refused("0.0.58", subagent, /invalid_union_discriminator/));
each("steps of two owners may have one name", BOTH, (version) => accepted(version, steps));
test("0.0.58: steps of two owners that have one name end the client", () => refused("0.0.58", steps, /already active/));
each("a declared protocol version is read", BOTH, (version) =>
  accepted(version, [{ ...RUN, protocolVersion: "1.0" }, END]),
);
each("null in an optional field ends the client", BOTH, (version) =>
  refused(version, [RUN, { type: "TEXT_MESSAGE_START", messageId: "m", name: null }, END], /./),
);

// --- what is open ----------------------------------------------------------------------------------------------------

each("a run starts first", BOTH, (version) => refused(version, [snapshot(), END], /RUN_STARTED/));
each("a snapshot opens nothing", BOTH, (version) =>
  refused(version, [RUN, snapshot(said("m", "a")), text("m", "b")[1], END], /No active text message/),
);
each("an open message keeps a run from finishing", BOTH, (version) =>
  refused(version, [RUN, text("m")[0], END], /still active/),
);
each("an error needs nothing closed", BOTH, (version) =>
  accepted(version, [RUN, text("m")[0], { type: "RUN_ERROR", message: "no" }]),
);
const openReasoning = [RUN, { type: "REASONING_START", messageId: "r" }, END];
test("1.0.0: an open reasoning span keeps a run from finishing", () =>
  refused("1.0.0", openReasoning, /reasoning spans are still active/));
test("0.0.59: an open reasoning span does not", () => accepted("0.0.59", openReasoning));
each("a subagent's parent has started on this stream", BOTH, (version) =>
  refused(
    version,
    [RUN, { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n", parentSubagentRunId: "p" }],
    /has not been started/,
  ),
);
each("a subagent that ended on this stream may be a parent", BOTH, (version) =>
  accepted(version, [
    RUN,
    { type: "SUBAGENT_STARTED", subagentRunId: "p", name: "n" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "p" },
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n", parentSubagentRunId: "p" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s" },
    END,
  ]),
);
each("a message in a snapshot belongs to whom the snapshot says", BOTH, (version) =>
  refused(version, [RUN, snapshot(said("m", "a")), { ...text("m")[0], subagentRunId: "s" }], /does not match/),
);

// --- joining ---------------------------------------------------------------------------------------------------------

const half = { ...said("m", "ab"), toolCalls: [call("c", '{"x":')] };
const joining = [
  RUN,
  { type: "STATE_SNAPSHOT", snapshot: { n: 1 } },
  snapshot({ id: "u", role: "user", content: "hi" }, half),
  { type: "STEP_STARTED", stepName: "s" },
  text("m")[0],
  callStart("c", "m"),
  text("m", "cd")[1],
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "1}" },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  text("m")[1],
  { type: "STEP_FINISHED", stepName: "s" },
  END,
];
for (const [name, messages] of Object.entries({
  empty: [],
  stale: [{ ...said("m", "a"), toolCalls: [call("c")] }],
  "up to date": [{ id: "u", role: "user", content: "hi" }, half],
})) {
  each(`what is open is opened again behind snapshots (${name} client)`, BOTH, async (version) => {
    const answer = await accepted(version, joining, { messages, mode: "connect" });
    const message = answer.messages.find(({ id }) => id === "m");
    assert.equal(message.content, "abcd");
    assert.equal(message.toolCalls[0].function.arguments, '{"x":1}');
    assert.deepEqual(answer.state, { n: 1 });
  });
}
each("a message told twice is said twice", BOTH, async (version) => {
  const answer = await accepted(version, [RUN, ...text("m", "ab"), END], { messages: [said("m", "ab")] });
  assert.equal(answer.messages[0].content, "abab");
});
each("pending interrupts come with the outcome alone", BOTH, async (version) => {
  const interrupts = [{ id: "i", reason: "ask" }];
  const answer = await accepted(version, [RUN, { ...END, outcome: { type: "interrupt", interrupts } }]);
  assert.deepEqual(answer.pendingInterrupts, interrupts);
});
each("user turns come with the start's input, once", BOTH, async (version) => {
  const input = { threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "hi" }], tools: [], context: [], state: {}, forwardedProps: {} };
  const answer = await accepted(version, [{ ...RUN, input }, END, { ...RUN, input }, END]);
  assert.deepEqual(ids(answer), ["u"]);
});

// --- messages --------------------------------------------------------------------------------------------------------

each("a snapshot keeps the client's order, appends what is new, drops what it lacks", BOTH, async (version) => {
  const messages = [said("a", "1"), said("b", "2"), said("gone", "3")];
  const answer = await accepted(version, [RUN, snapshot(said("n", ""), said("b", "B"), said("a", "A")), END], { messages });
  assert.deepEqual(ids(answer), ["a", "b", "n"]);
  assert.equal(answer.messages[0].content, "A");
});
each("an empty snapshot before the full one leaves the full one's order", BOTH, async (version) => {
  const messages = [said("a", "1"), said("b", "2")];
  const answer = await accepted(version, [RUN, snapshot(), snapshot(said("b", "2"), said("a", "1")), END], { messages });
  assert.deepEqual(ids(answer), ["b", "a"]);
});
each("a snapshot without activities keeps the client's, one with any replaces them", BOTH, async (version) => {
  const messages = [activity("a1"), activity("a2")];
  assert.deepEqual(ids(await accepted(version, [RUN, snapshot(), END], { messages })), ["a1", "a2"]);
  assert.deepEqual(ids(await accepted(version, [RUN, snapshot(activity("a2")), END], { messages })), ["a2"]);
});
each("a snapshot without reasoning keeps the client's, one with any replaces it", BOTH, async (version) => {
  const messages = [reasoning("r1"), reasoning("r2")];
  assert.deepEqual(ids(await accepted(version, [RUN, snapshot(), END], { messages })), ["r1", "r2"]);
  assert.deepEqual(ids(await accepted(version, [RUN, snapshot(reasoning("r2")), END], { messages })), ["r2"]);
});
const owning = (types, ...messages) => ({
  ...snapshot(...messages),
  metadata: { "@ag-ui/client": { authoritativeActivityTypes: types } },
});
test("1.0.0: a snapshot can say that it tells all activities, or none", async () => {
  const messages = [activity("a1"), activity("a2")];
  assert.deepEqual(ids(await accepted("1.0.0", [RUN, owning(null), END], { messages })), []);
  assert.deepEqual(ids(await accepted("1.0.0", [RUN, owning([], activity("a2")), END], { messages })), ["a1", "a2"]);
});
test("0.0.59: what a snapshot says of activities is not read", async () => {
  const messages = [activity("a1"), activity("a2")];
  assert.deepEqual(ids(await accepted("0.0.59", [RUN, owning(null), END], { messages })), ["a1", "a2"]);
  assert.deepEqual(ids(await accepted("0.0.59", [RUN, owning([], activity("a2")), END], { messages })), ["a2"]);
});
each("an id twice in a snapshot stands twice", BOTH, async (version) =>
  assert.deepEqual(ids(await accepted(version, [RUN, snapshot(said("a", ""), said("a", "")), END])), ["a", "a"]),
);
each("text goes on in a message of any role", BOTH, async (version) => {
  const messages = [{ id: "u", role: "user", content: "hey" }];
  const answer = await accepted(version, [RUN, ...text("u", "X"), END], { messages });
  assert.deepEqual(answer.messages, [{ id: "u", role: "user", content: "heyX" }]);
});
each("text into an activity is dropped with a warning", BOTH, async (version) => {
  const answer = await play(version, [RUN, ...text("a", "X"), END], { messages: [activity("a")] });
  assert.deepEqual(answer.messages[0].content, {});
  assert.notEqual(answer.warnings.length, 0);
});
each("metadata merges by key, without recursion", BOTH, async (version) => {
  const [start, end] = text("m");
  const events = [RUN, { ...start, metadata: { a: { x: 1 }, b: 1 } }, { ...end, metadata: { a: { y: 2 } } }, END];
  assert.deepEqual((await accepted(version, events)).messages[0].metadata, { a: { y: 2 }, b: 1 });
});

// --- tool calls ------------------------------------------------------------------------------------------------------

each("a call without a parent makes a message of its own id", BOTH, async (version) => {
  const answer = await accepted(version, [RUN, callStart("c"), { type: "TOOL_CALL_END", toolCallId: "c" }, END]);
  assert.deepEqual(answer.messages, [{ id: "c", role: "assistant", toolCalls: [call("c")] }]);
});
each("a call under an unknown parent makes that parent", BOTH, async (version) =>
  assert.deepEqual(
    ids(await accepted(version, [RUN, callStart("c", "m"), { type: "TOOL_CALL_END", toolCallId: "c" }, END])),
    ["m"],
  ),
);
each("a result stands behind its call and the results before it, as often as it is told", BOTH, async (version) => {
  const messages = [{ id: "m", role: "assistant", toolCalls: [call("c1"), call("c2")] }, said("later", "")];
  const result = (messageId, toolCallId) => ({ type: "TOOL_CALL_RESULT", messageId, toolCallId, content: "" });
  const events = [RUN, result("t1", "c1"), result("t2", "c2"), result("t1", "c1"), END];
  assert.deepEqual(ids(await accepted(version, events, { messages })), ["m", "t1", "t2", "t1", "later"]);
});
each("an encrypted value is lost to a snapshot that lacks it", BOTH, async (version) => {
  const value = { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "r", encryptedValue: "x" };
  const told = await accepted(version, [RUN, value, END], { messages: [reasoning("r")] });
  assert.equal(told.messages[0].encryptedValue, "x");
  const lost = await accepted(version, [RUN, value, snapshot(reasoning("r")), END], { messages: [reasoning("r")] });
  assert.equal(lost.messages[0].encryptedValue, undefined);
});

// --- state -----------------------------------------------------------------------------------------------------------

each("a patch that fails anywhere is left out as a whole, with a warning", BOTH, async (version) => {
  const delta = [
    { op: "replace", path: "/n", value: 2 },
    { op: "remove", path: "/none" },
  ];
  const answer = await play(version, [RUN, { type: "STATE_DELTA", delta }, END], { state: { n: 1 } });
  assert.deepEqual(answer.state, { n: 1 });
  assert.equal(answer.warnings.length, 1);
});
each("a path through a prototype is refused", BOTH, async (version) => {
  const delta = [{ op: "add", path: "/__proto__/x", value: 1 }];
  const answer = await play(version, [RUN, { type: "STATE_DELTA", delta }, END]);
  assert.equal(answer.warnings.length, 1);
});
const empty = [RUN, { type: "STATE_SNAPSHOT", snapshot: null }, END];
test("1.0.0: a state may be null", async () => assert.equal((await accepted("1.0.0", empty)).state, null));
test("0.0.59: a falsy state leaves the one before on show", async () =>
  assert.deepEqual((await accepted("0.0.59", empty, { state: { n: 1 } })).state, { n: 1 }));
