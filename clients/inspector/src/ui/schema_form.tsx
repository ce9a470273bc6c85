// A form for a JSON schema: fields for texts, numbers, choices, yes or no; JSON for whatever else.

import { useState } from "preact/hooks";

import { isObject, type Json, type JsonObject, parsed } from "../model/json.ts";

interface SchemaFormProps {
  /** null: any answer, as a text. */
  readonly schema: JsonObject | null;
  readonly take: (value: Json) => void;
  readonly cancel: () => void;
}

export function SchemaForm({ schema, take, cancel }: SchemaFormProps) {
  const fields = fieldsOf(schema);
  const [drafts, setDrafts] = useState<readonly string[]>(fields.map(({ first }) => first));
  const values = fields.map((field, place) => read(field, drafts[place]!));
  const isWhole = values.every((value, place) => value !== INVALID && (value !== undefined || !fields[place]!.isRequired));
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isWhole) return;
    if (!isForm(schema)) take((values[0] as Json | undefined) ?? "");
    else take(Object.fromEntries(fields.flatMap(({ name }, place) => (values[place] === undefined ? [] : [[name, values[place] as Json]]))));
  };
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
    <form onSubmit={submit}>
      {fields.map((field, place) => (
        <Control key={field.name} field={field} draft={drafts[place]!} isInvalid={values[place] === INVALID} write={(draft) => setDrafts(drafts.with(place, draft))} />
      ))}
      <div class="actions">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!isWhole}>
          Answer
        </button>
      </div>
    </form>
  );
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly choices: readonly Json[];
  readonly isRequired: boolean;
  readonly first: string;
}

const INVALID = Symbol("invalid");

function Control({ field, draft, isInvalid, write }: { field: Field; draft: string; isInvalid: boolean; write: (draft: string) => void }) {
  const { kind, label, help, isRequired } = field;
  if (kind === "boolean") {
    return (
      <label class="check">
        <input type="checkbox" checked={draft === "true"} onChange={({ currentTarget }) => write(String(currentTarget.checked))} />
        {label}
      </label>
    );
  }
  return (
    <label>
      {label}
      {!isRequired && <span class="quiet"> (may be left empty)</span>}
      {kind === "choice" ? (
        <select value={draft} onChange={({ currentTarget }) => write(currentTarget.value)}>
          {!isRequired && <option value="" />}
          {field.choices.map((choice, place) => (
            <option key={place} value={String(place)}>
              {String(choice)}
            </option>
          ))}
        </select>
      ) : kind === "json" ? (
        <textarea class="code" rows={4} value={draft} aria-invalid={isInvalid} onInput={({ currentTarget }) => write(currentTarget.value)} />
      ) : (
        <input inputMode={kind === "text" ? "text" : "decimal"} value={draft} aria-invalid={isInvalid} onInput={({ currentTarget }) => write(currentTarget.value)} />
      )}
      {help && <span class="quiet">{help}</span>}
      {isInvalid && <span class="wrong">{kind === "json" ? "This is not JSON." : "This is not a number."}</span>}
    </label>
  );
}

const isForm = (schema: JsonObject | null): boolean => isObject(schema?.properties);

function fieldsOf(schema: JsonObject | null): Field[] {
  if (!isForm(schema)) return [fieldOf("answer", schema ?? { type: "string" }, true)];
  const required = Array.isArray(schema!.required) ? schema!.required : [];
  return Object.entries(schema!.properties as JsonObject).map(([name, each]) => fieldOf(name, isObject(each) ? each : {}, required.includes(name)));
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): Field {
  const choices = Array.isArray(schema.enum) ? schema.enum : schema.const !== undefined ? [schema.const] : [];
  const types: { readonly [type: string]: Field["kind"] } = { string: "text", number: "number", integer: "integer", boolean: "boolean" };
  const kind = choices.length ? "choice" : (types[String(schema.type)] ?? "json");
  const begun = schema.default;
  const choice = choices.findIndex((each) => each === begun);
  const first = kind === "choice" ? (choice >= 0 ? String(choice) : isRequired ? "0" : "") : kind === "boolean" ? String(begun === true) : begun === undefined ? "" : kind === "json" ? JSON.stringify(begun, null, 2) : String(begun);
  const label = typeof schema.title === "string" ? schema.title : name.replaceAll("_", " ");
  return { name, label, help: typeof schema.description === "string" ? schema.description : "", kind, choices, isRequired, first };
}

/** What a field has: undefined if it is empty, `INVALID` if it cannot be meant. */
function read({ kind, choices }: Field, draft: string): Json | undefined | typeof INVALID {
  if (kind === "boolean") return draft === "true";
  if (draft.trim() === "") return undefined;
  if (kind === "choice") return choices[Number(draft)];
  if (kind === "json") return parsed(draft) ?? (draft.trim() === "null" ? null : INVALID);
  if (kind === "text") return draft;
  const number = Number(draft);
  return Number.isFinite(number) && (kind === "number" || Number.isInteger(number)) ? number : INVALID;
}
