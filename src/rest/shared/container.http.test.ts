import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const STOCK = {
  gpus: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 1_000, free: 1_000 }],
  cpus: 8,
  memoryBytes: 32 * 2 ** 30,
};

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => STOCK } });
});
afterAll(() => rest.close());

const RESOURCES = [
  ['/v2/serverless', { name: 'e', gpu: { pools: ['ADA_24'] } }],
  ['/v2/pods', { name: 'p', gpu: { id: GPU } }],
  ['/v2/templates', { name: 't' }],
] as const;
const BAD_IMAGES = ['ghcr.io//me/app:1', '../../containers/json', '../127.0.0.1:8080/x', 'a b', 'x\nHost: y'];

describe.each(RESOURCES)('%s', (path, minimal) => {
  const send = (method: 'POST' | 'PATCH', url: string, body: object) =>
    rest.call(method, url, { key: rest.alice.key, body });

  test.each(BAD_IMAGES)('an invalid image reference is a 422 with the reason: %j', async (image) => {
    const response = await send('POST', path, { ...minimal, image });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([expect.stringMatching(/^\/image: '.*' is not a valid image reference: /s)]);
  });

  test('an image of a registry at a link-local address is a 422, in an update too', async () => {
    const image = '169.254.169.254/latest/meta-data';
    const errors = [expect.stringMatching(/^\/image: images cannot come from '169\.254\.169\.254'/)];
    expect((await send('POST', path, { ...minimal, image })).json()).toMatchObject({ status: 422, errors });
    const { id } = (await send('POST', path, { ...minimal, name: 'moved', image: 'app:1' })).json();
    expect((await send('PATCH', `${path}/${id}`, { image })).json()).toMatchObject({ status: 422, errors });
  });

  test('an update to such an image is rejected, and the record is unchanged', async () => {
    const { id } = (await send('POST', path, { ...minimal, name: 'kept', image: 'app:1' })).json();
    expect((await send('PATCH', `${path}/${id}`, { image: '/app' })).statusCode).toBe(422);
    expect((await rest.call('GET', `${path}/${id}`, { key: rest.alice.key })).json().image).toBe('app:1');
  });

  test('an env beyond its limits is a 422', async () => {
    const env = { BIG: `{{ RUNPOD_SECRET_${' '.repeat(95_000)}` };
    const response = await send('POST', path, { ...minimal, name: 'big', image: 'app:1', env });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors[0]).toMatch(/^\/env\/BIG: .*65536/);
  });
});
