import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { beginDeviceLogin, decideDeviceLogin, findDeviceLogin } from './login-requests.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a login is decided once, however many look at it', async () => {
  const { userCode } = await beginDeviceLogin(database.pool, { host: 'laptop', address: '192.0.2.1' });
  const login = (await findDeviceLogin(database.pool, userCode))!;
  await decideDeviceLogin(database.pool, login, null);
  const again = decideDeviceLogin(database.pool, login, null);
  await expect(again).rejects.toMatchObject({ kind: 'conflict' });
  expect(await findDeviceLogin(database.pool, userCode)).toBeUndefined();
});

test('no more than 5,000 wait, of all networks together', async () => {
  await database.pool.query(
    `insert into login_requests (id, code_hash, user_code_hash, host, network, address, expires_at)
     select i, sha256(i::text::bytea), sha256(i::text::bytea), 'h', i, i, now() + interval '1 minute' from generate_series(1, 4999) i`,
  );
  const begin = () => beginDeviceLogin(database.pool, { host: 'laptop', address: '192.0.2.2' });
  await begin();
  await expect(begin()).rejects.toMatchObject({ kind: 'tooManyRequests' });
});
