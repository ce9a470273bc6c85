// What a run waits for: a form for each interrupt, made from its schema; and the answers, sent when all are given.

import type { Interrupt } from "@ag-ui/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { Markdown } from "../content/markdown.tsx";
import { isObject, type Json, type JsonObject, parsed } from "../model/json.ts";
import { type Answer, answer, isLeftOut } from "../session.ts";
import { Breakpoint, PAUSED } from "./breakpoint.tsx";
import { Copy } from "./copy.tsx";
import { DraftArea } from "./draft_area.tsx";
import { JsonTree } from "./json_view.tsx";
import { SchemaForm } from "./schema_form.tsx";

export function Questions({ interrupts, isDisabled }: { interrupts: readonly Interrupt[]; isDisabled: boolean }) {
  const [given, setGiven] = useState<readonly Answer[]>([]);
  const [isSending, setIsSending] = useState(false);
  const open = interrupts.filter(({ id }) => !given.some(({ interruptId }) => interruptId === id));
  const take = async (one: Answer) => {
    const all = [...given, one];
    if (all.length < interrupts.length) {
      setGiven(all);
      return;
    }
    setIsSending(true);
    if (!(await answer(all))) setGiven(given);
    setIsSending(false);
  };
  const section = useRef<HTMLElement>(null);
  useFocusOnNext(section, given.length);
  return (
    <section ref={section} class="questions" aria-label="The run waits">
      {open.map((interrupt) => (
        <fieldset key={interrupt.id} class="question" disabled={isDisabled || isSending}>
          <legend>{interrupt.reason === PAUSED ? "Breakpoint" : interrupts.length > 1 ? `Waiting, ${interrupts.indexOf(interrupt) + 1} of ${interrupts.length}` : "Waiting for an answer"}</legend>
          {interrupt.reason === PAUSED ? <Breakpoint interruptId={interrupt.id} take={(one) => void take(one)} /> : <Question interrupt={interrupt} take={(payload) => void take({ interruptId: interrupt.id, status: "resolved", payload })} cancel={() => void take({ interruptId: interrupt.id, status: "cancelled" })} />}
        </fieldset>
      ))}
    </section>
  );
}

interface QuestionProps {
  readonly interrupt: Interrupt;
  readonly take: (payload: Json) => void;
  readonly cancel: () => void;
}

function Question({ interrupt, take, cancel }: QuestionProps) {
  if (isLeftOut("tools")) return <p class="quiet">What was asked was left out of this file.</p>;
  const value = (interrupt.metadata as JsonObject | undefined)?.value;
  const requests = isObject(value) && Array.isArray(value.action_requests) ? (value.action_requests as readonly JsonObject[]) : null;
  const configs = isObject(value) && Array.isArray(value.review_configs) ? (value.review_configs as readonly JsonObject[]) : [];
  if (requests?.length && requests.every(isObject)) return <Approval requests={requests} configs={configs} take={take} />;
  const schema = isObject(interrupt.responseSchema) ? (interrupt.responseSchema as JsonObject) : null;
  const key = isObject(value) ? TEXTS.find((each) => typeof value[each] === "string") : undefined;
  const text = typeof value === "string" ? value : isObject(value) && key ? value[key] : interrupt.message;
  const more = isObject(value) ? Object.fromEntries(Object.entries(value).filter(([each]) => each !== key && !OWN.includes(each))) : value;
  return (
    <>
      {typeof text === "string" && <Markdown text={text} />}
      {typeof more === "object" && more !== null && Object.keys(more).length > 0 && <JsonTree value={more} isWhole />}
      <SchemaForm schema={schema} take={take} cancel={cancel} />
    </>
  );
}

/** Fields of a value that ask, and those that AG-UI has taken. */
const TEXTS = ["question", "message", "prompt", "description"];
const OWN = ["reason", "toolCallId", "tool_call_id", "responseSchema", "response_schema", "expiresAt", "expires_at"];

type Decision = { readonly type: string; readonly message?: string; readonly edited_action?: Json };
const ALL = ["approve", "edit", "reject"];
const DECIDED: { readonly [type: string]: string } = { approve: "approved", edit: "approved as edited", reject: "rejected", respond: "answered" };

/** Calls of tools that wait for approval: each is approved, edited, rejected or answered. */
function Approval({ requests, configs, take }: { requests: readonly JsonObject[]; configs: readonly JsonObject[]; take: (payload: Json) => void }) {
  const [decisions, setDecisions] = useState<readonly (Decision | null)[]>(requests.map(() => null));
  const decide = (place: number, decision: Decision) => {
    const all = decisions.with(place, decision);
    setDecisions(all);
    if (all.every((each) => each !== null)) take({ decisions: all as unknown as Json });
  };
  const list = useRef<HTMLDivElement>(null);
  useFocusOnNext(list, decisions.filter(Boolean).length);
  return (
    <div ref={list}>
      {requests.map((request, place) => {
        const allowed = configs.find(({ action_name }) => action_name === request.name)?.allowed_decisions;
        const decision = decisions[place];
        return (
          <div key={place} class="approval">
            {decision ? (
              <p class="quiet">
                <code>{String(request.name)}</code>: {DECIDED[decision.type]}
              </p>
            ) : (
              <Request request={request} allowed={Array.isArray(allowed) ? allowed.map(String) : ALL} decide={(made) => decide(place, made)} />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** When something was answered, and its button is gone, the focus is on the next that can be. */
function useFocusOnNext(of: { readonly current: HTMLElement | null }, answered: number): void {
  const before = useRef(answered);
  useEffect(() => {
    if (answered > before.current) of.current?.querySelector<HTMLElement>(".primary:not(:disabled), input, textarea, select")?.focus();
    before.current = answered;
  }, [answered]);
}

function Request({ request, allowed, decide }: { request: JsonObject; allowed: readonly string[]; decide: (decision: Decision) => void }) {
  const [mode, setMode] = useState<"ask" | "edit" | "reject" | "respond">("ask");
  const args = request.args ?? request.arguments ?? {};
  const [draft, setDraft] = useState("");
  const begin = (now: "edit" | "reject" | "respond") => {
    setDraft(now === "edit" ? JSON.stringify(args, null, 2) : "");
    setMode(now);
  };
  const edited = mode === "edit" ? parsed(draft) : undefined;
  const isInvalid = mode === "edit" && !isObject(edited);
  const done = (event: Event) => {
    event.preventDefault();
    if (mode === "edit" && edited !== undefined) decide({ type: "edit", edited_action: { name: request.name ?? "", args: edited } });
    else if (mode === "reject") decide({ type: "reject", ...(draft.trim() && { message: draft.trim() }) });
    else if (mode === "respond") decide({ type: "respond", message: draft });
  };
  return (
    <>
      <p class="label">
        <code>{String(request.name)}</code>
        <Copy of={() => args} what="the arguments" />
      </p>
      {typeof request.description === "string" && !request.description.includes("Tool execution requires approval") && <p>{request.description}</p>}
      {mode !== "edit" && <JsonTree value={args} isWhole />}
      {mode === "ask" ? (
        <div class="actions">
          {allowed.includes("approve") && (
            <button type="button" class="primary" onClick={() => decide({ type: "approve" })}>
              Approve
            </button>
          )}
          {allowed.includes("edit") && (
            <button type="button" onClick={() => begin("edit")}>
              Edit
            </button>
          )}
          {allowed.includes("respond") && (
            <button type="button" onClick={() => begin("respond")}>
              Respond
            </button>
          )}
          {allowed.includes("reject") && (
            <button type="button" class="danger" onClick={() => begin("reject")}>
              Reject
            </button>
          )}
        </div>
      ) : (
        <form onSubmit={done}>
          <label>
            {mode === "edit" ? "Arguments" : mode === "reject" ? "Why (may be left empty)" : "The answer, in place of the tool's"}
            <DraftArea key={mode} class={mode === "edit" ? "code" : ""} rows={mode === "edit" ? 6 : 2} draft={draft} isInvalid={isInvalid} write={setDraft} />
          </label>
          {isInvalid && <p class="wrong">This is not a JSON object.</p>}
          <div class="actions">
            <button type="button" onClick={() => setMode("ask")}>
              Back
            </button>
            <button type="submit" class={mode === "reject" ? "danger" : "primary"} disabled={isInvalid}>
              {mode === "edit" ? "Approve as edited" : mode === "reject" ? "Reject" : "Send"}
            </button>
          </div>
        </form>
      )}
    </>
  );
}
