// Drives the Vercel AI SDK: one JSON job per line in, one JSON answer per line out, in order.
//
// A job: { id, how: "read" | "chat" | "live", frames?, message?, messages?, say?, url?, thread?, body?, steps? }. `frames`
// is the body of a response, which goes through the SDK's own reader. "read": `readUIMessageStream` from `message`. "chat":
// a `Chat` of @ai-sdk/react that has `messages` sends `say`, or resumes if there is none. "live": it does `steps` at `url`.
// An answer: { id, message?, messages?, status?, error, warnings, chunks?, requests? }. `chunks` counts those that the
// SDK's schema took.

import { createInterface } from "node:readline";

import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  parseJsonEventStream,
  readUIMessageStream,
  uiMessageChunkSchema,
} from "ai";

const bodyOf = (text) => new Response(text).body;

const read = async (job) => {
  const errors = [];
  let chunks = 0;
  const stream = parseJsonEventStream({ stream: bodyOf(job.frames), schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(parsed, controller) {
        if (!parsed.success) errors.push(String(parsed.error));
        else if (++chunks) controller.enqueue(parsed.value);
      },
    }),
  );
  let message = job.message;
  for await (const now of readUIMessageStream({ message: job.message, stream, onError: (error) => errors.push(String(error)) }))
    message = now;
  return { message, error: errors[0] ?? null, chunks };
};

const chat = async (job) => {
  const failures = [];
  const made = new Chat({
    id: "thread-1",
    messages: job.messages,
    transport: new DefaultChatTransport({
      api: "http://page.invalid/ui",
      fetch: async () => new Response(job.frames, { headers: { "content-type": "text/event-stream" } }),
    }),
    onError: (error) => failures.push(String(error)),
  });
  if (job.say) await made.sendMessage({ id: job.say, parts: [{ type: "text", text: "" }] });
  else await made.resumeStream();
  return { messages: made.messages, status: made.status, error: failures[0] ?? null };
};

// A page at a running server. Each step returns when the chat is idle, also if it has sent something on its own.
const live = async (job) => {
  const sent = [];
  const failures = [];
  let idle;
  const made = new Chat({
    id: job.thread,
    messages: job.messages ?? [],
    transport: new DefaultChatTransport({
      api: job.url,
      body: job.body,
      fetch: (url, init) => {
        if (init.method === "POST") sent.push(JSON.parse(init.body));
        if (sent.length > 8) throw new Error("the page sends for ever");
        return fetch(url, init);
      },
    }),
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
    onError: (error) => failures.push(String(error)),
    onFinish: () => idle?.(),
  });
  const parts = () => made.messages.flatMap((message) => message.parts);
  const call = (tool, state) => parts().find((part) => part.type === `tool-${tool}` && part.state === state);
  // What is sent because of an answer is not awaited by the chat: its end is.
  const answered = async (answer) => {
    const ended = new Promise((resolve) => (idle = resolve));
    await answer;
    await ended;
    idle = undefined;
  };
  const STEPS = {
    say: (text) => made.sendMessage({ text }),
    again: () => made.regenerate(),
    body: (body) => made.sendMessage(undefined, { body }),
    resume: () => made.resumeStream(),
    output: ([tool, output, isLast]) => {
      const answer = made.addToolOutput({ tool, toolCallId: call(tool, "input-available").toolCallId, output });
      return isLast ? answered(answer) : answer;
    },
    decide: ([tool, approved, isLast]) => {
      const { id } = call(tool, "approval-requested").approval;
      const answer = made.addToolApprovalResponse({ id, approved });
      return isLast ? answered(answer) : answer;
    },
  };
  for (const [step, argument] of job.steps) await STEPS[step](argument);
  return { messages: made.messages, status: made.status, error: failures[0] ?? null, requests: sent.length };
};

const HOW = { read, chat, live };

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const warnings = [];
  console.warn = console.error = (...words) => warnings.push(words.map(String).join(" "));
  let answer;
  try {
    answer = await HOW[job.how](job);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify({ id: job.id, ...answer, warnings })}\n`);
}
