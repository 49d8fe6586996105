import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { findProcesses } from '../find-processes.ts';
import { containerOf, containersOf, describeWithEngine, needExampleImages } from './container-engine.ts';

const CANARY = `canary-${crypto.randomUUID()}`;
const SECRET = 'team/hub.token-1';
const REFERENCE = `{{ RUNPOD_SECRET_${SECRET} }}`;
/** A worker that returns a hash of a variable, not its value. */
const HASHER = `
  import { createHash } from 'node:crypto';
  import { start } from '/worker/podyard-worker.js';
  await start({ handler: ({ input }) => createHash('sha256').update(process.env[input.name] ?? '').digest('hex') });
`;
const argsOf = (script: string) => JSON.stringify({ entrypoint: ['node', '--input-type=module', '-e', script] });
const HASHER_ARGS = argsOf(HASHER);
/** A pod that prints the same hash and keeps running. */
const PRINTER = `
  import { createHash } from 'node:crypto';
  console.log('token', createHash('sha256').update(process.env.PLAIN).digest('hex'));
  setInterval(() => {}, 1000);
`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** With real containers, an embedded database and the most verbose log, nothing may show the value of a secret. */
describeWithEngine('secrets of workers in containers', () => {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    await needExampleImages();
    // The embedded server, so that its files, write-ahead log and log can be searched.
    server = await ServerProcess.start({ runtime: 'docker', env: { PODYARD_LOG_LEVEL: 'debug' } });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());

  const createSecret = (name: string, value: string) =>
    api.call<{ id: string }>('POST', '/v2/account/secrets', { name, value, description: 'of the test' });
  const systemLines = async (endpointId: string, workerId: string, text: string) =>
    (await api.logs(endpointId, workerId, (events) => events.some(({ line }) => line.includes(text)))).filter(
      ({ source }) => source === 'system',
    );

  test('a worker has the value, and no table, file, log, answer or other process shows it', async () => {
    const { id: secretId } = await createSecret(SECRET, CANARY);
    const env = { PLAIN: REFERENCE, WITHIN: `{{RUNPOD_SECRET_${SECRET}}}:${REFERENCE}` };
    const id = await api.createEndpoint({ args: HASHER_ARGS, env, workers: { min: 1, max: 1 } });
    expect((await api.runToEnd(id, { name: 'PLAIN' })).output).toBe(sha256(CANARY));
    expect((await api.runToEnd(id, { name: 'WITHIN' })).output).toBe(sha256(`${CANARY}:${CANARY}`));

    const { id: podId } = await api.call<{ id: string }>('POST', '/v2/pods', {
      name: 'printer',
      image: 'podyard/echo-js:dev',
      args: argsOf(PRINTER),
      env,
      gpu: { id: 'NVIDIA GeForce RTX 4090' },
    });

    // A start that fails after the secret was read, and a new release: both log a lot.
    const broken = await api.createEndpoint({ args: '{"entrypoint":["/nowhere"]}', env, workers: { min: 1, max: 1 } });
    const unhealthy = await until('the broken one is unhealthy', async () =>
      (await api.workers(broken)).find(({ status }) => status === 'UNHEALTHY'),
    );
    const answers = [await ask(server, 'GET', `/v2/serverless/${broken}/workers/${unhealthy.id}`)];
    await api.patch(broken, { workers: { min: 0, max: 0 } });
    await api.patch(id, { env: { ...env, MORE: 'x' } });
    const live = await until('the new release is ready', async () =>
      (await api.workers(id)).find(({ version, status }) => version === 2 && status === 'IDLE'),
    );
    expect((await api.runToEnd(id, { name: 'PLAIN' })).output).toBe(sha256(CANARY));
    expect((await systemLines(id, live.id, 'ready')).length).toBeGreaterThan(1);

    const podLine = await until('the pod has printed', async () => {
      const rows = await server.query<{ line: string }>(
        `select line from log_lines where workload_id = $1 and line like 'token %'`,
        [podId],
      );
      return rows[0]?.line;
    });
    expect(podLine).toBe(`token ${sha256(CANARY)}`);

    const holders = { commandLines: findProcesses(CANARY), environments: findProcesses(CANARY, 'environ') };
    const own = await Promise.all([live.id, podId].map((workload) => pidOf(server, workload)));
    expect(holders.environments.filter((pid) => !own.includes(pid))).toEqual([]);
    expect(holders.commandLines).toEqual([]);

    const paths = [
      '/v2/account/secrets',
      `/v2/account/secrets/${secretId}`,
      '/v2/account',
      '/v2/openapi.json',
      '/metrics',
    ];
    for (const one of [id, broken]) {
      const base = `/v2/serverless/${one}`;
      paths.push(base, `${base}/workers`, `${base}/releases`, `/v2/${one}/health`, `/v2/${one}/requests`);
    }
    paths.push('/v2/serverless', '/v2/pods', `/v2/pods/${podId}`, '/v2/templates');
    answers.push(...(await Promise.all(paths.map((path) => ask(server, 'GET', path)))));
    const query = '{ myself { secrets { id name description } endpoints { id env { key value } } } }';
    const graphqlAnswer = await ask(server, 'POST', '/graphql', { query });
    expect(graphqlAnswer).toContain(SECRET);
    answers.push(graphqlAnswer);
    answers.push(await ask(server, 'DELETE', `/v2/account/secrets/${secretId}`));
    expect(answers.join('\n')).toContain(SECRET);
    expectNone('an answer', answers.join('\n'));

    const rows = await everyRow(server);
    expect(rows).toContain(SECRET);
    expectNone('a row', rows);
    expectNone('what the server wrote', `${server.stdout}${server.stderr}`);
    expect(server.stderr).toContain('worker started'); // it did log
    await server.query('checkpoint');
    expect(await filesWith(server.dataDir, CANARY)).toEqual([]);

    // The engine keeps nothing once the container is removed.
    await api.call('DELETE', `/v2/pods/${podId}`);
    await api.delete(broken);
    await api.delete(id);
    await until('the containers are gone', async () => (await containersOf(server.installation)).size === 0);
    expect(findProcesses(CANARY, 'environ')).toEqual([]);
  });

  test('a missing secret is named and delays the start until it exists', async () => {
    const env = { TOKEN: 'a{{ RUNPOD_SECRET_later }}b' };
    const id = await api.createEndpoint({ args: HASHER_ARGS, env, workers: { min: 0, max: 1 } });
    const { id: jobId } = await api.run(id, { name: 'TOKEN' });
    const waiting = await until('a worker is unhealthy', async () =>
      (await api.workers(id)).find(({ status }) => status === 'UNHEALTHY'),
    );
    const reason = "there is no secret 'later', which its env names";
    const lines = await systemLines(id, waiting.id, 'waits');
    expect(lines.map(({ line }) => line)).toEqual([`waits: ${reason}`]);
    const [row] = await server.query('select phase, phase_reason from workers where id = $1', [waiting.id]);
    expect(row).toEqual({ phase: 'PENDING', phase_reason: reason });
    expect((await containersOf(server.installation)).has(waiting.id)).toBe(false);
    await createSecret('later', 'now');
    expect((await api.ended(id, jobId)).output).toBe(sha256('anowb'));
    expect((await api.workers(id)).map((worker) => worker.id)).toEqual([waiting.id]);
    await api.delete(id);
  });
});

function expectNone(what: string, text: string): void {
  const at = [CANARY, Buffer.from(CANARY).toString('hex'), Buffer.from(CANARY).toString('base64')].map((form) =>
    text.indexOf(form),
  );
  const found = at.find((place) => place >= 0);
  if (found !== undefined)
    expect.fail(`${what} holds the secret: …${text.slice(Math.max(0, found - 200), found)}<here>`);
}

/** Returns the process id of a workload's container. */
async function pidOf(server: ServerProcess, workloadId: string): Promise<number> {
  return (await (await containerOf(server.installation, workloadId)).inspect()).State.Pid;
}

/** Sends a request. Returns the answer with any status as text. */
async function ask(server: ServerProcess, method: string, path: string, body?: object): Promise<string> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${server.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return `${method} ${path} ${response.status} ${await response.text()}`;
}

/** Returns all rows of all tables as text, like a dump; binary values in hexadecimal. */
async function everyRow(server: ServerProcess): Promise<string> {
  const tables = await server.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.length).toBeGreaterThan(10);
  const dumps = await Promise.all(
    tables.map(({ name }) => server.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  return dumps.flatMap((rows) => rows.map(({ row }) => row)).join('\n');
}

async function filesWith(directory: string, text: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(100);
  const found: string[] = [];
  for (const file of files) {
    const content = await readFile(file).catch(() => Buffer.alloc(0)); // the database removes files meanwhile
    if (content.includes(text)) found.push(file);
  }
  return found;
}
