import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Api, until } from './api.ts';
import { dataProcessesOf, isGone, OneProcessClient } from './one-process.ts';
import { ServerProcess } from './server-process.ts';

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** Reads `/metrics` through this client: name and labels → value. */
async function scrape(client: OneProcessClient): Promise<Map<string, number>> {
  const { status, text } = await client.call('GET', '/metrics');
  expect(status, text).toBe(200);
  const lines = text.split('\n').flatMap((line) => SAMPLE.exec(line) ?? []);
  const samples = new Map<string, number>();
  for (let i = 0; i < lines.length; i += 4) samples.set(`${lines[i + 1]}{${lines[i + 2] ?? ''}}`, Number(lines[i + 3]));
  return samples;
}

/** Waits for both data processes: the first is up when the server is ready, the second follows. */
async function bothOf(server: ServerProcess): Promise<number[]> {
  return until('two serve', async () => {
    const children = await dataProcessesOf(server);
    return children.length === 2 && children;
  });
}

describe('three processes on one port', () => {
  let server: ServerProcess;
  let api: Api;
  let clients: OneProcessClient[];
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime: 'process', env: { PODYARD_DATA_PROCESSES: '3' } });
    api = new Api(server);
    clients = await OneProcessClient.ofEach(server, 3);
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.dispose();
  });

  test('share connections, records and jobs: what one creates the others have', async () => {
    const [one, two, three] = clients as [OneProcessClient, OneProcessClient, OneProcessClient];
    const id = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    for (const client of clients) expect((await client.call('GET', `/v2/serverless/${id}`)).status).toBe(200);
    await one.call('PATCH', `/v2/serverless/${id}`, { name: 'renamed' });
    expect((await two.call('GET', `/v2/serverless/${id}`)).body.name).toBe('renamed');
    const graphql = await three.call('POST', '/graphql', { query: '{ myself { id } }' });
    expect(graphql.status).toBe(200);
    expect((await two.call('GET', '/')).status).toBe(200);

    const job = await one.call('POST', `/v2/${id}/run`, { input: { echo: 'hi', delayMs: 300 } });
    const held = [two, three].map((client) => client.call('GET', `/v2/${id}/status-sync/${job.body.id}?wait=20000`));
    for (const answer of await Promise.all(held))
      expect(answer.body).toMatchObject({ status: 'COMPLETED', output: 'hi' });
    const answers = await Promise.all(
      clients.map((client, i) => client.call('POST', `/v2/${id}/runsync`, { input: { echo: i } })),
    );
    expect(answers.map(({ body }) => body.output)).toEqual([0, 1, 2]);
    expect(new Set(answers.map(({ process }) => process)).size).toBe(3);
    await api.delete(id);
  });

  test('/metrics of any of them counts the work of all and shows the state of each', async () => {
    const id = await api.createEndpoint({ workers: { min: 1, max: 2 } });
    for (let i = 0; i < 9; i++) await clients[i % 3]!.call('POST', `/v2/${id}/runsync`, { input: { echo: i } });
    for (const client of clients) {
      const samples = await scrape(client);
      expect(samples.get(`podyard_jobs_submitted_total{endpoint="${id}"}`)).toBe(9);
      expect(samples.get(`podyard_jobs_ended_total{endpoint="${id}",status="COMPLETED"}`)).toBe(9);
      expect(samples.get(`podyard_job_wait_seconds_count{endpoint="${id}"}`)).toBe(9);
      for (const name of ['first', 'data-1', 'data-2', 'data-3']) {
        expect(samples.get(`process_resident_memory_bytes{process="${name}"}`)).toBeGreaterThan(1e7);
      }
    }
    await api.delete(id);
  });

  test('one that is killed is restarted; the others keep running, counters do not drop, and it is not listed as alive', async () => {
    const id = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    for (const client of clients) await client.call('POST', `/v2/${id}/runsync`, { input: { echo: 1 } });
    const counted = `podyard_jobs_submitted_total{endpoint="${id}"}`;
    expect((await scrape(clients[0]!)).get(counted)).toBe(3);
    const before = await dataProcessesOf(server);
    expect(before).toHaveLength(3);
    process.kill(before[1]!, 'SIGKILL');
    await until('three serve again', async () => {
      const now = await dataProcessesOf(server);
      return now.length === 3 && !now.includes(before[1]!);
    });
    for (const client of clients) client.close();
    clients = await OneProcessClient.ofEach(server, 3);
    for (const client of clients) expect((await scrape(client)).get(counted)).toBe(3);
    const answer = await clients[0]!.call('POST', `/v2/${id}/runsync`, { input: { echo: 'after' } });
    expect(answer.body.output).toBe('after');
    expect(server.stderr).toContain('the process data-2 ended with SIGKILL; restarting it');
    const alive = "select from processes where 'data' = any(roles)";
    await until('three are known', async () => (await server.query(alive)).length === 3);
    await api.delete(id);
  });

  test('one that gets SIGTERM answers its held requests and is restarted; the others keep holding theirs', async () => {
    const id = await api.createEndpoint({ workers: { min: 0, max: 0 } });
    const answered: number[] = [];
    const held = clients.map(async (client, i) => {
      const { body } = await client.call('POST', `/v2/${id}/run`, { input: 1 });
      const answer = await client.call('GET', `/v2/${id}/status-sync/${body.id}?wait=8000`);
      answered.push(i);
      return answer;
    });
    await until('all are held', async () => {
      const rows = await server.query('select from jobs where endpoint_id = $1 and waiter is not null', [id]);
      return rows.length === 3;
    });
    const [first] = await dataProcessesOf(server);
    process.kill(first!, 'SIGTERM');
    await until('one has answered', async () => answered.length > 0);
    await until('another one is there', async () => {
      const now = await dataProcessesOf(server);
      return now.length === 3 && !now.includes(first!);
    });
    expect(answered).toHaveLength(1);
    for (const answer of await Promise.all(held))
      expect(answer).toMatchObject({ status: 200, body: { status: 'IN_QUEUE' } });
    await api.delete(id);
  });
});

test('a port shared by the processes of another server is rejected with an error', async () => {
  const server = await ServerProcess.start({ runtime: 'process', env: { PODYARD_DATA_PROCESSES: '2' } });
  onTestFinished(() => server.dispose());
  const { port } = new URL(server.url);
  const env = { PODYARD_DATA_PROCESSES: '2', PODYARD_PORT: port };
  const other = await ServerProcess.create({ runtime: 'process', databaseUrl: await server.databaseUrl(), env });
  onTestFinished(() => other.dispose());
  other.url = server.url;
  await expect(other.start()).rejects.toThrow(
    `port ${port} on 127.0.0.1 is in use by another program: choose another with`,
  );
});

test('when the first process is killed the others release the ports and end; the next start has them again', async () => {
  const server = await ServerProcess.start({ runtime: 'process', env: { PODYARD_DATA_PROCESSES: '2' } });
  onTestFinished(() => server.dispose());
  const api = new Api(server);
  const id = await api.createEndpoint({ workers: { min: 1, max: 1 } });
  expect(await api.runToEnd(id, { echo: 'before' })).toMatchObject({ output: 'before' });
  for (let i = 0; i < 3; i++) {
    const children = await bothOf(server);
    await server.kill();
    await server.start();
    expect(await api.runToEnd(id, { echo: i })).toMatchObject({ output: i });
    await until('the old ones are gone', async () => (await Promise.all(children.map(isGone))).every(Boolean));
  }
  const children = await bothOf(server);
  expect(await server.stop()).toBe(0);
  expect(await Promise.all(children.map(isGone))).toEqual([true, true]);
});

test('on SIGTERM it stops being ready, keeps serving until load balancers notice, and answers its held requests', async () => {
  const env = { PODYARD_DATA_PROCESSES: '2', PODYARD_STOP_DELAY_SECONDS: '2' };
  const server = await ServerProcess.start({ runtime: 'process', env });
  onTestFinished(() => server.dispose());
  const api = new Api(server);
  const id = await api.createEndpoint({ workers: { min: 1, max: 1 } });
  await api.runToEnd(id, { echo: 'warm' });
  const [client] = await OneProcessClient.ofEach(server, 2);
  expect((await client!.call('GET', '/readyz')).status).toBe(200);
  const stopped = server.stop();
  await until('it is not ready', async () => (await client!.call('GET', '/readyz')).status === 503);
  expect((await client!.call('GET', '/readyz')).body.detail).toBe('This process is stopping.');
  expect((await client!.call('GET', '/healthz')).status).toBe(200);
  expect((await client!.call('POST', `/v2/${id}/runsync`, { input: { echo: 'late' } })).body.output).toBe('late');
  const held = client!.call('POST', `/v2/${id}/runsync`, { input: { echo: 'held', delayMs: 20_000 } });
  expect((await held).status).toBe(200);
  expect((await held).body.status).not.toBe('COMPLETED');
  expect(await stopped).toBe(0);
  client!.close();
});

describe('a process without all roles', () => {
  let whole: ServerProcess;
  const start = async (roles: string) => {
    const env = { PODYARD_ROLES: roles, PODYARD_DATA_DIR: whole.dataDir };
    const one = await ServerProcess.start({ runtime: 'process', databaseUrl: await whole.databaseUrl(), env });
    onTestFinished(() => one.kill());
    return new OneProcessClient({ url: one.url, key: whole.key });
  };
  beforeAll(async () => {
    whole = await ServerProcess.start({ runtime: 'process' });
  });
  afterAll(() => whole.dispose());

  test.each([
    [
      'control',
      'api',
      '/v2/serverless',
      'It serves nothing to clients: it starts and stops workers and pods (role control).',
    ],
    [
      'control',
      'data',
      '/v2/abc/run',
      'It serves nothing to clients: it starts and stops workers and pods (role control).',
    ],
    ['api,control', 'data', '/v2/abc/run', 'It serves the API, the console and the documentation (role api).'],
    ['api,control', 'data', '/v2/abc/lb/x', 'It serves the API, the console and the documentation (role api).'],
    ['data', 'api', '/graphql', 'It serves jobs, requests to endpoints and pods, and workers (role data).'],
    ['data', 'api', '/', 'It serves jobs, requests to endpoints and pods, and workers (role data).'],
  ])(
    '%s: requests of %s are rejected, and the error names what it serves (%s)',
    async (roles, missing, path, sentence) => {
      const client = await start(roles);
      const answer = await client.call('GET', path);
      const detail = `This process does not have the role ${missing}. ${sentence}`;
      expect(answer).toMatchObject({ status: 421, body: { title: 'Misdirected Request', status: 421, detail } });
      expect((await client.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
      expect((await client.call('GET', '/readyz')).body).toEqual({ status: 'ready' });
      const metrics = await client.call('GET', '/metrics');
      expect(metrics.text).toContain('podyard_database_up 1');
      client.close();
    },
  );
});
