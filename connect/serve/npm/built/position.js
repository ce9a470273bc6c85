// Where a thread is, what an agent has seen of it, and what is to be done about the difference: `next`. Pure.
/** What an agent that reads nothing at present is to do. `seen`: the runs that it has seen, and the end of each. */
export function next(thread, seen, waiting) {
    const end = seen.get(thread.runId);
    if (thread.end === undefined)
        return end === undefined ? "connect" : "wait";
    if (thread.end !== "" && thread.end === waiting)
        return "nothing";
    return thread.end === end ? "nothing" : "connect";
}
/** The end of a run, of the interrupts that it waits for. */
export function endOf(interrupts) {
    return (interrupts ?? [])
        .map(({ id }) => id)
        .sort()
        .join(" ");
}
/** The position after an event of the thread's stream; undefined for an event that changes none. */
export function positionAfter(event, before) {
    const { type, runId, outcome } = event;
    if (type === "RUN_STARTED" && runId !== undefined)
        return { runId };
    if (type === "RUN_FINISHED" && runId !== undefined)
        return { runId, end: endOf(outcome?.interrupts) };
    if (type === "RUN_ERROR" && before !== undefined)
        return { runId: before.runId, end: "" };
    return undefined;
}
