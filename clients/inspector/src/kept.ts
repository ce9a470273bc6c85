// The recordings that were opened last, kept in the browser so that a reload shows them again.

const STORE = "recordings";
const MOST = 3;

interface Kept {
  readonly name: string;
  readonly text: string;
  readonly at: number;
}

/** Keeps a recording, and lets go of the oldest; a browser that keeps nothing is none the worse. */
export async function keep(name: string, text: string): Promise<void> {
  try {
    const all = await done<Kept[]>("readonly", (store) => store.getAll());
    const old = all.filter((each) => each.name !== name).toSorted((one, other) => other.at - one.at);
    for (const each of old.slice(MOST - 1)) await done("readwrite", (store) => store.delete(each.name));
    await done("readwrite", (store) => store.put({ name, text, at: Date.now() } satisfies Kept));
  } catch {
    // Private windows, and disks that are full.
  }
}

/** The text of a recording that is kept; undefined if it is not. */
export async function kept(name: string): Promise<string | undefined> {
  try {
    return (await done<Kept | undefined>("readonly", (store) => store.get(name)))?.text;
  } catch {
    return undefined;
  }
}

async function done<T>(mode: IDBTransactionMode, what: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const opening = indexedDB.open("langgraph-agui-inspector", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: "name" });
  const database = await answered<IDBDatabase>(opening);
  try {
    return await answered<T>(what(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

const answered = <T>(request: IDBRequest): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error ?? new Error("The browser keeps nothing."));
  });
