import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { PodId } from '../../core/ids.ts';
import { makeJupyterPassword } from '../../domain/pods/jupyter-password.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 32 * 2 ** 30 }) } });
});
afterAll(() => rest.close());

const pod = { name: 'notebook', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 }, startJupyter: true };
const create = async (more: object = {}): Promise<PodId> =>
  (await rest.call('POST', '/v2/pods', { key: rest.alice.key, body: { ...pod, ...more } })).json().id;
const read = (id: string, key = rest.alice.key) => rest.call('GET', `/v2/pods/${id}/jupyter`, { key });
/** Does what control does at the first start. */
const start = (id: PodId) => makeJupyterPassword({ pool: rest.database.pool, secretBox: rest.secretBox }, { id });

test('the owner reads the password of a pod that started Jupyter, and it is in no other answer', async () => {
  const id = await create();
  expect((await read(id)).json()).toEqual({ password: null });
  const password = await start(id);
  const response = await read(id);
  expect([response.statusCode, response.json()]).toEqual([200, { password }]);
  for (const url of [`/v2/pods/${id}`, '/v2/pods']) {
    expect((await rest.call('GET', url, { key: rest.alice.key })).body).not.toContain(password);
  }
});

test('two starts at once agree on one password', async () => {
  const id = await create();
  const passwords = await Promise.all([start(id), start(id), start(id)]);
  expect(new Set(passwords).size).toBe(1);
});

test('a pod with its own password, or without Jupyter, has none', async () => {
  for (const more of [{ env: { JUPYTER_PASSWORD: 'mine' } }, { startJupyter: false }]) {
    expect((await read(await create(more))).json()).toEqual({ password: null });
  }
});

test('it needs write access to the pod; a missing pod and another user’s are the same 404', async () => {
  const id = await create();
  expect((await rest.call('GET', `/v2/pods/${id}/jupyter`)).statusCode).toBe(401);
  expect((await read(id, await rest.keyFor(rest.alice, 'pods:read'))).statusCode).toBe(403);
  expect((await read(id, await rest.keyFor(rest.alice, `pods/${id}:write`))).statusCode).toBe(200);
  const foreign = await read(id, rest.bob.key);
  const missing = await read('nosuchpod', rest.bob.key);
  expect([foreign.statusCode, missing.statusCode]).toEqual([404, 404]);
  expect(foreign.rawPayload.equals(missing.rawPayload)).toBe(true);
});
