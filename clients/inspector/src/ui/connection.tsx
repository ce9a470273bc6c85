// Whether the page is connected to the server; a button drops the connection, and another connects again.

import { useEffect, useState } from "preact/hooks";

import { connection, session } from "../session.ts";
import { Icon } from "./icons.tsx";

export function ConnectionPill() {
  const now = connection.value;
  const seconds = useSecondsUntil(now.status === "lost" ? now.retryAt : null);
  const isSlow = useIsSlow(now.status === "connecting");
  const current = session.value;
  if (current?.kind !== "thread") return null;
  return (
    <div class={`connection ${now.status}`}>
      <span role="status">
        <i class="dot" />
        {now.status === "live" && (now.caughtUp === undefined ? "Live" : `Live again, ${now.caughtUp === 1 ? "1 event" : `${now.caughtUp} events`} caught up`)}
        {now.status === "connecting" && (isSlow ? <span title={CROWDED}>Still connecting</span> : "Connecting")}
        {now.status === "paused" && "Paused"}
        {now.status === "lost" && <span title={now.reason}>{now.retryAt === null ? "Connection to the server lost, trying again" : "Connection lost"}</span>}
        {now.status === "refused" && "Refused"}
      </span>
      {now.status === "lost" && now.retryAt !== null && (
        <button type="button" class="small" onClick={() => current.stream?.retry()}>
          {seconds > 0 ? `Reconnect (${seconds} s)` : "Reconnect"}
        </button>
      )}
      {now.status === "refused" && (
        <button type="button" class="small" onClick={() => current.stream?.retry()}>
          Try again
        </button>
      )}
      {now.status === "live" && (
        <button type="button" class="plain" title="Drop the connection for 5 seconds, to see that nothing is lost" aria-label="Drop the connection" onClick={() => current.stream?.drop()}>
          <Icon name="drop" />
        </button>
      )}
    </div>
  );
}

/** Why a request waits before the server has it. */
export const CROWDED = "The server does not answer yet. A browser has six connections to a server for all of its windows: if more of them show threads, close one.";
const SLOW = 3_000;

/** Whether something has lasted for some seconds. */
export function useIsSlow(isOn: boolean): boolean {
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    setIsSlow(false);
    if (!isOn) return undefined;
    const timer = setTimeout(() => setIsSlow(true), SLOW);
    return () => clearTimeout(timer);
  }, [isOn]);
  return isOn && isSlow;
}

function useSecondsUntil(at: number | null): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (at === null) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [at]);
  return at === null ? 0 : Math.max(0, Math.ceil((at - now) / 1000));
}
