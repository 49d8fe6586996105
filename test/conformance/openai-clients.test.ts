/**
 * docs/interface/queue.md, "OpenAI routes", "Errors of OpenAI routes" and "One base URL for all models": the public clients `openai`,
 * `ai` with `@ai-sdk/openai-compatible` and `@anthropic-ai/sdk`, unchanged.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { APICallError, generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

const apiKey = 'pyk_test-admin';
const model = 'llama';
const maxRetries = 0;
const messages = [{ role: 'user' as const, content: 'hi' }];

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
let worker: FakeWorker;
let openai: OpenAI;
let anthropic: Anthropic;
let aiModel: ReturnType<ReturnType<typeof createOpenAICompatible>>;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000 });
  endpoint = await plane.endpoint(1, { name: model });
  worker = await plane.worker(endpoint);
  const baseURL = `${plane.url}/openai/v1`;
  openai = new OpenAI({ baseURL, apiKey, maxRetries });
  anthropic = new Anthropic({ baseURL: `${plane.url}/openai`, apiKey, maxRetries });
  aiModel = createOpenAICompatible({ name: 'podyard', baseURL, apiKey })(model);
});
afterAll(() => plane.close());

const completion = (content: string) => ({
  ...{
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model,
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs: null }],
});
const delta = (content: string) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta: { content } }] })}\n\n`;
const DONE = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const message = { id: 'm', type: 'message', role: 'assistant', model, stop_reason: null, stop_sequence: null };
const usage = { input_tokens: 1, output_tokens: 1 };
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { ...message, content: [], usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
  { type: 'message_stop' },
];

/** Takes a job and sends these chunks, then its end. */
async function stream(by: FakeWorker, chunks: readonly unknown[], end = '{"output":[]}'): Promise<string> {
  const { body: job } = await by.take();
  for (const output of chunks) await by.chunk(job.id, JSON.stringify({ output }));
  await by.done(job.id, end, true);
  return job.input.openai_route;
}

const answer = (output: unknown) => worker.work(JSON.stringify({ output: [output] }));
const ask = { model, max_tokens: 10, messages };

test('`openai` gets a completion, a stream, a response and the list of models', async () => {
  const whole = openai.chat.completions.create({ model, messages });
  await answer(completion('hello'));
  expect((await whole).choices[0]!.message.content).toBe('hello');

  const streamed = openai.chat.completions.create({ model, messages, stream: true });
  const working = stream(worker, [delta('hel'), delta('lo'), DONE]);
  let text = '';
  for await (const chunk of await streamed) text += chunk.choices[0]?.delta.content ?? '';
  expect([text, await working]).toEqual(['hello', '/v1/chat/completions']);

  const response = openai.responses.create({ model, input: 'hi' });
  await answer({ id: 'r', object: 'response', status: 'completed', error: null, output: [] });
  expect((await response).status).toBe('completed');
  const events = openai.responses.create({ model, input: 'hi', stream: true });
  const responding = stream(worker, [{ type: 'response.created' }, { type: 'response.completed' }]);
  const types: string[] = [];
  for await (const event of await events) types.push(event.type);
  expect([types, await responding]).toEqual([['response.created', 'response.completed'], '/v1/responses']);

  expect((await openai.models.list()).data.map(({ id }) => id)).toEqual([model]);
  expect((await openai.models.retrieve(model)).id).toBe(model);
});

test('`ai` with `@ai-sdk/openai-compatible` gets a text and a stream', async () => {
  const whole = generateText({ model: aiModel, prompt: 'hi', maxRetries });
  await answer(completion('hello'));
  expect((await whole).text).toBe('hello');
  const { textStream } = streamText({ model: aiModel, prompt: 'hi', maxRetries });
  void stream(worker, [delta('hel'), delta('lo'), DONE]);
  expect((await collect(textStream)).join('')).toBe('hello');
});

test('`@anthropic-ai/sdk` gets a message, a stream and the list of models', async () => {
  const whole = anthropic.messages.create(ask);
  await answer({ ...message, content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage });
  expect((await whole).content).toEqual([{ type: 'text', text: 'hello' }]);
  const streamed = anthropic.messages.stream(ask);
  const working = stream(worker, [MESSAGE_EVENTS]);
  expect([await streamed.finalText(), await working]).toEqual(['hello', '/v1/messages']);
  expect((await anthropic.models.list()).data.map(({ display_name }) => display_name)).toEqual([model]);
});

test('each reads an error of Podyard and one of the worker as its own class, with status and text', async () => {
  const unknown = { ...ask, model: 'nothing' };
  await expect(openai.chat.completions.create(unknown)).rejects.toMatchObject({
    ...{ status: 404, code: 'model_not_found', param: 'model', type: 'invalid_request_error' },
    message: expect.stringContaining("'nothing'"),
  });
  await expect(anthropic.messages.create(unknown)).rejects.toMatchObject({ status: 404, type: 'not_found_error' });
  const wrong = new OpenAI({ baseURL: `${plane.url}/openai/v1`, apiKey: 'wrong', maxRetries });
  await expect(wrong.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  const wrongToo = new Anthropic({ baseURL: `${plane.url}/openai`, apiKey: 'wrong', maxRetries });
  await expect(wrongToo.models.list()).rejects.toBeInstanceOf(Anthropic.AuthenticationError);

  const refuse = () =>
    answer({ object: 'error', message: 'too long', type: 'BadRequestError', param: null, code: 400 });
  const refused = expect(openai.chat.completions.create({ ...ask, stream: true })).rejects.toMatchObject({
    ...{ status: 400, code: 400, type: 'BadRequestError', message: '400 too long' },
  });
  await refuse();
  await refused;
  const refusedToo = expect(anthropic.messages.create(ask)).rejects.toMatchObject({
    ...{ status: 400, type: 'invalid_request_error', apiMessage: 'too long' },
  });
  await refuse();
  await refusedToo;
  const failing = generateText({ model: aiModel, prompt: 'hi', maxRetries }).catch((error: unknown) => error);
  await refuse();
  const error = (await failing) as APICallError;
  expect([APICallError.isInstance(error), error.statusCode, error.message]).toEqual([true, 400, 'too long']);
});

test('each reads JSON that a worker yields as text, and never repeats a call to an unknown route', async () => {
  const text = (value: object) => worker.work(JSON.stringify({ output: [JSON.stringify(value, null, 1)] }));
  const whole = openai.chat.completions.create({ model, messages });
  await text(completion('hello'));
  expect((await whole).choices[0]!.message.content).toBe('hello');
  const generated = generateText({ model: aiModel, prompt: 'hi', maxRetries });
  await text(completion('hello'));
  expect((await generated).text).toBe('hello');
  const answered = anthropic.messages.create(ask);
  await text({ ...message, content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage });
  expect((await answered).content).toEqual([{ type: 'text', text: 'hello' }]);

  const listed = new OpenAI({ baseURL: `${plane.url}/v2/${endpoint}/openai/v1`, apiKey, maxRetries }).models.list();
  const job = (await worker.take()).body;
  expect(job.input).toEqual({ openai_route: '/v1/models', openai_input: {} });
  const lines = JSON.stringify({ object: 'list', data: [{ id: 'served' }] }, null, 1).split('\n');
  await worker.done(job.id, JSON.stringify({ output: lines }));
  expect((await listed).data.map(({ id }) => id)).toEqual(['served']);
  await expect
    .poll(async () => (await openai.models.list()).data.map(({ id }) => id))
    .toEqual(expect.arrayContaining(['served']));

  const repeating = { baseURL: `${plane.url}/openai/v1`, apiKey, maxRetries: 2 };
  const embedding = new OpenAI(repeating).embeddings.create({ model, input: 'hi' });
  const refused = expect(embedding).rejects.toMatchObject({
    status: 404,
    message: '404 Not Found',
  });
  await worker.work(
    JSON.stringify({ error: `{'message': 'vLLM returned HTTP 404: {"detail":"Not Found"}', 'code': 500}` }),
  );
  await refused;
});

test('each survives the comments of a stream that waits for a worker, and reads an error after them', async () => {
  const name = 'cold';
  const cold = await plane.endpoint(0, { name });
  const comments = rawStream(name);
  const streams = [
    openai.chat.completions.create({ model: name, messages, stream: true }).then(async (events) => {
      let text = '';
      for await (const chunk of events) text += chunk.choices[0]?.delta.content ?? '';
      return text;
    }),
    anthropic.messages.stream({ ...ask, model: name }).finalText(),
    collect(
      streamText({
        model: createOpenAICompatible({ name: 'p', baseURL: `${plane.url}/openai/v1`, apiKey })(name),
        prompt: 'hi',
        maxRetries,
      }).textStream,
    ).then((texts) => texts.join('')),
  ];
  const failing = openai.chat.completions
    .create({ model: name, messages, stream: true, user: 'fail' })
    .then((events) => collect(events));
  const failingToo = anthropic.messages.stream({ ...ask, model: name, metadata: { user_id: 'fail' } }).finalText();
  const failures = [failing, failingToo].map((promise) => promise.catch((error: Error) => error.message));
  expect(await comments).toBe(': podyard.waiting\n\n');
  await plane.sql('update endpoints set workers_min = 1, workers_max = 1 where id = $1', cold);
  await plane.hint('endpoint', cold);
  const waker = await plane.worker(cold);
  for (let i = 0; i < 5; i++) await workOne(waker);
  expect(await Promise.all(streams)).toEqual(['hello', 'hello', 'hello']);
  for (const text of await Promise.all(failures)) expect(text).toContain('lost its place');
});

/** Serves whatever is asked next. */
async function workOne(by: FakeWorker): Promise<void> {
  const { body: job } = await by.take();
  const { openai_route: route, openai_input: input } = job.input;
  if (input.user === 'fail' || input.metadata?.user_id === 'fail') {
    await by.done(job.id, '{"error":"HTTP 400: lost its place"}', true);
    return;
  }
  const chunks = route === '/v1/messages' ? [MESSAGE_EVENTS] : [delta('hel'), delta('lo'), DONE];
  for (const output of chunks) await by.chunk(job.id, JSON.stringify({ output }));
  await by.done(job.id, '{"output":[]}', true);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Reads the first bytes of a stream, and leaves. */
async function rawStream(name: string): Promise<string> {
  const leaving = new AbortController();
  const response = await fetch(`${plane.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: name, messages, stream: true }),
    signal: leaving.signal,
  });
  const { value } = await response.body!.getReader().read();
  leaving.abort();
  return new TextDecoder().decode(value);
}
