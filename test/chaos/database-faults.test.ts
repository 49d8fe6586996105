import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { type EmbeddedServer, startEmbeddedServer } from '../../src/db/embedded-server.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';

const FULL = "The database's disk is full; nothing was stored.";
const NO_CONNECTION = 'The database has no free connection; nothing was stored.';

interface Answer {
  status: number;
  retryAfter: string | null;
  text: string;
}

async function startDatabase(dataDir: string): Promise<EmbeddedServer> {
  const database = await startEmbeddedServer({ dataDir, logger: silentLogger, isThrowaway: true });
  onTestFinished(() => database.stop());
  return database;
}

async function startServer(databaseUrl: string): Promise<ServerProcess> {
  const server = await ServerProcess.start({ runtime: 'process', databaseUrl });
  onTestFinished(() => server.dispose());
  return server;
}

async function call(server: ServerProcess, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
}

test('while the disk is full jobs are refused with the reason, the server is not ready, and no accepted job is lost', async ({
  skip,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'podyard-full-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'podyard-test', folder]).status !== 0) {
    skip('mounting a small file system needs root');
  }
  onTestFinished(() => void spawnSync('umount', ['--lazy', folder]));
  const { databaseUrl } = await startDatabase(folder);
  const server = await startServer(databaseUrl);
  const api = new Api(server);
  const endpoint = await api.createEndpoint({ workers: { min: 0, max: 0 } });
  const accepted: string[] = [];
  const submit = async () => {
    const answer = await call(server, `/v2/${endpoint}/run`, {
      input: { filler: Math.random().toString(36).repeat(40_000) },
    });
    if (answer.status === 200) accepted.push(JSON.parse(answer.text).id);
    return answer;
  };
  expect((await submit()).status).toBe(200);

  const filler = join(folder, 'filler');
  expect(() => {
    for (let bytes = 2 ** 20; ; ) appendFileSync(filler, Buffer.alloc(bytes));
  }).toThrow('ENOSPC');
  const refused = await until('a job is refused', async () => {
    const answer = await submit();
    expect([200, 503]).toContain(answer.status);
    return answer.status === 503 && answer;
  });
  expect(refused).toMatchObject({ retryAfter: '5' });
  expect(JSON.parse(refused.text)).toMatchObject({ detail: FULL });
  for (let i = 0; i < 10; i++) expect([200, 503]).toContain((await submit()).status);
  await until('it is not ready', async () => (await call(server, '/readyz')).status === 503);
  expect((await call(server, '/healthz')).status).toBe(200);

  rmSync(filler);
  await until('it is ready', async () => (await call(server, '/readyz')).status === 200);
  await until('jobs are accepted', async () => (await submit()).status === 200);
  for (const id of accepted) expect((await api.status(endpoint, id)).status).toBe('IN_QUEUE');
  expect(server.stderr).toContain('the database fails');
  expect(server.stderr).not.toContain('request failed');
});

test('without a free connection requests are refused with the reason, and answered once there is one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'podyard-connections-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'postgres.conf'), 'max_connections = 40\n');
  const { databaseUrl } = await startDatabase(folder);
  const server = await startServer(databaseUrl);
  const holders: pg.Client[] = [];
  const release = () => Promise.all(holders.splice(0).map((client) => client.end()));
  onTestFinished(() => void release());
  const holdFreeOnes = async () => {
    for (;;) {
      const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' });
      client.on('error', () => {});
      const isIn = await client.connect().then(
        () => true,
        () => false,
      );
      if (!isIn) return;
      holders.push(client);
    }
  };
  await holdFreeOnes();
  // The server may hold connections enough: those that are idle are taken from it.
  await holders[0]!.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where backend_type = 'client backend' and application_name <> 'test' and state = 'idle'`,
  );
  await holdFreeOnes();
  const refused = await until('requests are refused', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => call(server, '/v2/serverless')));
    const others = answers.filter(({ status }) => status !== 200);
    return others.length > 0 && others;
  });
  for (const { status, text, retryAfter } of refused) {
    expect({ status, retryAfter, detail: JSON.parse(text).detail }).toEqual({
      status: 503,
      retryAfter: '5',
      detail: NO_CONNECTION,
    });
  }
  await release();
  await until('all are answered', async () => {
    const after = await Promise.all(Array.from({ length: 60 }, () => call(server, '/v2/serverless')));
    return after.every(({ status }) => status === 200);
  });
});
