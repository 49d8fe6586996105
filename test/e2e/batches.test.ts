/** Batches on a server that is killed; docs/interface/batches.md, "Uploads" and "Running". */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const REQUESTS = 300;
const UPLOADED = 20_000;

let server: ServerProcess;
let api: Api;

beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process' });
  api = new Api(server);
});
afterAll(() => server?.dispose());

interface Batch {
  id: string;
  status: string;
  linesReceived: number;
  requestTotal: number;
  requestCompleted: number;
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => `{"input":{"echo":${i + 1},"delayMs":10}}\n`).join('');

async function upload(path: string, body: string): Promise<Batch> {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/x-ndjson' };
  const response = await fetch(`${server.url}${path}?offset=0`, { method: 'POST', headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer as Batch;
}

test('a server killed in the middle of an upload has what it committed; repeated, nothing is there twice', async () => {
  const id = await api.createEndpoint({ workers: { min: 0, max: 0 } });
  const batch = await api.call<Batch>('POST', `/v2/${id}/batch`, []);
  const path = `/v2/${id}/batch/${batch.id}`;
  const body = lines(UPLOADED);
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/x-ndjson' };
  const req = request(`${server.url}${path}/requests?offset=0`, { method: 'POST', headers });
  req.on('error', () => {}); // the server is killed
  req.write(body.slice(0, body.length / 2));
  const seen = await until('a part is committed', async () => {
    const { linesReceived } = await api.call<Batch>('GET', path);
    return linesReceived >= 1_000 && linesReceived;
  });
  await server.kill();
  await server.start();
  const after = await api.call<Batch>('GET', path);
  expect(after.linesReceived).toBeGreaterThanOrEqual(seen);
  expect(after.requestTotal).toBe(after.linesReceived);
  expect(await upload(`${path}/requests`, body)).toMatchObject({ linesReceived: UPLOADED, requestTotal: UPLOADED });
  await api.delete(id);
});

test('a batch ends with every request run once, although the server is killed while it runs', async () => {
  const id = await api.createEndpoint({
    workers: { min: 0, max: 2 },
    scaling: { type: 'REQUEST_COUNT', value: 1 },
  });
  const batch = await api.call<Batch>('POST', `/v2/${id}/batch`, []);
  const path = `/v2/${id}/batch/${batch.id}`;
  await upload(`${path}/requests`, lines(REQUESTS));
  await api.call('POST', `${path}/finalize`);
  for (const share of [0.1, 0.4]) {
    await until(
      `${share} of it`,
      async () => (await api.call<Batch>('GET', path)).requestCompleted >= REQUESTS * share,
      60_000,
    );
    await server.kill();
    await server.start();
  }
  const ended = await until(
    'its end',
    async () => {
      const now = await api.call<Batch>('GET', path);
      return now.status !== 'FINALIZED' && now;
    },
    60_000,
  );
  expect(ended).toMatchObject({ status: 'COMPLETED', requestTotal: REQUESTS, requestCompleted: REQUESTS });
  const headers = { authorization: `Bearer ${server.key}` };
  const text = await (await fetch(`${server.url}${path}/results`, { headers })).text();
  const results = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(results.map(({ number, output }) => [number, output])).toEqual(
    Array.from({ length: REQUESTS }, (_, i) => [i + 1, i + 1]),
  );
  await api.delete(id);
});
