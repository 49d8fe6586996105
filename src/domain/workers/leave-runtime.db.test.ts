import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { newId } from '../../core/ids.ts';
import { ensureInstallation } from '../installation.ts';
import { leaveRuntime } from './leave-runtime.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('u', 'anna')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql('delete from workers');
  await sql('delete from pods');
  await sql('delete from pod_runs');
  await sql("delete from settings where key = 'installation'");
  await ensureInstallation(database.pool);
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const leave = (runtime: string) => leaveRuntime(database.pool, runtime);

async function worker(phase: string): Promise<string> {
  const id = newId();
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, token_hash)
     values ($1, 'e', 'u', 1, 'test', $2, '{}', 'secret')`,
    id,
    phase,
  );
  return id;
}

async function pod(phase: string): Promise<string> {
  const id = newId();
  await sql(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, data_center_id,
       has_global_network, phase, phase_revision, failures, address)
     values ($1, 'u', 'p', 'i', '', 5, '{}', '{}', '{"id": "cpu3c", "vcpuCount": 2}', 'SECURE', '{}', 'LOCAL', false, $2, 1, 2, '10.0.0.1')`,
    id,
    phase,
  );
  await sql(
    `insert into pod_runs (pod_id, revision, user_id, tariff, gpu_count, vcpus, disk_gb) select $1, 1, 'u', 'SECURE', 0, 2, 5
     where $2 = 'RUNNING'`,
    id,
    phase,
  );
  return id;
}

test('the first runtime, and the same one again, change nothing', async () => {
  const id = await worker('RUNNING');
  expect(await leave('docker')).toBeNull();
  expect(await leave('docker')).toBeNull();
  expect(await sql('select phase from workers where id = $1', id)).toEqual([{ phase: 'RUNNING' }]);
});

test('another runtime ends the former one’s workers, not as failed, and leaves those that wait for a place', async () => {
  await leave('docker');
  const left = await Promise.all(['STARTING', 'RUNNING', 'FROZEN'].map(worker));
  const others = [await worker('PENDING'), await worker('EXITED')];
  const result = await leave('kubernetes');
  expect(result).toMatchObject({ runtime: 'docker', podIds: [] });
  expect(result!.workerIds.toSorted()).toEqual(left.toSorted());
  const rows = await sql('select id, phase, is_lost, phase_reason, token_hash is null as is_refused from workers');
  for (const id of left) {
    expect(rows.find((row) => row.id === id)).toMatchObject({
      phase: 'EXITED',
      is_lost: false,
      is_refused: true,
      phase_reason: 'it ran with the docker runtime, and the server uses kubernetes now',
    });
  }
  expect(others.map((id) => rows.find((row) => row.id === id).phase)).toEqual(['PENDING', 'EXITED']);
  expect(await leave('kubernetes')).toBeNull();
});

test('another runtime restarts running pods at once, free of charge until then; stopped ones stay stopped', async () => {
  await leave('kubernetes');
  const [running, stopped, failed] = [await pod('RUNNING'), await pod('EXITED'), await pod('ERROR')];
  expect(await leave('process')).toEqual({ runtime: 'kubernetes', workerIds: [], podIds: [running] });
  const phases = new Map((await sql('select * from pods')).map((row) => [row.id, row]));
  expect(phases.get(running)).toMatchObject({ phase: 'STARTING', failures: 0, not_before: null, address: null });
  expect([phases.get(stopped).phase, phases.get(failed).phase]).toEqual(['EXITED', 'ERROR']);
  expect(await sql('select ended_at is null as is_open from pod_runs')).toEqual([{ is_open: false }]);
});

test('another runtime resolves images anew that only the former one has, and keeps the digests of registries', async () => {
  await insertEndpoint(database.pool, { id: 'e', user_id: 'u' });
  const changes = [
    ['docker', 'kubernetes', ['i@sha256:1']],
    ['kubernetes', 'docker', ['i@sha256:1']],
    ['docker', 'process', []],
    ['process', 'docker', []],
    ['simulated', 'kubernetes', []],
  ] as const;
  for (const [before, now, kept] of changes) {
    await sql("delete from settings where key = 'installation'");
    await ensureInstallation(database.pool);
    await leave(before);
    await sql('delete from releases');
    await sql(
      `insert into releases (id, endpoint_id, version, spec, diff, image_digest, image_reference, image_resolved_at)
       values ('1', 'e', 1, '{}', '[]', 'sha256:1', 'i@sha256:1', now()), ('2', 'e', 2, '{}', '[]', 'sha256:2', 'sha256:2', now())`,
    );
    await leave(now);
    const rows = await sql('select image_reference as reference from releases where image_digest is not null');
    expect({ before, now, kept: rows.map(({ reference }) => reference) }).toEqual({ before, now, kept });
  }
});
