import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAIN } from '../podyard-main.ts';
import { Api } from './api.ts';
import { COMMAND_TIME_LIMIT_MS } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

const SECRETS = 150; // more than one batch of a rotation

let server: ServerProcess;
let api: Api;
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process' });
  api = new Api(server);
});
afterAll(() => server?.dispose());

type Command = ChildProcessByStdio<null, Readable, Readable> & { stdoutText: string; stderrText: string };

/** Runs `podyard secrets rotate-key` beside the server, as an operator does. */
function rotateKey(): Command {
  const { PATH, HOME } = process.env as Record<string, string>;
  const child = spawn(process.execPath, [MAIN, 'secrets', 'rotate-key', '--data-dir', server.dataDir], {
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
  }) as Command;
  Object.assign(child, { stdoutText: '', stderrText: '' });
  child.stdout.on('data', (chunk) => {
    child.stdoutText += chunk;
  });
  child.stderr.on('data', (chunk) => {
    child.stderrText += chunk;
  });
  return child;
}

const keysInFile = async (name = 'master-key') =>
  (await readFile(join(server.dataDir, name), 'utf8')).trim().split('\n');
/** Returns the ids of the keys that values are sealed under. */
const keyIds = async () =>
  (
    await server.query<{ id: string }>(
      `select distinct encode(substring(value from 2 for 8), 'hex') as id
       from (select value from secrets union all select password from registries) x`,
    )
  ).map(({ id }) => id);
const create = (name: string, value: string) => api.call('POST', '/v2/account/secrets', { name, value });

/** Returns the secret as a worker of a new release sees it. */
async function tokenOfNewWorker(endpointId: string, change: object): Promise<unknown> {
  await api.patch(endpointId, { env: { TOKEN: '{{ RUNPOD_SECRET_s0 }}', ...change } });
  return ((await api.runToEnd(endpointId, { env: 'TOKEN' })).output as { env: unknown }).env;
}

test('a rotation killed halfway disturbs nothing; the next one resumes it and leaves one key', async () => {
  for (let i = 0; i < SECRETS; i += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, j) => create(`s${i + j}`, `value ${i + j}`)));
  }
  await api.call('POST', '/v2/registries', { name: 'hub', username: 'robot', password: 'hunter2' });
  const endpointId = await api.createEndpoint({
    workers: { min: 0, max: 1 },
    env: { TOKEN: '{{ RUNPOD_SECRET_s0 }}' },
  });
  const [oldKey] = await keysInFile();
  const [oldId] = await keyIds();

  // A lock on the last row stops the rotation there.
  const holder = new pg.Client({ connectionString: await server.databaseUrl() });
  await holder.connect();
  await holder.query('begin');
  await holder.query('select from secrets order by id desc limit 1 for update');
  const killed = rotateKey();
  while (!killed.stderrText.includes('… 100 values')) await once(killed.stderr, 'data');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  await holder.query('rollback');
  await holder.end();

  expect(await keyIds()).toHaveLength(2);
  const half = await keysInFile();
  expect([half.length, half[1]]).toEqual([2, oldKey]);
  expect(await tokenOfNewWorker(endpointId, { STEP: 'killed' })).toBe('value 0');
  await create('while-two-keys', 'x'); // by the server that was started before the rotation
  await server.kill();
  await server.start();
  expect(await tokenOfNewWorker(endpointId, { STEP: 'restarted' })).toBe('value 0');

  const second = rotateKey();
  const [code] = await once(second, 'close');
  expect([code, second.stderrText]).toEqual([0, expect.stringContaining('Resuming an interrupted rotation.')]);
  const [newId, ...others] = await keyIds();
  expect([others, newId === oldId, second.stdoutText.trim()]).toEqual([[], false, newId]);
  expect(await keysInFile()).toEqual([half[0]]);
  expect(await keysInFile('master-key.retired')).toEqual([oldKey]);
  expect(await tokenOfNewWorker(endpointId, { STEP: 'rotated' })).toBe('value 0');
  await create('after', 'x');
  expect(await keyIds()).toEqual([newId]);
  expect(`${killed.stdoutText}${killed.stderrText}${second.stdoutText}${second.stderrText}`).not.toContain(oldKey);
  expect(`${killed.stdoutText}${killed.stderrText}${second.stdoutText}${second.stderrText}`).not.toContain(half[0]);
});
