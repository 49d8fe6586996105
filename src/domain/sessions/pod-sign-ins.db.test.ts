import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { type KeyId, newId, type PodId, type SessionId } from '../../core/ids.ts';
import { hashSecret } from '../access/secret-hash.ts';
import { createUser } from '../access/users.ts';
import { change } from '../change.ts';
import { openPod, type PodPort, podCookieSecret, usePodTicket } from './pod-sign-ins.ts';
import { findSessionByPodSecretHash, insertSession } from './session-store.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a ticket and its cookie are for one port of one pod', async () => {
  const { pool } = database;
  const { id: userId } = await createUser(pool, { name: 'ann', email: null });
  const sessionId = newId<SessionId>();
  await insertSession(pool, {
    ...{ id: sessionId, userId, secretHash: hashSecret('secret'), madeBy: 'PASSWORD', userAgent: null, address: null },
    lifetime: { idleMs: 3_600_000, maxMs: 3_600_000 },
  });
  const actor = { userId, keyId: '' as KeyId, sessionId, scopes: [{ kind: 'all' } as const] };
  const at: PodPort = { id: newId<PodId>(), port: 8000 };
  const others: PodPort[] = [
    { ...at, port: 8001 },
    { ...at, id: newId<PodId>() },
  ];
  const ticket = await change({ pool, bus: { publish: () => {} } }, actor, openPod, { ...at, state: 's' });
  for (const other of others)
    expect(await usePodTicket(pool, ticket, { ...other, state: 's', network: null })).toBe(undefined);
  const cookie = (await usePodTicket(pool, ticket, { ...at, state: 's', network: null }))!;
  const find = (port: PodPort) => findSessionByPodSecretHash(pool, hashSecret(podCookieSecret(cookie, port, null)));
  for (const other of others) expect(await find(other)).toBe(undefined);
  expect(await find(at)).toMatchObject({ id: sessionId });
});
