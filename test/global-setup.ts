import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';
import { silentLogger } from '../src/core/logger.ts';
import { startEmbeddedServer } from '../src/db/embedded-server.ts';
import { findPostmaster, isAlive } from '../src/db/postmaster.ts';
import { makeFreshData } from './fresh-data.ts';
import { makeTemplate, removeLeftovers, type TestServer } from './template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    testServer: TestServer;
  }
}

const PREFIX = 'podyard-test-';
/** A file system in memory, where Linux has one. */
const IN_MEMORY = '/dev/shm';
/** Several times what the databases and the log of a run take. */
const MEMORY_BYTES = 6 * 2 ** 30;

/**
 * Provides one PostgreSQL server for the whole run, with a migrated database to clone: a throwaway server, or
 * PODYARD_TEST_DATABASE_URL. Returns the teardown. The next run removes what a crashed run left behind.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await reapCrashedRuns();
  const external = process.env.PODYARD_TEST_DATABASE_URL;
  if (external) {
    await removeLeftovers(external);
    project.provide('testServer', { url: external, template: await makeTemplate(external) });
    return async () => {};
  }
  const dataDir = await mkdtemp(join((await hasMemory()) ? IN_MEMORY : tmpdir(), `${PREFIX}${process.pid}-`));
  const start = () => startEmbeddedServer({ dataDir, logger: silentLogger, isThrowaway: true });
  const first = await start();
  const template = await makeTemplate(first.databaseUrl);
  await first.stop();
  await makeFreshData(dataDir, template);
  const server = await start();
  project.provide('testServer', { url: server.databaseUrl, template });
  return async () => {
    await server.stop();
    await reap(dataDir);
  };
}

/** Each test file copies a database, some 300 files: without a disk that takes a tenth of the processor time. */
async function hasMemory(): Promise<boolean> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, freemem()) >= MEMORY_BYTES;
}

async function reapCrashedRuns(): Promise<void> {
  const inMemory = await readdir(IN_MEMORY).catch(() => []);
  const found = [
    ...(await readdir(tmpdir())).map((name) => [tmpdir(), name] as const),
    ...inMemory.map((name) => [IN_MEMORY, name] as const),
  ];
  for (const [parent, name] of found) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const directory = join(parent, name);
    const owner = (await stat(directory).catch(() => undefined))?.uid;
    if (owner === process.getuid?.()) await reap(directory);
  }
}

/** Stops the server of a directory, even with open connections, and removes the directory. */
async function reap(dataDir: string): Promise<void> {
  for (;;) {
    const found = await findPostmaster(join(dataDir, 'postgres'));
    if (found.state !== 'running') break;
    process.kill(found.pid, 'SIGINT');
    await sleep(50);
  }
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
}
