import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { appendLogLines } from '../../domain/logs/append-log-lines.ts';
import { recognizeLevel } from '../../domain/logs/log-level.ts';
import { beginLogSegment, dropLogSegment, listLogSegments } from '../../domain/logs/log-segments.ts';

let rest: RestFixture;
let endpointId: string;
let podId: string;

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const LINES: [string, string][] = [
  ['w1', 'INFO up'],
  ['w2', 'ERROR CUDA out of memory'],
  ['w1', 'WARN slow'],
  ['w2', 'plain'],
  ['ended', 'ERROR cuda: no device'],
];

beforeAll(async () => {
  const stock = { gpus: [], cpus: 8, memoryBytes: 32 * 2 ** 30 };
  rest = await startRestApp({ capacity: { read: async () => stock } });
  const gpu = { pools: ['ADA_24'] };
  const body = { name: 'x', image: 'i', gpu };
  endpointId = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const pod = { name: 'p', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 } };
  podId = (await rest.call('POST', '/v2/pods', { key: rest.alice.key, body: pod })).json().id;
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, created_at, phase, exited_at)
     select id, $1, $2, 1, '', '{}', '2026-01-01', case id when 'ended' then 'EXITED' else 'RUNNING' end, case id when 'ended' then now() end
     from unnest(array['w1', 'w2', 'ended']) as id`,
    [endpointId, rest.alice.userId],
  );
  const lines = LINES.map(([workloadId, line], i) => ({ workloadId, line, ts: at(i) }));
  const all = [
    ...lines,
    { workloadId: podId, line: 'ERROR pod', ts: at(9) },
    { workloadId: 'foreign', line: 'x', ts: at(9) },
  ];
  await appendLogLines(
    rest.database.pool,
    all.map((line) => ({ ...line, source: 'container', level: recognizeLevel(line.line, null) })),
  );
  await rest.database.pool.query('update log_lines set stored_at = ts');
});
afterAll(() => rest.close());

const get = (path: string, key = rest.alice.key) => rest.call('GET', path, { key });
const lines = async (query = '', record = `/v2/serverless/${endpointId}`) => {
  const answer = await get(`${record}/log-lines${query}`);
  expect(answer.statusCode).toBe(200);
  return answer.json();
};
const texts = (page: { lines: { line: string }[] }) => page.lines.map(({ line }) => line);

test('a page has the lines of all workers, newest first, with worker, level and position', async () => {
  const page = await lines();
  expect(texts(page)).toEqual(LINES.map(([, line]) => line).toReversed());
  expect(page).toMatchObject({ nextCursor: null, searchedTo: null, keptSince: null });
  expect(page.lines[0]).toEqual({
    id: expect.stringMatching(/^2026-01-01T00:00:04\.000Z\/\d{12}$/),
    workerId: 'ended',
    source: 'container',
    level: 'ERROR',
    line: 'ERROR cuda: no device',
    ts: '2026-01-01T00:00:04.000Z',
  });
});

test('filters narrow it', async () => {
  expect(texts(await lines('?search=cuda'))).toEqual(['ERROR cuda: no device', 'ERROR CUDA out of memory']);
  expect(texts(await lines('?level=WARN&workerId=w1'))).toEqual(['WARN slow']);
  expect(texts(await lines(`?since=${at(1).toISOString()}&until=${at(3).toISOString()}&order=oldest`))).toEqual([
    'ERROR CUDA out of memory',
    'WARN slow',
  ]);
  expect(texts(await lines('?source=system'))).toEqual([]);
});

test('pages follow each other by cursor, in both orders; a line’s id is a cursor too', async () => {
  const first = await lines('?limit=2');
  const second = await lines(`?limit=9&cursor=${encodeURIComponent(first.nextCursor)}`);
  expect([...texts(first), ...texts(second)]).toEqual(LINES.map(([, line]) => line).toReversed());
  expect(second.nextCursor).toBeNull();
  const after = await lines(`?order=oldest&cursor=${encodeURIComponent(second.lines[1].id)}`);
  expect(texts(after)).toEqual(LINES.slice(2).map(([, line]) => line));
});

test('a pod has its own lines', async () => {
  expect(await lines('?level=ERROR', `/v2/pods/${podId}`)).toMatchObject({
    lines: [{ line: 'ERROR pod', workerId: null, level: 'ERROR' }],
  });
});

test('a download is text with every matching line, oldest first', async () => {
  const all = await get(`/v2/serverless/${endpointId}/logs/download`);
  expect(all.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(all.headers['content-disposition']).toBe(`attachment; filename="${endpointId}.log"`);
  expect(all.body).toBe(LINES.map(([worker, line], i) => `${at(i).toISOString()} ${worker} ${line}\n`).join(''));
  const one = await get(`/v2/serverless/${endpointId}/logs/download?workerId=w1&level=WARN`);
  expect(one.body).toBe('2026-01-01T00:00:02.000Z WARN slow\n');
  expect((await get(`/v2/pods/${podId}/logs/download`)).body).toBe('2026-01-01T00:00:09.000Z ERROR pod\n');
});

test('a download holds a portion at a time, however long the log is', async () => {
  const line = 'x'.repeat(1_000);
  const many = Array.from({ length: 6_000 }, (_, i) => `${i} ${line}`);
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ('big', $1, $2, 1, '', '{}')`,
    [endpointId, rest.alice.userId],
  );
  await appendLogLines(
    rest.database.pool,
    many.map((text) => ({ workloadId: 'big', ts: at(10), source: 'container', line: text })),
  );
  const answer = await get(`/v2/serverless/${endpointId}/logs/download?workerId=big`);
  expect(answer.body).toBe(many.map((text) => `2026-01-01T00:00:10.000Z ${text}\n`).join(''));
  await rest.database.pool.query("delete from log_lines where workload_id = 'big'");
  await rest.database.pool.query("delete from workers where id = 'big'");
});

/** Returns the first events of a stream. */
async function events(path: string, count: number): Promise<{ name?: string; data: Record<string, unknown> }[]> {
  const headers = { authorization: `Bearer ${rest.alice.key}` };
  const response = await rest.app.inject({ url: path, headers, payloadAsStream: true });
  expect(response.statusCode).toBe(200);
  let text = '';
  const found: { name?: string; data: Record<string, unknown> }[] = [];
  for await (const chunk of response.stream()) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const [, name] = /^event: (.*)$/m.exec(block) ?? [];
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      if (data) found.push({ ...(name ? { name } : {}), data: JSON.parse(data) });
    }
    if (found.length >= count) break;
  }
  return found;
}

test('the stream of an endpoint has all workers, filtered on the server', async () => {
  const path = `/v2/serverless/${endpointId}/logs`;
  expect((await events(path, 5)).map(({ data }) => [data.workerId, data.line])).toEqual(LINES);
  expect(await events(`${path}?search=CUDA&level=ERROR&workerId=w2`, 1)).toEqual([
    {
      data: {
        source: 'container',
        line: 'ERROR CUDA out of memory',
        ts: '2026-01-01T00:00:01.000Z',
        level: 'ERROR',
        workerId: 'w2',
      },
    },
  ]);
});

test('streams of workers and pods have the public fields, and the level if it is asked for', async () => {
  const worker = `/v2/serverless/${endpointId}/workers/w1/logs`;
  const [plain] = await events(`${worker}?search=slow`, 1);
  expect(plain!.data).toEqual({ source: 'container', line: 'WARN slow', ts: '2026-01-01T00:00:02.000Z' });
  const [leveled] = await events(`${worker}?level=WARN&include=LEVEL`, 1);
  expect(leveled!.data).toMatchObject({ line: 'WARN slow', level: 'WARN' });
  const [pod] = await events(`/v2/pods/${podId}/logs?search=POD&include=LEVEL`, 1);
  expect(pod!.data).toMatchObject({ line: 'ERROR pod', level: 'ERROR' });
});

test('since starts a filtered stream in the middle of all logs', async () => {
  const [first] = await events(`/v2/serverless/${endpointId}/logs?since=${at(2).toISOString()}&level=ERROR`, 1);
  expect(first!.data).toMatchObject({ workerId: 'ended' });
});

test("with `include=RECORD`, a logger's line of JSON has its message, job and traceback beside it; the line stays as it was", async () => {
  const { pool } = rest.database;
  const traceback = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no voice';
  const written = [
    JSON.stringify({ requestId: 'job-1', message: 'ValueError: no voice', level: 'ERROR', traceback }),
    '{"requestId":null,"message":"up","level":"INFO"}',
    '{"message":"cut off',
  ];
  const ts = at(20);
  await appendLogLines(
    pool,
    ['container', 'system'].flatMap((source) =>
      written.map((line) => ({
        workloadId: 'w1',
        ts,
        source: source as 'container',
        line,
        level: recognizeLevel(line, null),
      })),
    ),
  );
  const query = `since=${ts.toISOString()}&order=oldest`;
  const read = await lines(`?${query}&include=level,record`);
  expect(texts(read)).toEqual([...written, ...written]);
  expect(read.lines[0]).toMatchObject({ level: 'ERROR', message: 'ValueError: no voice', jobId: 'job-1', traceback });
  expect(read.lines[1]).toMatchObject({ level: 'INFO', message: 'up', jobId: null, traceback: null });
  for (const line of [...read.lines.slice(2), ...(await lines(`?${query}`)).lines]) {
    expect(Object.keys(line)).toEqual(['id', 'workerId', 'source', 'level', 'line', 'ts']);
  }
  expect(texts(await lines(`?${query}&search=job-1&source=container`))).toEqual([written[0]]);
  await pool.query('delete from log_lines where ts = $1', [ts]);
});

test.each(['log-lines?cursor=x', 'log-lines?cursor=2026-01-01T00:00:00Z'])('%s is a 400', async (path) => {
  expect((await get(`/v2/serverless/${endpointId}/${path}`)).statusCode).toBe(400);
});

test('the log of a worker outlives its record, and a page says since when lines are kept', async () => {
  const { pool } = rest.database;
  await pool.query("delete from workers where id = 'ended'");
  expect(texts(await lines('?workerId=ended'))).toEqual(['ERROR cuda: no device']);
  expect(texts(await lines('?limit=1'))).toEqual(['ERROR cuda: no device']);
  const [segment] = await listLogSegments(pool);
  await beginLogSegment(pool);
  await dropLogSegment(pool, segment!);
  const [next] = await listLogSegments(pool);
  expect(await lines()).toMatchObject({ lines: [], nextCursor: null, keptSince: next!.begunAt.toISOString() });
  expect((await get(`/v2/serverless/${endpointId}/log-lines?workerId=ended`)).statusCode).toBe(404);
});

test.each([
  'log-lines?limit=0',
  'log-lines?limit=1001',
  'log-lines?order=up',
  'log-lines?level=LOUD',
  `log-lines?search=${'x'.repeat(201)}`,
  'logs?level=error',
  'logs/download?until=now',
])('%s is a 422', async (path) => {
  expect((await get(`/v2/serverless/${endpointId}/${path}`)).statusCode).toBe(422);
});

test("logs need read access; another user's and missing records are the same 404", async () => {
  for (const path of ['logs', 'log-lines', 'logs/download']) {
    for (const record of [`/v2/serverless/${endpointId}`, `/v2/pods/${podId}`]) {
      const url = `${record}/${path}`;
      expect((await rest.call('GET', url, {})).statusCode).toBe(401);
      expect((await get(url, await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
      const missing = await get(`${record.slice(0, record.lastIndexOf('/'))}/nosuchrecord/${path}`, rest.bob.key);
      const foreign = await get(url, rest.bob.key);
      expect(foreign.statusCode).toBe(404);
      expect(foreign.body).toBe(missing.body);
    }
    for (const worker of ['foreign', 'nobody']) {
      const answer = await get(`/v2/serverless/${endpointId}/${path}?workerId=${worker}`);
      expect(answer.statusCode).toBe(404);
      expect(answer.json().detail).toBe('Worker not found');
    }
  }
});
