// A client made with the TypeScript SDK asks a box everything once:
//
//	node client.mjs URL WORKSPACE
//
// It exits with an error at the first answer that is not the right one.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, workspace] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: "Bearer tok" } },
});
await client.connect(transport);
assert.ok(transport.sessionId, "there is a session");
assert.match(client.getInstructions(), /run_prompt/);

const { tools } = await client.listTools(); // answers are checked against the output schemas from here on
assert.deepEqual(tools.map((t) => t.name).sort(),
  ["cancel_run", "delete_file", "get_run", "list_files", "read_file", "run_prompt", "write_file"]);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);

let told = [];
const answer = await call("run_prompt", { prompt: "SLEEP:0.3\nSAY:hello", workspace }, { onprogress: (p) => told.push(p.progress) });
assert.equal(answer.content[0].text, "hello");
assert.equal(answer.structuredContent.status, "completed");
assert.ok(told.length >= 2, "progress was told");
assert.deepEqual(told, [...told].sort((a, b) => a - b));

const json = await call("run_prompt", { prompt: 'SAY:{"a":[1,2]}', json_schema: { type: "object" } });
assert.deepEqual(json.structuredContent.json, { a: [1, 2] });

const failed = await call("run_prompt", { prompt: "EXIT:3", workspace });
assert.equal(failed.isError, true);
assert.match(failed.content[0].text, /exit code 3/);

await call("write_file", { path: workspace + "/x.txt", content: "one\ntwo\n" });
assert.equal((await call("read_file", { path: workspace + "/x.txt", first_line: 2 })).content[0].text, "two\n");
assert.ok((await call("list_files", { path: workspace })).structuredContent.entries.some((e) => e.name === "x.txt"));
const { resources } = await client.listResources();
const mine = resources.find((r) => r.uri === `workspace:///${workspace}/x.txt`);
assert.equal((await client.readResource({ uri: mine.uri })).contents[0].text, "one\ntwo\n");
await call("delete_file", { path: workspace + "/x.txt" });

const abort = new AbortController();
const aborted = call("run_prompt", { prompt: "TOUCH:started\nHANG", workspace: workspace + "-c" }, { signal: abort.signal });
setTimeout(() => abort.abort(), 700);
await assert.rejects(aborted);

await transport.terminateSession();
await client.close();
