// JSON Patch (RFC 6902) on values that are never changed in place: the new value shares with the old one all that the
// patch leaves alone. So a comparison by reference finds what has changed.

import type { Json } from "./json.ts";

export interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

/** The value after all operations; throws, with the value as it was, if one of them cannot be applied. */
export function patched(value: Json, operations: readonly Operation[]): Json {
  return operations.reduce(applied, value);
}

function applied(root: Json, { op, path, from, value = null }: Operation): Json {
  const keys = keysOf(path);
  switch (op) {
    case "add":
      return written(root, keys, value, "add");
    case "replace":
      found(root, keys);
      return written(root, keys, value, "replace");
    case "remove":
      return removed(root, keys);
    case "copy":
      return written(root, keys, found(root, keysOf(from)), "add");
    case "move": {
      const moved = found(root, keysOf(from));
      return written(removed(root, keysOf(from)), keys, moved, "add");
    }
    case "test":
      if (!same(found(root, keys), value)) throw new Error(`test failed at ${path}`);
      return root;
    default:
      throw new Error(`${op} is not an operation`);
  }
}

/** Whether two values are the same JSON. */
export function same(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && same(child(one, key), child(other, key)));
}

function keysOf(path: string | undefined): string[] {
  if (path === undefined || (path !== "" && !path.startsWith("/"))) throw new Error(`${path} is not a path`);
  return path.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function found(root: Json, keys: readonly string[]): Json {
  return keys.reduce((value, key) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) throw new Error(`there is no ${key}`);
    return child(value, key);
  }, root);
}

function child(value: object, key: string): Json {
  return (value as Record<string, Json>)[key] as Json;
}

function written(value: Json, keys: readonly string[], to: Json, how: "add" | "replace"): Json {
  const [key, ...rest] = keys;
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    const place = key === "-" ? value.length : placeOf(key, value.length + (rest.length === 0 && how === "add" ? 1 : 0));
    if (rest.length) return value.with(place, written(value[place] ?? null, rest, to, how));
    return how === "add" ? value.toSpliced(place, 0, to) : value.with(place, to);
  }
  if (typeof value !== "object" || value === null || key === "__proto__") throw new Error(`${key} cannot be written`);
  if (rest.length && !Object.hasOwn(value, key)) throw new Error(`there is no ${key}`);
  return { ...(value as object), [key]: rest.length ? written(child(value, key) ?? null, rest, to, how) : to };
}

function removed(value: Json, keys: readonly string[]): Json {
  const [key, ...rest] = keys;
  if (key === undefined) return null;
  found(value, [key]);
  if (Array.isArray(value)) {
    const place = placeOf(key, value.length);
    return rest.length ? value.with(place, removed(value[place] ?? null, rest)) : value.toSpliced(place, 1);
  }
  const { [key]: gone, ...left } = value as Record<string, Json>;
  return rest.length ? { ...(value as Record<string, Json>), [key]: removed(gone ?? null, rest) } : left;
}

function placeOf(key: string, length: number): number {
  if (!/^(0|[1-9][0-9]*)$/.test(key) || Number(key) >= length) throw new Error(`there is no place ${key}`);
  return Number(key);
}
