// What a run gets besides a message: a form for the state and the context that pages may write, made from the schemas of
// the agent. An agent that takes no messages is run from it alone.

import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { agentInput } from "../agent_input.ts";
import { draftName, keepDraft, keptDraft } from "../drafts.ts";
import { isObject, type Json, type JsonObject, parsed } from "../model/json.ts";
import { type Draft, draftOf, type DraftParts, type Field, fieldOf, partial, read, refusedFields } from "../model/schema.ts";
import type { View } from "../model/view.ts";
import type { AgentInput } from "../server/api.ts";
import { failure, latest, runWith, stop, type Values, view } from "../session.ts";
import { CROWDED, useIsSlow } from "./connection.tsx";
import { Icon } from "./icons.tsx";
import { JsonTree } from "./json_view.tsx";
import { RunError } from "./message.tsx";
import { isNew } from "./panes.ts";
import { Fields, focusOnWrong } from "./schema_form.tsx";

const NOTHING: ReadonlyMap<string, string> = new Map();

interface Form {
  readonly field: Field;
  readonly draft: Draft;
  readonly write: (draft: Draft) => void;
  readonly value: JsonObject;
  readonly wrong: ReadonlyMap<string, string>;
}

/** The form of a schema. What was entered stays after a reload; before anything was, it has what the thread has. */
function useForm(schema: JsonObject | null, name: string, present: Json | undefined): Form | null {
  const field = useMemo(() => (schema === null ? null : fieldOf(partial(schema))), [schema]);
  const [entered, setEntered] = useState<Draft>(() => entriesOf(keptDraft(name)));
  const draft = useMemo(() => {
    if (field === null || field.kind !== "object") return {};
    const begun = draftOf(field, true, isObject(present) ? present : {}) as DraftParts;
    return { ...begun, ...(entered as DraftParts) };
  }, [field, entered, present]);
  const { value, errors } = useMemo(() => (field === null ? { value: {}, errors: NOTHING } : read(field, draft, true)), [field, draft]);
  if (field === null || field.kind !== "object") return null;
  const write = (next: Draft) => {
    const changed = Object.entries(next as DraftParts).filter(([part, each]) => each !== draft[part] || (entered as DraftParts | undefined)?.[part] !== undefined);
    const all = Object.fromEntries(changed);
    setEntered(all);
    keepDraft(name, JSON.stringify(all));
  };
  return { field, draft, write, value: value as JsonObject, wrong: errors };
}

const entriesOf = (text: string | null): Draft => {
  const kept = text === null ? undefined : parsed(text);
  return isObject(kept) ? (kept as unknown as DraftParts) : {};
};

export interface ValuesForms {
  readonly state: Form | null;
  readonly context: Form | null;
  readonly isWhole: boolean;
  readonly values: Values;
}

/** The forms of an agent for one thread. */
export function useValues(input: AgentInput | null, agent: string, thread: string): ValuesForms {
  const state = useForm(input?.input ?? null, draftName(agent, thread, "state"), latest.value.state as Json);
  const context = useForm(input?.context ?? null, draftName(agent, "", "context"), undefined);
  const values = { ...(state && { state: state.value }), ...(context && Object.keys(context.value).length > 0 && { context: context.value }) };
  return { state, context, isWhole: !state?.wrong.size && !context?.wrong.size, values };
}

/** What is shown of the forms, and what the server has refused of the last input. */
export function useRefusals(of: { readonly current: HTMLElement | null }) {
  const [isTried, setIsTried] = useState(false);
  const [refused, setRefused] = useState<{ readonly state: ReadonlyMap<string, string>; readonly context: ReadonlyMap<string, string> }>({ state: NOTHING, context: NOTHING });
  /** Sends, unless something is wrong; then the focus goes there. Returns whether the server has taken it. */
  const submit = async (forms: ValuesForms, sending: () => Promise<boolean>): Promise<boolean> => {
    setIsTried(true);
    setRefused({ state: NOTHING, context: NOTHING });
    const isTaken = forms.isWhole && (await sending());
    if (isTaken) {
      setIsTried(false);
      return true;
    }
    const message = forms.isWhole ? (failure.peek() ?? "") : "";
    const [state, context] = [refusedFields(message, "state"), refusedFields(message, "context")];
    if (state.size + context.size > 0) {
      failure.value = null; // it stands at its field
      setRefused({ state, context });
    }
    requestAnimationFrame(() => focusOnWrong(of.current));
    return false;
  };
  const clear = () => setRefused({ state: NOTHING, context: NOTHING });
  return { isTried, refused, submit, clear };
}

interface ValueFieldsProps {
  readonly forms: ValuesForms;
  readonly shown: ReturnType<typeof useRefusals>;
}

/** The fields of state and context. */
export function ValueFields({ forms: { state, context }, shown: { isTried, refused, clear } }: ValueFieldsProps) {
  const written = (form: Form) => (draft: Draft) => {
    clear();
    form.write(draft);
  };
  const fields = (form: Form, of: "state" | "context") => <Fields field={form.field} draft={form.draft} write={written(form)} errors={{ wrong: form.wrong, refused: refused[of], isTried }} />;
  return (
    <>
      {state && fields(state, "state")}
      {context &&
        (state === null ? (
          fields(context, "context")
        ) : (
          <fieldset class="group">
            <legend>Context</legend>
            {fields(context, "context")}
          </fieldset>
        ))}
    </>
  );
}

/** In place of the box for a message, for an agent that takes none. */
export function InputForm({ agent, thread, input }: { agent: string; thread: string; input: AgentInput }) {
  const forms = useValues(input, agent, thread);
  const form = useRef<HTMLFormElement>(null);
  const shown = useRefusals(form);
  const [isSending, setIsSending] = useState(false);
  const isSlow = useIsSlow(isSending);
  const { status, interrupts } = latest.value;
  const isRunning = status === "running";
  const isWaiting = status === "waiting" && interrupts.length > 0;
  useEffect(() => {
    if (isNew.peek()) form.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
    isNew.value = false;
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending || isRunning || isWaiting) return;
    setIsSending(true);
    await shown.submit(forms, () => runWith(forms.values));
    setIsSending(false);
  };
  const isEmpty = forms.state === null && forms.context === null;
  return (
    <form ref={form} class="input-form schema-form" aria-label="Input" noValidate onSubmit={submit}>
      <div class="fields">
        <ValueFields forms={forms} shown={shown} />
        <Closed input={input} isEmpty={isEmpty} />
      </div>
      <div class="actions">
        {isSlow && (
          <p class="quiet" role="status">
            {CROWDED}
          </p>
        )}
        {isWaiting && <p class="quiet">Answer above to go on.</p>}
        {isRunning ? (
          <button type="button" class="danger" onClick={() => void stop()}>
            <Icon name="stop" />
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={isSending || isWaiting}>
            <Icon name="play" />
            Run
          </button>
        )}
      </div>
    </form>
  );
}

/** What the agent takes and pages may not give, and how its owner lets them. */
function Closed({ input, isEmpty }: { input: AgentInput; isEmpty: boolean }) {
  const state = input.closed?.input ?? [];
  if (state.length === 0) return isEmpty ? <p class="quiet">This agent takes no messages, and nothing else from a page.</p> : null;
  return (
    <p class="quiet">
      {`${isEmpty ? "This agent takes no messages. Pages" : "Pages"} may not write ${state.join(", ")}: the server's owner allows that with `}
      <code>{`--state ${state[0]}`}</code>
      {` or Intake(state=…).`}
    </p>
  );
}

/** What may be given with a message, folded: most messages need nothing. */
export function MoreValues({ forms, shown }: ValueFieldsProps) {
  if (forms.state === null && forms.context === null) return null;
  return (
    <details class="more-values schema-form">
      <summary>{[forms.state && "State", forms.context && "Context"].filter(Boolean).join(" and ")}</summary>
      <div class="fields">
        <ValueFields forms={forms} shown={shown} />
      </div>
    </details>
  );
}

/** Whether the state stands in place of a conversation, since the agent has none. Failures of earlier runs are none. */
export const hasStateInPlace = computed(() => {
  const { state, messages } = view.value;
  if (agentInput.value?.messages !== false || !isObject(state) || Object.keys(state).length === 0) return false;
  return messages.every((message) => message.role === "activity" && message.activityType === "run_error");
});

export function StateInPlace({ error }: { error: View["error"] }) {
  return (
    <section class="state-in-place" aria-label="State" tabIndex={0}>
      <JsonTree value={view.value.state as Json} isWhole />
      {error && <RunError message={error.message} code={error.code} step={error.step} />}
    </section>
  );
}
