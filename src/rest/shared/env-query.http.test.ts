import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let number = 0;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 64, memoryBytes: 2 ** 36 }) } });
});
afterAll(() => rest.close());

const SHARED = { image: 'podyard/echo:1', env: { A: '1', B: '2' } };
const NEWER = { type: 'QUEUE', scaling: { type: 'QUEUE_DELAY', queueDelay: 4 }, gpu: { pools: ['ADA_24'] } };

describe.each([
  ['/v2/serverless', { gpu: { pools: ['ADA_24'] } }],
  ['/2026-08/v2/serverless', NEWER],
  ['/v2/pods', { cpu: { id: 'cpu3c', vcpuCount: 2 } }],
  ['/2026-08/v2/pods', { cpu: { id: 'cpu3c', vcpuCount: 2 } }],
  ['/v2/templates', {}],
  ['/2026-08/v2/templates', {}],
])('PATCH %s', (path, more) => {
  const create = async (): Promise<string> => {
    const body = { ...SHARED, ...more, name: `record ${number++}` };
    return (await rest.call('POST', path, { key: rest.alice.key, body })).json().id;
  };
  const update = (id: string, query: string, body: unknown, key = rest.alice.key) =>
    rest.call('PATCH', `${path}/${id}${query}`, { key, body });
  const envOf = async (id: string) => (await rest.call('GET', `${path}/${id}`, { key: rest.alice.key })).json().env;

  test('replaces env as a whole, merges it with mergeEnv, and removes names with unsetEnv', async () => {
    const id = await create();
    expect((await update(id, '?mergeEnv=true', { env: { B: '3', C: '4' } })).json().env).toEqual({
      A: '1',
      B: '3',
      C: '4',
    });
    expect((await update(id, '?unsetEnv=A,NONE', { env: { D: '' } })).json().env).toEqual({ B: '3', C: '4', D: '' });
    expect((await update(id, '?unsetEnv=B', {})).json().env).toEqual({ C: '4', D: '' });
    expect((await update(id, '?mergeEnv=true', { image: 'podyard/echo:2' })).json().env).toEqual({ C: '4', D: '' });
    expect((await update(id, '?mergeEnv=false', { env: { Z: '1' } })).json().env).toEqual({ Z: '1' });
    expect((await update(id, '?mergeEnv=perhaps', { env: {} })).statusCode).toBe(422);
    expect((await update(id, '?mergeEnv=true', { env: { Y: '1' } }, rest.bob.key)).statusCode).toBe(404);
    expect(await envOf(id)).toEqual({ Z: '1' });
  });

  test('changes of different variables at the same time are all kept', async () => {
    const id = await create();
    const names = Array.from({ length: 12 }, (_, i) => `V${i}`);
    await Promise.all(names.map((name) => update(id, '?mergeEnv=true', { env: { [name]: name } })));
    expect(await envOf(id)).toEqual({ A: '1', B: '2', ...Object.fromEntries(names.map((name) => [name, name])) });
  });

  test('the limits hold for what is there after the merge', async () => {
    const id = await create();
    const env = Object.fromEntries(Array.from({ length: 499 }, (_, i) => [`N${i}`, 'x']));
    const response = await update(id, '?mergeEnv=true', { env });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual(['/env: 501 variables, but at most 500 are allowed']);
  });
});

test('a template’s variables are merged already, and unsetEnv beside a template is refused', async () => {
  const template = { name: 'shared', image: 'podyard/echo:3', env: { T: '1' } };
  const { id: templateId } = (await rest.call('POST', '/v2/templates', { key: rest.alice.key, body: template })).json();
  const pod = { ...SHARED, name: 'taker', cpu: { id: 'cpu3c', vcpuCount: 2 } };
  const { id } = (await rest.call('POST', '/v2/pods', { key: rest.alice.key, body: pod })).json();
  const patch = (query: string) =>
    rest.call('PATCH', `/v2/pods/${id}${query}`, { key: rest.alice.key, body: { templateId, env: { C: '3' } } });
  const refused = await patch('?unsetEnv=T');
  expect(refused.statusCode).toBe(400);
  expect(refused.json().detail).toContain('unsetEnv: not together with templateId');
  expect((await patch('?mergeEnv=true')).json().env).toEqual({ T: '1', C: '3' });
});
