import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { EndpointId } from '../../src/core/ids.ts';
import { type Logger, silentLogger } from '../../src/core/logger.ts';
import { type RunningServer, startServer } from '../../src/server.ts';
import { until } from '../e2e/api.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';
import { withClient } from '../template-database.ts';

const READ_ONLY = 'The database is read-only; nothing was stored.';

/** The fixture serves the worker API; the second server's log is read. */
let plane: QueuePlaneFixture;
let server: RunningServer;
const lines: { level: string; fields: Record<string, unknown>; message: string }[] = [];

beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
  const log = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message });
  const logger: Logger = { ...silentLogger, info: log('info'), warn: log('warn'), error: log('error') };
  const config = readConfig(
    { port: '0', databaseUrl: plane.database.url, runtime: 'simulated', roles: 'api,data' },
    { PODYARD_MASTER_KEY: 'ab'.repeat(32) },
  );
  server = await startServer(config, logger, () => {});
});
afterAll(async () => {
  await server.stop();
  await plane.close();
});

/** New sessions are read-only or not; old ones are ended. */
async function setReadOnly(isReadOnly: boolean): Promise<void> {
  await withClient(plane.database.url, async (client) => {
    await client.query('set default_transaction_read_only = off');
    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    await client.query(
      `alter database ${rows[0]!.name} set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
    );
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
  });
}

function post(path: string, body: object): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer pyk_test-admin', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

const readyz = () => fetch(`${server.url}/readyz`);

/** docs/interface/graphql.md, "Errors"; docs/interface/worker-api.md, "Addresses and tokens"; docs/operations.md, "When the database fails" */
test('a read-only database is a 503 with Retry-After and the reason on every plane, not ready, and two lines in the log', async () => {
  const endpointId: EndpointId = await plane.endpoint(1);
  const worker = await plane.worker(endpointId);
  const jobId = await plane.run(endpointId, 1);
  expect((await worker.take()).body.id).toBe(jobId);
  expect((await readyz()).status).toBe(200);
  lines.length = 0;

  await setReadOnly(true);
  const calls = {
    rest: () => post('/v2/serverless', { name: 'x', image: 'any:v1', workers: { max: 1 } }),
    graphql: () =>
      post('/graphql', {
        query:
          'mutation { saveTemplate(input: { name: "x", imageName: "a:1", dockerArgs: "", containerDiskInGb: 5, volumeInGb: 0, env: [] }) { id } }',
      }),
    queue: () => post(`/v2/${endpointId}/run`, { input: 1 }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const answer = await until(name, async () => {
      const response = await call();
      const text = await response.text();
      return text.includes(READ_ONLY) && { response, text }; // the first statement may meet an ended session
    });
    expect(answer.response.status, `${name}: ${answer.text}`).toBe(503);
    expect(answer.response.headers.get('retry-after'), name).toBe('5');
  }
  for (let i = 0; i < 20; i++) expect((await calls.queue()).status).toBe(503);
  expect(
    await until('done', async () => {
      const done = await worker.done(jobId, '{"output":1}');
      return done.text.includes(READ_ONLY) && done.status;
    }),
  ).toBe(503);
  await until('not ready', async () => (await readyz()).status === 503);
  expect(await (await readyz()).json()).toMatchObject({ detail: READ_ONLY });

  await setReadOnly(false);
  await until('ready', async () => (await readyz()).status === 200);
  await until('it works', async () => (await calls.queue()).status === 200);
  expect((await worker.done(jobId, '{"output":1}')).status).toBe(200);
  const health = lines.filter(({ message }) => message.startsWith('the database '));
  expect(health.map(({ level }) => level)).toEqual(['error', 'info']);
  expect(lines.filter(({ message }) => /^(request|loop) failed/.test(message))).toEqual([]);
});
