// The conversation: one item for each message, with the tool calls of the answers in it. Nothing is requested here.

import { useLayoutEffect, useRef, type ReactNode } from "react";

import "./conversation.css";
import { Failure, TodoList, ToolCall } from "./cards";
import { Icon } from "./icons";
import type { Message, RunFailure, Todos, ToolProgress } from "./types";

type Props = {
  messages: Message[];
  isRunning: boolean;
  show(place: string): void;
  retry?: () => void;
  /** What follows the last message: a question that waits, or a failure that no message has. */
  children?: ReactNode;
};

export function Conversation({ messages, isRunning, show, retry, children }: Props) {
  const scroll = useStayAtEnd<HTMLDivElement>();
  const results = new Map(messages.flatMap((each) => (each.role === "tool" ? [[each.toolCallId, text(each)]] : [])));
  const progress = new Map(
    messages.flatMap((each) => (isProgress(each) ? [[each.content.toolCallId, each.content]] : [])),
  );
  const last = messages.at(-1);
  return (
    <div className="scroll" ref={scroll}>
      <ol className="conversation" aria-label="conversation" aria-live="polite" aria-busy={isRunning}>
        {messages.map((message) => {
          switch (message.role) {
            case "user":
              return <User key={message.id} name={message.name} text={text(message)} />;
            case "reasoning":
              return <Thought key={message.id} text={text(message)} />;
            case "assistant":
              return (
                <li key={message.id} className="assistant" data-role="assistant">
                  {message.content && <p>{message.content}</p>}
                  {message.toolCalls?.map((call) => (
                    <ToolCall
                      key={call.id}
                      call={call}
                      result={results.get(call.id)}
                      progress={progress.get(call.id)}
                      isRunning={isRunning}
                      show={show}
                    />
                  ))}
                </li>
              );
            case "activity":
              if (message.activityType === "plan") {
                return (
                  <li key={message.id}>
                    <TodoList {...(message.content as Todos)} isRunning={isRunning} />
                  </li>
                );
              }
              return message.activityType === "run_error" ? (
                <li key={message.id}>
                  <Failure failure={message.content as RunFailure} retry={message === last ? retry : undefined} />
                </li>
              ) : null;
            default:
              return null; // results of tools are with their calls
          }
        })}
        {isRunning && last?.role === "user" && (
          <li className="assistant waiting" aria-label="The answer is on its way">
            <span className="dots" />
          </li>
        )}
      </ol>
      {children}
    </div>
  );
}

function User({ name, text }: { name?: string; text: string }) {
  return (
    <li className="user" data-role="user">
      {name === "schedule" && (
        <span className="label">
          <Icon name="clock" /> Started by the schedule
        </span>
      )}
      <p>{text}</p>
    </li>
  );
}

function Thought({ text }: { text: string }) {
  return (
    <li className="thought" data-role="reasoning">
      <details>
        <summary>
          <Icon name="chevron" /> Thought about it
        </summary>
        <p>{text}</p>
      </details>
    </li>
  );
}

/** Keeps the end in view while a conversation grows, unless somebody has scrolled up. */
function useStayAtEnd<Element extends HTMLElement>() {
  const ref = useRef<Element>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    let isAtEnd = true;
    let top = 0;
    const look = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < 48;
      // What has grown since the last scroll is no reason to stay behind; a user who scrolls up is.
      isAtEnd = isNear || (isAtEnd && element.scrollTop >= top);
      top = element.scrollTop;
    };
    const follow = () => isAtEnd && element.scrollTo({ top: element.scrollHeight });
    const sizes = new ResizeObserver(follow);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    const children = new MutationObserver(() => [...element.children].forEach((child) => sizes.observe(child)));
    children.observe(element, { childList: true });
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      children.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return ref;
}

function text(message: Message): string {
  return typeof message.content === "string" ? message.content : "";
}

function isProgress(message: Message): message is Message & { content: ToolProgress } {
  return message.role === "activity" && message.activityType === "tool_progress";
}
