import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';

/** Changes a running process's limit. False where it cannot be done. */
function limitDescriptors(pid: number, count: number): boolean {
  return spawnSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]).status === 0;
}

test('a server without a free descriptor does not end, takes no worker for dead, and works again afterwards', async ({
  skip,
}) => {
  if (process.getuid?.() !== 0 || spawnSync('prlimit', ['--version']).status !== 0) skip('needs root and prlimit');
  const server = await ServerProcess.start({ runtime: 'process' });
  onTestFinished(() => server.dispose());
  const api = new Api(server);
  const settings = { workers: { min: 1, max: 2 }, scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 } };
  const endpoint = await api.createEndpoint(settings);
  expect(await api.ended(endpoint, (await api.run(endpoint, { echo: 1 })).id)).toMatchObject({ status: 'COMPLETED' });
  const job = await api.run(endpoint, { echo: 'through', delayMs: 20_000 });
  await until('it runs', async () => (await api.status(endpoint, job.id)).status === 'IN_PROGRESS');
  const before = (await api.workers(endpoint)).map(({ id }) => id);

  const used = readdirSync(`/proc/${server.pid}/fd`).length;
  expect(limitDescriptors(server.pid, used + 2)).toBe(true);
  const { port } = new URL(server.url);
  const clients = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
  const outputs = readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('/output.log'),
  );
  expect(outputs.length).toBeGreaterThan(0);
  for (let i = 0; i < 24; i++) {
    for (const name of outputs) appendFileSync(join(server.dataDir, name), `line ${i}\n`);
    await sleep(500);
  }
  for (const client of clients) client.destroy();
  expect(server.isRunning).toBe(true);
  limitDescriptors(server.pid, 4_096);

  expect(await api.ended(endpoint, job.id)).toMatchObject({ status: 'COMPLETED', output: 'through' });
  expect((await api.status(endpoint, job.id)).retries ?? 0).toBe(0);
  expect((await api.workers(endpoint)).map(({ id }) => id)).toEqual(expect.arrayContaining(before));
  expect(await api.ended(endpoint, (await api.run(endpoint, { echo: 2 })).id)).toMatchObject({ status: 'COMPLETED' });
});

test('without a free descriptor a listing of files has all of them, or fails', async ({ skip }) => {
  if (process.getuid?.() !== 0 || spawnSync('prlimit', ['--version']).status !== 0) skip('needs root and prlimit');
  const server = await ServerProcess.start({ runtime: 'simulated' });
  onTestFinished(() => server.dispose());
  const api = new Api(server);
  const volume = { name: 'data', size: 10, dataCenter: 'LOCAL-1' };
  const { id } = await api.call<{ id: string }>('POST', '/v2/network-volumes', volume);
  const headers = { authorization: `Bearer ${server.key}` };
  expect((await fetch(`${server.url}/s3/${id}/first`, { method: 'PUT', headers, body: '' })).status).toBe(200);
  const storage = join(server.dataDir, 'storage');
  const path = join(storage, readdirSync(storage)[0]!, 'volumes', 'LOCAL-1', id);
  const keys = Array.from({ length: 40 }, (_, i) => `d${i + 10}/file`);
  for (const key of keys) {
    mkdirSync(join(path, key.split('/')[0]!));
    writeFileSync(join(path, key), '');
  }
  keys.push('first');

  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  onTestFinished(() => agent.destroy());
  const list = () =>
    new Promise<{ status: number; found: string[] }>((resolve, reject) => {
      const asked = get(`${server.url}/s3/${id}?list-type=2`, { agent, headers }, async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({
          status: response.statusCode!,
          found: [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map((one) => one[1]!),
        });
      });
      asked.on('error', reject);
    });
  const many = (count: number) => Promise.all(Array.from({ length: count }, list));
  for (const { found } of await many(16)) expect(found).toEqual(keys); // all connections are open
  const used = readdirSync(`/proc/${server.pid}/fd`).length;
  const answers = [];
  for (const spare of [2, 4, 6, 8, 10, 12]) {
    limitDescriptors(server.pid, used + spare);
    answers.push(...(await many(32)));
  }
  limitDescriptors(server.pid, 4_096);
  for (const { status, found } of answers) {
    if (status === 200) expect(found).toEqual(keys);
    else expect(status).toBe(503);
  }
  expect(new Set(answers.map(({ status }) => status))).toContain(503);
  await expect.poll(async () => (await list()).found).toEqual(keys);
});
