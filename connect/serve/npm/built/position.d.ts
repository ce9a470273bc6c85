/** A run of the thread, and how it ended: undefined while it runs, else the ids of the interrupts that wait. */
export interface Position {
    readonly runId: string;
    readonly end?: string;
}
/**
 * - `nothing`: the agent has what the thread has.
 * - `connect`: it has not.
 * - `wait`: it has seen the run to its end, and the thread says that it runs. Either the report of the end is on its way,
 *   or the run was resumed under the same id, as CopilotKit does it. It is decided a moment later.
 */
export type Step = "nothing" | "connect" | "wait";
/** What an agent that reads nothing at present is to do. `seen`: the runs that it has seen, and the end of each. */
export declare function next(thread: Position, seen: ReadonlyMap<string, string | undefined>, waiting: string): Step;
/** The end of a run, of the interrupts that it waits for. */
export declare function endOf(interrupts: readonly {
    readonly id: string;
}[] | undefined): string;
/** The position after an event of the thread's stream; undefined for an event that changes none. */
export declare function positionAfter(event: unknown, before: Position | undefined): Position | undefined;
