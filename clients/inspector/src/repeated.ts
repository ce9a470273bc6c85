// Reading something again and again, at most once at a time.

/**
 * What reads now. Then it reads again `every` milliseconds after each answer, however long an answer takes. Called while
 * an answer is awaited, it reads once more after it. Nothing is read while the page is not seen.
 */
export function repeated(read: () => Promise<void>, every: number, isSeen: () => boolean): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let isWanted = false;
  async function again(): Promise<void> {
    isWanted = true;
    if (isReading || !isSeen()) return;
    clearTimeout(timer);
    isReading = true;
    for (; isWanted; await read()) isWanted = false;
    isReading = false;
    timer = setTimeout(again, every);
  }
  return () => void again();
}
