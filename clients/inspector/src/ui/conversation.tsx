// The conversation of a thread, as a chat shows it, and the box for the next message.

import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { connection, failure, forkAt, isLive, latest, position, send, session, stop, view } from "../session.ts";
import { Pauses } from "./breakpoint.tsx";
import { ConnectionPill, CROWDED, useIsSlow } from "./connection.tsx";
import { Exporter } from "./exporter.tsx";
import { Guard } from "./guard.tsx";
import { Icon } from "./icons.tsx";
import { MessageRow, RunError } from "./message.tsx";
import { isNew, pane } from "./panes.ts";
import { Questions } from "./question.tsx";
import { rowsOf } from "./rows.ts";
import { InputForm, MoreValues, StateInPlace, hasStateInPlace, useRefusals, useValues } from "./values.tsx";
import { agentInput } from "../agent_input.ts";
import { draftName, keepDraft, keptDraft } from "../drafts.ts";
import { threads } from "../threads.ts";
import { VirtualList } from "./virtual.tsx";

const rows = computed(() => rowsOf(view.value));

export function Conversation() {
  const current = session.value;
  const isSlow = useIsSlow(current?.kind === "thread" && connection.value.status === "connecting");
  if (current === null) {
    return (
      <section class="conversation nothing" aria-label="Thread">
        <div class="empty">
          <p class="title">Inspector</p>
          <p>Choose a thread to see it live, start a new one, or open a recording.</p>
        </div>
        <Failure />
      </section>
    );
  }
  const { status, interrupts, error, messages } = view.value;
  const isThread = current.kind === "thread";
  const takes = agentInput.value;
  const title = isThread ? (threads.value?.find(({ id }) => id === current.name)?.name ?? null) : null;
  const shown = rows.value;
  const mayFork = isThread && isLive.value && (status === "idle" || status === "failed" || status === "cancelled");
  const asked = messages.findLast(({ role }) => role === "user");
  const last = shown.length;
  const now = connection.value;
  return (
    <section class="conversation" aria-label="Thread">
      <header class="thread-head">
        <button type="button" class="plain only-narrow" aria-label="Threads" onClick={() => (pane.value = "threads")}>
          <Icon name="back" />
        </button>
        <div class="thread-title">
          <h2 title={title ?? current.name}>{title ?? current.name}</h2>
          <p class="quiet">
            {current.about ?? (isThread ? current.agent : "Recording")}
            {title !== null && <code>{current.name}</code>}
          </p>
        </div>
        <StatusBadge status={status} />
        <ConnectionPill />
        <Exporter />
      </header>
      {now.status === "refused" && isThread ? (
        <div class="empty" role="alert">
          <p>{now.error.message}</p>
        </div>
      ) : hasStateInPlace.value ? (
        <StateInPlace error={error} />
      ) : shown.length === 0 && status !== "failed" ? (
        <div class="empty quiet">
          {isSlow ? CROWDED : now.status === "connecting" && isThread ? "Connecting…" : !isLive.value ? "Nothing had been said yet." : isThread ? (takes?.messages === false ? "Nothing has run yet. Fill in what the agent gets, and run it." : "Nothing has been said yet. Write the first message.") : "This recording has no messages."}
        </div>
      ) : (
        <VirtualList
          of={current}
          count={last + 1}
          keyOf={(place) => shown[place]?.message.id ?? "end"}
          estimate={90}
          attributes={{ role: "log", "aria-label": "Conversation", "aria-live": "off", class: "messages" }}
          row={(place) =>
            place < last ? (
              <Guard of={shown[place]!.message}>
                <MessageRow row={shown[place]!} isOpen={view.value.open.has(shown[place]!.message.id)} mayFork={mayFork} />
              </Guard>
            ) : (
              <div class="end">
                {error && <RunError message={error.message} code={error.code} step={error.step} again={mayFork && asked ? () => void forkAt(asked.id) : undefined} />}
                {status === "cancelled" && <p class="quiet">The run was stopped.</p>}
                {status === "running" && <Working />}
              </div>
            )
          }
        />
      )}
      {interrupts.length > 0 && status === "waiting" && (
        <Guard of={interrupts}>
          <Questions key={interrupts.map(({ id }) => id).join(" ")} interrupts={interrupts} isDisabled={!isThread || !isLive.value} />
        </Guard>
      )}
      <Failure />
      {!isLive.value && (
        <div class="notice past" role="status">
          <span>{`As it was after event ${position.value}`}</span>
          <button type="button" class="small" onClick={() => (position.value = null)}>
            {isThread ? "Back to live" : "To the end"}
          </button>
        </div>
      )}
      {isThread && <Pauses />}
      {isThread && takes?.messages === false && <InputForm key={current.name} agent={current.agent} thread={current.name} input={takes} />}
      {isThread && takes?.messages !== false && <Composer key={current.name} agent={current.agent} thread={current.name} />}
    </section>
  );
}

const Working = () => (
  <p class="working" role="img" aria-label="Running">
    <i />
    <i />
    <i />
  </p>
);

const WORDS: { readonly [status: string]: string } = { running: "Running", waiting: "Waiting", failed: "Failed", cancelled: "Stopped", idle: "Idle" };

const StatusBadge = ({ status }: { status: string }) => <span class={`badge ${status}`}>{WORDS[status]}</span>;

/** Why the last thing that the user did has failed, until it is closed. */
function Failure() {
  if (failure.value === null) return null;
  return (
    <div class="notice error" role="alert">
      <span>{failure.value}</span>
      <button type="button" class="plain" aria-label="Close" onClick={() => (failure.value = null)}>
        <Icon name="close" />
      </button>
    </div>
  );
}

function Composer({ agent, thread }: { agent: string; thread: string }) {
  const { status, interrupts, runId } = latest.value;
  const isRunning = status === "running";
  const isWaiting = status === "waiting" && interrupts.length > 0;
  const box = useRef<HTMLTextAreaElement>(null);
  const isKnown = agentInput.value !== null;
  useEffect(() => {
    if (isNew.peek()) box.current?.focus();
    if (isKnown) isNew.value = false; // else a form may take the place of this box
  }, [isKnown]);
  const wasWaiting = useRef(isWaiting);
  useEffect(() => {
    // What was answered is gone, and the focus with it.
    if (wasWaiting.current && !isWaiting && document.activeElement === document.body) box.current?.focus();
    wasWaiting.current = isWaiting;
  }, [isWaiting]);
  const draft = draftName(agent, thread, "message");
  const [text, setText] = useState(() => keptDraft(draft) ?? "");
  useEffect(() => keepDraft(draft, text), [text]);
  const forms = useValues(agentInput.value, agent, thread);
  const form = useRef<HTMLFormElement>(null);
  const refusals = useRefusals(form);
  const [isSending, setIsSending] = useState(false);
  const [sentIn, setSentIn] = useState<string | undefined>();
  const isSlow = useIsSlow(isSending);
  const isQueued = isRunning && sentIn !== undefined && sentIn === runId;
  const maySend = Boolean(text.trim()) && !isSending && !isQueued && !isWaiting;
  /** While a run goes on the server decides what becomes of a message: it has its turn later, stops the run, or is refused. */
  const submit = async () => {
    if (!maySend) return;
    setIsSending(true);
    if (await refusals.submit(forms, () => send(text, forms.values))) {
      setText("");
      if (isRunning) setSentIn(runId);
    }
    setIsSending(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void submit();
  };
  return (
    <form
      ref={form}
      class="composer"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {isSlow && (
        <p class="quiet" role="status">
          {CROWDED}
        </p>
      )}
      <MoreValues forms={forms} shown={refusals} />
      <textarea
        ref={box}
        aria-label="Message"
        rows={1}
        placeholder={isWaiting ? "Answer above to go on" : isQueued ? "Your message has its turn when this run has ended" : "Message the agent"}
        disabled={isWaiting || isQueued}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isRunning && (
        <button type="button" class="danger" onClick={() => void stop()}>
          <Icon name="stop" />
          Stop
        </button>
      )}
      {(!isRunning || text.trim()) && (
        <button type="submit" class="primary" disabled={!maySend}>
          <Icon name="send" />
          Send
        </button>
      )}
    </form>
  );
}
