/** migrations/0029-compute.sql moves the rules for GPUs that GraphQL clients had set into `gpu` of endpoints and releases. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { applyMigrations, listMigrations, migrate } from '../../db/migrate.ts';
import { transaction } from '../../db/pool.ts';
import { getEndpointRow } from './endpoint-store.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

const query = (text: string, values: unknown[] = []) => database.pool.query(text, values);

test('what was set stays, in the endpoint, its releases and its workers; what is no version is dropped', async () => {
  const names = await listMigrations();
  const before = names.filter((name) => name < '0029');
  await transaction(database.pool, (db) => applyMigrations(db, before));
  await query("insert into users (id, name) values ('ann', 'ann')");
  const gpu = { pools: ['AMPERE_24'], count: 2 };
  const settings = {
    picky: { excludedGpuTypeIds: ['NVIDIA L4'], allowedCudaVersions: '12.4, 12.8,new', minCudaVersion: '12.4' },
    plain: {},
    odd: { minCudaVersion: 'newest' },
  };
  for (const [id, clientSettings] of Object.entries(settings)) {
    const columns = { gpu_pools: ['AMPERE_24'], gpu_count: 2, client_settings: JSON.stringify(clientSettings) };
    await insertEndpoint(database.pool, { id, user_id: 'ann', ...columns });
    const spec = JSON.stringify({ gpu, cpu: null });
    await query("insert into releases (id, endpoint_id, version, spec, diff) values ('r' || $1, $1, 1, $2, '[]')", [
      id,
      spec,
    ]);
    await query(
      "insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ('w' || $1, $1, 'ann', 1, '', $2)",
      [id, spec],
    );
  }
  expect((await migrate(database.pool)).applied).toEqual(names.filter((name) => !before.includes(name)));
  const rule = { excludedTypes: ['NVIDIA L4'], allowedCudaVersions: ['12.4', '12.8'], minCudaVersion: '12.4' };
  const gpuOf = async (id: string) => (await getEndpointRow(database.pool, 'ann' as UserId, id as EndpointId)).gpu;
  expect([await gpuOf('picky'), await gpuOf('plain'), await gpuOf('odd')]).toEqual([{ ...gpu, ...rule }, gpu, gpu]);
  for (const table of ['releases', 'workers']) {
    const { rows } = await query(`select spec -> 'gpu' as gpu from ${table} order by endpoint_id`);
    expect(rows.map((row) => row.gpu)).toEqual([gpu, { ...gpu, ...rule }, gpu]);
  }
});
