// The graph of the agent: what runs at the moment of the playhead, how often each node ran until then, and where runs are
// to pause. The nodes are a list of buttons, which are placed where the drawing has them; only the edges are SVG.

import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Drawing, Shape } from "../graph_layout.ts";
import { isPaused, known, pause } from "../graphs.ts";
import { END, type Graph, type GraphNode, graphOf, labelOf, parentOf, type Ran, ranUntil, type Side, START, subgraphsOf } from "../model/graph.ts";
import type { Span } from "../model/spans.ts";
import { position, runs, session } from "../session.ts";
import { panel } from "./panes.ts";
import { shownRun } from "./timeline.tsx";
import { clock, duration } from "./times.ts";
import "./graph.css";

/** The node whose steps are listed. */
const chosen = signal<string | null>(null);
/** A run that grows is the same object. */
const ran = computed(() => (void runs.value, ranUntil(shownRun.value, position.value)));
/** The nodes that ran, as a text that changes only when there are others. */
const seen = computed(() => JSON.stringify(graphOf(runs.value)));

export function GraphPanel() {
  const now = known.value;
  const described = now?.graph ?? null;
  const text = described === null ? seen.value : "";
  const drawing = useDrawing(useMemo<Graph>(() => described ?? JSON.parse(text), [described, text]));
  if (now === null || drawing === undefined) return <p class="empty quiet">Loading…</p>;
  if (drawing === null) return <p class="wrong">The graph cannot be drawn.</p>;
  const { graph } = drawing;
  const node = graph.nodes.find(({ name }) => name === chosen.value) ?? (subgraphsOf(graph).includes(chosen.value ?? "") ? { name: chosen.value!, stops: [] } : undefined);
  return (
    <div class="graph-panel">
      {described === null && <p class="past-note">{graph.nodes.length === 0 ? "No step has been seen yet." : session.value?.kind === "thread" ? `The whole graph is not known. ${now.problem ?? ""} These are the nodes that ran, in their order.` : "The graph is not in the recording. These are the nodes that ran, in their order."}</p>}
      {graph.nodes.length > 0 && <Picture graph={graph} drawing={drawing} mayPause={now.mayPause} />}
      {node && <Chosen node={node} ran={ran.value.get(node.name)} mayPause={now.mayPause && !parentOf(node.name) && node.name !== START && node.name !== END} />}
    </div>
  );
}

/** A drawing, and what it is of. */
type Drawn = Drawing & { readonly graph: Graph };

/** Undefined while the library is loaded, null if it cannot be. The drawing may still be that of the graph before. */
function useDrawing(graph: Graph): Drawn | null | undefined {
  const [drawing, setDrawing] = useState<Drawn | null | undefined>(undefined);
  useEffect(() => {
    let isOld = false;
    import("../graph_layout.ts").then(
      ({ drawingOf }) => {
        if (isOld) return;
        const shapes = graph.nodes.map(({ name }) => shapeOf(name));
        setDrawing({ ...drawingOf(shapes, subgraphsOf(graph).map(shapeOf), graph.edges), graph });
      },
      () => setDrawing(null),
    );
    return () => void (isOld = true);
  }, [graph]);
  return drawing;
}

const WIDEST = 230;
const LETTER = 7.4;
const isEnd = (name: string): boolean => /(^|\/)__(start|end)__$/.test(name);

/** A node's name has a place beside it for the count and the state. */
const shapeOf = (name: string): Shape => ({ name, parent: parentOf(name), width: isEnd(name) ? 56 : Math.min(WIDEST, Math.max(84, labelOf(name).length * LETTER + 74)), height: isEnd(name) ? 24 : 34 });

function Picture({ graph, drawing, mayPause }: { graph: Graph; drawing: Drawing; mayPause: boolean }) {
  const list = useRef<HTMLUListElement>(null);
  const { width, height, boxes, lines } = drawing;
  const now = ran.value;
  const running = [...now].findLast(([, { isRunning }]) => isRunning)?.[0];
  useLayoutEffect(() => {
    if (running !== undefined) list.current?.querySelector(`[data-node="${CSS.escape(running)}"]`)?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [running]);
  const stopsOf = new Map(graph.nodes.map(({ name, stops }) => [name, stops]));
  const size = { width: `${width}px`, height: `${height}px` };
  return (
    <div class="graph scrolls" tabIndex={-1}>
      <div class="graph-area" style={size}>
        <svg class="graph-edges" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0 0.500 7.500 4 0 7.500Z" />
            </marker>
          </defs>
          {boxes.map(({ isSubgraph, name, ...box }) => isSubgraph && <rect key={name} x={box.left} y={box.top} width={box.width} height={box.height} rx={8} />)}
          {lines.map(({ path, conditional }, place) => (
            <path key={place} class={conditional ? "edge conditional" : "edge"} d={path} marker-end="url(#arrow)" />
          ))}
          {lines.map(({ label, x, y }, place) => label !== undefined && <text key={place} x={x} y={y + 4}>{label}</text>)}
        </svg>
        <ul ref={list} aria-label="Nodes">
          {boxes.map(({ name, isSubgraph, ...box }) => {
            const place = { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` };
            const own = stopsOf.get(name) ?? [];
            return (
              <li key={name} class={isSubgraph ? "subgraph" : "node-place"} style={place}>
                {isEnd(name) ? <span class="terminal">{labelOf(name)}</span> : <NodeButton name={name} ran={now.get(name)} own={own} mayPause={mayPause} />}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

const SIDES: readonly Side[] = ["before", "after"];

function NodeButton({ name, ran, own, mayPause }: { name: string; ran: Ran | undefined; own: readonly Side[]; mayPause: boolean }) {
  const state = ran?.isRunning ? "running" : ran?.hasFailed ? "failed" : ran ? "done" : "";
  const count = ran?.steps.length ?? 0;
  const stops = SIDES.filter((side) => own.includes(side) || (mayPause && isPaused(name, side)));
  const facts = [parentOf(name) && `in ${parentOf(name)}`, count === 0 ? "has not run" : count === 1 ? "ran once" : `ran ${count} times`, state === "running" && "is running", state === "failed" && "failed", ...stops.map((side) => `pauses ${side}`)].filter(Boolean).join(", ");
  return (
    <button type="button" class={`node ${state}`} data-node={name} title={name} aria-pressed={chosen.value === name} onClick={() => (chosen.value = chosen.peek() === name ? null : name)}>
      <span class="node-name">{labelOf(name)}</span>
      {state === "running" && <i class="dot running" />}
      <span class="unseen">{`, ${facts}`}</span>
      {state === "failed" && (
        <span class="word failed" aria-hidden="true">
          failed
        </span>
      )}
      {(count > 1 || (count === 1 && state !== "failed")) && (
        <span class="node-count" aria-hidden="true">
          {count}
        </span>
      )}
      {stops.map((side) => (
        <i key={side} class={`stop ${side}`} />
      ))}
    </button>
  );
}

/** The newest of a node's steps that are listed. */
const MOST = 50;

function Chosen({ node: { name, stops }, ran, mayPause }: { node: GraphNode; ran: Ran | undefined; mayPause: boolean }) {
  const steps = (ran?.steps ?? []).slice(-MOST);
  const show = (moment: number) => {
    position.value = moment;
    panel.value = "timeline";
  };
  return (
    <section class="graph-chosen" aria-label={`Node ${labelOf(name)}`}>
      <h2>{labelOf(name)}</h2>
      {mayPause ? (
        <fieldset class="pauses">
          <legend class="unseen">{`Pauses of the runs that you start, at ${labelOf(name)}`}</legend>
          {SIDES.map((side) => (
            <label key={side}>
              <input type="checkbox" checked={stops.includes(side) || isPaused(name, side)} disabled={stops.includes(side)} onChange={({ currentTarget }) => pause(name, side, currentTarget.checked)} />
              {`Pause ${side} it`}
            </label>
          ))}
        </fieldset>
      ) : (
        stops.length > 0 && <p class="quiet">{`Every run pauses ${stops.join(" and ")} it.`}</p>
      )}
      {steps.length === 0 ? (
        <p class="quiet">It has not run until this moment.</p>
      ) : (
        <ol>
          {steps.map((span, place) => (
            <li key={span.from.index}>
              <button type="button" class="small" onClick={() => show((span.to ?? span.from).index + 1)}>
                {`${(ran?.steps.length ?? 0) - steps.length + place + 1}. ${clock(span.from.at)}`}
                <span class={span.hasFailed ? "word failed" : "quiet"}>{timeOf(span)}</span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

const timeOf = ({ from, to, hasFailed }: Span): string => (to === undefined ? "running" : `${hasFailed ? "failed after " : ""}${duration(to.at - from.at)}`);
