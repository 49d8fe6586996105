import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
  for (const [person, resourceId, kind, component, startsAt, amount] of [
    [rest.alice, 'e1', 'SERVERLESS', 'GPU', '2026-03-02T00:00:00Z', '0.1'],
    [rest.alice, 'e1', 'SERVERLESS', 'GPU', '2026-03-02T23:59:00Z', '0.2'],
    [rest.alice, 'e1', 'SERVERLESS', 'DISK', '2026-03-02T10:00:00Z', '0.000000000123'],
    [rest.alice, 'e2', 'SERVERLESS', 'CPU', '2026-03-02T10:00:00Z', '1'],
    [rest.alice, 'e1', 'SERVERLESS', 'GPU', '2026-03-09T00:00:00Z', '5'],
    [rest.alice, 'p1', 'POD', 'GPU', '2026-03-03T10:00:00Z', '7'],
    [rest.alice, 'v1', 'NETWORK_VOLUME', 'STANDARD', '2026-03-03T10:00:00Z', '0.5'],
    [rest.alice, 'v2', 'NETWORK_VOLUME', 'HIGH_PERFORMANCE', '2026-03-03T10:00:00Z', '0.25'],
    [rest.bob, 'e9', 'SERVERLESS', 'GPU', '2026-03-02T10:00:00Z', '100'],
  ] as const) {
    await insertUsage(person, { resourceId, kind, component, startsAt, amount });
  }
});
afterAll(() => rest.close());

async function insertUsage(
  person: Person,
  row: { resourceId: string; kind: string; component: string; startsAt: string | Date; amount: string },
): Promise<void> {
  await rest.database.pool.query(
    `insert into usage (starts_at, span, user_id, kind, resource_id, component, item, units, seconds, amount)
     values ($1, 'minute', $2, $3, $4, $5, '', 1, 60, $6)`,
    [row.startsAt, person.userId, row.kind, row.resourceId, row.component, row.amount],
  );
}

const MARCH = 'startTime=2026-03-02T00:00:00Z&endTime=2026-03-10T00:00:00Z';
const get = async (path: string, query = MARCH, key = rest.alice.key) =>
  rest.call('GET', `/v2/billing${path}?${query}`, { key });

const PATHS = ['', '/pods', '/serverless', '/endpoints', '/networkvolumes', '/network-volumes', '/clusters'];
const NOTHING = { podGpuAmount: 0, podCpuAmount: 0, podDiskAmount: 0, serverlessGpuAmount: 0, serverlessCpuAmount: 0 };
const NOTHING_ELSE = {
  serverlessDiskAmount: 0,
  serverlessFeeAmount: 0,
  storageStandardAmount: 0,
  storageHighPerformanceAmount: 0,
  endpointAmount: 0,
  clusterGpuAmount: 0,
  clusterDiskAmount: 0,
  clusterNetworkingAmount: 0,
};
const day = (date: string, next: string) => ({ startTime: `${date}T00:00:00.000Z`, endTime: `${next}T00:00:00.000Z` });

test('serverless: one record per endpoint and bucket, with totals', async () => {
  const response = await get('/serverless');
  expect(response.statusCode).toBe(200);
  const none = { gpuAmount: 0, cpuAmount: 0, diskAmount: 0, feeAmount: 0 };
  const records = [
    {
      serverlessId: 'e1',
      ...day('2026-03-02', '2026-03-03'),
      ...none,
      totalAmount: 0.3000000001,
      gpuAmount: 0.3,
      diskAmount: 1e-10,
    },
    { serverlessId: 'e2', ...day('2026-03-02', '2026-03-03'), ...none, totalAmount: 1, cpuAmount: 1 },
    { serverlessId: 'e1', ...day('2026-03-09', '2026-03-10'), ...none, totalAmount: 5, gpuAmount: 5 },
  ];
  expect(response.json()).toEqual({
    records,
    metadata: {
      query: { ...day('2026-03-02', '2026-03-10'), bucketSize: 'day', serverlessId: null },
      recordCount: 3,
      uniqueServerlessCount: 2,
      totals: { totalAmount: 6.3000000001, gpuAmount: 5.3, cpuAmount: 1, diskAmount: 1e-10, feeAmount: 0 },
    },
  });
});

test('overall: one record per bucket, with all kinds', async () => {
  const { records, metadata } = (await get('', `${MARCH}&bucketSize=week`)).json();
  expect(records).toEqual([
    {
      ...day('2026-03-02', '2026-03-09'),
      ...NOTHING,
      ...NOTHING_ELSE,
      totalAmount: 9.0500000001,
      podGpuAmount: 7,
      serverlessGpuAmount: 0.3,
      serverlessCpuAmount: 1,
      serverlessDiskAmount: 1e-10,
      storageStandardAmount: 0.5,
      storageHighPerformanceAmount: 0.25,
    },
    { ...day('2026-03-09', '2026-03-16'), ...NOTHING, ...NOTHING_ELSE, totalAmount: 5, serverlessGpuAmount: 5 },
  ]);
  expect(metadata.query).toEqual({ ...day('2026-03-02', '2026-03-16'), bucketSize: 'week' });
  expect(metadata.recordCount).toBe(2);
  expect(metadata.totals.totalAmount).toBe(14.0500000001);
});

test('pods and network volumes have their own reports, the latter at two paths', async () => {
  expect((await get('/pods')).json().records).toEqual([
    { podId: 'p1', ...day('2026-03-03', '2026-03-04'), totalAmount: 7, gpuAmount: 7, cpuAmount: 0, diskAmount: 0 },
  ]);
  const volumes = await get('/networkvolumes');
  expect(volumes.json().records).toEqual([
    {
      networkVolumeId: 'v1',
      ...day('2026-03-03', '2026-03-04'),
      totalAmount: 0.5,
      standardAmount: 0.5,
      highPerformanceAmount: 0,
    },
    {
      networkVolumeId: 'v2',
      ...day('2026-03-03', '2026-03-04'),
      totalAmount: 0.25,
      standardAmount: 0,
      highPerformanceAmount: 0.25,
    },
  ]);
  expect((await get('/network-volumes')).json()).toEqual(volumes.json());
});

test('reports on public endpoints and clusters are empty', async () => {
  expect((await get('/endpoints')).json()).toMatchObject({ records: [], metadata: { totals: { totalAmount: 0 } } });
  expect((await get('/clusters')).json().metadata).toEqual({
    query: { ...day('2026-03-02', '2026-03-10'), bucketSize: 'day', clusterId: null },
    recordCount: 0,
    uniqueClusterCount: 0,
    totals: { totalAmount: 0, gpuAmount: 0, diskAmount: 0, networkingAmount: 0 },
  });
});

test('a filter selects one resource; another user’s is as empty as a missing one', async () => {
  const own = (await get('/serverless', `${MARCH}&serverlessId=e2`)).json();
  expect([own.records.length, own.metadata.query.serverlessId, own.metadata.uniqueServerlessCount]).toEqual([
    1,
    'e2',
    1,
  ]);
  const foreign = (await get('/serverless', `${MARCH}&serverlessId=e9`)).json();
  const missing = (await get('/serverless', `${MARCH}&serverlessId=nosuch`)).json();
  expect(foreign.records).toEqual([]);
  expect({ ...foreign.metadata, query: null }).toEqual({ ...missing.metadata, query: null });
  expect((await get('/pods', `${MARCH}&podId=p2`)).json().records).toEqual([]);
});

test('users see only their own usage', async () => {
  const { records } = (await get('/serverless', MARCH, rest.bob.key)).json();
  expect(records.map((record: { serverlessId: string }) => record.serverlessId)).toEqual(['e9']);
  expect((await get('', MARCH, rest.bob.key)).json().metadata.totals.totalAmount).toBe(100);
});

test('the end is exclusive; both ends are rounded to UTC buckets', async () => {
  const ends = async (query: string) => {
    const { startTime, endTime } = (await get('', query)).json().metadata.query;
    return [startTime, endTime];
  };
  expect(await ends('startTime=2026-03-02T00:00:00Z&endTime=2026-03-09T00:00:00Z&bucketSize=week')).toEqual(
    Object.values(day('2026-03-02', '2026-03-09')),
  );
  expect(await ends('startTime=2026-03-08T23:00:00-05:00&endTime=2026-03-09T05:00:00Z')).toEqual(
    Object.values(day('2026-03-09', '2026-03-10')),
  );
  expect(await ends('startTime=2026-03-02T10:20:30Z&endTime=2026-03-02T10:20:31Z&bucketSize=hour')).toEqual([
    '2026-03-02T10:00:00.000Z',
    '2026-03-02T11:00:00.000Z',
  ]);
  expect(await ends('startTime=2024-02-29T00:00:00Z&endTime=2024-03-01T00:00:00.001Z&bucketSize=month')).toEqual(
    Object.values(day('2024-02-01', '2024-04-01')),
  );
  const week = (await get('/serverless', 'startTime=2026-03-02T00:00:00Z&endTime=2026-03-09T00:00:00Z')).json();
  expect(week.metadata.totals.gpuAmount).toBe(0.3);
});

test('the default is the last 30 days by day, including today', async () => {
  await insertUsage(rest.alice, {
    resourceId: 'e5',
    kind: 'SERVERLESS',
    component: 'GPU',
    startsAt: new Date(Date.now() - 60_000),
    amount: '3',
  });
  const { records, metadata } = (await get('/serverless', '')).json();
  expect(records.at(-1)).toMatchObject({ serverlessId: 'e5', totalAmount: 3 });
  const spanMs = Date.parse(metadata.query.endTime) - Date.parse(metadata.query.startTime);
  expect([metadata.query.bucketSize, spanMs]).toEqual(['day', 31 * 86_400_000]);
  expect(Date.parse(metadata.query.endTime)).toBeGreaterThan(Date.now() - 1000);
});

test('lastN counts buckets back from the current one', async () => {
  const { query } = (await get('', 'lastN=1&bucketSize=year')).json().metadata;
  const year = new Date().getUTCFullYear();
  expect([query.startTime, query.endTime]).toEqual([`${year}-01-01T00:00:00.000Z`, `${year + 1}-01-01T00:00:00.000Z`]);
  expect((await get('/pods', 'lastN=10000&bucketSize=year')).json().metadata.query.startTime).toBe(
    '1970-01-01T00:00:00.000Z',
  );
});

test.each([
  ['startTime=yesterday', 'query/startTime: must be a date-time'],
  ['endTime=2026-13-01T00:00:00Z', 'query/endTime: must be a date-time'],
  ['startTime=1969-12-31T23:59:59Z&endTime=1970-01-02T00:00:00Z', 'query/startTime: must be from 1970 to 9000'],
  ['startTime=9999-12-31T23:59:59Z', 'query/startTime: must be from 1970 to 9000'],
  ['bucketSize=minute', 'query/bucketSize: must be one of hour, day, week, month, year'],
  ['lastN=0', 'query/lastN: must be >= 1'],
  ['lastN=1.5', 'query/lastN: must be integer'],
  ['lastN=99999999', 'query/lastN: must be <= 10000'],
  ['lastN=3&startTime=2026-03-02T00:00:00Z', 'query/lastN: must not be combined with startTime or endTime'],
  ['startTime=2026-03-02T00:00:00Z&endTime=2026-03-02T00:00:00Z', 'query/endTime: must be after startTime'],
  ['startTime=2126-03-02T00:00:00Z', 'query/startTime: must be before now'],
  ['startTime=1970-01-01T00:00:00Z&bucketSize=hour', 'query/bucketSize: must give at most 10000 buckets'],
])('%s is a 422 that says what is wrong, on every report', async (query, error) => {
  for (const path of PATHS) {
    const response = await get(path, query);
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([expect.stringContaining(error)]);
  }
});

test.each(PATHS)('/v2/billing%s needs a key that may read billing', async (path) => {
  expect((await rest.call('GET', `/v2/billing${path}`)).statusCode).toBe(401);
  expect((await get(path, '', 'pyk_unknown')).statusCode).toBe(401);
  expect((await get(path, '', await rest.keyFor(rest.alice, 'serverless:write', 'invoke'))).statusCode).toBe(403);
  for (const scope of ['billing:read', 'read-only']) {
    expect((await get(path, '', await rest.keyFor(rest.alice, scope))).statusCode).toBe(200);
  }
  expect((await get(path, 'nonsense=1')).statusCode).toBe(200);
});
