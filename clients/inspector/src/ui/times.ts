// Times as they are shown.

/** Milliseconds in one unit. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** The time of day of a moment, to the millisecond; with its day, if that is not today. */
export function clock(at: number): string {
  const date = new Date(at);
  return Number.isFinite(at) ? `${dayOf(date)}${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
}

/** The minute of a moment, as `clock` writes it. */
export const minute = (at: number): string => clock(at).replace(/:\d+\.\d+$/, "");

const dayOf = (date: Date): string => (date.toDateString() === new Date().toDateString() ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `);
