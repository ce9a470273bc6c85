// What the page shows of a message, part by part: texts, reasoning, calls with their states, approvals and questions.

import type { UseChatHelpers } from "@ai-sdk/react";
import { getToolName, isReasoningUIPart, isTextUIPart, isToolUIPart, type UIMessage } from "ai";
import { useEffect, useRef } from "react";

type Chat = UseChatHelpers<UIMessage>;
type Part = UIMessage["parts"][number];
type ToolPart = Extract<Part, { toolCallId: string }>;

/** The tools that the page runs: what the model is told of each, and what it does. */
export const PAGE_TOOLS = [
  {
    name: "show_on_map",
    description: "Shows a place on the page's map.",
    parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
    run: ({ place }: { place: string }) => `${place} is on the map.`,
  },
];

export function Message({ message, chat }: { message: UIMessage; chat: Chat }) {
  return (
    <li data-role={message.role}>
      {message.parts.map((part, place) => (
        <MessagePart key={place} part={part} chat={chat} />
      ))}
    </li>
  );
}

function MessagePart({ part, chat }: { part: Part; chat: Chat }) {
  if (isTextUIPart(part)) return <p>{part.text}</p>;
  if (isReasoningUIPart(part)) return <p className="reasoning">{part.text}</p>;
  if (isToolUIPart(part)) {
    const tool = PAGE_TOOLS.find(({ name }) => name === getToolName(part));
    return tool ? <PageCall part={part} tool={tool} chat={chat} /> : <Call part={part} chat={chat} />;
  }
  if (part.type === "data-interrupt") return <Question interrupt={part.data as Interrupt} chat={chat} />;
  if (part.type === "data-run_error") return <p role="alert">{(part.data as { message: string }).message}</p>;
  return null;
}

/** A call of a tool of the server. One that needs an approval is asked about. */
function Call({ part, chat }: { part: ToolPart; chat: Chat }) {
  const decide = (approved: boolean) => void chat.addToolApprovalResponse({ id: part.approval!.id, approved });
  return (
    <p className="tool" data-state={part.state}>
      {getToolName(part)}: {part.state === "output-available" ? textOf(part.output) : part.state}
      {part.state === "output-error" && ` (${part.errorText})`}
      {part.state === "approval-requested" && (
        <>
          {" "}
          {JSON.stringify(part.input)} <button onClick={() => decide(true)}>Approve</button>{" "}
          <button onClick={() => decide(false)}>Reject</button>
        </>
      )}
    </p>
  );
}

/** A call of a tool of the page: it is run once, when its arguments are complete, and the answer is sent by `useChat`. */
function PageCall({ part, tool, chat }: { part: ToolPart; tool: (typeof PAGE_TOOLS)[number]; chat: Chat }) {
  const hasRun = useRef(false);
  useEffect(() => {
    if (part.state !== "input-available" || chat.status !== "ready" || hasRun.current) return;
    hasRun.current = true;
    const output = tool.run(part.input as Parameters<typeof tool.run>[0]);
    void chat.addToolOutput({ tool: tool.name, toolCallId: part.toolCallId, output });
  });
  const place = (part.input as { place?: string } | undefined)?.place;
  return (
    <p className="tool" data-state={part.state}>
      {place} {part.state === "output-available" && "📍"}
    </p>
  );
}

interface Interrupt {
  id: string;
  message?: string;
  metadata?: { value?: { question?: string } };
}

/** An `interrupt()` that is no approval. */
function Question({ interrupt, chat }: { interrupt: Interrupt; chat: Chat }) {
  const answer = (payload: boolean) =>
    void chat.sendMessage(undefined, { body: { resume: [{ interruptId: interrupt.id, payload }] } });
  return (
    <p role="group" aria-label="question">
      {interrupt.message ?? interrupt.metadata?.value?.question} <button onClick={() => answer(true)}>Yes</button>{" "}
      <button onClick={() => answer(false)}>No</button>
    </p>
  );
}

const textOf = (output: unknown) => (typeof output === "string" ? output : JSON.stringify(output));
