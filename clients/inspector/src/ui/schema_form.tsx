// A form for a JSON schema: fields for texts, numbers, dates and choices, groups of fields, lists, alternatives; JSON for
// whatever else. What is wrong stands at its field, and is read with it; a form that is sent with something wrong is not,
// and the focus goes to the first such field.

import { useId, useMemo, useRef, useState } from "preact/hooks";

import type { Json, JsonObject } from "../model/json.ts";
import { type Alternative, type Draft, draftOf, type DraftParts, type Field, fieldOf, read } from "../model/schema.ts";

interface SchemaFormProps {
  /** null: any answer, as a text. */
  readonly schema: JsonObject | null;
  readonly take: (value: Json) => void;
  readonly cancel: () => void;
}

/** The answer to a question. */
export function SchemaForm({ schema, take, cancel }: SchemaFormProps) {
  const field = useMemo(() => fieldOf(schema ?? { type: "string" }, undefined, "answer"), [schema]);
  const [draft, setDraft] = useState<Draft>(() => draftOf(field, true));
  const { element, errors, submit } = useForm(field, draft, true, take);
  if (schema?.type === "boolean") {
    return (
      <div class="actions">
        <button type="button" class="primary" onClick={() => take(true)}>
          Yes
        </button>
        <button type="button" onClick={() => take(false)}>
          No
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    );
  }
  return (
    <form ref={element} class="schema-form" noValidate onSubmit={submit}>
      <Fields field={field} draft={draft} write={setDraft} errors={errors} />
      <div class="actions">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Answer
        </button>
      </div>
    </form>
  );
}

/** What a form needs besides its fields. `refused`: what the server says of fields, until they are changed. */
export function useForm(field: Field, draft: Draft, isRequired: boolean, take: (value: Json) => void, refused: ReadonlyMap<string, string> = NOTHING) {
  const element = useRef<HTMLFormElement>(null);
  const [isTried, setIsTried] = useState(false);
  const { value, errors: wrong } = useMemo(() => read(field, draft, isRequired), [field, draft, isRequired]);
  const errors: Errors = { wrong, refused, isTried };
  const submit = (event?: Event) => {
    event?.preventDefault();
    setIsTried(true);
    if (wrong.size === 0) take(value ?? "");
    else requestAnimationFrame(() => focusOnWrong(element.current));
  };
  return { element, errors, submit, value, isWhole: wrong.size === 0, showErrors: () => setIsTried(true) };
}

/** Puts the focus on the first field with an error, and opens what it is in. */
export function focusOnWrong(form: Element | null): void {
  const first = form?.querySelector<HTMLElement>("[aria-invalid=true]");
  for (let group = first?.closest("details"); group; group = group.parentElement?.closest("details")) group.open = true;
  first?.focus();
}

const NOTHING: ReadonlyMap<string, string> = new Map();

interface Errors {
  readonly wrong: ReadonlyMap<string, string>;
  readonly refused: ReadonlyMap<string, string>;
  /** Whether it was tried to send the form: only then an empty field is wrong. */
  readonly isTried: boolean;
}

interface FieldProps {
  readonly field: Field;
  readonly draft: Draft;
  readonly write: (draft: Draft) => void;
  readonly errors: Errors;
  readonly path?: string;
  readonly isRequired?: boolean;
  /** Takes this item out of its list, or this group out of its form. */
  readonly remove?: () => void;
  /** In place of the field's own name. */
  readonly label?: string;
}

/** A field; of an object its parts, without a frame around them. */
export function Fields({ field, draft, write, errors, path = "" }: FieldProps) {
  if (field.kind !== "object") return <AnyField field={field} draft={draft} write={write} errors={errors} path={path} isRequired />;
  const parts = (draft ?? {}) as DraftParts;
  return (
    <>
      {field.parts().map(({ name, isRequired, field: part }) => (
        <AnyField key={name} field={part} draft={parts[name]} isRequired={isRequired} errors={errors} path={path ? `${path}.${name}` : name} write={(next) => write({ ...parts, [name]: next })} />
      ))}
    </>
  );
}

function AnyField(props: FieldProps) {
  const { field, draft, write, isRequired = false, label = field.label, path } = props;
  const begin = () => {
    write(draftOf(field, true));
    focusAfter(path!);
  };
  switch (field.kind) {
    case "fixed":
      return null;
    case "list":
      return <List {...props} />;
    case "object":
    case "either":
      if (draft === undefined) {
        return (
          <div class="field">
            <button type="button" class="small add" data-path={path} onClick={begin}>
              {`Add ${label}`}
            </button>
            {field.help && <p class="quiet">{field.help}</p>}
            <Wrong {...props} id={`${path}-wrong`} />
          </div>
        );
      }
      return (
        <fieldset class="group" data-path={path}>
          <legend>{label}</legend>
          {field.help && <p class="quiet">{field.help}</p>}
          {field.kind === "object" ? <Fields {...props} /> : <Either {...props} />}
          {(props.remove || !isRequired) && (
            <button type="button" class="small" onClick={props.remove ?? (() => (write(undefined), focusAfter(path!)))}>
              {`Remove ${label}`}
            </button>
          )}
        </fieldset>
      );
    default:
      return <Control {...props} />;
  }
}

function Either({ field, draft, write, errors, path = "" }: FieldProps) {
  const all = field.alternatives();
  const { which, draft: inner } = draft as Alternative;
  const chosen = all[Number(which)]!;
  const id = useId();
  return (
    <>
      <div class="field">
        <label for={id}>{`Kind of ${field.label}`}</label>
        <select id={id} value={which} onChange={({ currentTarget: { value } }) => write({ which: value, draft: draftOf(all[Number(value)]!, true) })}>
          {all.map(({ label }, place) => (
            <option key={place} value={String(place)}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <Fields field={chosen} draft={inner} errors={errors} path={path} write={(next) => write({ which, draft: next })} />
    </>
  );
}

function List({ field, draft, write, errors, path = "", label = field.label, isRequired = false, remove }: FieldProps) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  const item = useMemo(() => field.item(), [field]);
  const without = (place: number) => {
    const left = items.toSpliced(place, 1);
    write(left.length === 0 && !isRequired && field.schema.default === undefined ? undefined : left);
    focusAfter(left.length ? `${path}[${Math.min(place, left.length - 1)}]` : path);
  };
  const add = () => {
    write([...items, draftOf(item, true)]);
    focusAfter(`${path}[${items.length}]`);
  };
  return (
    <fieldset class="group list">
      <legend>
        {label} <span class="quiet">{items.length === 0 ? "(empty)" : `(${items.length})`}</span>
      </legend>
      {field.help && <p class="quiet">{field.help}</p>}
      {items.map((each, place) => (
        <div key={place} class={item.kind === "object" || item.kind === "either" || item.kind === "list" ? "item" : "item row"}>
          <AnyField field={item} draft={each} errors={errors} path={`${path}[${place}]`} isRequired label={`${item.label || label} ${place + 1}`} write={(next) => write(items.with(place, next))} remove={() => without(place)} />
        </div>
      ))}
      <Wrong path={path} errors={errors} draft={draft} id={`${path}-wrong`} />
      <div class="actions start">
        <button type="button" class="small add" data-path={path} onClick={add}>
          {`Add to ${label}`}
        </button>
        {remove && (
          <button type="button" class="small" onClick={remove}>
            {`Remove ${label}`}
          </button>
        )}
      </div>
    </fieldset>
  );
}

/** When what was pressed is gone, the focus goes to what took its place. */
function focusAfter(path: string): void {
  const form = document.activeElement?.closest("form");
  requestAnimationFrame(() => {
    const place = form?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`);
    (place?.matches("fieldset") ? place.querySelector<HTMLElement>("input, textarea, select, button") : place)?.focus();
  });
}

/** What is wrong with a field: nothing, if the form was not sent and nothing was entered. */
function errorOf(path: string, draft: Draft, { wrong, refused, isTried }: Errors): string | undefined {
  const isEmpty = draft === undefined || draft === "";
  return (isTried || !isEmpty ? wrong.get(path) : undefined) ?? refused.get(path);
}

function Wrong({ path = "", draft, errors, id }: { path?: string; draft: Draft; errors: Errors; id: string }) {
  const error = errorOf(path, draft, errors);
  return error === undefined ? null : (
    <p class="wrong" id={id}>
      {error}
    </p>
  );
}

const INPUTS: { readonly [format: string]: "date" | "datetime-local" | "time" | "email" | "url" | "password" } = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url", url: "url", password: "password" };

function Control({ field, draft, write, errors, path = "", isRequired = false, remove, label = field.label }: FieldProps) {
  const { kind, help, schema, isNullable } = field;
  const id = useId();
  const text = typeof draft === "string" ? draft : "";
  const error = errorOf(path, draft, errors);
  const described = [help && `${id}-help`, error !== undefined && `${id}-wrong`].filter(Boolean).join(" ") || undefined;
  const common = { id, "data-path": path, "aria-invalid": error !== undefined, "aria-describedby": described, "aria-required": isRequired && !isNullable ? true : undefined };
  const isBox = kind === "boolean" && !isNullable;
  const format = String(schema.format ?? (schema.writeOnly === true ? "password" : ""));
  const input = INPUTS[format] ?? "text";
  const onInput = ({ currentTarget: { value } }: { currentTarget: { value: string } }) => write(value);
  /** Enter sends a form, as it sends a message; with Shift it begins a line. */
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    (event.currentTarget as HTMLTextAreaElement).form?.requestSubmit();
  };
  return (
    <div class={isBox ? "field check" : "field"}>
      <label for={id}>
        {isBox && <input {...common} type="checkbox" checked={text === "true"} onChange={({ currentTarget }) => write(String(currentTarget.checked))} />}
        {label}
        {!isBox && !isRequired && <span class="quiet"> (optional)</span>}
      </label>
      <div class="control">
        {isBox ? null : kind === "choice" || kind === "boolean" ? (
          <select {...common} value={text} onChange={({ currentTarget }) => write(currentTarget.value)}>
            <option value="">{isRequired && !isNullable ? "Choose…" : "—"}</option>
            {kind === "boolean" ? (
              <>
                <option value="true">Yes</option>
                <option value="false">No</option>
              </>
            ) : (
              field.choices.map((choice, place) => (
                <option key={place} value={String(place)}>
                  {typeof choice === "object" ? JSON.stringify(choice) : String(choice)}
                </option>
              ))
            )}
          </select>
        ) : kind === "json" ? (
          <textarea {...common} class="code" rows={4} spellcheck={false} placeholder="JSON" value={text} onInput={onInput} />
        ) : kind === "text" && input === "text" ? (
          <textarea {...common} rows={1} value={text} onInput={onInput} onKeyDown={onKeyDown} />
        ) : (
          <input {...common} {...({ type: kind === "text" ? input : "text" } as object)} inputMode={kind === "integer" ? "numeric" : kind === "number" ? "decimal" : "text"} step={input === "datetime-local" || input === "time" ? 1 : undefined} autocomplete="off" value={text} onInput={onInput} />
        )}
        {remove && (
          <button type="button" class="small" onClick={remove}>
            Remove<span class="unseen"> {label}</span>
          </button>
        )}
      </div>
      {help && (
        <p class="quiet" id={`${id}-help`}>
          {help}
        </p>
      )}
      <Wrong path={path} draft={draft} errors={errors} id={`${id}-wrong`} />
    </div>
  );
}
