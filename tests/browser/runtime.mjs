// CopilotKit's Node runtime, between a page and AG-UI agents, as its documentation sets it up:
// `node runtime.mjs PORT NAME=URL ...`. The runtime answers `/connect` itself, from the events of the runs it has seen.

import { createServer } from "node:http";

import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const [port, ...named] = process.argv.slice(2);
const urls = named.map((each) => each.split("="));
const agents = Object.fromEntries(urls.map(([name, url]) => [name, new HttpAgent({ url })]));
const runtime = new CopilotRuntime({ agents, a2ui: { agents: ["surfaces"] } });
createServer(createCopilotNodeListener({ runtime, basePath: "/", cors: true })).listen(Number(port), "127.0.0.1");
