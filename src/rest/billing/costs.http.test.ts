import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { EXPORT_COLUMNS, exportCosts } from '../../domain/billing/export-costs.ts';
import { fromUnits, toUnits } from '../../domain/billing/money.ts';

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 34 }) } });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());
beforeEach(() => rest.database.pool.query('delete from usage_days'));

interface Cost {
  person?: Person;
  day?: string;
  kind?: string;
  id?: string;
  name?: string | null;
  gpu?: string;
  cpu?: string;
  storage?: string;
}

async function costs(...all: Cost[]): Promise<void> {
  for (const { person = rest.alice, day = '2026-03-02', kind = 'SERVERLESS', id = 'e1', ...of } of all) {
    await rest.database.pool.query(
      `insert into usage_days values ($1, $2, $3, $4, $5, 3600, 0, 72000, $6, $7, $8)
       on conflict (user_id, day, kind, resource_id) do update set gpu_amount = usage_days.gpu_amount + excluded.gpu_amount`,
      [person.userId, day, kind, id, of.name ?? null, of.gpu ?? '0', of.cpu ?? '0', of.storage ?? '0'],
    );
  }
}

const MARCH = 'startTime=2026-03-01T00:00:00Z&endTime=2026-04-01T00:00:00Z';
const get = (path: string, query: string, key = rest.alice.key) =>
  rest.call('GET', `/v2/billing/${path}?${MARCH}&${query}`, { key });
const read = async (query: string, key?: string) => (await get('costs', query, key)).json();

test('costs by endpoint: the largest first, with what they are made of, and by day', async () => {
  await costs(
    { id: 'small', name: 'tiny', gpu: '0.1', storage: '0.2' },
    { id: 'big', name: 'llm', gpu: '5' },
    { id: 'big', name: 'llm', day: '2026-03-03', gpu: '2', cpu: '0.5' },
    { id: 'p1', kind: 'POD', gpu: '100' },
    { id: 'early', day: '2026-02-28', gpu: '100' },
    { id: 'other', person: rest.bob, gpu: '100' },
  );
  expect(await read('by=endpoint')).toMatchObject({
    by: 'endpoint',
    startTime: '2026-03-01T00:00:00.000Z',
    endTime: '2026-04-01T00:00:00.000Z',
    total: '7.8',
    groups: [
      { id: 'big', name: 'llm', amount: '7.5', gpuAmount: '7', cpuAmount: '0.5', storageAmount: '0', gpuSeconds: 7200 },
      { id: 'small', name: 'tiny', amount: '0.3', isDeleted: true, userId: rest.alice.userId, userName: 'alice' },
    ],
    otherCount: 0,
    otherAmount: '0',
    series: ['big', 'small'],
    days: [
      { day: '2026-03-02', amount: '5.3', amounts: ['5', '0.3'], other: '0' },
      { day: '2026-03-03', amount: '2.5', amounts: ['2.5', '0'], other: '0' },
    ],
  });
  expect((await read('by=pod')).groups).toMatchObject([{ id: 'p1', name: null, amount: '100' }]);
  expect((await read('')).groups.map(({ id }: { id: string }) => id)).toEqual(['POD', 'SERVERLESS']);
  expect(await read('by=volume')).toMatchObject({ total: '0', groups: [], days: [], series: [] });
});

test('an existing resource has its name of now', async () => {
  const body = { name: 'renamed', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
  const { id } = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json();
  await costs({ id, name: 'before', gpu: '1' });
  expect((await read('by=endpoint')).groups).toMatchObject([{ id, name: 'renamed', isDeleted: false }]);
});

test('a deleted pod, whose row is kept for its log, is shown as deleted', async () => {
  const body = { name: 'p', image: 'any:v1', cpu: { id: 'cpu3c', vcpuCount: 2 } };
  const { id } = (await rest.call('POST', '/v2/pods', { key: rest.alice.key, body })).json();
  await costs({ id, kind: 'POD', name: 'p', cpu: '1' });
  expect((await read('by=pod')).groups).toMatchObject([{ id, name: 'p', isDeleted: false }]);
  await rest.database.pool.query('update pods set gone_at = now() where id = $1', [id]);
  expect((await read('by=pod')).groups).toMatchObject([{ id, name: 'p', isDeleted: true }]);
});

test('what is beyond the limit is counted and added up', async () => {
  await costs(...['a', 'b', 'c', 'd'].map((id, i) => ({ id, gpu: String(i + 1) })));
  expect(await read('by=endpoint&limit=2')).toMatchObject({
    total: '10',
    groups: [{ id: 'd' }, { id: 'c' }],
    otherCount: 2,
    otherAmount: '3',
    days: [{ amounts: ['4', '3'], other: '3' }],
  });
});

test('the parts add up to the whole, to the last decimal, however they are cut', async () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(fromUnits);
  const row = fc.record({
    id: fc.constantFrom(...Array.from({ length: 12 }, (_, i) => `e${i}`)),
    day: fc.integer({ min: 1, max: 9 }).map((day) => `2026-03-0${day}`),
    kind: fc.constantFrom('SERVERLESS', 'POD', 'CLUSTER', 'NETWORK_VOLUME'),
    gpu: amount,
  });
  const by = fc.constantFrom('product', 'endpoint', 'pod', 'cluster', 'volume', 'user');
  const sum = (amounts: string[]) => amounts.reduce((all, one) => all + toUnits(one), 0n);
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), by, fc.integer({ min: 1, max: 9 }), async (rows, by, limit) => {
      await rest.database.pool.query('delete from usage_days');
      await costs(...rows);
      const { total, groups, otherAmount, days } = await read(`by=${by}&limit=${limit}`);
      const parts = groups.map((group: { amount: string }) => group.amount);
      expect(sum([...parts, otherAmount])).toBe(toUnits(total));
      expect(sum(days.map((day: { amount: string }) => day.amount))).toBe(toUnits(total));
      for (const day of days) expect(sum([...day.amounts, day.other])).toBe(toUnits(day.amount));
      for (const group of groups) {
        expect(sum([group.gpuAmount, group.cpuAmount, group.storageAmount])).toBe(toUnits(group.amount));
      }
    }),
    { numRuns: 25 },
  );
});

describe('whose costs', () => {
  test('a user sees their own alone; an admin those of a user or of all', async () => {
    await costs({ gpu: '1' }, { person: rest.bob, id: 'e2', gpu: '2' });
    expect((await read('by=user')).groups).toMatchObject([{ id: rest.alice.userId, name: 'alice', amount: '1' }]);
    expect((await read('', admin.key)).total).toBe('0');
    expect((await read(`userId=${rest.bob.userId}`, admin.key)).total).toBe('2');
    const all = await read('userId=all&by=user', admin.key);
    expect(all).toMatchObject({ total: '3', groups: [{ name: 'bob' }, { name: 'alice' }] });
    expect((await read(`userId=${rest.alice.userId}`)).total).toBe('1');
  });

  test.each(['costs', 'export', 'forecast'])('/v2/billing/%s refuses others, known or not, alike', async (path) => {
    for (const userId of [rest.bob.userId, 'nosuchuser', 'all']) {
      const answer = await get(path, `userId=${userId}`);
      expect([answer.statusCode, answer.json().detail]).toEqual([403, 'access denied']);
    }
    expect((await rest.call('GET', `/v2/billing/${path}`)).statusCode).toBe(401);
    expect((await get(path, '', await rest.keyFor(rest.alice, 'serverless:write'))).statusCode).toBe(403);
    expect((await get(path, '', await rest.keyFor(rest.alice, 'billing:read'))).statusCode).toBe(200);
  });
});

test.each([
  ['by=moon', 'query/by: must be one of product, endpoint, pod, cluster, volume, user'],
  ['limit=0', 'query/limit: must be >= 1'],
  ['limit=1001', 'query/limit: must be <= 1000'],
  ['lastN=3', 'query/lastN: must not be combined with startTime or endTime'],
])('%s is a 422', async (query, error) => {
  const answer = await get('costs', query);
  expect([answer.statusCode, answer.json().errors]).toEqual([422, [error]]);
});

describe('the export', () => {
  test('has a line for each day and resource, with units in its header', async () => {
    await costs(
      { day: '2026-03-03', gpu: '2', storage: '0.25' },
      { id: 'v1', kind: 'NETWORK_VOLUME', storage: '0.07' },
    );
    const answer = await get('export', '');
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(answer.headers['content-disposition']).toBe(
      'attachment; filename="podyard-costs-2026-03-01-2026-03-31.csv"',
    );
    const { userId } = rest.alice;
    expect(answer.body.split('\r\n')).toEqual([
      'day_utc,user_id,user_name,kind,resource_id,resource_name,gpu_seconds,vcpu_seconds,storage_gb_seconds,gpu_usd,cpu_usd,storage_usd,total_usd',
      `2026-03-02,${userId},alice,NETWORK_VOLUME,v1,,3600,0,72000,0,0,0.07,0.07`,
      `2026-03-03,${userId},alice,SERVERLESS,e1,,3600,0,72000,2,0,0.25,2.25`,
      '',
    ]);
    expect((await get('export', 'by=volume')).body.split('\r\n')).toHaveLength(3);
    expect((await get('export', 'userId=all', admin.key)).body).toBe(answer.body);
  });

  test('quotes what RFC 4180 quotes, and no name is calculated by a spreadsheet', async () => {
    const names = ['=HYPERLINK("http://evil")', '+1', '-2', '@x', '\tx', 'a,b', 'a"b', 'a\nb', 'plain', 'x=1'];
    await costs(...names.map((name, i) => ({ id: `e${i}`, name })));
    const { body } = await get('export', '');
    const fields = [...body.matchAll(/,SERVERLESS,e\d,("(?:[^"]|"")*"|[^,\r\n]*),/g)].map(([, field]) => field);
    expect(fields).toEqual([
      `"'=HYPERLINK(""http://evil"")"`,
      "'+1",
      "'-2",
      "'@x",
      "'\tx",
      '"a,b"',
      '"a""b"',
      '"a\nb"',
      'plain',
      'x=1',
    ]);
  });

  test('of more than a batch has each line once, in order', async () => {
    await rest.database.pool.query(
      `insert into usage_days select $1, '2026-03-01'::date + d, 'SERVERLESS', 'e' || n, 'n', 0, 0, 0, 0.01, 0, 0
       from generate_series(0, 4) d, generate_series(1, 1001) n`,
      [rest.alice.userId],
    );
    const lines = (await get('export', '')).body.trimEnd().split('\r\n').slice(1);
    expect([lines.length, new Set(lines).size]).toEqual([5_005, 5_005]);
    expect(lines.map((line) => line.split(',').length).every((count) => count === EXPORT_COLUMNS.length)).toBe(true);
    expect(lines).toEqual([...lines].sort());
    let reads = 0;
    const db = { query: (...args: [never]) => ++reads && rest.database.pool.query(...args) } as never;
    const range = { startMs: Date.UTC(2026, 2, 1), endMs: Date.UTC(2026, 3, 1) };
    const chunks = exportCosts(db, { scope: null, kind: null, range });
    await chunks.next(); // the header
    await chunks.next();
    expect(reads).toBe(1); // a slow reader holds one batch
    for await (const _ of chunks);
    expect(reads).toBe(3);
  });
});

test('the forecast says what it is based on, and with too few days that there is none', async () => {
  const forecast = async () => (await rest.call('GET', '/v2/billing/forecast', { key: rest.alice.key })).json();
  expect(await forecast()).toMatchObject({ spent: '0', forecast: null, basedOnDays: 0 });
  await rest.database.pool.query(
    `insert into usage_days select $1, (now() at time zone 'UTC')::date - n, 'POD', 'p', null, 0, 0, 0, 3, 0, 0
     from unnest(array[1, 2, 3, 5]) n`,
    [rest.alice.userId],
  );
  const found = await forecast();
  expect(found).toMatchObject({ basedOnDays: 4, method: expect.stringContaining('last 4 full days') });
  expect(Number(found.low)).toBe(Number(found.spent)); // the day without usage was free
  expect(Number(found.forecast)).toBeGreaterThan(Number(found.spent));
  expect(found.endTime.slice(8, 10)).toBe('01');
});
