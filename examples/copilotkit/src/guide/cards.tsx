// What a tool call looks like: its progress while it works, its result, the question before it; and a run that failed.

import type { InterruptRenderProps } from "@copilotkit/react-core/v2/headless";
import { useId, useState, type FormEvent, type ReactNode } from "react";

import { argumentsOf } from "./calls";
import "./cards.css";
import { Icon } from "./icons";
import type { Booking, Call, RunFailure, Stop, Todos, ToolProgress } from "./types";

type ToolCallProps = {
  call: Call;
  result?: string;
  progress?: ToolProgress;
  isRunning: boolean;
  show(place: string): void;
};

/** One tool call: a card for what takes long, a line for everything else. */
export function ToolCall({ call, result, progress, isRunning, show }: ToolCallProps) {
  const { name } = call.function;
  const given = argumentsOf(call);
  if (name === "write_todos") return null; // the activity `plan` has them
  if (name === "compare_tickets") return <Comparing result={result} progress={progress} isRunning={isRunning} />;
  if (name === "show_on_map") {
    return (
      <Line state="done" icon={<Icon name="pin" />}>
        <button className="link" onClick={() => show(String(given.place))}>
          {String(given.place ?? "A place")} on the map
        </button>
      </Line>
    );
  }
  // A call that was stopped is answered in the next run, with a note of that.
  const state = result !== undefined ? "done" : isRunning ? "running" : "open";
  if (name === "add_stop") {
    const { at } = given as Partial<Stop>;
    return (
      <Line state={result?.endsWith("is in the plan.") === false ? "rejected" : state}>
        {String(given.place ?? "A stop")} {at && `at ${at}`}
      </Line>
    );
  }
  if (name === "book") {
    if (state === "open") return null; // the question is below
    const { place = "A place", at, people } = given as Partial<Booking>;
    if (state === "running") return <Line state="running">Booking {place}</Line>;
    const booked = /is booked at (\S+) for (\d+)/.exec(result ?? "");
    return booked ? (
      <Line state="done" icon={<Icon name="ticket" />}>
        {place} booked for {booked[2]} at {booked[1]}{" "}
        {(booked[1] !== at || booked[2] !== String(people)) && <span className="tag">changed by you</span>}
      </Line>
    ) : (
      <Line state="rejected">{place} is not booked</Line>
    );
  }
  return <Line state={state}>{name}</Line>;
}

type LineState = "running" | "done" | "open" | "rejected";

function Line({ state, icon, children }: { state: LineState; icon?: ReactNode; children: ReactNode }) {
  const shown =
    state === "running" ? (
      <span className="spinner" />
    ) : state === "done" ? (
      (icon ?? <Icon name="check" />)
    ) : (
      <Icon name="close" />
    );
  return (
    <p className="line" data-state={state}>
      {shown}
      <span>{children}</span>
    </p>
  );
}

/** What the agent is about to do, and has done: the activity `plan`. */
export function TodoList({ todos, isRunning }: Todos & { isRunning: boolean }) {
  const title = useId();
  const done = todos.filter(({ status }) => status === "completed").length;
  return (
    <section className="card" aria-labelledby={title} data-state={done === todos.length ? "done" : "running"}>
      <header>
        <Icon name="list" />
        <h3 id={title}>To do</h3>
        <span className="count">
          {done} of {todos.length} done
        </span>
      </header>
      <ul>
        {todos.map(({ content, status }, at) => (
          <li key={at} className="todo" data-status={status}>
            {status === "completed" ? (
              <Icon name="check" />
            ) : status === "in_progress" && isRunning ? (
              <span className="spinner" />
            ) : (
              <Icon name="circle" />
            )}
            <span>{content}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A tool that takes long: what it does, and how far it is; then what it found. */
function Comparing({ result, progress, isRunning }: { result?: string; progress?: ToolProgress; isRunning: boolean }) {
  const title = useId();
  const prices = [...(result ?? "").matchAll(/([^,:]+): (\d+) euros/g)];
  const found = prices.length > 0;
  const at = progress?.progress;
  const isStopped = !found && (result !== undefined || !isRunning);
  return (
    <section className="card" aria-labelledby={title} data-state={found ? "done" : isStopped ? "rejected" : "running"}>
      <header>
        {found ? <Icon name="check" /> : isStopped ? <Icon name="close" /> : <span className="spinner" />}
        <h3 id={title}>{found ? "Tickets compared" : isStopped ? "Comparison stopped" : "Comparing tickets"}</h3>
        {!found && at && (
          <span className="count">
            {at.done} of {at.of}
          </span>
        )}
      </header>
      {found ? (
        <dl className="prices">
          {prices.map(([, place, price]) => (
            <div key={place}>
              <dt>{place}</dt>
              <dd>{price} €</dd>
            </div>
          ))}
        </dl>
      ) : (
        <>
          <progress aria-labelledby={title} value={at?.done ?? 0} max={at?.of ?? 1} />
          {at && !isStopped && <p className="hint">Asking for {at.now}</p>}
        </>
      )}
    </section>
  );
}

type Review = { action_requests?: { name: string; args: Record<string, unknown> }[] };

/** The question that a run waits for: an approval of LangChain's middleware, or what a node asks with `interrupt()`. */
export function Question({ interrupt, resolve, cancel }: InterruptRenderProps<unknown, unknown>) {
  const { action_requests: calls = [] } = (interrupt?.metadata?.value ?? {}) as Review;
  const [call] = calls;
  if (calls.length === 1 && call?.name === "book") {
    return (
      <Approval
        key={interrupt?.id}
        booking={call.args as Booking}
        decide={(decision) => resolve({ decisions: [decision] })}
      />
    );
  }
  return (
    <section className="card question" aria-label="question">
      <p>{interrupt?.message}</p>
      <div className="buttons">
        <button className="primary" onClick={() => resolve(true)}>
          Approve
        </button>
        <button onClick={() => cancel()}>Cancel</button>
      </div>
    </section>
  );
}

type Decision =
  | { type: "approve" }
  | { type: "edit"; edited_action: { name: string; args: Booking } }
  | { type: "reject"; message: string };

function Approval({ booking, decide }: { booking: Booking; decide(decision: Decision): void }) {
  const [draft, setDraft] = useState(booking);
  const [isSent, setSent] = useState(false);
  const isChanged = draft.at !== booking.at || draft.people !== booking.people;
  const send = (decision: Decision) => {
    setSent(true);
    decide(decision);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(isChanged ? { type: "edit", edited_action: { name: "book", args: draft } } : { type: "approve" });
  };
  return (
    <form className="card question" aria-label="question" onSubmit={submit}>
      <header>
        <Icon name="ticket" />
        <h3>Book {booking.place}?</h3>
      </header>
      <fieldset disabled={isSent}>
        <label>
          <span>Time</span>
          <input
            type="time"
            required
            value={draft.at}
            onChange={(event) => setDraft({ ...draft, at: event.target.value })}
          />
        </label>
        <label>
          <span>People</span>
          <input
            type="number"
            required
            min={1}
            max={9}
            value={draft.people}
            onChange={(event) => setDraft({ ...draft, people: event.target.valueAsNumber })}
          />
        </label>
        <div className="buttons">
          <button className="primary">{isChanged ? "Approve with changes" : "Approve"}</button>
          <button
            type="button"
            onClick={() => send({ type: "reject", message: "The user does not want this booking." })}
          >
            Reject
          </button>
        </div>
      </fieldset>
      <p className="hint">The run waits for your answer, in every tab and after a reload.</p>
    </form>
  );
}

/** The text of a failure whose reason the server keeps to itself. */
const UNSAID = "The run failed.";

/** The mark that a failed run leaves. */
export function Failure({ failure, retry }: { failure: RunFailure; retry?: () => void }) {
  return (
    <section className="card failure" role="alert">
      <header>
        <Icon name="cross" />
        <h3>The run failed</h3>
        {failure.code && <code>{failure.code}</code>}
      </header>
      <p className="hint">{failure.message === UNSAID ? "The server's log says why." : failure.message}</p>
      {retry && (
        <div className="buttons">
          <button onClick={retry}>Try again</button>
        </div>
      )}
    </section>
  );
}
