// The list of threads as it looks: a button for each, with its last change and its status, and what can be done with
// it.

import { useRef, useState, type FormEvent } from "react";

import { Icon } from "./icons";
import "./threads.css";
import type { Thread, ThreadList } from "./thread_list";

type Props = {
  list: ThreadList;
  current: string;
  open(id: string): void;
  begin(): void;
  /** Without a connection the page says that already, and the list does not say it again. */
  isConnected: boolean;
  isArchiveShown: boolean;
  showArchive(shown: boolean): void;
};

const STATUS = { idle: "", running: "Running", waiting: "Waits for you", failed: "Failed", unreadable: "Unreadable" };

export function Threads({ list, current, open, begin, isConnected, isArchiveShown, showArchive }: Props) {
  const gone = () => (list.threads.some((each) => each.id === current) ? undefined : begin());
  return (
    <>
      <header className="bar">
        <h2>Conversations</h2>
        <button className="quiet icon-only" onClick={begin} aria-label="New conversation" title="New conversation">
          <Icon name="plus" />
        </button>
      </header>
      <ul className="threads" aria-label="threads">
        {list.threads.map((thread) => (
          <Item
            key={thread.id}
            thread={thread}
            isCurrent={thread.id === current}
            open={() => open(thread.id)}
            list={list}
            removed={thread.id === current ? begin : gone}
          />
        ))}
      </ul>
      {list.isKnown && list.threads.length === 0 && <p className="hint">What you ask first begins a conversation.</p>}
      {list.problem && isConnected && (
        <p className="hint failed" role="alert">
          The list is not up to date. {list.problem}
        </p>
      )}
      <label className="check">
        <input type="checkbox" checked={isArchiveShown} onChange={(event) => showArchive(event.target.checked)} />
        Show archived
      </label>
    </>
  );
}

type ItemProps = { thread: Thread; isCurrent: boolean; open(): void; removed(): void; list: ThreadList };

function Item({ thread, isCurrent, open, removed, list }: ItemProps) {
  const [doing, setDoing] = useState<"menu" | "rename" | "delete">();
  const more = useRef<HTMLButtonElement>(null);
  const title = thread.name ?? "Untitled";
  const close = () => {
    setDoing(undefined);
    more.current?.focus();
  };
  if (doing === "rename") {
    const rename = (name: string) => {
      close();
      if (name && name !== thread.name) void list.rename(thread.id, name);
    };
    return (
      <li>
        <Rename title={thread.name ?? ""} done={rename} cancel={close} />
      </li>
    );
  }
  return (
    <li onKeyDown={(event) => event.key === "Escape" && doing && close()}>
      <div className="thread" data-current={isCurrent} data-status={thread.status}>
        <button className="open" onClick={open} aria-current={isCurrent ? "page" : undefined}>
          <span className="title">{title}</span>
          <span className="about">
            {STATUS[thread.status] && <span className="status">{STATUS[thread.status]}</span>}
            {thread.archived && <span>Archived</span>}
            <time dateTime={thread.updatedAt}>{ago(thread.updatedAt)}</time>
          </span>
        </button>
        <button
          ref={more}
          className="quiet icon-only"
          aria-label={`Change “${title}”`}
          aria-expanded={Boolean(doing)}
          onClick={() => setDoing(doing ? undefined : "menu")}
        >
          <Icon name="more" />
        </button>
      </div>
      {doing === "menu" && (
        <div className="actions" role="group" aria-label={`Change “${title}”`}>
          <button autoFocus onClick={() => setDoing("rename")}>
            Rename
          </button>
          <button onClick={() => (close(), void list.archive(thread.id, !thread.archived))}>
            {thread.archived ? "Restore" : "Archive"}
          </button>
          <button className="danger" disabled={thread.status === "running"} onClick={() => setDoing("delete")}>
            Delete
          </button>
        </div>
      )}
      {doing === "delete" && (
        <div className="actions" role="group" aria-label="Delete for good?">
          <span>Delete for good?</span>
          <button autoFocus onClick={close}>
            Keep
          </button>
          <button className="danger" onClick={() => void list.remove(thread.id).then(removed)}>
            Delete
          </button>
        </div>
      )}
    </li>
  );
}

function Rename({ title, done, cancel }: { title: string; done(name: string): void; cancel(): void }) {
  const [name, setName] = useState(title);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    done(name.trim());
  };
  return (
    <form className="rename" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && cancel()}>
      <input
        autoFocus
        aria-label="Name of the conversation"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button className="primary">Save</button>
    </form>
  );
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const FORMAT = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** How long ago a time is, in words. */
function ago(time: string): string {
  const seconds = (Date.now() - Date.parse(time)) / 1_000;
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? [];
  return unit && size ? FORMAT.format(-Math.floor(seconds / size), unit) : "now";
}
