// The icons: lines of 1.5 on a square of 16, in the colour of the text. They say nothing by themselves.

import type { ReactNode } from "react";

const PATHS = {
  chevron: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  circle: <circle cx="8" cy="8" r="4.5" />,
  clock: <path d="M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  cross: <path d="M8 4.5v4M8 11v.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z" />,
  list: <path d="M2.5 4h11m-11 4h11m-11 4h7" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.2" />,
  pin: <path d="M8 14s4.5-4 4.5-7.5a4.5 4.5 0 0 0-9 0C3.5 10 8 14 8 14Zm0-6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  send: <path d="M8 13V3.5M3.5 8 8 3.5 12.5 8" />,
  stop: <rect x="4.5" y="4.5" width="7" height="7" rx="1" fill="currentColor" />,
  ticket: <path d="M2.5 6V4.5h11V6a2 2 0 0 0 0 4v1.5h-11V10a2 2 0 0 0 0-4Z" />,
} satisfies Record<string, ReactNode>;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}
