// The playhead: a slider over all events, back to any of them, and forwards as fast as they came, or faster. Runs,
// failures, questions and gaps are marks on its track.

import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { length, position, session, tick } from "../session.ts";
import { marks as checkpointMarks } from "../checkpoints.ts";
import { Icon } from "./icons.tsx";
import { EarlierRun } from "./past.tsx";
import { clock, duration } from "./times.ts";

const SPEEDS = [0.5, 1, 2, 5, 20] as const;
/** Milliseconds that no pause is longer than. */
const LONGEST = 2_000;

const speed = signal<number>(1);
const isPlaying = signal(false);

export function Player() {
  const count = length.value;
  const now = position.value ?? count;
  const current = session.value;
  useEffect(() => (isPlaying.value ? play() : undefined), [isPlaying.value, speed.value, current]);
  useEffect(() => {
    isPlaying.value = false;
  }, [current]);
  if (current === null) return null;
  const go = (to: number) => {
    isPlaying.value = false;
    position.value = to >= count ? null : Math.max(0, to);
  };
  const start = () => {
    if (position.value === null) position.value = 0;
    isPlaying.value = !isPlaying.value;
  };
  const entries = current.log.entries;
  const last = entries[now - 1];
  const run = entries.slice(0, now).findLast(({ event }) => event.type === "RUN_STARTED")?.event.runId;
  const begun = entries.find(({ event }) => event.type === "RUN_STARTED" && event.runId === run);
  const at = last === undefined ? "" : `${clock(last.at)}${begun ? `, +${duration(last.at - begun.at)}` : ""}`;
  const onKeyDown = (event: KeyboardEvent) => {
    if (!event.shiftKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    const all = marks.peek();
    const next = event.key === "ArrowRight" ? all.find(({ place }) => place > now) : all.findLast(({ place }) => place < now);
    go(next?.place ?? (event.key === "ArrowRight" ? count : 0));
  };
  return (
    <section class="player" aria-label="Time">
      <button type="button" class="plain" aria-label={isPlaying.value ? "Pause" : "Play"} disabled={!count} onClick={start}>
        <Icon name={isPlaying.value ? "pause" : "play"} />
      </button>
      <EarlierRun />
      <button type="button" class="plain" aria-label="One event back" disabled={now === 0} onClick={() => go(now - 1)}>
        <Icon name="back" />
      </button>
      <div class="track">
        <Marks count={count} go={go} />
        <input type="range" aria-label="Event" aria-valuetext={`${now} of ${count}${at ? `, ${at}` : ""}`} min={0} max={count} value={now} disabled={!count} onInput={({ currentTarget }) => go(Number(currentTarget.value))} onKeyDown={onKeyDown} />
      </div>
      <button type="button" class="plain" aria-label="One event on" disabled={position.value === null} onClick={() => go(now + 1)}>
        <Icon name="next" />
      </button>
      <output>
        <span class="clock">{at}</span>
        <span>{`${now} / ${count}`}</span>
      </output>
      <select aria-label="Speed" value={String(speed.value)} onChange={({ currentTarget }) => (speed.value = Number(currentTarget.value))}>
        {SPEEDS.map((each) => (
          <option key={each} value={String(each)}>{`${each}×`}</option>
        ))}
      </select>
    </section>
  );
}

interface Mark {
  /** After how many events it is. */
  readonly place: number;
  readonly kind: "run" | "error" | "question" | "gap" | "checkpoint";
  readonly name: string;
}

/** Marks of which a track is still readable; of more, every so many are shown. */
const MOST = 300;

const marks = computed<readonly Mark[]>(() => {
  void tick.value;
  const found: Mark[] = [];
  let runs = 0;
  let run = "";
  for (const { event, index, at, gap } of session.value?.log.entries ?? []) {
    const place = index + 1;
    if (gap) found.push({ place, kind: "gap", name: `${gap.isHidden ? "The page was hidden" : "The connection was lost"} for ${duration(gap.for)}` });
    if (event.type === "RUN_STARTED" && run !== (run = String(event.runId))) found.push({ place, kind: "run", name: `Run ${(runs += 1)}, ${clock(at)}` });
    if (event.type === "RUN_ERROR" && event.code !== "cancelled") found.push({ place, kind: "error", name: `Failed, ${clock(at)}` });
    if (event.type === "RUN_FINISHED" && event.outcome?.type === "interrupt") found.push({ place, kind: "question", name: `A question, ${clock(at)}` });
  }
  for (const { place, checkpoint } of checkpointMarks.value) found.push({ place, kind: "checkpoint", name: `Checkpoint, ${clock(Date.parse(checkpoint.createdAt ?? ""))}` });
  return found.toSorted((one, other) => one.place - other.place);
});

/** For the mouse; by keyboard Shift with Left and Right goes from mark to mark. */
function Marks({ count, go }: { count: number; go: (to: number) => void }) {
  const all = marks.value;
  const step = Math.ceil(all.length / MOST);
  return (
    <div class="marks" aria-hidden="true">
      {all.map(({ place, kind, name }, number) =>
        number % step && (kind === "run" || kind === "checkpoint") ? null : <button key={`${place} ${kind}`} type="button" tabIndex={-1} class={`mark ${kind}`} title={name} style={{ left: `${(place / Math.max(count, 1)) * 100}%` }} onClick={() => go(place)} />,
      )}
    </div>
  );
}

/** Goes on from event to event, in the times in which they came; returns what stops it. */
function play(): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const step = () => {
    const entries = session.peek()?.log.entries ?? [];
    let now = position.peek();
    if (now === null) return void (isPlaying.value = false);
    let wait = 0;
    while (now < entries.length && wait < 12) {
      wait += Math.min(LONGEST, Math.max(0, (entries[now]?.at ?? 0) - (entries[now - 1]?.at ?? entries[now]?.at ?? 0))) / speed.peek();
      now += 1;
    }
    const next = now;
    timer = setTimeout(() => {
      position.value = next >= entries.length ? null : next;
      step();
    }, wait);
  };
  step();
  return () => clearTimeout(timer);
}
