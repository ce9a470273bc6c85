// What of a run is in the chat beside the messages: why it failed, how far a tool is, and what the agent is about to do.
// For CopilotKit's provider.

import type { ReactActivityMessageRenderer } from "@copilotkit/react-core/v2";
import { z } from "zod";

const todos = z.object({ todos: z.array(z.object({ content: z.string(), status: z.string() })) });
const failure = z.object({ message: z.string(), code: z.string().optional() });
const progress = z.object({ toolName: z.string(), status: z.string(), progress: z.unknown() });

export const ACTIVITIES: ReactActivityMessageRenderer<any>[] = [
  {
    activityType: "run_error",
    content: failure,
    render: ({ content }: { content: z.infer<typeof failure> }) => (
      <p role="alert">
        {content.message} {content.code && `(${content.code})`}
      </p>
    ),
  },
  {
    activityType: "tool_progress",
    content: progress,
    render: ({ content }: { content: z.infer<typeof progress> }) => (
      <p role="status">
        {content.toolName}: {content.status === "running" ? JSON.stringify(content.progress) : content.status}
      </p>
    ),
  },
  {
    activityType: "plan",
    content: todos,
    render: ({ content }: { content: z.infer<typeof todos> }) => (
      <ul aria-label="to do">
        {content.todos.map(({ content, status }) => (
          <li key={content}>
            {content}: {status}
          </li>
        ))}
      </ul>
    ),
  },
];
