// The plan beside the conversation: the graph's state, which the user changes too, and the map, which the agent moves.

import "./plan.css";
import { Icon } from "./icons";
import { BUDGET, type Visit } from "./types";

type PlanProps = {
  visit: Visit;
  shown?: string;
  /** Whether the user has changed something that the graph does not know yet. */
  isChanged: boolean;
  isBusy: boolean;
  change(visit: Visit): void;
  discard(): void;
  planAgain(): void;
};

export function Plan({ visit, shown, isChanged, isBusy, change, discard, planAgain }: PlanProps) {
  const { stops = {}, budget = BUDGET } = visit;
  const sorted = Object.entries(stops).sort(([, one], [, other]) => one.at.localeCompare(other.at));
  const spent = sorted.reduce((sum, [, stop]) => sum + stop.cost, 0);
  const without = (place: string) => change({ stops: Object.fromEntries(sorted.filter(([name]) => name !== place)) });
  return (
    <>
      <header className="bar">
        <h2>Your day</h2>
      </header>
      <Map places={sorted.map(([place]) => place)} shown={shown} />
      <div className="budget">
        <label htmlFor="budget">Budget</label>
        <output htmlFor="budget">{budget} €</output>
        <input
          id="budget"
          type="range"
          min={10}
          max={80}
          step={2}
          value={budget}
          onChange={(event) => change({ budget: event.target.valueAsNumber })}
        />
        <p className="hint" data-over={spent > budget}>
          {spent} € planned, {spent > budget ? `${spent - budget} € over` : `${budget - spent} € left`}
        </p>
      </div>
      <ol className="stops" aria-label="plan">
        {sorted.map(([place, { at, cost, booked }]) => (
          <li key={place}>
            <time>{at}</time>
            <span className="place">
              {place} {booked && <span className="tag">booked</span>}
            </span>
            <span className="cost">{cost} €</span>
            <button
              className="quiet icon-only"
              aria-label={`Remove ${place}`}
              title="Remove"
              onClick={() => without(place)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      {sorted.length === 0 && <p className="hint empty">Nothing is planned yet.</p>}
      {isChanged && (
        <div className="changed" role="status">
          <p>Your changes go with your next message.</p>
          <div className="buttons">
            <button className="primary" disabled={isBusy} onClick={planAgain}>
              Plan again
            </button>
            <button onClick={discard}>Discard</button>
          </div>
        </div>
      )}
    </>
  );
}

const PLACES: Record<string, [number, number]> = {
  "Belém Tower": [46, 118],
  "Tile Museum": [268, 52],
  "Tram 28": [196, 86],
  Castle: [222, 66],
};

/** A sketch of Lisbon: the places of the plan, and the one that the agent shows. No map service is asked. */
function Map({ places, shown }: { places: string[]; shown?: string }) {
  const at = places.flatMap((place) => (PLACES[place] ? [PLACES[place]] : []));
  const label = `Map: ${[...places].join(", ") || "no places yet"}${shown ? `. Shown: ${shown}` : ""}`;
  const marked = shown && !places.includes(shown) ? [...places, shown] : places;
  return (
    <svg className="map" viewBox="0 0 320 170" role="img" aria-label={label}>
      <path
        className="street"
        d="M0 40C60 46 90 70 150 64S250 30 320 34M60 0C70 40 60 70 40 104M150 0C146 30 160 70 190 96M250 0C246 30 262 40 270 66M0 92C60 84 110 92 170 78S270 60 320 66"
      />
      <path className="water" d="M0 138C40 126 90 128 140 120S220 104 262 84 300 70 320 72V170H0Z" />
      <text className="river" x="150" y="152">
        Tagus
      </text>
      {at.length > 1 && <polyline className="route" points={at.map((point) => point.join()).join(" ")} />}
      {marked.map((place) => {
        const [x, y] = PLACES[place] ?? [160, 60];
        const isShown = place === shown;
        return (
          <g key={place} transform={`translate(${x} ${y})`} data-shown={isShown}>
            {isShown && <circle className="halo" r="11" />}
            <circle className="place" r={isShown ? 5.5 : 4} />
            {(isShown || !shown) && (
              <text
                y={-12}
                textAnchor={x < 60 ? "start" : x > 260 ? "end" : "middle"}
                x={x < 60 ? -8 : x > 260 ? 8 : 0}
              >
                {place}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
