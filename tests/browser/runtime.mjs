// CopilotKit's Node runtime, between a page and an AG-UI agent, as its documentation sets it up:
// `node runtime.mjs PORT AGENT_URL`. The runtime answers `/connect` itself, from the events of the runs it has seen.

import { createServer } from "node:http";

import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const [port, url] = process.argv.slice(2);
const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url }) } });
createServer(createCopilotNodeListener({ runtime, basePath: "/", cors: true })).listen(Number(port), "127.0.0.1");
