// Asks a box through the official SDK, with no more than BOX_URL and BOX_TOKEN
// in the environment. The agent behind the box is the fake one, which obeys its
// prompt.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat, zodFunction } from "openai/helpers/zod";
import { z } from "zod";

const url = process.env.BOX_URL, token = process.env.BOX_TOKEN;
let requests = 0;
const client = new OpenAI({
  baseURL: url + "/v1", apiKey: token,
  fetch: (...args) => { requests++; return fetch(...args); },
});
const user = (content) => [{ role: "user", content }];
const counted = '@usage {"input_tokens":11,"output_tokens":7,"cache_read_tokens":5}\n';
const inWorkspace = (name) => ({ headers: { "x-aicodebox-workspace": name } });
const twoCalls = '{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}},{"name":"add","arguments":{"x":1}}]}';
const weather = {
  type: "function",
  function: {
    name: "get_weather", description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const add = { type: "function", function: { name: "add", parameters: { type: "object", properties: { x: { type: "number" } } } } };

const tests = {
  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.deepEqual(ids, ["fast", "smart", "missing"]);
    assert.equal((await client.models.retrieve("smart")).id, "smart");
  },

  async chat() {
    const answer = await client.chat.completions.create({ model: "fast", messages: user(counted + "SAY:hello") });
    assert.equal(answer.choices[0].message.content, "hello");
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.equal(answer.usage.total_tokens, 23);
    assert.equal(answer.usage.prompt_tokens_details.cached_tokens, 5);
  },

  async stream() {
    const stream = await client.chat.completions.create({
      model: "fast", messages: user(counted + "SAY:one\nSAY:two"), stream: true, stream_options: { include_usage: true },
    });
    let text = "", finishes = [], usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      if (chunk.usage) usage = chunk.usage;
    }
    assert.equal(text, "one\ntwo");
    assert.deepEqual(finishes, ["stop"]);
    assert.equal(usage.total_tokens, 23);
  },

  async structured() {
    const Person = z.object({ name: z.string(), age: z.number().int() });
    const answer = await client.chat.completions.parse(
      { model: "fast", messages: user('SEQ:bad|{"name":"Ann","age":7}'), response_format: zodResponseFormat(Person, "person") },
      inWorkspace("structured"));
    assert.deepEqual(answer.choices[0].message.parsed, { name: "Ann", age: 7 });
  },

  async "structured stream"() {
    const stream = client.chat.completions.stream(
      { model: "fast", messages: user('SAY:{"ok":true}'), response_format: zodResponseFormat(z.object({ ok: z.boolean() }), "x") });
    assert.deepEqual((await stream.finalChatCompletion()).choices[0].message.parsed, { ok: true });
  },

  async "tool loop"() {
    const messages = user("SEQ:" + twoCalls + "|" + twoCalls + "|It is sunny, and 2.");
    for (let round = 0; round < 3; round++) {
      const answer = await client.chat.completions.create({ model: "fast", messages, tools: [weather, add] }, inWorkspace("loop"));
      const { message, finish_reason } = answer.choices[0];
      if (round === 2) {
        assert.equal(finish_reason, "stop");
        assert.equal(message.content, "It is sunny, and 2.");
        break;
      }
      assert.equal(finish_reason, "tool_calls");
      assert.deepEqual(message.tool_calls.map((c) => c.function.name), ["get_weather", "add"]);
      messages.push(message);
      for (const call of message.tool_calls.toReversed()) {
        JSON.parse(call.function.arguments);
        messages.push({ role: "tool", tool_call_id: call.id, content: "done" });
      }
    }
  },

  async "tool loop by the helper"() {
    const called = [];
    const runner = client.chat.completions.runTools({
      model: "fast", messages: user("SEQ:" + twoCalls + "|It is sunny."),
      tools: [
        { type: "function", function: { ...weather.function, parse: JSON.parse, function: (a) => { called.push(a.city); return "sunny"; } } },
        { type: "function", function: { ...add.function, parse: JSON.parse, function: (a) => { called.push(a.x); return "2"; } } },
      ],
    }, inWorkspace("helper"));
    assert.equal(await runner.finalContent(), "It is sunny.");
    assert.deepEqual(called, ["Oslo", 1]);
  },

  async "tool stream"() {
    const stream = client.chat.completions.stream({
      model: "fast", messages: user("SAY:I will look.\nSAY:" + twoCalls), tools: [weather, zodFunction({ name: "add", parameters: z.object({ x: z.number() }) })],
    });
    const done = [];
    stream.on("tool_calls.function.arguments.done", (e) => done.push([e.index, e.name, e.arguments]));
    const answer = await stream.finalChatCompletion();
    assert.deepEqual(done, [[0, "get_weather", '{"city":"Oslo"}'], [1, "add", '{"x":1}']]);
    assert.equal(answer.choices[0].finish_reason, "tool_calls");
    assert.equal(answer.choices[0].message.content, "I will look.");
    assert.equal(new Set(answer.choices[0].message.tool_calls.map((c) => c.id)).size, 2);
  },

  async abort() {
    const stream = await client.chat.completions.create({ model: "fast", messages: user("SAY:begun\nHANG"), stream: true }, inWorkspace("abort"));
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "begun") break;
    stream.controller.abort();
    // The workspace is free once the agent is gone.
    const next = await client.chat.completions.create({ model: "fast", messages: user("SAY:free") }, inWorkspace("abort"));
    assert.equal(next.choices[0].message.content, "free");
  },

  async errors() {
    const object = { response_format: { type: "json_object" } };
    const wrong = new OpenAI({ baseURL: url + "/v1", apiKey: "wrong" });
    for (const [kind, code, ask] of [
      [OpenAI.AuthenticationError, "invalid_api_key", () => wrong.models.list()],
      [OpenAI.NotFoundError, "model_not_found", () => chat("x", { model: "nope" })],
      [OpenAI.NotFoundError, "unknown_url", () => client.embeddings.create({ model: "fast", input: "x" })],
      [OpenAI.BadRequestError, "invalid_value", () => chat("x", { n: 2 })],
      [OpenAI.UnprocessableEntityError, "invalid_answer", () => chat("SAY:bad", object)],
      [OpenAI.PermissionDeniedError, "provider_error", () => chat("@error 403 no")],
      [OpenAI.RateLimitError, "provider_error", () => chat("@error 429 slow down")],
      [OpenAI.ConflictError, "cancelled", cancelled],
      [OpenAI.InternalServerError, "agent_failed", () => chat("EXIT:3")],
      [OpenAI.InternalServerError, "agent_missing", () => chat("x", { model: "missing" })],
      [OpenAI.InternalServerError, "timeout", () => chat("HANG", {}, { headers: { "x-aicodebox-timeout-seconds": "1" } })],
    ]) {
      requests = 0;
      await assert.rejects(ask, (e) => {
        assert.ok(e instanceof kind, `${code}: ${e?.constructor?.name} ${e}`);
        assert.equal(e.code, code);
        assert.ok(e.type && e.message);
        return true;
      });
      assert.ok(requests <= 1, `${code} was repeated`);
    }
  },

  async "error in a stream"() {
    const stream = await client.chat.completions.create({ model: "fast", messages: user("SAY:some\nEXIT:3"), stream: true });
    let text = "";
    await assert.rejects(async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    }, (e) => e instanceof OpenAI.APIError && e.code === "agent_failed");
    assert.equal(text, "some");
  },
};

const chat = (content, more = {}, options = {}) =>
  client.chat.completions.create({ model: "fast", messages: user(content), ...more }, options);

// A chat that somebody ends through the run API.
async function cancelled() {
  const answer = chat("TOUCH:begun\nHANG", {}, inWorkspace("cancelled"));
  answer.catch(() => {});
  const api = (path, method = "GET") => fetch(url + path, { method, headers: { authorization: "Bearer " + token } });
  while ((await api("/files/cancelled/begun")).status !== 200) await new Promise((r) => setTimeout(r, 10));
  const status = await (await api("/status")).json();
  const run = status.runs.find((r) => r.workspace.endsWith("/cancelled"));
  assert.equal((await api("/run/" + run.runId, "DELETE")).status, 200);
  return answer;
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log("ok", name);
  } catch (e) {
    failed++;
    console.log("FAILED", name, e);
  }
}
process.exit(failed ? 1 : 0);
