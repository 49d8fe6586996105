import { spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';

/** Changes a running process's limit; raising it again needs root. False where it cannot be done. */
function limitDescriptors(pid: number, count: number): boolean {
  return spawnSync('prlimit', ['--pid', String(pid), `--nofile=${count}:${count}`]).status === 0;
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
