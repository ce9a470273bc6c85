// Markdown as elements, never as markup: HTML in it is shown as text, links lead only to http, https and mailto, and
// images are links, unless they are in the message itself.

import type { Nodes, Root, RootContent, Table } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";

import { chunksOf, LONGEST } from "./chunks.ts";

const DEEPEST = 40;

/** A text. Of one that grows, the last chunk alone is read again. */
export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown">
      {chunksOf(text).map((chunk, place) => (
        <Chunk key={place} text={chunk} />
      ))}
    </div>
  );
}

const Chunk = ({ text }: { text: string }) => useMemo(() => <>{shown(text)}</>, [text]);

function shown(text: string): ComponentChild {
  if (text.length > LONGEST) return <p class="plain-text">{text}</p>;
  const root: Root = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  return children(root.children, 0);
}

const children = (nodes: readonly RootContent[], depth: number): ComponentChild[] => nodes.map((node, place) => element(node, place, depth + 1));

function element(node: RootContent, key: number, depth: number): ComponentChild {
  if (depth > DEEPEST) return plain(node);
  switch (node.type) {
    case "text":
      return node.value;
    case "paragraph":
      return <p key={key}>{children(node.children, depth)}</p>;
    case "heading": {
      const Heading = `h${Math.min(node.depth + 2, 6)}` as "h3"; // the page has the higher ones
      return <Heading key={key}>{children(node.children, depth)}</Heading>;
    }
    case "strong":
      return <strong key={key}>{children(node.children, depth)}</strong>;
    case "emphasis":
      return <em key={key}>{children(node.children, depth)}</em>;
    case "delete":
      return <del key={key}>{children(node.children, depth)}</del>;
    case "inlineCode":
      return <code key={key}>{node.value}</code>;
    case "code":
      return (
        <pre key={key} tabIndex={0} aria-label={node.lang ? `Code, ${node.lang}` : "Code"} role="group">
          <code>{node.value}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{children(node.children, depth)}</blockquote>;
    case "list":
      return node.ordered ? (
        <ol key={key} start={node.start ?? 1}>
          {children(node.children, depth)}
        </ol>
      ) : (
        <ul key={key}>{children(node.children, depth)}</ul>
      );
    case "listItem":
      return (
        <li key={key}>
          {typeof node.checked === "boolean" && <span aria-label={node.checked ? "done" : "to do"}>{node.checked ? "☑ " : "☐ "}</span>}
          {children(node.children, depth)}
        </li>
      );
    case "table":
      return <Grid key={key} table={node} depth={depth} />;
    case "thematicBreak":
      return <hr key={key} />;
    case "break":
      return <br key={key} />;
    case "link":
      return <Link key={key} url={node.url} text={children(node.children, depth)} />;
    case "image":
      return <Picture key={key} url={node.url} alt={node.alt ?? ""} />;
    case "html":
      return <span key={key}>{node.value}</span>;
    default:
      return plain(node);
  }
}

function Grid({ table, depth }: { table: Table; depth: number }) {
  const [head, ...rows] = table.children;
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{head?.children.map((cell, place) => <th key={place}>{children(cell.children, depth)}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>{row.children.map((cell, place) => <td key={place}>{children(cell.children, depth)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link, if it leads to the web or to a mailbox; else its text. */
export function Link({ url, text }: { url: string; text: ComponentChild }) {
  const target = safeUrl(url);
  if (target === null) return <span title={url}>{text}</span>;
  return (
    <a href={target} target="_blank" rel="noreferrer noopener nofollow" title={target}>
      {text}
    </a>
  );
}

const IMAGE = /^data:image\/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/;

/** An image that is in the message itself; one on another server is a link, since loading it would reveal the reader. */
export function Picture({ url, alt }: { url: string; alt: string }) {
  if (IMAGE.test(url)) return <img src={url} alt={alt} />;
  return <Link url={url} text={alt ? `${alt} (image)` : "image"} />;
}

export function safeUrl(url: string): string | null {
  try {
    const { protocol, href } = new URL(url);
    return ["http:", "https:", "mailto:"].includes(protocol) ? href : null;
  } catch {
    return null;
  }
}

function plain(node: Nodes): string {
  if ("value" in node) return node.value;
  if ("children" in node) return node.children.map(plain).join("");
  return "alt" in node ? (node.alt ?? "") : "";
}
