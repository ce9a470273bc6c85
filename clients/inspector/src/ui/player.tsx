// The slider over all events: back to any of them, and forwards as fast as they came, or faster.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { length, position, session } from "../session.ts";
import { Icon } from "./icons.tsx";

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
  return (
    <section class="player" aria-label="Time">
      <button type="button" class="plain" aria-label={isPlaying.value ? "Pause" : "Play"} disabled={!count} onClick={start}>
        <Icon name={isPlaying.value ? "pause" : "play"} />
      </button>
      <button type="button" class="plain" aria-label="One event back" disabled={now === 0} onClick={() => go(now - 1)}>
        <Icon name="back" />
      </button>
      <input type="range" aria-label="Event" aria-valuetext={`${now} of ${count}`} min={0} max={count} value={now} disabled={!count} onInput={({ currentTarget }) => go(Number(currentTarget.value))} />
      <button type="button" class="plain" aria-label="One event on" disabled={position.value === null} onClick={() => go(now + 1)}>
        <Icon name="next" />
      </button>
      <output>{`${now} / ${count}`}</output>
      <select aria-label="Speed" value={String(speed.value)} onChange={({ currentTarget }) => (speed.value = Number(currentTarget.value))}>
        {SPEEDS.map((each) => (
          <option key={each} value={String(each)}>{`${each}×`}</option>
        ))}
      </select>
    </section>
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
