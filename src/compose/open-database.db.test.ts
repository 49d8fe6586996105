import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { readConfig } from '../config/config.ts';
import { silentLogger } from '../core/logger.ts';
import { createPool } from '../db/pool.ts';
import { openDatabase } from './open-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const open = (flags: Parameters<typeof readConfig>[0]) =>
  openDatabase(readConfig(flags, {}), silentLogger, async () => 'opened');

test('a command opens a database that a server has used', async () => {
  expect(await open({ databaseUrl: database.url })).toBe('opened');
});

test('a command makes no database in a directory without one, and says where it looked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-empty-'));
  const dataDir = join(folder, 'data');
  await expect(open({ dataDir })).rejects.toThrow(
    `there is no Podyard database in ${dataDir}: no server has run there`,
  );
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});

test('a command makes no tables in a database without ours', async () => {
  const name = `empty_${process.pid}`;
  await database.pool.query(`create database ${name}`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  try {
    await expect(open({ databaseUrl: url.href })).rejects.toThrow(
      /^there is no Podyard database in postgresql:\/\/\S*/,
    );
    const pool = createPool({ databaseUrl: url.href, applicationName: 'podyard', maxConnections: 1 });
    const { rows } = await pool.query("select from pg_tables where schemaname = 'public'");
    await pool.end();
    expect(rows).toHaveLength(0);
  } finally {
    await database.pool.query(`drop database ${name} with (force)`);
  }
});
