import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findEmbeddedBinaries, linkLibraries } from '../src/db/embedded-binaries.ts';
import { spawnPostgresProgram } from '../src/db/embedded-files.ts';

const run = promisify(execFile);
/** Names the data to copy. Inherited by the processes that run tests; not set without an embedded server of the run. */
const VARIABLE = 'PODYARD_TEST_FRESH_DATA';

/**
 * Copies the data of a stopped test server, and turns its template into what a new server finds after its first migration:
 * making new data and migrating them takes more of a processor than all else that a server does to start.
 */
export async function makeFreshData(dataDir: string, template: string): Promise<void> {
  const fresh = join(dataDir, 'fresh');
  await copyData(join(dataDir, 'postgres'), fresh);
  const { root, postgres } = await findEmbeddedBinaries();
  const libraries = await linkLibraries(root, join(dataDir, 'lib'));
  const args = ['--single', '-D', fresh, 'template1'];
  const child = await spawnPostgresProgram({ libraries }, postgres, args, ['pipe', 'pipe', 'pipe']);
  child.stdin!.end(`drop database podyard\nalter database ${template} rename to podyard\n`);
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`fresh data could not be made: status ${status}`);
  await rm(join(fresh, 'pg_stat/pgstat.stat'), { force: true });
  process.env[VARIABLE] = fresh;
}

/** Gives a server's data directory a migrated database, if the run has one to copy. */
export async function placeFreshData(dataDir: string): Promise<void> {
  const fresh = process.env[VARIABLE];
  if (fresh) await copyData(fresh, join(dataDir, 'postgres'));
}

/** Node's own copy takes several times as long. */
async function copyData(from: string, to: string): Promise<void> {
  await run('cp', ['-R', '-p', from, to]);
}
