// The icons: lines on a grid of 16 pixels, in the colour of the text.

const PATHS = {
  add: "M8 3.5v9M3.5 8h9",
  back: "M10 3.5 5.5 8l4.5 4.5",
  check: "m3.5 8.5 3 3 6-7",
  close: "m4.5 4.5 7 7m0-7-7 7",
  copy: "M5.500 5.500v-2.500h7.500v7.500h-2.500M3 5.500h7.500v7.500H3Z",
  down: "m4.5 6.5 3.5 3.5 3.5-3.5",
  drop: "M6.5 5 8 3.5a3.2 3.2 0 0 1 4.5 4.5L11 9.5M9.5 11 8 12.5A3.2 3.2 0 0 1 3.5 8L5 6.5M3 3l10 10",
  earlier: "M8.5 3.5 4 8l4.5 4.500M12.500 3.500 8 8l4.500 4.500",
  edit: "m3.5 12.5.5-2.5 6.5-6.5 2 2L6 12l-2.500.5Z",
  again: "M12.5 6.500A5 5 0 1 0 13 9M12.500 3v3.500H9",
  less: "M3.500 8h9",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  next: "m6 3.5 4.500 4.500L6 12.500",
  open: "M3 12.500v-9h3.500l1.500 2h5v7H3Z",
  pause: "M6 4v8M10 4v8",
  play: "m5.500 3.500 7 4.500-7 4.500v-9Z",
  save: "M8 3v7m-3-3 3 3 3-3M3.500 13h9",
  send: "M8 13V3.500m-4 4 4-4 4 4",
  share: "M13.500 2.500 7 9m6.500-6.500L9.500 13.500 7 9 2.500 6.500Z",
  stop: "M4.500 4.500h7v7h-7z",
} as const;

export const Icon = ({ name }: { name: keyof typeof PATHS }) => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
