// JSON values, and how they are written in a line.

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** A text as JSON; undefined if it is none. */
export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** A value as JSON; of one that is too deep, three dots. */
export function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "…";
  }
}

/** A value in one line of at most so many characters. */
export function inLine(value: unknown, most = 120): string {
  const text = typeof value === "string" ? value : written(value);
  const line = text.length > most * 4 ? text.slice(0, most * 4) : text;
  const plain = line.replace(/\s+/g, " ").trim();
  return plain.length > most ? `${plain.slice(0, most - 1)}…` : plain;
}
