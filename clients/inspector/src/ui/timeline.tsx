// A run in time: what took how long, in parallel and nested; its events as ticks; its tokens.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { RunSpan, SpanKind } from "../model/spans.ts";
import type { Usage } from "../model/view.ts";
import { position, runs, session } from "../session.ts";
import { type Family, familyOf } from "./event_text.ts";
import { duration } from "./events.tsx";

/** The run that is shown; null: the last. */
const chosen = signal<string | null>(null);
const KINDS: readonly (readonly [SpanKind, string])[] = [
  ["step", "Steps"],
  ["subagent", "Subagents"],
  ["tool", "Tools"],
  ["text", "Text"],
  ["reasoning", "Reasoning"],
];

export function Timeline() {
  const all = runs.value;
  const run = all.find(({ from }) => String(from.index) === chosen.value) ?? all.at(-1);
  if (run === undefined) return <p class="empty quiet">No run has been seen yet.</p>;
  const last = run.to ?? run.entries.at(-1)!;
  const begin = run.from.at;
  const length = Math.max(last.at - begin, 1);
  return (
    <div class="scrolls padded timeline" tabIndex={0} role="group" aria-label="Timeline">
      <div class="timeline-head">
        <select aria-label="Run" value={String(run.from.index)} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
          {all.map(({ runId, from, outcome }, place) => (
            <option key={from.index} value={String(from.index)}>
              {`Run ${place + 1} of ${all.length}, ${outcome}, ${runId.slice(0, 8)}`}
            </option>
          ))}
        </select>
        <span class="quiet">{`${duration(length)}, ${run.entries.length} events`}</span>
      </div>
      <div class="lanes">
        {KINDS.map(([kind, label]) => (
          <Lanes key={kind} run={run} kind={kind} label={label} begin={begin} length={length} end={last.at} />
        ))}
        <div class="lane-label">Events</div>
        <Ticks run={run} begin={begin} length={length} />
        <div class="lane-label" />
        <div class="axis">
          <span>0</span>
          <span>{duration(length / 2)}</span>
          <span>{duration(length)}</span>
        </div>
      </div>
      <UsageTable usage={run.usage} total={all.flatMap(({ usage }) => usage)} runs={all.length} />
    </div>
  );
}

const HEIGHT = 22;
const COLOURS: { readonly [family in Family]: string } = { run: "--run", text: "--blue", tool: "--tool", state: "--state", custom: "--custom" };

function Lanes({ run, kind, label, begin, length, end }: { run: RunSpan; kind: SpanKind; label: string; begin: number; length: number; end: number }) {
  const spans = run.spans.filter((each) => each.kind === kind);
  if (!spans.length) return null;
  const lanes = Math.max(...spans.map(({ lane }) => lane)) + 1;
  return (
    <>
      <div class="lane-label">{label}</div>
      <div class="lane" style={{ height: `${lanes * HEIGHT}px` }}>
        {spans.map((span) => {
          const from = ((span.from.at - begin) / length) * 100;
          const width = Math.max(((span.to?.at ?? end) - span.from.at) / length, 0.004) * 100;
          const took = duration((span.to?.at ?? end) - span.from.at);
          return (
            <button
              key={span.from.index}
              type="button"
              class={`bar ${kind}${span.to ? "" : " open"}${span.hasFailed ? " failed" : ""}`}
              style={{ left: `${Math.min(from, 99)}%`, width: `${Math.min(width, 100 - Math.min(from, 99))}%`, top: `${span.lane * HEIGHT}px` }}
              title={`${span.name}, ${took}`}
              aria-label={`${label}: ${span.name}, ${took}. Show the moment of its end`}
              onClick={() => (position.value = (span.to ?? span.from).index + 1)}
            >
              {span.name === kind ? "" : span.name}
            </button>
          );
        })}
      </div>
    </>
  );
}

function Ticks({ run, begin, length }: { run: RunSpan; begin: number; length: number }) {
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
      const family = familyOf(event);
      const place = Math.round(((at - begin) / length) * (element.width - scale));
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
