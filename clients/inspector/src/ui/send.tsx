// "Send this run": says what the file will have, lets everything beyond the conversation be chosen, and saves it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { inLine } from "../model/json.ts";
import { requested } from "../server/api.ts";
import { type Choice, type Kind, KINDS, NAMES } from "../sent/choose.ts";
import { contentsOf, sizeOf, sizesOf } from "../sent/contents.ts";
import { eventsOf, fileOf } from "../sent/file.ts";
import { length, position, session } from "../session.ts";
import { threads } from "../threads.ts";
import { Icon } from "./icons.tsx";
import { panel } from "./panes.ts";
import "./send.css";

/** Beside the page's own script: the page of a run that is sent, without a run. */
const PAGE = "inspector/run.html";
/** Names that are listed of a kind. */
const MOST = 6;

const MEANT: { readonly [kind in Kind]: string } = {
  state: "What the graph keeps, and its result",
  tools: "Their arguments and results, and what was asked of people",
  attachments: "Images, audio, video and documents",
  other: "Custom and raw events, metadata, what the page sent with its input",
};

interface SendDialogProps {
  readonly save: (name: string, text: string) => void;
  readonly close: () => void;
}

export function SendDialog({ save, close }: SendDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [choice, setChoice] = useState<Choice>(new Set());
  const [page, setPage] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const current = session.peek()!;
  // What comes while the dialog is open is not sent: it would not have been shown here.
  const entries = useMemo(() => current.log.entries.slice(), [current]);
  const at = useMemo(() => position.peek(), [current]);
  const contents = useMemo(() => contentsOf(entries, current.log.view), [entries]);
  const sizes = useMemo(() => sizesOf(entries), [entries]);
  const size = useMemo(() => sizeOf(entries, choice) + (page === null ? 0 : page.length), [entries, choice, page]);
  useEffect(() => {
    dialog.current?.showModal();
    requested(PAGE)
      .then((response) => response.text())
      .then(setPage, (error: Error) => setProblem(error instanceof TypeError ? "The server cannot be reached." : error.message));
  }, []);
  const title = threads.peek()?.find(({ id }) => current.kind === "thread" && id === current.name)?.name ?? current.name.replace(/\.jsonl$/, "");
  const write = (event: Event) => {
    event.preventDefault();
    if (page === null) return;
    save(title, fileOf(page, { title, agent: current.agent, left: KINDS.filter((kind) => sizes[kind] > 0 && !choice.has(kind)), at, panel: panel.peek(), events: eventsOf(entries, choice) }));
    dialog.current?.close();
  };
  const toggle = (kind: Kind, isChosen: boolean) => setChoice(new Set(KINDS.filter((each) => (each === kind ? isChosen : choice.has(each)))));
  return (
    <dialog ref={dialog} class="send" aria-labelledby="send-title" onClose={close}>
      <form onSubmit={write}>
        <div class="send-head">
          <h2 id="send-title">Send this run</h2>
          <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="close" />
          </button>
        </div>
        <p class="quiet">One file that plays in any browser, without a server: for a chat, a mail or an issue.</p>
        <p class="label">Always in it</p>
        <ul class="always">
          <li>{`${counted(contents.messages, "message")}${contents.thoughts ? `, and ${counted(contents.thoughts, "thought")} of the model` : ""}, with all of their text`}</li>
          <li>{`${counted(contents.runs, "run")}, ${counted(contents.events, "event")}: names of tools and steps, times, tokens, ids${contents.failures ? `, ${counted(contents.failures, "error")}` : ""}`}</li>
        </ul>
        <fieldset>
          <legend class="label">Also put into it</legend>
          {KINDS.map((kind) => (
            <label key={kind} class={sizes[kind] > 0 ? "kind" : "kind none"}>
              <input type="checkbox" checked={choice.has(kind)} disabled={sizes[kind] <= 0} onChange={({ currentTarget }) => toggle(kind, currentTarget.checked)} />
              <span class="kind-name">{NAMES[kind]}</span>
              <span class="kind-size">{sizes[kind] > 0 ? bytes(sizes[kind]) : "none"}</span>
              <span class="kind-of quiet">
                {MEANT[kind]}
                {contents.names[kind].length > 0 && <span class="names">{listed(contents.names[kind])}</span>}
              </span>
            </label>
          ))}
        </fieldset>
        <p class="quiet">{choice.size < KINDS.length ? "What is not chosen is not in the file. Messages are: read them, they may quote what tools have returned." : "Everything that the page has is in the file."}</p>
        {problem !== null && (
          <p class="notice error" role="alert">
            {problem}
          </p>
        )}
        <div class="actions">
          <span class="quiet send-size" role="status">
            {page !== null && `${bytes(size)}, opens ${at === null || at >= entries.length ? "at the end" : `after event ${at} of ${entries.length}`}`}
          </span>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={page === null || length.value === 0}>
            <Icon name="save" />
            Save the file
          </button>
        </div>
      </form>
    </dialog>
  );
}

const counted = (count: number, what: string): string => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

const listed = (names: readonly string[]): string => `${names.slice(0, MOST).map((name) => inLine(name, 40)).join(", ")}${names.length > MOST ? `, and ${names.length - MOST} more` : ""}`;

function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${Math.round(count / 1000)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}
