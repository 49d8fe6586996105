import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { NewEntry } from './audit-entry.ts';
import { RefusalLog } from './refusal-log.ts';

let database: TestDatabase;
let log: RefusalLog;
let began = 0;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  log = new RefusalLog(database.pool);
  began = (await database.pool.query('select coalesce(max(seq), 0) as seq from audit_entries')).rows[0].seq;
});

const refusal = (more: Partial<NewEntry> = {}): NewEntry => ({
  ...{
    operation: 'pod.stop',
    recordId: 'p',
    recordName: null,
    ownerId: 'u',
    actorKind: 'key',
    actorId: 'u',
    keyId: 'k',
  },
  ...{ sessionId: null, interface: 'rest', address: '192.0.2.1', requestId: 'r', outcome: 'refused', repeats: 1 },
  ...{ reason: 'notFound: Pod not found', changes: null },
  ...more,
});
const written = async () =>
  (
    await database.pool.query(
      'select operation, reason, repeats, actor_id as who from audit_entries where seq > $1 order by seq',
      [began],
    )
  ).rows;

test('the first refusal is written at once, those alike as one entry with their number', async () => {
  for (let i = 0; i < 1_000; i++) await log.add(refusal({ recordId: `p${i}` }));
  expect(await written()).toMatchObject([{ repeats: 1 }]);
  await log.flush();
  await log.flush();
  expect(await written()).toMatchObject([{ repeats: 1 }, { repeats: 999 }]);
  await log.add(refusal());
  expect(await written()).toHaveLength(3);
});

test('others are kept apart: another reason, operation, address or caller', async () => {
  for (const more of [{}, { reason: 'x' }, { operation: 'pod.start' }, { address: '192.0.2.2' }, { actorId: 'v' }])
    await log.add(refusal(more));
  expect(await written()).toHaveLength(5);
});

test('one caller with ever new refusals fills nothing, and keeps no other caller out', async () => {
  for (let i = 0; i < 300; i++) await log.add(refusal({ reason: `reason ${i}` }));
  await log.add(refusal({ actorId: 'other' }));
  await log.flush();
  const entries = await written();
  expect(entries).toHaveLength(22);
  expect(entries.at(-2)).toMatchObject({ who: 'other' });
  expect(entries.at(-1)).toMatchObject({ operation: 'audit.refusals', repeats: 280, who: null });
});

test('a thousand callers fill nothing either', async () => {
  for (let i = 0; i < 1_000; i++) await log.add(refusal({ actorId: `u${i}` }));
  await log.flush();
  expect(await written()).toHaveLength(501);
});
