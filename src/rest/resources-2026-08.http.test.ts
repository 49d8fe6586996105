/** docs/interface/revision-2026-08.md: what revision 2026-08 says differently of pods, templates, the catalog and SSH keys. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import type { Stock } from '../domain/catalog/capacity-source.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const stock: Stock = {
  gpus: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 100, free: 100, cudaVersion: '12.8' }],
  cpus: 8,
  memoryBytes: 32 * 2 ** 30,
};

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => stock } });
});
afterAll(() => rest.close());

const call = (method: string, url: string, body?: object) =>
  rest.call(method, `/2026-08${url}`, { key: rest.alice.key, ...(body && { body }) });
const pod = { name: 'p', image: 'an/image:1', gpu: { id: GPU } };
let number = 0;
const createTemplate = async (more: object = {}) =>
  (await call('POST', '/v2/templates', { name: `t${number++}`, image: 'from/template:1', ...more })).json();

describe('a pod', () => {
  const startsOf = async (body: object) => {
    const { id } = (await call('POST', '/v2/pods', body)).json();
    const text = 'select start_ssh as ssh, start_jupyter as jupyter from pods where id = $1';
    return (await rest.database.pool.query(text, [id])).rows[0];
  };

  test('gets no SSH keys unless it or its template asks for them', async () => {
    expect(await startsOf(pod)).toEqual({ ssh: false, jupyter: false });
    expect(await startsOf({ ...pod, startSsh: true, startJupyter: true })).toEqual({ ssh: true, jupyter: true });
    const { id: templateId } = await createTemplate();
    expect(await startsOf({ ...pod, templateId })).toEqual({ ssh: true, jupyter: true });
    expect(await startsOf({ ...pod, templateId, startJupyter: false })).toEqual({ ssh: true, jupyter: false });
  });

  test('does not name its template, and needs no image with one', async () => {
    const { id: templateId } = await createTemplate();
    const made = await call('POST', '/v2/pods', { name: 'p', gpu: { id: GPU }, templateId });
    expect([made.statusCode, made.json().image, made.json().template]).toEqual([201, 'from/template:1', null]);
    expect((await call('GET', `/v2/pods/${made.json().id}`)).json().template).toBeNull();
  });
});

test('a pod’s unknown template is a 404, and one for endpoints a 422, in a create and in a PATCH', async () => {
  const { id } = (await call('POST', '/v2/pods', pod)).json();
  const { id: serverless } = await createTemplate({ serverless: true });
  for (const [method, url, body] of [
    ['POST', '/v2/pods', pod],
    ['PATCH', `/v2/pods/${id}`, {}],
  ] as const) {
    const unknown = await call(method, url, { ...body, templateId: 'nosuchtemplate' });
    expect([unknown.statusCode, unknown.json().detail]).toEqual([
      404,
      "templateId: there is no template 'nosuchtemplate'",
    ]);
    const other = await call(method, url, { ...body, templateId: serverless });
    expect([other.statusCode, other.json().errors]).toEqual([422, [expect.stringContaining('/templateId: ')]]);
  }
  const { id: templateId } = await createTemplate();
  const changed = await call('PATCH', `/v2/pods/${id}`, { templateId });
  expect([changed.statusCode, changed.json().image]).toEqual([200, 'from/template:1']);
});

describe('a template', () => {
  test('starts SSH and Jupyter unless it says otherwise', async () => {
    expect(await createTemplate()).toMatchObject({ startSsh: true, startJupyter: true, allowedCudaVersions: [] });
    const given = { startSsh: false, startJupyter: false, allowedCudaVersions: ['12.8'] };
    const template = await createTemplate(given);
    expect(template).toMatchObject(given);
    const changed = await call('PATCH', `/v2/templates/${template.id}`, { startSsh: true, allowedCudaVersions: [] });
    expect(changed.json()).toMatchObject({ startSsh: true, startJupyter: false, allowedCudaVersions: [] });
    expect((await call('PATCH', `/v2/templates/${template.id}`, { allowedCudaVersions: ['new'] })).statusCode).toBe(
      422,
    );
  });
});

describe('the catalog', () => {
  test.each(['gpus', 'cpus', `gpus/${encodeURIComponent(GPU)}`, 'cpus/cpu3c'])(
    '%s takes include and product together or not at all',
    async (path) => {
      const detail = async (query: string) => {
        const response = await call('GET', `/v2/catalog/${path}?${query}`);
        return [response.statusCode, response.json().detail];
      };
      expect(await detail('include=AVAILABILITY')).toEqual([400, 'include: requires product']);
      expect(await detail('product=POD')).toEqual([400, 'product: requires include=AVAILABILITY']);
      expect(await detail('include=AVAILABILITY&product=POD,SERVERLESS')).toEqual([200, undefined]);
      expect(await detail('')).toEqual([200, undefined]);
    },
  );

  test('leaves out empty lists', async () => {
    const query = 'include=AVAILABILITY&product=POD';
    const one = async (id: string) => (await call('GET', `/v2/catalog/gpus/${encodeURIComponent(id)}?${query}`)).json();
    expect(await one(GPU)).toMatchObject({ dataCenters: [{ id: 'LOCAL-1' }], cudaVersions: [{ version: '12.8' }] });
    const absent = await one('NVIDIA L4');
    expect(absent.availability).toBe('NONE');
    expect(absent).not.toHaveProperty('dataCenters');
    expect(absent).not.toHaveProperty('cudaVersions');
    const include = 'include=GPU_AVAILABILITY,CPU_AVAILABILITY';
    const there = (await call('GET', `/v2/catalog/datacenters/EU-RO-1?${include}`)).json();
    expect(Object.keys(there).filter((name) => name.endsWith('Availability'))).toEqual([]);
    const here = (await call('GET', `/v2/catalog/datacenters/LOCAL-1?${include}`)).json();
    expect(here.gpuAvailability).toMatchObject([{ id: GPU }]);
  });

  test('a minimum CUDA version has one or two parts', async () => {
    const status = async (version: string) =>
      (await call('GET', `/v2/catalog/gpus?include=AVAILABILITY&product=POD&minCudaVersion=${version}`)).statusCode;
    expect([await status('12'), await status('12.8'), await status('12.8.1'), await status('new')]).toEqual([
      200, 200, 422, 422,
    ]);
    expect(await status('9'.repeat(400))).toBe(200);
  });
});

test('SSH keys have one spelling in answers, and either one in a request', async () => {
  const key = 'ssh-ed25519 AAAA alice@laptop';
  expect((await call('PUT', '/v2/account/ssh-keys', { keys: [key] })).json()).toEqual({ keys: [key] });
  expect((await call('GET', '/v2/account/ssh-keys')).json()).toEqual({ keys: [key] });
  expect((await call('PUT', '/v2/account/ssh-keys', { sshKeys: [] })).json()).toEqual({ keys: [] });
  const both = await call('PUT', '/v2/account/ssh-keys', { sshKeys: [], keys: [] });
  expect([both.statusCode, both.json().errors]).toEqual([422, ['$: must have exactly one of sshKeys, keys']]);
});

test('the cost of network volumes is at the path that is spelled like the volumes’', async () => {
  expect((await call('GET', '/v2/billing/network-volumes')).statusCode).toBe(200);
});
