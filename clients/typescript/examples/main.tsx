// The page of `Chat`: a single agent that is served at http://localhost:8000/planner, and the thread that the address names.
//
//     langgraph-agui serve planner=my_app:graph --origin http://localhost:5173
//     npx vite examples

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Chat } from "./chat.js";

const query = new URLSearchParams(location.search);
const threadId = query.get("thread") ?? crypto.randomUUID();
history.replaceState(null, "", `?thread=${threadId}`);

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat url="http://localhost:8000/planner" threadId={threadId} />
  </StrictMode>,
);
