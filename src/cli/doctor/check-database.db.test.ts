import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { checkDatabase } from './doctor.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('an external database is named with its version', async () => {
  expect(await checkDatabase({ databaseUrl: database.url, dataDir: '/nowhere' })).toEqual({
    what: 'database',
    verdict: 'ok',
    found: expect.stringMatching(/^PostgreSQL \d+[\w. ()~+-]* answers$/),
  });
});
