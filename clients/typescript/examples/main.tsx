// The page of `Chat`: an agent that is served at http://localhost:8000, and the thread; the address names both.
//
//     langgraph-agui serve planner=my_app:graph --origin http://localhost:5173
//     npx vite examples

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Chat } from "./chat.js";

const query = new URLSearchParams(location.search);
const threadId = query.get("thread") ?? crypto.randomUUID();
query.set("thread", threadId);
history.replaceState(null, "", `?${query}`);

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat url={`http://localhost:8000/${query.get("agent") ?? "planner"}`} threadId={threadId} />
  </StrictMode>,
);
