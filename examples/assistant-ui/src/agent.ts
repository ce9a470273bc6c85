// The agent of the page: a `ThreadAgent` whose events assistant-ui shows right, also those of a thread that is loaded.

import type { BaseEvent, Message, RunAgentInput } from "@ag-ui/client";
import { ThreadAgent } from "langgraph-agui";
import { concatMap, finalize, firstValueFrom, isEmpty, map, type Observable, ReplaySubject, tap } from "rxjs";

/**
 * assistant-ui shows what happens in a run of its own. So it loads a thread by a run that only connects: with it come the
 * messages, the state, what waits for an answer, and the active run while it runs.
 */
export class PageAgent extends ThreadAgent {
  private loading?: Observable<BaseEvent>;

  /** Connects; whether the thread exists. If it does, the next run shows it. `onShown`: called when it is visible. */
  async load(onShown: () => void): Promise<boolean> {
    const events = new ReplaySubject<BaseEvent>();
    super.connect({ ...this.prepareRunAgentInput({}), state: null }).subscribe(events); // assistant-ui has no state yet
    if (await firstValueFrom(events.pipe(isEmpty()))) return false;
    // Not at once: the event has yet to reach assistant-ui.
    const show = (event: BaseEvent) => event.type === "MESSAGES_SNAPSHOT" && setTimeout(onShown);
    this.loading = events.pipe(tap(show), finalize(onShown));
    return true;
  }

  override runAgent(...given: Parameters<ThreadAgent["runAgent"]>): ReturnType<ThreadAgent["runAgent"]> {
    return this.loading ? this.connectAgent(...given) : super.runAgent(...given);
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return super.run(input).pipe(map(withoutSuccess));
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    const events = this.loading ?? super.connect(input);
    this.loading = undefined;
    return events.pipe(concatMap(streamed()), map(withoutSuccess));
  }
}

/** assistant-ui takes `success` to mean that no tool of the page is to be run; without an outcome it looks at the calls. */
function withoutSuccess(event: BaseEvent): BaseEvent {
  const isSuccess = event.type === "RUN_FINISHED" && (event as { outcome?: { type: string } }).outcome?.type === "success";
  return isSuccess ? { ...event, outcome: undefined } : event;
}

/**
 * assistant-ui attaches the end of a run (an approval, an error) to a message that has streamed in it, and replaces the
 * text of a message of the snapshot that goes on. So the last turn of the snapshot is streamed, and not in the snapshot.
 * It shows no activities, so a run that has failed, which left the activity `run_error`, ends as it did.
 */
function streamed(): (event: BaseEvent) => BaseEvent[] {
  const open = new Map<string, BaseEvent>(); // the ends of what was streamed, until it is known whether the server goes on
  let failure: string | undefined;
  return (event) => {
    if (event.type === "MESSAGES_SNAPSHOT") {
      const messages = (event as { messages?: Message[] }).messages ?? [];
      failure = failureOf(messages.at(-1));
      const cut = beginOfLastTurn(messages);
      const pieces = messages.slice(cut).flatMap(piecesOf);
      for (const { begin, end } of pieces) if (end) open.set(keyOf(begin), end);
      const events = pieces.flatMap(({ begin, delta }) => (delta ? [begin, delta] : [begin]));
      return [{ ...event, messages: messages.slice(0, cut) } as BaseEvent, ...events];
    }
    if (open.delete(keyOf(event))) return []; // it has begun already
    if (/_START(ED)?$/.test(event.type)) return [event];
    const ends = [...open.values()].reverse();
    open.clear();
    const isFailed = event.type === "RUN_FINISHED" && failure;
    return [...ends, isFailed ? eventOf("RUN_ERROR", { message: failure }) : event];
  };
}

/** Why the last run failed, which is the thread's last message then. */
function failureOf(message?: Message): string | undefined {
  return message?.role === "activity" && message.activityType === "run_error" ? String(message.content.message) : undefined;
}

/** Where the last turn begins: the last answer, with the reasoning before it and the results after it. */
function beginOfLastTurn(messages: Message[]): number {
  let at = messages.length;
  const back = (...roles: string[]) => at > 0 && roles.includes(messages[at - 1].role) && at-- > 0;
  while (back("tool", "activity"));
  back("assistant");
  while (back("reasoning"));
  return at;
}

type Piece = { begin: BaseEvent; delta?: BaseEvent; end?: BaseEvent };

function piecesOf(message: Message): Piece[] {
  const { id } = message;
  if (message.role === "tool") {
    return [{ begin: eventOf("TOOL_CALL_RESULT", { messageId: id, toolCallId: message.toolCallId, content: message.content }) }];
  }
  if (message.role === "reasoning") {
    const span = { begin: eventOf("REASONING_START", { messageId: id }), end: eventOf("REASONING_END", { messageId: id }) };
    return [span, piece("REASONING_MESSAGE", "_CONTENT", { messageId: id }, message.content, { role: "reasoning" })];
  }
  if (message.role !== "assistant") return [];
  const calls = (message.toolCalls ?? []).map((call) => {
    const opening = { toolCallName: call.function.name, parentMessageId: id };
    return piece("TOOL_CALL", "_ARGS", { toolCallId: call.id }, call.function.arguments, opening);
  });
  if (!message.content && calls.length) return calls;
  return [piece("TEXT_MESSAGE", "_CONTENT", { messageId: id }, message.content ?? "", { role: "assistant" }), ...calls];
}

function piece(kind: string, content: string, of: object, delta: string, opening: object): Piece {
  const begin = eventOf(`${kind}_START`, { ...of, ...opening });
  return { begin, ...(delta && { delta: eventOf(kind + content, { ...of, delta }) }), end: eventOf(`${kind}_END`, of) };
}

function eventOf(type: string, fields: object): BaseEvent {
  return { type, ...fields } as BaseEvent;
}

function keyOf(begin: BaseEvent): string {
  const { type, messageId, toolCallId } = begin as { type: string; messageId?: string; toolCallId?: string };
  return `${type} ${toolCallId ?? messageId}`;
}
