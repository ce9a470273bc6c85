// A run that has paused at a node: it asks nothing, and goes on, or what is left of it is dropped. And what is said above
// the box for messages as long as runs are to pause.

import { useEffect, useState } from "preact/hooks";

import { listCheckpoints } from "../server/api.ts";
import { type Answer, breakpoints, NOWHERE, session } from "../session.ts";

/** The reason of an interrupt that is a pause. */
export const PAUSED = "langgraph:breakpoint";

export function Breakpoint({ interruptId, take }: { interruptId: string; take: (answer: Answer) => void }) {
  const next = useNext(interruptId);
  return (
    <>
      <p>{next.length > 0 ? `Paused before ${next.join(", ")}.` : "Paused between two nodes."}</p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => take({ interruptId, status: "resolved" })}>
          Continue
        </button>
        <button type="button" class="danger" onClick={() => take({ interruptId, status: "cancelled" })}>
          Drop the rest
        </button>
      </div>
    </>
  );
}

/** The nodes that run next, which no event names: the newest checkpoint does. */
function useNext(interruptId: string): readonly string[] {
  const [next, setNext] = useState<readonly string[]>([]);
  const now = session.value;
  useEffect(() => {
    let isOld = false;
    setNext([]);
    if (now?.kind === "thread")
      listCheckpoints(now.agent, now.name, null, 1).then(
        ({ checkpoints }) => !isOld && setNext(checkpoints[0]?.next ?? []),
        () => {}, // it can be continued all the same
      );
    return () => void (isOld = true);
  }, [interruptId, now]);
  return next;
}

export function Pauses() {
  const { before, after } = breakpoints.value;
  if (before.length + after.length === 0) return null;
  const where = [before.length > 0 && `before ${before.join(", ")}`, after.length > 0 && `after ${after.join(", ")}`].filter(Boolean).join(", and ");
  return (
    <div class="notice past">
      <span>{`Runs from here pause ${where}`}</span>
      <button type="button" class="small" onClick={() => (breakpoints.value = NOWHERE)}>
        Pause nowhere
      </button>
    </div>
  );
}
