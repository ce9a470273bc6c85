// The content of a message: text, and media that are in the message itself.

import { isObject } from "../model/json.ts";
import { Link, Markdown, Picture } from "./markdown.tsx";

export function Content({ content }: { content: unknown }) {
  if (typeof content === "string") return content ? <Markdown text={content} /> : null;
  if (!Array.isArray(content)) return null;
  return <>{content.map((part, place) => isObject(part) && <Part key={place} part={part} />)}</>;
}

/** One part of a content. */
export function Part({ part }: { part: { readonly [field: string]: unknown } }) {
  if (part.type === "text") return <Markdown text={String(part.text ?? "")} />;
  const source = isObject(part.source) ? part.source : {};
  const type = String(part.type);
  const mime = String(source.mimeType ?? "");
  const url = source.type === "data" ? `data:${mime};base64,${String(source.value)}` : String(source.value ?? "");
  if (!source.value) return <p class="quiet">{`${type}, ${mime ? `${mime}, ` : ""}left out`}</p>;
  if (type === "image") return <Picture url={url} alt={`Image ${mime}`} />;
  if (source.type === "data" && type === "audio" && /^audio\/[\w.+-]+$/.test(mime)) return <audio controls src={url} />;
  if (source.type === "data" && type === "video" && /^video\/[\w.+-]+$/.test(mime)) return <video controls src={url} />;
  if (source.type === "data") return <p class="quiet">{`${type}, ${mime}, ${Math.round((String(source.value).length * 3) / 4)} bytes`}</p>;
  return (
    <p>
      <Link url={url} text={`${type} ${url}`} />
    </p>
  );
}
