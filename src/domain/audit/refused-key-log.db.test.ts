import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { systemClock } from '../../core/clock.ts';
import type { UserId } from '../../core/ids.ts';
import { createApiKey } from '../access/create-api-key.ts';
import { KeyRing } from '../access/key-ring.ts';
import { change } from '../change.ts';
import { RefusedKeyLog } from './refused-key-log.ts';

let database: TestDatabase;
let log: RefusedKeyLog;
let ring: KeyRing;
const bus = { publish: () => {}, subscribe: () => () => {} };
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query(`insert into users (id, name) values ('ann', 'ann')`);
});
afterAll(() => database.drop());
beforeEach(() => {
  log = new RefusedKeyLog(database.pool);
  const onRefused = log.add.bind(log);
  ring = new KeyRing({ pool: database.pool, bus, clock: systemClock, onRefused });
});

const entries = async (address: string) =>
  (
    await database.pool.query(
      `select operation, actor_kind as kind, owner_id as owner, key_id as key, outcome, reason, repeats
       from audit_entries where address = $1 order by seq`,
      [address],
    )
  ).rows;
const from = (remoteAddress: string) => ({ remoteAddress, forwardedFor: undefined });

test('keys that nobody has are one entry for each address, with their number, and without the keys', async () => {
  for (let i = 0; i < 15; i++) expect(await ring.authenticate(`pyd_guess${i}`, from('192.0.2.1'))).toBeUndefined();
  await expect.poll(() => entries('192.0.2.1')).toHaveLength(1);
  await log.flush();
  const found = await entries('192.0.2.1');
  expect(found).toMatchObject([
    { operation: 'access.refuse', kind: 'unknown', owner: null, outcome: 'refused', repeats: 1 },
    { repeats: 14 },
  ]);
  expect(JSON.stringify(found)).not.toContain('guess');
});

test('a key from a wrong address is in the log of its owner', async () => {
  const input = { userId: 'ann' as UserId, name: 'k', scopes: [{ kind: 'all' as const }], expiresAt: null };
  const made = await change({ pool: database.pool, bus, clock: systemClock }, null, createApiKey, {
    ...input,
    allowedNetworks: ['10.0.0.0/8'],
  });
  await expect(ring.authenticate(made.secret, from('192.0.2.2'))).rejects.toMatchObject({ kind: 'forbidden' });
  expect(await ring.authenticate(made.secret, from('10.1.1.1'))).toBeDefined();
  await expect.poll(() => entries('192.0.2.2')).toMatchObject([{ kind: 'key', owner: 'ann', key: made.key.id }]);
  expect(await entries('10.1.1.1')).toEqual([]);
});

test('strangers from a thousand addresses are fifty entries and one for all others', async () => {
  const before = (await database.pool.query('select max(seq) as seq from audit_entries')).rows[0].seq;
  for (let i = 0; i < 1_000; i++) log.add({ actor: null, address: `198.51.${i >> 8}.${i & 255}`, reason: 'x' });
  const count = async () =>
    (await database.pool.query('select count(*)::int as n from audit_entries where seq > $1', [before])).rows[0].n;
  await expect.poll(count).toBe(50);
  await log.flush();
  expect(await count()).toBe(51);
});
