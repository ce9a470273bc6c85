// No request of clients/typescript leaves the origin of the URL that its author gave. The servers are real: one is the
// agent's, one is a stranger's, which gets nothing.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { typescript } from "./typescript.mjs";

const VERSIONS = ["0.0.58", "0.0.59", "1.0.0"];
const SECRET = { Authorization: "Bearer secret" };

/** A server; `answer` gets each request and its response. It keeps what is requested. */
const serving = async (t, answer) => {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  return { requests, port: server.address().port, url: `http://127.0.0.1:${server.address().port}` };
};

/** All that an agent can request; gives what failed. */
const doAll = async (agent) => {
  const failed = [];
  const failing = async (begin) => {
    try {
      await begin();
    } catch (error) {
      failed.push(error.message);
    }
  };
  await failing(() => agent.send("hi"));
  await failing(() => agent.connectAgent());
  await failing(() => agent.stop());
  await failing(async () => {
    const watch = agent.watch();
    const isOver = () => ["lost", "refused", "unwatched"].includes(watch.state.connection);
    await new Promise((resolve) => (isOver() ? resolve() : watch.subscribe(() => isOver() && resolve())));
    const { error } = watch.state;
    watch.close();
    throw error;
  });
  return failed;
};

const quiet = (t) => t.mock.method(console, "error", () => {}); // the client's own

for (const version of VERSIONS) {
  test(`${version}: whatever the URL and the thread id, the server of the URL gets all requests`, { timeout: 60_000 }, async (t) => {
    quiet(t);
    const { ThreadAgent } = await typescript(version);
    const stranger = await serving(t, (_, response) => response.writeHead(200).end());
    const evil = `127.0.0.1:${stranger.port}`;
    const server = await serving(t, (_, response) => response.writeHead(404).end("no"));
    const paths = ["", "/", "/planner", "/planner/", "/a/b/planner?tenant=x#part", `//${evil}/planner`, "/..", "/%2e%2e", `/\\${evil}`];
    const ids = ["x1", `//${evil}/x`, `\\\\${evil}`, "?agent=other", "#a", "a/../../b", "..%2f..", "%2e%2e", "@" + evil, "ä 🎈\n"];
    for (const path of paths) {
      for (const threadId of path === "" || path === "/planner" ? ids : ids.slice(0, 1)) {
        server.requests.length = 0;
        const url = `${server.url}${path}`;
        const failed = await doAll(new ThreadAgent({ url, threadId, headers: SECRET }));
        assert.equal(failed.length, 4, String(failed));
        const { pathname, search } = new URL(url);
        const base = pathname.replace(/\/+$/, "");
        const id = encodeURIComponent(threadId);
        const below = [`POST ${base}/connect${search}`, `GET ${base}/watch/${id}${search}${search ? "&" : "?"}events=runs`];
        assert.deepEqual(server.requests.slice(0, 3), [`POST ${pathname}${search}`, below[0], `POST ${base}/stop${search}`]);
        assert.deepEqual(new Set(server.requests.slice(3)), new Set(below)); // a page that can't watch connects once
      }
    }
    assert.deepEqual(stranger.requests, []);
  });

  test(`${version}: a URL that is none of a server, and an id that no path can have, are refused with a sentence`, async (t) => {
    const { ThreadAgent } = await typescript(version);
    const urls = ["", "planner", "/planner", "//127.0.0.1/planner", "\\\\127.0.0.1", "http:127.0.0.1", "http://", "http:///planner"];
    urls.push("ftp://127.0.0.1/", "javascript:alert(1)", "file:///etc/hosts", "http://user:password@127.0.0.1/planner", undefined);
    for (const url of urls) {
      const refused = { name: "TypeError", message: /^url: expected a URL such as http:.*, got / };
      assert.throws(() => new ThreadAgent({ url, threadId: "t" }), refused, String(url));
    }
    const server = await serving(t, (_, response) => response.writeHead(404).end("no"));
    for (const threadId of ["..", ".", "\ud800"]) {
      const agent = new ThreadAgent({ url: server.url, threadId });
      const refused = { name: "TypeError", message: /^threadId: expected a string that can be in the path of a URL, got / };
      assert.throws(() => agent.watch(), refused);
    }
    assert.deepEqual(server.requests, []);
  });

  test(`${version}: a redirect is an error, wherever it leads`, { timeout: 60_000 }, async (t) => {
    quiet(t);
    const { ThreadAgent } = await typescript(version);
    const stranger = await serving(t, (_, response) => response.writeHead(200).end());
    for (const status of [301, 302, 303, 307, 308]) {
      const leads = (request) => (request.url.includes("planner") ? `${stranger.url}${request.url}` : "/elsewhere");
      const server = await serving(t, (request, response) => {
        const location = request.url === "/elsewhere" ? {} : { Location: leads(request) };
        response.writeHead(location.Location ? status : 200, location).end();
      });
      for (const url of [`${server.url}/planner`, `${server.url}/chat`]) {
        const failed = await doAll(new ThreadAgent({ url, threadId: "t", headers: SECRET }));
        assert.equal(failed.length, 4, String(failed));
        for (const message of failed) assert.match(message, /got a redirect: give the agent the URL that it leads to/);
      }
      assert.ok(!server.requests.some((request) => request.endsWith("/elsewhere")));
    }
    assert.deepEqual(stranger.requests, []);
  });
}

test("a page may give a path of its own origin, and no other that looks like one", async (t) => {
  const { ThreadAgent } = await typescript("1.0.0");
  const stranger = await serving(t, (_, response) => response.writeHead(200).end());
  const server = await serving(t, (_, response) => response.writeHead(404).end("no"));
  quiet(t);
  globalThis.location = new URL(`${server.url}/pages/chat`);
  t.after(() => delete globalThis.location);
  for (const url of [`//127.0.0.1:${stranger.port}/planner`, `\\\\127.0.0.1:${stranger.port}`, `/\\127.0.0.1:${stranger.port}`, ""])
    assert.throws(() => new ThreadAgent({ url, headers: SECRET }), /or a path of the page's own origin, got /);
  const failed = await doAll(new ThreadAgent({ url: "/planner", threadId: "t", headers: SECRET }));
  assert.equal(failed.length, 4, String(failed));
  assert.deepEqual(server.requests.slice(0, 3), ["POST /planner", "POST /planner/connect", "POST /planner/stop"]);
  assert.ok(server.requests.includes("GET /planner/watch/t?events=runs"));
  assert.deepEqual(stranger.requests, []);
});
