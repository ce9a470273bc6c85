// An editor on the protocol's TypeScript SDK, which checks what it gets against its schemas. It starts the agent that its
// arguments name, and prints what a session displays: live, and after a load by a second process of the agent.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [folder, ...command] = process.argv.slice(2);

async function connected(work) {
  const updates = [];
  const asked = [];
  const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => agent.on("exit", resolve));
  const app = acp
    .client({ name: "test editor" })
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      asked.push(params.toolCall.toolCallId);
      return { outcome: { outcome: "selected", optionId: "approve" } };
    });
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const result = await app.connectWith(stream, async (context) => {
    const { protocolVersion } = await context.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    return { protocolVersion, ...(await work(context)) };
  });
  agent.stdin.end();
  return { ...result, updates, asked, exitCode: await ended };
}

const live = await connected(async (context) => {
  const { sessionId } = await context.request(acp.methods.agent.session.new, { cwd: folder, mcpServers: [] });
  const prompt = [{ type: "text", text: "go" }];
  const { stopReason } = await context.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  return { sessionId, stopReason };
});
const loaded = await connected(async (context) => {
  const { sessions } = await context.request(acp.methods.agent.session.list, {});
  await context.request(acp.methods.agent.session.load, {
    sessionId: sessions[0].sessionId,
    cwd: folder,
    mcpServers: [],
  });
  return { sessionId: sessions[0].sessionId };
});
console.log(JSON.stringify({ live, loaded }));
