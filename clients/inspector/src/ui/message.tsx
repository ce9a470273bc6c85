// A message of the conversation.

import type { Message, ToolCall, ToolMessage } from "@ag-ui/client";
import { useState } from "preact/hooks";

import { Content, Part } from "../content/parts.tsx";
import { inLine, isObject, type Json, type JsonObject, parsed } from "../model/json.ts";
import { callsOf, textOf } from "../model/view.ts";
import { forkAt, isLeftOut, session } from "../session.ts";
import { Copy } from "./copy.tsx";
import { DraftArea } from "./draft_area.tsx";
import { Icon } from "./icons.tsx";
import { JsonTree } from "./json_view.tsx";
import { memo } from "./memo.tsx";
import type { Row } from "./rows.ts";

export interface RowProps {
  readonly row: Row;
  readonly isOpen: boolean;
  /** Whether a turn may be run again: the thread is of a server, and idle. */
  readonly mayFork: boolean;
}

export const MessageRow = memo<RowProps>(DrawnRow, (before, now) => {
  const [one, other] = [before.row, now.row];
  if (one.message !== other.message || one.depth !== other.depth || one.heading !== other.heading) return false;
  if (before.isOpen !== now.isOpen || before.mayFork !== now.mayFork) return false;
  return callsOf(one.message).every(({ id }) => one.results.get(id) === other.results.get(id) && one.progress.get(id) === other.progress.get(id));
});

function DrawnRow({ row: { message, depth, heading, results, progress }, isOpen, mayFork }: RowProps) {
  return (
    <article class={`message ${message.role} depth-${depth}`} aria-label={labelOf(message)}>
      {heading !== null && <p class="subagent">{heading}</p>}
      {message.role === "user" ? <UserMessage message={message} mayFork={mayFork && depth === 0} /> : null}
      {message.role === "assistant" && (
        <>
          {message.name && heading === null && <p class="speaker">{message.name}</p>}
          {message.content && (
            <div class="said">
              <Content content={message.content} />
              {!isOpen && <Copy of={() => textOf(message.content)} what="the message" />}
            </div>
          )}
          {callsOf(message).map((call) => (
            <Call key={call.id} call={call} result={results.get(call.id)} progress={progress.get(call.id)} />
          ))}
        </>
      )}
      {message.role === "reasoning" && <Reasoning text={textOf(message.content)} isOpen={isOpen} />}
      {message.role === "tool" && <Result result={message} />}
      {message.role === "activity" && <Activity type={message.activityType} content={message.content as Json} />}
      {(message.role === "system" || message.role === "developer") && (
        <details>
          <summary>{message.role}</summary>
          <Content content={message.content} />
        </details>
      )}
    </article>
  );
}

function labelOf(message: Message): string {
  if (message.role === "user") return "You";
  if (message.role === "assistant") return message.name ?? "Assistant";
  return message.role === "activity" ? message.activityType : message.role;
}

function UserMessage({ message, mayFork }: { message: Message; mayFork: boolean }) {
  const [draft, setDraft] = useState<string | null>(null);
  if (draft !== null) {
    const send = async (event: Event) => {
      event.preventDefault();
      if (await forkAt(message.id, draft)) setDraft(null);
    };
    return (
      <form class="bubble editing" onSubmit={(event) => void send(event)}>
        <DraftArea label="Edit the message" rows={3} draft={draft} write={setDraft} />
        <div class="actions">
          <button type="button" onClick={() => setDraft(null)}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!draft.trim()}>
            Fork here
          </button>
        </div>
      </form>
    );
  }
  return (
    <>
      <div class="bubble">
        <Content content={message.content} />
      </div>
      {mayFork && (
        <div class="message-actions">
          <button type="button" class="plain" title="Run this turn again" aria-label="Run this turn again" onClick={() => void forkAt(message.id)}>
            <Icon name="again" />
          </button>
          {typeof message.content === "string" && (
            <button type="button" class="plain" title="Edit, and fork from here" aria-label="Edit, and fork from here" onClick={() => setDraft(message.content as string)}>
              <Icon name="edit" />
            </button>
          )}
        </div>
      )}
    </>
  );
}

function Reasoning({ text, isOpen }: { text: string; isOpen: boolean }) {
  return (
    <details class="reasoning">
      <summary>
        {isOpen ? "Thinking…" : "Thought"}
        <span class="quiet">{inLine(isOpen ? text.slice(-160) : text, 90)}</span>
      </summary>
      <p>{text}</p>
    </details>
  );
}

function Call({ call, result, progress }: { call: ToolCall; result: ToolMessage | undefined; progress: JsonObject | undefined }) {
  const given = parsed(call.function.arguments);
  const hasFailed = result !== undefined && (result.error !== undefined || (isObject(result.metadata) && result.metadata.status === "error"));
  const word = result === undefined ? "called" : hasFailed ? "failed" : "done";
  return (
    <details class={`call ${word}`}>
      <summary>
        <i class={`dot ${word}`} />
        <code>{call.function.name}</code>
        <span class="quiet">{inLine(progress && !result ? (progress.progress ?? progress.output ?? "") : call.function.arguments, 90)}</span>
        <span class="word">{word}</span>
      </summary>
      {isLeftOut("tools") ? (
        <p class="call-body quiet">Its arguments and its result were left out of this file.</p>
      ) : (
        <div class="call-body">
          <p class="label">
            Arguments
            <Copy of={() => given ?? call.function.arguments} what="the arguments" />
          </p>
          {given === undefined ? <pre>{call.function.arguments || "none yet"}</pre> : <JsonTree value={given} />}
          {progress && (
            <>
              <p class="label">Progress</p>
              <JsonTree value={progress.output ?? progress.progress ?? null} />
            </>
          )}
          {result && (
            <>
              <p class="label">
                Result
                <Copy of={() => textOf(result.content)} what="the result" />
              </p>
              <Result result={result} />
            </>
          )}
        </div>
      )}
    </details>
  );
}

function Result({ result }: { result: ToolMessage }) {
  if (isLeftOut("tools")) return <p class="quiet">A result was left out of this file.</p>;
  const text = textOf(result.content);
  const value = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (value !== undefined) return <JsonTree value={value} />;
  return typeof result.content === "string" ? <pre class="result">{result.content}</pre> : <Content content={result.content} />;
}

function Activity({ type, content }: { type: string; content: Json }) {
  if (!isObject(content)) return null;
  if (session.value?.left !== undefined && Object.keys(content).length === 0) return <p class="quiet">{`${type.replaceAll("_", " ")}: left out of this file`}</p>;
  if (type === "media") return <Part part={content} />;
  if (type === "run_error") return <RunError message={String(content.message ?? "")} code={content.code === undefined ? undefined : String(content.code)} />;
  return (
    <div class="card">
      <p class="speaker">{type.replaceAll("_", " ")}</p>
      {type === "plan" ? <Plan content={content} /> : <JsonTree value={content} />}
    </div>
  );
}

const MARKS: { readonly [status: string]: string } = { completed: "☑", in_progress: "◐", pending: "☐" };

/** A channel of todos. */
function Plan({ content }: { content: JsonObject }) {
  const todos = Object.values(content).find((each) => Array.isArray(each));
  if (!Array.isArray(todos) || !todos.every(isObject)) return <JsonTree value={content} />;
  return (
    <ul class="plan">
      {(todos as readonly JsonObject[]).map((todo, place) => (
        <li key={place} class={String(todo.status)}>
          <span aria-label={String(todo.status).replace("_", " ")}>{(Object.hasOwn(MARKS, String(todo.status)) && MARKS[String(todo.status)]) || "☐"}</span> {inLine(todo.content ?? todo, 300)}
        </li>
      ))}
    </ul>
  );
}

interface RunErrorProps {
  readonly message: string;
  readonly code: string | undefined;
  readonly step?: string | undefined;
  /** Runs the turn again; undefined where that is not possible. */
  readonly again?: (() => void) | undefined;
}

/** What a server says that keeps the reason to itself. */
export const UNSAID = "The run failed.";

/** Why something failed, or where that is said. Checkpoints have the reason, and the server gives it to whom it may. */
function Reason({ message }: { message: string }) {
  if (message !== UNSAID) return <p class="reason">{message}</p>;
  return (
    <p class="hint">
      The reason is in the server’s log. A server that is started with <code>--debug</code> says it in <i>Checkpoints</i>, and of later runs here as well.
    </p>
  );
}

/** Why a node failed. */
export function Failure({ message, code }: { message: string; code: string | null }) {
  return (
    <div class="notice error failure">
      {code && (
        <p>
          <strong>{code}</strong>
        </p>
      )}
      <Reason message={message} />
    </div>
  );
}

/** That a run failed, where, why, and what can be done. */
export function RunError({ message, code, step, again }: RunErrorProps) {
  return (
    <div class="notice error failure" role="alert">
      <p>
        <strong>
          The run failed
          {step && (
            <>
              {" in "}
              <code>{step}</code>
            </>
          )}
        </strong>
        {code && <code class="code-word">{code}</code>}
      </p>
      <Reason message={message} />
      <div class="failure-actions">
        {again && (
          <button type="button" class="small" onClick={again}>
            <Icon name="again" />
            Try again
          </button>
        )}
        {message !== UNSAID && <Copy of={() => [step && `in ${step}`, code, message].filter(Boolean).join(": ")} what="the error" />}
      </div>
    </div>
  );
}
