// A run in time, as a waterfall: what took how long, below what it belongs to; its events as ticks; its pace and its tokens.
// The line across it is the playhead.

import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { nested, type RunSpan, type Span } from "../model/spans.ts";
import type { Usage } from "../model/view.ts";
import type { Entry } from "../model/log.ts";
import { pastRuns, showRun } from "../past.ts";
import { position, runs, session } from "../session.ts";
import { type Family, familyOf } from "./event_text.ts";
import { Icon } from "./icons.tsx";
import { clock, duration, minute } from "./times.ts";
import { VirtualList } from "./virtual.tsx";

/** The run that is shown while the playhead is at the end; null: the last. */
const chosen = signal<Entry | null>(null);
/** The run that is looked at: that of the playhead, or the chosen one. */
export const shownRun = computed<RunSpan | undefined>(() => {
  const [all, now] = [runs.value, position.value];
  return (now === null ? all.find(({ from }) => from === chosen.value) : all.findLast(({ from }) => from.index < now)) ?? all.at(now === null ? -1 : 0);
});
/** The part of the run that is shown, as parts of its length. */
const shown = signal<readonly [number, number]>([0, 1]);
const NEAREST = 0.0005;

/** Zooms by a factor around a part of the run. */
function zoom(factor: number, around: number): void {
  const [from, to] = shown.value;
  const width = Math.min(1, Math.max(NEAREST, (to - from) * factor));
  const begin = Math.min(1 - width, Math.max(0, around - ((around - from) / (to - from)) * width));
  shown.value = [begin, begin + width];
}

const move = (by: number): void => {
  const [from, to] = shown.value;
  const begin = Math.min(1 - (to - from), Math.max(0, from + by * (to - from)));
  shown.value = [begin, begin + to - from];
};

export function Timeline() {
  const all = runs.value;
  const now = position.value;
  const run = shownRun.value;
  if (run === undefined) return <p class="empty quiet">No run has been seen yet.</p>;
  const last = run.to ?? run.entries.at(-1)!;
  const begin = run.from.at;
  const length = Math.max(last.at - begin, 1);
  const spans = nested(run.spans);
  const [from, to] = shown.value;
  const placeOf = (at: number) => ((at - begin) / length - from) / (to - from);
  const head = now === null ? null : (session.value?.log.entries[now - 1]?.at ?? begin);
  const headAt = head === null ? -1 : placeOf(head);
  const middle = headAt >= 0 && headAt <= 1 ? (head! - begin) / length : (from + to) / 2;
  const unread = (pastRuns.value ?? []).filter(({ count }) => count === 0);
  const many = all.length + unread.length;
  const choose = (value: string) => {
    shown.value = [0, 1];
    if (unread.some(({ runId }) => runId === value)) return void showRun(value);
    chosen.value = all.find((each) => each.runId === value)?.from ?? null;
    position.value = null;
  };
  /** All runs, the oldest first: of those that are not read only what the list says. */
  const names: readonly (readonly [string, string])[] = [
    ...unread.map(({ runId, status, startedAt }) => [Date.parse(startedAt ?? ""), runId, OUTCOMES[status] ?? status, " (not shown yet)"] as const),
    ...all.map(({ runId, outcome, from }) => [from.at, runId, outcome, ""] as const),
  ]
    .toSorted(([one], [other]) => (one || 0) - (other || 0))
    .map(([at, runId, outcome, more], place) => [runId, `Run ${place + 1} of ${many}, ${outcome}, ${minute(at)}${more}`]);
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const track = (event.currentTarget as HTMLElement).querySelector(".ticks")!.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, from + ((event.clientX - track.left) / track.width) * (to - from));
  };
  return (
    <div class="timeline" role="group" aria-label="Timeline" onWheel={onWheel}>
      <div class="timeline-head">
        <select aria-label="Run" value={run.runId} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {names.map(([runId, name]) => (
            <option key={runId} value={runId}>
              {name}
            </option>
          ))}
        </select>
        <span class="steps" role="group" aria-label="Zoom">
          <button type="button" class="plain" aria-label="Earlier" title="Earlier" disabled={from === 0} onClick={() => move(-0.5)}>
            <Icon name="back" />
          </button>
          <button type="button" class="plain" aria-label="Zoom out" title="Zoom out" disabled={to - from === 1} onClick={() => zoom(2, middle)}>
            <Icon name="less" />
          </button>
          <button type="button" class="plain" aria-label="Zoom in" title="Zoom in (or Ctrl and the mouse wheel)" disabled={to - from <= NEAREST} onClick={() => zoom(0.5, middle)}>
            <Icon name="add" />
          </button>
          <button type="button" class="plain" aria-label="Later" title="Later" disabled={to === 1} onClick={() => move(0.5)}>
            <Icon name="next" />
          </button>
        </span>
      </div>
      <Facts run={run} length={length} />
      <div class="waterfall" style={{ "--playhead": headAt >= 0 && headAt <= 1 ? `${headAt * 100}%` : "-10px" }}>
        <div class="water-row water-head">
          <span class="water-name quiet">Events</span>
          <Ticks run={run} placeOf={placeOf} />
          <span class="water-time" />
        </div>
        <div class="water-row water-axis" aria-hidden="true">
          <span class="water-name" />
          <span class="axis">
            {[0, 0.5, 1].map((part) => (
              <span key={part}>{duration((from + part * (to - from)) * length)}</span>
            ))}
          </span>
          <span class="water-time" />
        </div>
        <VirtualList
          of={run}
          count={spans.length}
          keyOf={(place) => spans[place]!.from.index}
          estimate={26}
          follows={run.to === undefined && now === null}
          attributes={{ class: "water-rows", role: "group", "aria-label": "Spans" }}
          row={(place) => <Row span={spans[place]!} end={last.at} placeOf={placeOf} />}
        />
      </div>
      <UsageTable usage={run.usage} total={all.flatMap(({ usage }) => usage)} runs={all.length} />
    </div>
  );
}

/** What the list of runs calls otherwise than their events do. */
const OUTCOMES: { readonly [status: string]: string } = { finished: "success", interrupted: "interrupt" };

/** When it began, and how fast it was. */
function Facts({ run, length }: { run: RunSpan; length: number }) {
  const out = run.usage.reduce((sum, { outputTokens }) => sum + (outputTokens ?? 0), 0);
  const facts: readonly (readonly [string, string | null])[] = [
    ["began", clock(run.from.at)],
    ["took", duration(length)],
    ["events", String(run.entries.length)],
    ["first token", run.firstToken ? `after ${duration(run.firstToken.at - run.from.at)}` : null],
    ["tokens a second", out && run.streamed > 20 ? (out / (run.streamed / 1000)).toFixed(out / run.streamed > 0.02 ? 0 : 1) : null],
  ];
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

const LABELS: { readonly [kind in Span["kind"]]: string } = { step: "Step", subagent: "Subagent", tool: "Tool", text: "Text", reasoning: "Reasoning" };
const COLOURS: { readonly [family in Family]: string } = { run: "--run", text: "--blue", tool: "--tool", state: "--state", custom: "--custom" };

function Row({ span, end, placeOf }: { span: Span; end: number; placeOf: (at: number) => number }) {
  const left = placeOf(span.from.at);
  const right = placeOf(span.to?.at ?? end);
  const took = duration((span.to?.at ?? end) - span.from.at);
  const isSeen = right >= 0 && left <= 1;
  const begin = Math.min(Math.max(left, 0), 0.995);
  return (
    <div class="water-row">
      <span class={`water-name depth-${Math.min(span.depth, 8)}`} title={span.name}>
        <i class={`dot ${span.hasFailed ? "failed" : span.kind}`} />
        {span.name}
      </span>
      <span class="water-track">
        {isSeen && (
          <button
            type="button"
            class={`bar ${span.kind}${span.to ? "" : " open"}${span.hasFailed ? " failed" : ""}`}
            style={{ left: `${begin * 100}%`, width: `${Math.max(Math.min(right, 1) - begin, 0.004) * 100}%` }}
            title={`${span.name}, ${took}`}
            aria-label={`${LABELS[span.kind]}: ${span.name}, ${took}${span.hasFailed ? ", failed" : ""}. Show the moment of its end`}
            onClick={() => (position.value = (span.to ?? span.from).index + 1)}
          />
        )}
      </span>
      <span class="water-time">{took}</span>
    </div>
  );
}

function Ticks({ run, placeOf }: { run: RunSpan; placeOf: (at: number) => number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const now = position.value;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const scale = devicePixelRatio || 1;
    element.width = element.clientWidth * scale;
    element.height = element.clientHeight * scale;
    const context = element.getContext("2d")!;
    const style = getComputedStyle(element);
    const colours = Object.fromEntries(Object.entries(COLOURS).map(([family, name]) => [family, style.getPropertyValue(name)]));
    let last = "";
    for (const { event, at, index } of run.entries) {
      const part = placeOf(at);
      if (part < 0 || part > 1) continue;
      const family = familyOf(event);
      const place = Math.round(part * (element.width - scale));
      const alpha = now === null || index < now ? 1 : 0.25;
      const tick = `${place} ${family} ${alpha}`;
      if (tick === last) continue; // of many events in one pixel the first is enough
      last = tick;
      context.fillStyle = colours[family]!;
      context.globalAlpha = alpha;
      context.fillRect(place, 0, scale, element.height);
    }
  });
  const count = `${run.entries.length} events of ${session.value?.log.length ?? 0}`;
  return <canvas ref={canvas} class="ticks" role="img" aria-label={count} />;
}

function UsageTable({ usage, total, runs: count }: { usage: readonly Usage[]; total: readonly Usage[]; runs: number }) {
  if (!total.length) return null;
  const sum = (of: readonly Usage[], field: "inputTokens" | "outputTokens" | "totalTokens") => of.reduce((all, each) => all + (each[field] ?? 0), 0);
  const rows: (readonly [string, readonly Usage[]])[] = usage.map((each) => [[each.provider, each.model].filter(Boolean).join(" ") || "model", [each]] as const);
  if (count > 1) rows.push([`All ${count} runs`, total]);
  return (
    <table class="usage">
      <thead>
        <tr>
          <th scope="col">Tokens</th>
          <th scope="col">in</th>
          <th scope="col">out</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, of]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{sum(of, "inputTokens").toLocaleString("en")}</td>
            <td>{sum(of, "outputTokens").toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
