import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { connectionOptions } from './connection-options.ts';
import { createPool } from './pool.ts';

test("every session has a timeout for forgotten transactions, its own settings and those of the URL's options", async () => {
  const database = await createTestDatabase({ isEmpty: true });
  const databaseUrl = `${database.url}${database.url.includes('?') ? '&' : '?'}options=-c%20work_mem%3D7MB`;
  const pool = createPool({
    databaseUrl,
    applicationName: 'podyard test',
    maxConnections: 1,
    settings: { jit: 'off', 'podyard.epoch': '7' },
  });
  const { rows } = await pool.query(
    `select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('work_mem') as memory,
            current_setting('jit') as jit, current_setting('podyard.epoch') as epoch`,
  );
  await pool.end();
  await database.drop();
  expect(rows).toEqual([{ idle: '1min', memory: '7MB', jit: 'off', epoch: '7' }]);
});

test('a connection over TCP is probed from both ends', () => {
  const options = connectionOptions({ databaseUrl: 'postgresql://u:p@h/d?sslmode=require', applicationName: 'test' });
  expect(options).toMatchObject({
    connectionString: 'postgresql://u:p@h/d?sslmode=require',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  });
  for (const setting of ['keepalives_idle=5', 'keepalives_interval=5', 'keepalives_count=3', 'user_timeout=20s']) {
    expect(options.options).toContain(`-c tcp_${setting}`);
  }
});
