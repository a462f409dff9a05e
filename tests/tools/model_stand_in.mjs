#!/usr/bin/env node
// Plays the Messages API on loopback, so that tests run the real Claude Code CLI without a network
// or an account. Prints its port, then serves until it is killed.
//
//   model_stand_in.mjs [--log FILE]     FILE gets one JSON line a request: method, path, prompt
//
// What it answers is decided by the first line of the newest prompt that begins with one of:
//   TOOL <shell command>   a Bash call of that command; when its result is back, a closing text
//   QUESTIONS <json>       an AskUserQuestion call with this array of questions
//   WORDS <n> [<ms>]       n words, one delta each, ms between them
//   SLOW <ms>              the first words, a pause, the rest
//   OVERLOAD               status 529, always
// The closing text is "It is done."; after a call that failed, or questions, what their result says.
// Any other prompt is answered with "Hello from the stand-in."
import { createServer } from 'node:http';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const logAt = process.argv.indexOf('--log');
const logFile = logAt < 0 ? undefined : process.argv[logAt + 1];

let messages = 0;
let calls = 0;

const blocksOf = (message) =>
  typeof message?.content === 'string' ? [{ type: 'text', text: message.content }] : message?.content ?? [];

// The CLI wraps prompts in reminders of its own, so only whole lines count.
function findScript(message) {
  for (const block of blocksOf(message)) {
    for (const line of (block.text ?? '').split('\n')) {
      const [, word, rest] = /^(TOOL|QUESTIONS|WORDS|SLOW|OVERLOAD)\b ?(.*)$/.exec(line) ?? [];
      if (word) return { word, rest };
    }
  }
  return { word: 'ANSWER', rest: '' };
}

function closingOf(result, messages) {
  const asked = messages.flatMap(blocksOf).some((b) => b.id === result.tool_use_id && b.name === 'AskUserQuestion');
  if (!asked && !result.is_error) return ['It', ' is', ' done.'];
  const said = typeof result.content === 'string' ? result.content : blocksOf(result).map((b) => b.text).join(' ');
  return [`The result says: ${said}`];
}

// What to say to a request: pieces of text, milliseconds between them, perhaps a tool call.
function plan(request) {
  const newest = (request.messages ?? []).filter((m) => m.role === 'user').at(-1);
  const result = blocksOf(newest).find((block) => block.type === 'tool_result');
  if (result) return { pieces: closingOf(result, request.messages) };
  const { word, rest } = findScript(newest);
  const [first, second] = rest.split(/\s+/).map(Number);
  switch (word) {
    case 'OVERLOAD':
      return { status: 529 };
    case 'TOOL':
      return { pieces: ['I will run it.'], call: { command: rest, description: 'asked for by the prompt' } };
    case 'QUESTIONS':
      return { pieces: ['I will ask.'], tool: 'AskUserQuestion', call: { questions: JSON.parse(rest) } };
    case 'WORDS':
      return { pieces: Array.from({ length: first }, (_, i) => `word${i} `), between: second || 0 };
    case 'SLOW':
      return { pieces: ['Slowly', ' but', ' surely.'], between: first / 2 };
    default:
      return { pieces: ['Hello', ' from', ' the', ' stand-in.'] };
  }
}

function* eventsOf(model, { pieces, call, tool = 'Bash' }) {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: `msg_${++messages}`, type: 'message', role: 'assistant', model, content: [] };
  yield { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } };
  yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  for (const text of pieces) yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
  yield { type: 'content_block_stop', index: 0 };
  if (call) {
    const block = { type: 'tool_use', id: `toolu_${++calls}`, name: tool, input: {} };
    yield { type: 'content_block_start', index: 1, content_block: block };
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(call) };
    yield { type: 'content_block_delta', index: 1, delta };
    yield { type: 'content_block_stop', index: 1 };
  }
  const delta = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
  yield { type: 'message_delta', delta, usage: { output_tokens: 20 } };
  yield { type: 'message_stop' };
}

async function streamAnswer(response, model, answer) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of eventsOf(model, answer)) {
    if (response.destroyed) return;
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (answer.between && event.type === 'content_block_delta') await sleep(answer.between);
  }
  response.end();
}

function sendJson(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

async function handle(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { pathname } = new URL(request.url, 'http://localhost');
  const body = parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : {};
  const answer = plan(body);
  if (logFile) {
    const prompt = blocksOf((body.messages ?? []).filter((m) => m.role === 'user').at(-1));
    appendFileSync(logFile, `${JSON.stringify({ method: request.method, path: pathname, prompt })}\n`);
  }
  if (pathname !== '/v1/messages') return sendJson(response, 200, { input_tokens: 10 });
  if (answer.status) return sendJson(response, answer.status, overloaded);
  if (body.stream) return streamAnswer(response, body.model, answer);
  return sendJson(response, 200, {
    id: `msg_${++messages}`, type: 'message', role: 'assistant', model: body.model, stop_reason: 'end_turn',
    content: [{ type: 'text', text: answer.pieces.join('') }], usage: { input_tokens: 10, output_tokens: 4 },
  });
}

const server = createServer((request, response) => {
  handle(request, response).catch((problem) => sendJson(response, 400, { error: String(problem) }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
