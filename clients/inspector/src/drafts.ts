// What was entered and not sent yet: kept in the tab's session, so that a reload shows it again, and another tab does not.

const PREFIX = "draft ";
/** Characters of a draft that are kept. A larger one stays until the page is left. */
const MOST = 200_000;

/** What was kept under a name; null if nothing was. */
export function keptDraft(name: string): string | null {
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null; // a browser that keeps nothing
  }
}

/** Keeps a draft; an empty one is forgotten. */
export function keepDraft(name: string, text: string): void {
  try {
    if (text && text.length <= MOST) sessionStorage.setItem(PREFIX + name, text);
    else sessionStorage.removeItem(PREFIX + name);
  } catch {
    // A browser that keeps nothing, or no more.
  }
}

/** The name of a draft for a thread. */
export const draftName = (agent: string, thread: string, what: string): string => `${agent} ${thread} ${what}`;
