import { createHash, randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { ModelHub } from '../model-hub.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

const SIZE = 6_000_000;

/** Fetches a file as the hub's clients do, and prints what came of it. */
const FETCH = `(async () => {
  const say = (text) => process.stdout.write(text);
  try {
    const token = process.argv[2];
    const headers = token ? { authorization: 'Bearer ' + token } : {};
    const response = await fetch(process.env.HF_ENDPOINT + '/' + process.argv[3] + '/resolve/main/' + process.argv[1], { headers });
    const hash = require('crypto').createHash('sha256');
    for await (const chunk of response.body) hash.update(chunk);
    say(response.status + ' ' + hash.digest('hex'));
  } catch (error) { say(error.name); }
})()`;

describeWithEngine('the hub of a machine', () => {
  let origin: ModelHub;
  let server: ServerProcess;
  let api: Api;
  /** One of its own for each test: what the hub said is taken for true for a while. */
  let name: string;
  beforeAll(async () => {
    await needExampleImages();
    origin = await ModelHub.start(); // on loopback: no container reaches it
    const env = { PODYARD_EGRESS: 'internet', PODYARD_HUB_CACHE_GB: '1', PODYARD_HUB_URL: origin.url };
    server = await ServerProcess.start({ runtime: 'docker', env });
    api = new Api(server);
  });
  afterAll(async () => {
    await server?.dispose();
    await origin?.close();
  });
  beforeEach(() => {
    name = `acme/${newId()}`;
    origin.faults.clear();
    origin.models.set(name, { files: { 'model.bin': randomBytes(SIZE), 'config.json': randomBytes(50) } });
    origin.sent.clear();
  });

  const digestOf = (path: string) => {
    return createHash('sha256')
      .update(origin.models.get(name)!.files[path] as Buffer)
      .digest('hex');
  };
  const fetchIn = (id: string, path: string, token = '') => server.runIn(id, ['node', '-e', FETCH, path, token, name]);
  const workersOf = (endpoint: string, count: number) =>
    until('the workers run', async () => {
      const workers = (await api.workers(endpoint)).filter(({ status }) => status === 'RUNNING' || status === 'IDLE');
      return workers.length === count && workers.map(({ id }) => id);
    });

  test('workers and pods get models through it, each byte once, and reach nothing else', async () => {
    const endpoint = await api.createEndpoint({ workers: { min: 2, max: 2 } });
    const [one, two] = (await workersOf(endpoint, 2)) as [string, string];
    const fetched = await Promise.all([one, two, one, two].map((id) => fetchIn(id, 'model.bin')));
    expect(new Set(fetched)).toEqual(new Set([`200 ${digestOf('model.bin')}`]));
    expect(origin.sent.get('model.bin')).toBe(SIZE);
    const direct = `fetch('${origin.url}/api/models/${name}').then(({ status }) => console.log(status), () => console.log('away'))`;
    expect(await server.runIn(one, ['node', '-e', direct])).toBe('away\n');
    const environment = await server.runIn(one, ['node', '-p', 'process.env.HF_ENDPOINT']);
    expect(environment).toMatch(new RegExp(`^http://[\\d.]+:\\d+/hub/${one}\\.[\\w-]{43}\n$`));

    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      ...{ name: 'hub', image: 'podyard/echo-js:dev', gpu: { id: 'NVIDIA GeForce RTX 4090', count: 1 } },
      args: JSON.stringify({ entrypoint: ['node', '-e', 'setInterval(() => {}, 1e6)'] }),
    });
    await until('the pod runs', async () => {
      return (await api.call<{ status: string }>('GET', `/v2/pods/${pod.id}`)).status === 'RUNNING';
    });
    expect(await fetchIn(pod.id, 'model.bin')).toBe(`200 ${digestOf('model.bin')}`);
    expect(origin.sent.get('model.bin')).toBe(SIZE);
    await api.call('DELETE', `/v2/pods/${pod.id}`);
    await api.delete(endpoint);
  });

  test('a fetch goes on after the server was killed in the middle of it', async () => {
    const endpoint = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    const [id] = (await workersOf(endpoint, 1)) as [string];
    const half = Promise.withResolvers<void>();
    origin.faults.set('*', { halfUntil: half.promise });
    const cut = fetchIn(id, 'model.bin');
    await until('half is sent', async () => origin.sent.get('model.bin') === SIZE / 2);
    await until('half is here', async () => (await partialBytes(server.dataDir)) > SIZE / 3);
    await server.kill();
    half.resolve();
    origin.faults.clear();
    expect(await cut).toBe('TypeError');
    await server.start();
    expect(await fetchIn(id, 'model.bin')).toBe(`200 ${digestOf('model.bin')}`);
    expect(origin.ranges.at(-1)).toMatch(/^bytes=[1-9]\d{6}-$/);
    await api.delete(endpoint);
  });

  test('the fetch of an endpoint’s model outlives a database that is killed in the middle of it', async () => {
    const half = Promise.withResolvers<void>();
    origin.faults.set('*', { halfUntil: half.promise });
    const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const models = [{ source: `hf:${name}`, include: ['model.bin'] }];
    await api.call('PUT', `/v2/serverless/${endpoint}/models`, { models });
    await api.patch(endpoint, { workers: { min: 1, max: 1 } });
    await until('half is sent', async () => origin.sent.get('model.bin') === SIZE / 2);
    const { pid } = await server.postmaster();
    process.kill(pid, 'SIGKILL');
    await until('another one runs', async () => (await server.postmaster().catch(() => ({ pid }))).pid !== pid);
    half.resolve();
    origin.faults.clear();
    const [id] = (await workersOf(endpoint, 1)) as [string];
    const files = `/runpod-volume/huggingface-cache/hub/models--${name.replace('/', '--')}/blobs`;
    expect(await server.runIn(id, ['ls', files])).toBe(`${digestOf('model.bin')}\n`);
    expect(origin.sent.get('model.bin')).toBeLessThan(SIZE * 1.5);
    await api.delete(endpoint);
  });

  test('a variable of the user’s own wins, and a model that a token opens stays closed for others', async () => {
    const env = { HF_ENDPOINT: 'https://hub.example.com' };
    const endpoint = await api.createEndpoint({ workers: { min: 1, max: 1 }, env });
    const [own] = (await workersOf(endpoint, 1)) as [string];
    expect(await server.runIn(own, ['node', '-p', 'process.env.HF_ENDPOINT'])).toBe(`${env.HF_ENDPOINT}\n`);
    await api.delete(endpoint);

    origin.models.get(name)!.tokens = ['hf_mine'];
    const other = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    const [id] = (await workersOf(other, 1)) as [string];
    expect(await fetchIn(id, 'config.json', 'hf_mine')).toBe(`200 ${digestOf('config.json')}`);
    expect(await fetchIn(id, 'config.json')).toMatch(/^401 /);
    expect(await fetchIn(id, 'config.json', 'hf_other')).toMatch(/^403 /);
    expect(server.stdout + server.stderr).not.toContain('hf_mine');
    await api.delete(other);
  });
});

/** Returns how much is stored of files that are being fetched. */
async function partialBytes(dataDir: string): Promise<number> {
  const files = await readdir(join(dataDir, 'models'), { recursive: true, withFileTypes: true });
  const partial = files.filter((file) => file.isFile() && file.parentPath.includes('/hub/partial/'));
  const sizes = await Promise.all(partial.map(({ parentPath, name }) => stat(join(parentPath, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}
