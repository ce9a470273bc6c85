// Where Markdown can be divided without a change of its meaning: at an empty line outside of code, before a line that
// continues nothing (no list, no indented line, no quotation, no table).

/** Characters of a chunk that is still read as Markdown; a longer one is shown as it is. */
export const LONGEST = 12_000;

const FENCE = /^ {0,3}(```+|~~~+)/;
const BEGINS = /^(?![-*+>|:\s\[<]|\d+[.)])/;

/** The chunks of a text; together they are the text. */
export function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let begin = 0;
  let fence: string | null = null;
  let isAfterEmpty = false;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end === -1 ? undefined : end);
    if (fence === null && isAfterEmpty && at > begin && BEGINS.test(line)) {
      chunks.push(text.slice(begin, at));
      begin = at;
    }
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && fence === null) fence = mark;
    else if (mark !== undefined && fence !== null && mark.startsWith(fence) && line.trim() === mark) fence = null;
    isAfterEmpty = line.trim() === "";
    if (end === -1) break;
    at = end + 1;
  }
  chunks.push(text.slice(begin));
  return chunks;
}
