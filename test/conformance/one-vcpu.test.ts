import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/** docs/interface/revision-2026-08.md, "Serverless endpoints" and "Pods and templates": one vCPU, which revision 2026-07 does not know. */
const FLAVORS = ['cpu3c', 'cpu3g', 'cpu3m', 'cpu5c', 'cpu5g', 'cpu5m'];

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 64, memoryBytes: 2 ** 38 }) } });
});
afterAll(() => rest.close());

const send = (method: string, url: string, body?: unknown) =>
  rest.call(method, url, { key: rest.alice.key, ...(body !== undefined && { body }) });
const endpoint = {
  name: 'cpu',
  type: 'QUEUE',
  image: 'i:1',
  workers: { min: 0, max: 1 },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
};

describe.each(FLAVORS)('%s', (id) => {
  test('has pods and endpoints with one vCPU in revision 2026-08, shown with 2 in revision 2026-07', async () => {
    const newer = await send('GET', `/2026-08/v2/catalog/cpus/${id}`);
    const older = await send('GET', `/v2/catalog/cpus/${id}`);
    expect([newer.json().vcpu.min, older.json().vcpu.min]).toEqual([1, 2]);
    const memory = newer.json().ramGbPerVcpu;

    const pod = await send('POST', '/2026-08/v2/pods', { name: 'p', image: 'i:1', cpu: { id, vcpuCount: 1 } });
    expect(pod.json(), pod.body).toMatchObject({ cpu: { id, vcpuCount: 1, memory } });
    expect((await send('GET', `/v2/pods/${pod.json().id}`)).json()).toMatchObject({ cpu: { id, vcpuCount: 2 } });

    const made = await send('POST', '/2026-08/v2/serverless', { ...endpoint, cpu: [{ id, vcpuCount: 1 }] });
    expect(made.json(), made.body).toMatchObject({ cpu: [{ id, vcpuCount: 1 }] });
    expect((await send('GET', `/v2/serverless/${made.json().id}`)).json().cpu).toEqual({ id, vcpuCount: 2, memory });
  });

  test('has them over GraphQL and version 1, as <flavor>-1-<GB>', async () => {
    const { ramGbPerVcpu } = (await send('GET', `/2026-08/v2/catalog/cpus/${id}`)).json();
    const instanceId = `${id}-1-${ramGbPerVcpu}`;
    const { data, errors } = await rest.graphql(
      `mutation ($pod: deployCpuPodInput, $endpoint: EndpointInput) {
         deployCpuPod(input: $pod) { vcpuCount memoryInGb }
         saveEndpoint(input: $endpoint) { id instanceIds } }`,
      {
        key: rest.alice.key,
        variables: {
          pod: { imageName: 'i:1', instanceId },
          endpoint: {
            name: 'e',
            instanceIds: [instanceId],
            template: { imageName: 'i:1', containerDiskInGb: 5, dockerArgs: '', env: [] },
          },
        },
      },
    );
    expect(errors).toBeUndefined();
    expect(data.deployCpuPod).toEqual({ vcpuCount: 1, memoryInGb: ramGbPerVcpu });
    expect(data.saveEndpoint.instanceIds).toEqual([instanceId]);
    const shown = await rest.callV1('GET', `/v1/endpoints/${data.saveEndpoint.id}`, { key: rest.alice.key });
    expect(shown.json().instanceIds).toEqual([instanceId]);
    const { cpuFlavors } = (
      await rest.graphql(
        `{ cpuFlavors(input: {id: "${id}"}) { minVcpu specifics(input: {instanceId: "${instanceId}"}) { stockStatus } } }`,
        { key: rest.alice.key },
      )
    ).data;
    expect(cpuFlavors).toEqual([{ minVcpu: 1, specifics: { stockStatus: 'High' } }]);
  });

  test('is refused with one vCPU in revision 2026-07', async () => {
    const pod = await send('POST', '/v2/pods', { name: 'p', image: 'i:1', cpu: { id, vcpuCount: 1 } });
    expect([pod.statusCode, pod.json().errors]).toEqual([422, ['/cpu/vcpuCount: must be >= 2']]);
    const catalog = await send('GET', `/v2/catalog/cpus/${id}?include=AVAILABILITY&vcpuCount=1`);
    expect(catalog.statusCode).toBe(422);
  });
});
