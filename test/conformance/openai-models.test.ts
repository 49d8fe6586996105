/** docs/interface/queue.md, "One base URL for all models": `model` in a call to /openai/v1 names the endpoint. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { type Answer, type CallOptions, QueuePlaneFixture } from '../queue-plane.ts';
import { testTerminal } from '../test-terminal.ts';

let plane: QueuePlaneFixture;
let llama: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000 });
  llama = await plane.endpoint(1, { name: 'llama' });
  worker = await plane.worker(llama);
});
afterAll(() => plane.close());

const at = (path: string) => `../openai/v1/${path}`;
const call = (method: string, path: string, options?: CallOptions) => plane.call(method, at(path), options);
const chat = (body: object, options: CallOptions = {}) => call('POST', 'chat/completions', { body, ...options });
const list = async (authorization?: string) =>
  (await call('GET', 'models', authorization === undefined ? {} : { authorization })).body;
const ids = async (authorization?: string) => (await list(authorization)).data.map(({ id }: { id: string }) => id);
const refusal = ({ status, body }: Answer) => [status, body.error.code, body.error.param];

/** The worker lists its models at the endpoint's own base URL. */
async function listModels(models: readonly string[]): Promise<void> {
  const answer = plane.call('GET', `${llama}/openai/v1/models`);
  const data = models.map((id) => ({ id, object: 'model' }));
  await worker.work(JSON.stringify({ output: { object: 'list', data } }));
  expect((await answer).status).toBe(200);
}

test('a call by the name or the id of an endpoint reaches its worker', async () => {
  for (const model of ['llama', llama]) {
    const answer = chat({ model, seed: 12 });
    const job = (await worker.take()).body;
    expect(job.input).toEqual({ openai_route: '/v1/chat/completions', openai_input: { model, seed: 12 } });
    await worker.done(job.id, '{"output":[{"object":"chat.completion"}]}');
    expect(await answer).toMatchObject({ status: 200, body: { object: 'chat.completion' } });
  }
});

test('what a worker lists is remembered: it names the endpoint, and replaces the name in the body', async () => {
  expect(refusal(await chat({ model: 'meta/llama-3' }))).toEqual([404, 'model_not_found', 'model']);
  await listModels(['meta/llama-3', 'my-lora']);
  await expect.poll(() => ids()).toEqual(['llama', 'meta/llama-3', 'my-lora']);
  const sent = async (text: string) => {
    const answer = call('POST', 'completions', { body: text });
    const { body } = await worker.take();
    await worker.done(body.id, '{"output":"ok"}');
    expect((await answer).status).toBe(200);
    const [row] = await plane.sql(
      'select input from jobs where id = $1 union all select input from finished_jobs where id = $1',
      body.id,
    );
    return String(row.input);
  };
  expect(await sent('{"model":"my-lora", "seed":12345678901234567890}')).toContain(
    '{"model":"my-lora", "seed":12345678901234567890}',
  );
  expect(await sent('{"a":{"model":1},"model" : "llama" ,"seed":12345678901234567890}')).toContain(
    '{"a":{"model":1},"model" : "meta/llama-3" ,"seed":12345678901234567890}',
  );
});

test('a list starts no worker, and has the members that both families of clients read', async () => {
  const idle = await plane.endpoint(0, { name: 'idle' });
  const models = await list();
  expect(models).toMatchObject({ object: 'list', has_more: false, first_id: 'llama' });
  expect(models.data.at(-1)).toEqual(models.data.find(({ id }: { id: string }) => id === models.last_id));
  expect(models.data.find(({ id }: { id: string }) => id === 'idle')).toEqual({
    ...{ id: 'idle', object: 'model', type: 'model', display_name: 'idle', owned_by: 'idle' },
    ...{ created: expect.any(Number), created_at: expect.stringMatching(/^\d{4}-/) },
  });
  expect((await call('GET', 'models/meta%2Fllama-3')).body).toMatchObject({ id: 'meta/llama-3', owned_by: 'llama' });
  expect(refusal(await call('GET', 'models/nothing'))).toEqual([404, 'model_not_found', 'model']);
  expect(await plane.sql('select from jobs where endpoint_id = $1', idle)).toEqual([]);
});

test('`podyard models` lists them, and says what a refusal says', async () => {
  const run = async (key: string) => {
    const printed: string[] = [];
    const terminal = testTerminal({ env: { PODYARD_URL: plane.url, PODYARD_API_KEY: key, HOME: '/nonexistent' } });
    const print = (text: string) => void printed.push(text);
    const status = await runCli({ terminal, print, note: print } as never, ['models']);
    return [status, printed.join('\n')];
  };
  const [status, table] = await run('pyk_test-admin');
  expect([status, table]).toEqual([0, expect.stringMatching(/MODEL +ENDPOINT.*meta\/llama-3 +llama/s)]);
  expect(await run('wrong')).toEqual([3, expect.stringContaining('invalid api key')]);
});

test("the environment of common images names an endpoint's model before any worker has run", async () => {
  const env = { MODEL_NAME: 'qwen/qwen-2', OPENAI_SERVED_MODEL_NAME_OVERRIDE: 'qwen' };
  await plane.endpoint(0, { name: 'from env', env });
  await plane.endpoint(0, { name: 'secret model', env: { MODEL_NAME: '{{ RUNPOD_SECRET_model }}' } });
  expect((await ids()).filter((id: string) => id.includes('{{'))).toEqual([]);
  expect(await ids()).toContain('qwen');
  expect(await ids()).not.toContain('qwen/qwen-2');
  const leaving = new AbortController();
  const answer = chat({ model: 'qwen' }, { signal: leaving.signal });
  await expect
    .poll(() => plane.sql("select input from jobs where input like '%qwen%'"))
    .toEqual([{ input: expect.anything() }]);
  leaving.abort();
  await expect(answer).rejects.toThrow();
});

test('a key uses and sees the models of its own endpoints only; a stranger none', async () => {
  const other = await plane.endpoint(0, { name: 'other' });
  const key = async (...scopes: string[]) => `Bearer ${await plane.keyFor(plane.userId, ...scopes)}`;
  const restricted = await key(`invoke/${other}`);
  expect(await ids(restricted)).toEqual(['other']);
  expect(refusal(await chat({ model: 'llama' }, { authorization: restricted }))).toEqual([
    404,
    'model_not_found',
    'model',
  ]);
  const reader = await key('read-only');
  expect(await ids(reader)).toContain('llama');
  expect(refusal(await chat({ model: 'llama' }, { authorization: reader }))).toEqual([403, 'permission_denied', null]);
  expect(await ids(await key('pods:read'))).toEqual([]);
  const stranger = `Bearer ${await plane.keyFor(await plane.stranger(), 'all')}`;
  expect(await ids(stranger)).toEqual([]);
  for (const model of [llama, 'llama', 'meta/llama-3']) {
    expect(refusal(await chat({ model }, { authorization: stranger }))).toEqual([404, 'model_not_found', 'model']);
  }
});

test('a name that two endpoints have is refused with their ids, and each is listed by its id', async () => {
  const twins = [await plane.endpoint(0, { name: 'twin' }), await plane.endpoint(0, { name: 'twin' })];
  const answer = await chat({ model: 'twin' });
  expect(refusal(answer)).toEqual([400, 'model_ambiguous', 'model']);
  for (const id of twins) {
    expect(answer.body.error.message).toContain(id);
    expect(await ids()).toContain(id);
  }
  expect(await ids()).not.toContain('twin');
});

test('a load-balancing endpoint is named with its own base URL', async () => {
  const scaling = { type: 'REQUEST_COUNT' as const, value: 1, idleTimeoutSeconds: 5 };
  const id = await plane.endpoint(0, { name: 'balanced', type: 'LOAD_BALANCING', scaling });
  const answer = await chat({ model: 'balanced' });
  expect(refusal(answer)).toEqual([400, 'model_not_supported', 'model']);
  expect(answer.body.error.message).toContain(`/v2/${id}/lb/v1`);
  expect(await ids()).not.toContain('balanced');
});

test.each([
  ['no model', {}, [400, 'missing_required_parameter', 'model']],
  ['a model that is no string', { model: 7 }, [400, 'missing_required_parameter', 'model']],
  ['a list as body', [], [400, 'missing_required_parameter', 'model']],
  ['a model with NUL', { model: 'a\0b' }, [404, 'model_not_found', 'model']],
  ['a huge model', { model: 'x'.repeat(1e6) }, [404, 'model_not_found', 'model']],
  ['text', 'not json', [400, null, null]],
])('a body with %s is refused without a job', async (_, body, expected) => {
  expect(refusal(await chat(body as object))).toEqual(expected);
});

test('other paths and methods are refused', async () => {
  expect(refusal(await plane.call('GET', '../openai/models'))).toEqual([404, 'not_found', null]);
  expect(refusal(await call('GET', 'chat/completions'))).toEqual([405, 'method_not_allowed', null]);
  expect(refusal(await call('POST', 'models', { body: {} }))).toEqual([405, 'method_not_allowed', null]);
  expect(refusal(await call('GET', 'models', { authorization: null }))).toEqual([401, 'invalid_api_key', null]);
});

test('a renamed endpoint answers to its new name at once, and a deleted one to none', async () => {
  const id = await plane.endpoint(0, { name: 'before' });
  expect(refusal(await call('POST', 'completions', { body: { model: 'after' } }))).toEqual([
    404,
    'model_not_found',
    'model',
  ]);
  expect((await plane.call('PATCH', `serverless/${id}`, { body: { name: 'after' } })).status).toBe(200);
  expect(refusal(await chat({ model: 'before' }))).toEqual([404, 'model_not_found', 'model']);
  expect(await ids()).toContain('after');
  expect((await plane.call('DELETE', `serverless/${id}`)).status).toBe(204);
  expect(refusal(await chat({ model: 'after' }))).toEqual([404, 'model_not_found', 'model']);
  expect(await ids()).not.toContain('after');
});
