import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GPU, minimal, podRequests, startPodApp } from '../../../test/pod-requests.ts';
import type { RestFixture } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startPodApp();
});
afterAll(() => rest.close());

const { createId, read, update, act, createVolume, createTemplate, observe, revisionOf } = podRequests(() => rest);

describe('an update', () => {
  test('changes present fields; null and empty values clear', async () => {
    const id = await createId({ args: 'serve', ports: ['80/http'], env: { A: '1' } });
    const before = await read(id);
    expect((await update(id, {})).json()).toEqual(before);
    expect((await update(id, { name: 'renamed' })).json()).toEqual({ ...before, name: 'renamed' });
    const cleared = await update(id, { args: '', ports: [], env: {}, registry: null });
    expect(cleared.json()).toMatchObject({ args: '', ports: [], env: {}, registry: null });
    expect((await update(id, { globalNetworking: true })).json().globalNetworking.enabled).toBe(true);
  });

  test('of the container replaces a running pod’s container at once; any other update does not', async () => {
    const id = await createId({ env: { A: '1' }, mounts: { persistent: { size: 10, path: '/w' } } });
    await observe(id, 'RUNNING');
    for (const body of [
      { name: 'x' },
      { env: { A: '1' }, image: minimal.image },
      { mounts: { persistent: { size: 20, path: '/w' } } },
    ]) {
      expect((await update(id, body)).json().status).toBe('RUNNING');
    }
    expect(await revisionOf(id)).toBe(1);
    for (const body of [
      { image: 'b:2' },
      { env: {} },
      { disk: 9 },
      { mounts: { persistent: { size: 20, path: '/x' } } },
    ]) {
      const before = await revisionOf(id);
      expect((await update(id, body)).json().status).toBe('STARTING');
      expect(await revisionOf(id)).toBe(before + 1);
    }
  });

  test('with a template takes its container settings, env included; the request wins, mounts stay', async () => {
    const mounts = { persistent: { size: 10, path: '/own' } };
    const old = await createTemplate({});
    const id = await createId({ env: { A: '1' }, args: 'own', mounts, templateId: old });
    await observe(id, 'RUNNING');
    const templateId = await createTemplate({
      image: 'other/image:2',
      env: { B: '2', C: '3' },
      disk: 9,
      mounts: { persistent: { size: 99, path: '/template' } },
    });
    const changed = (await update(id, { templateId, env: { C: '4' }, name: 'moved' })).json();
    expect(changed).toMatchObject({
      image: 'other/image:2',
      disk: 9,
      args: '',
      name: 'moved',
      status: 'STARTING',
      mounts,
    });
    expect([changed.env, changed.template]).toEqual([{ B: '2', C: '4' }, templateId]);
    const drop = async (template: string) => rest.call('DELETE', `/v2/templates/${template}`, { key: rest.alice.key });
    expect((await drop(templateId)).json().detail).toBe('The template is in use by a pod.');
    expect((await drop(old)).statusCode).toBe(204);
    expect(await revisionOf(id)).toBe(2);
    await update(id, { templateId, env: { C: '4' } });
    expect(await revisionOf(id)).toBe(2); // nothing changed
  });

  test('with an unknown, private or serverless template is refused, and changes nothing', async () => {
    const id = await createId();
    const before = await read(id);
    const foreign = await createTemplate({ public: false }, rest.bob.key);
    const serverless = await createTemplate({ serverless: true });
    for (const templateId of ['nosuchtemplate', foreign, serverless]) {
      const response = await update(id, { templateId, name: 'changed' });
      expect([response.statusCode, response.json().detail]).toEqual([400, expect.stringContaining(templateId)]);
    }
    expect(await read(id)).toEqual(before);
  });

  test('with a public template of another user takes no registry', async () => {
    const key = rest.bob.key;
    const registry = { name: 'r', username: 'u', password: 'p' };
    const registryId = (await rest.call('POST', '/v2/registries', { key, body: registry })).json().id;
    const templateId = await createTemplate({ public: true, registry: registryId }, key);
    const changed = await update(await createId(), { templateId });
    expect(changed.json()).toMatchObject({ image: 'from/template:1', registry: null, template: templateId });
  });

  test('of the global network is shown in the audit log', async () => {
    const id = await createId();
    await update(id, { globalNetworking: true });
    const { key } = rest.alice;
    const log = await rest.call('GET', `/v2/audit?recordId=${id}&operation=pod.update`, { key });
    expect(log.json().entries[0].changes).toEqual({ hasGlobalNetwork: [false, true] });
  });

  test('leaves a stopped pod stopped', async () => {
    const id = await createId();
    await act(id, 'stop');
    expect((await update(id, { image: 'b:2' })).json()).toMatchObject({ image: 'b:2', status: 'EXITED' });
  });

  test.each([
    ['name', { name: '' }],
    ['image', { image: null }],
    ['gpu', { gpu: { id: GPU } }],
    ['half a storage', { mounts: { persistent: { size: 20 } } }],
    ['half a volume', { mounts: { network: [{ path: '/v' }] } }],
  ])('with a schema failure in %s is a 422', async (_, body) => {
    expect((await update(await createId(), body)).statusCode).toBe(422);
  });

  test('keeps the kind of mount and the volume; the path may change, the size may grow', async () => {
    const volumeId = await createVolume();
    const other = await createVolume();
    const refusal = async (id: string, mounts: object) => {
      const response = await update(id, { mounts });
      expect(response.statusCode).toBe(400);
      return response.json().detail;
    };
    const network = await createId({ mounts: { network: [{ volumeId, path: '/v' }] } });
    expect((await update(network, { mounts: {} })).json().mounts).toEqual({ network: [{ volumeId, path: '/v' }] });
    expect((await update(network, { mounts: { network: [{ volumeId, path: '/x' }] } })).json().mounts).toEqual({
      network: [{ volumeId, path: '/x' }],
    });
    expect(await refusal(network, { network: [] })).toMatch(/^mounts.network: the volume cannot be detached/);
    expect(await refusal(network, { network: [{ volumeId: other, path: '/x' }] })).toMatch(
      /^mounts.network: the volume '.*' cannot be replaced/,
    );
    const kind = 'the pod was created without one';
    expect(await refusal(network, { persistent: { size: 10, path: '/w' } })).toBe(`mounts.persistent: ${kind}`);
    const persistent = await createId({ mounts: { persistent: { size: 20, path: '/w' } } });
    expect(await refusal(persistent, { network: [{ volumeId, path: '/v' }] })).toBe(`mounts.network: ${kind}`);
    expect(await refusal(persistent, { persistent: { size: 19, path: '/w' } })).toMatch(
      /^mounts.persistent.size: can only grow/,
    );
    expect((await update(persistent, { mounts: { persistent: { size: 30, path: '/x' } } })).json().mounts).toEqual({
      persistent: { size: 30, path: '/x' },
    });
  });

  test.each([
    ['an unknown registry', { registry: 'r1' }],
    ['a port listed twice', { ports: ['1/tcp', '1/tcp'] }],
    ['eleven HTTP ports', { ports: Array.from({ length: 11 }, (_, i) => `${8000 + i}/http`) }],
  ])('with %s is a 400 that changes nothing', async (_, body) => {
    const id = await createId();
    expect((await update(id, body)).statusCode).toBe(400);
    expect(await revisionOf(id)).toBe(1);
  });
});
