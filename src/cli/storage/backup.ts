import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { ensureMasterKeys, readMasterKeys, replaceMasterKeys } from '../../core/master-key.ts';
import { masterKeyId } from '../../core/secret-box.ts';
import { type DumpRecord, loadDump, withSnapshot } from '../../db/dump.ts';
import { type BackupHeader, readBackup, writeBackup } from '../../db/dump-file.ts';
import type { Db } from '../../db/pool.ts';
import { refuseMoved } from '../../domain/move-mark.ts';
import { countSealedValues } from '../../domain/secrets/sealed-values.ts';
import type { CommandOutput, Storage } from '../shared/cli-pieces.ts';
import { refuseStream } from '../shared/read-input-file.ts';
import { nameOf, withDatabaseOf } from './installation.ts';

/**
 * Writes a consistent snapshot of the database to a file, while servers run. The master key is included only on request;
 * the output says what to keep besides the file. Files of volumes and pods are not included.
 */
export async function backUp(
  storage: Storage,
  options: { file: string; withMasterKey: boolean; version: string },
  output: CommandOutput,
): Promise<void> {
  refuseStream(options.file); // it gets its name once it is complete, and a pipe would end like a whole one
  const file = resolve(options.file);
  const { interrupted: signal } = output.terminal;
  await withDatabaseOf(storage, (databaseUrl) =>
    withSnapshot(databaseUrl, async ({ db, migrations, records }) => {
      await refuseMoved(db);
      const sealed = await countSealedValues(db);
      const header = {
        podyard: options.version,
        createdAt: new Date().toISOString(),
        migrations,
        keyIds: [...sealed.keys()].filter((keyId) => keyId !== null),
        holdsMasterKey: options.withMasterKey,
      };
      const masterKeys = options.withMasterKey ? keysAtHand(storage).map((key) => key.toString('base64')) : [];
      if (options.withMasterKey) refuseMissingKeys(header, masterKeys, storage);
      const { followed, counts } = follow(records(), signal, progressReporter(output));
      const size = await writeBackup(file, { header, masterKeys, records: followed }, signal);
      output.terminal.progress('');
      output.print(
        `${file}: ${counts.tables} tables, ${grouped(counts.rows)} rows, ${sizeOf(size)}; schema ${migrations.at(-1)}`,
      );
      output.note(adviceOn(header, storage));
    }),
  );
}

/**
 * Restores a backup into an empty database, atomically. An older schema is migrated, a newer one refused. An included
 * master key goes into the data directory.
 */
export async function restore(storage: Storage, options: { file: string }, output: CommandOutput): Promise<void> {
  refuseStream(options.file);
  const file = resolve(options.file);
  const { interrupted: signal } = output.terminal;
  await readBackup(file, signal, async ({ header, masterKeys, records }) => {
    if (masterKeys.length > 0) refuseOtherKeys(header, masterKeys, storage);
    const { followed, counts } = follow(records, signal, progressReporter(output));
    const backupId = createHash('sha256').update(JSON.stringify(header)).digest('hex');
    const load = (databaseUrl: string) =>
      loadDump(databaseUrl, {
        migrations: header.migrations,
        records: followed,
        allowReplacing: async (db) => {
          if (await isRestoredFrom(db, backupId)) throw new AlreadyRestored(header);
          throw new Error(
            `${nameOf(storage)} is not empty, and a restore replaces nothing: name an empty one with --data-dir or --database-url`,
          );
        },
        beforeCommit: async (db) => {
          await markRestored(db, backupId);
          // The key first: an unused key does no harm, a database without its key does.
          if (masterKeys.length > 0 && keysAtHand(storage).length === 0) await placeKeys(storage, masterKeys);
        },
      });
    await withDatabaseOf(storage, load, { mayCreate: true });
    output.terminal.progress('');
    output.print(`${nameOf(storage)}: ${counts.tables} tables, ${grouped(counts.rows)} rows of ${header.createdAt}`);
    output.note(nextSteps(header, storage));
  }).catch((error) => {
    if (!(error instanceof AlreadyRestored)) throw error;
    output.print(`${nameOf(storage)}: restored from this backup by an earlier run`);
    output.note(nextSteps(error.header, storage));
  });
}

const RESTORED = 'restored from backup ';

/** An earlier run restored this backup, and was ended before it could say so. */
class AlreadyRestored extends Error {
  readonly header: BackupHeader;

  constructor(header: BackupHeader) {
    super('restored from this backup by an earlier run');
    this.header = header;
  }
}

/**
 * Remembers which backup the database was restored from, until a server has led there. A comment, since it belongs to this
 * database: a row would be part of the next backup.
 */
async function markRestored(db: Db, backupId: string): Promise<void> {
  await db.query(`comment on table leadership is '${RESTORED}${backupId}'`);
}

/** True if the database was restored from this backup, and no server has led there since. */
async function isRestoredFrom(db: Db, backupId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    "select from leadership where epoch = 0 and obj_description('leadership'::regclass, 'pg_class') = $1",
    [`${RESTORED}${backupId}`],
  );
  return rowCount === 1;
}

/** Passes records on, counts them and reports progress. Throws on Ctrl-C. */
export function follow(
  records: AsyncIterable<DumpRecord>,
  signal: AbortSignal,
  onProgress: DumpProgress,
): { followed: AsyncGenerator<DumpRecord, void, void>; counts: { tables: number; rows: number } } {
  const counts = { tables: 0, rows: 0 };
  async function* run(): AsyncGenerator<DumpRecord, void, void> {
    let table = '';
    let bytes = 0;
    for await (const record of records) {
      signal.throwIfAborted();
      if (record.kind === 'table') table = record.table.name;
      if (record.kind === 'rows') bytes += record.bytes.length;
      if (record.kind === 'tableEnd') {
        counts.tables++;
        counts.rows += record.rows;
      }
      onProgress({ table, bytes, rows: record.kind === 'tableEnd' ? record.rows : null });
      yield record;
    }
  }
  return { followed: run(), counts };
}

type DumpProgress = (progress: { table: string; bytes: number; rows: number | null }) => void;

/** Redraws one line on a terminal; elsewhere, writes one line per table that is not empty. */
export function progressReporter({ terminal, note }: CommandOutput): DumpProgress {
  return ({ table, bytes, rows }) => {
    if (terminal.isInteractive) terminal.progress(`… ${table} (${sizeOf(bytes)})`);
    else if (rows) note(`… ${table}: ${grouped(rows)} rows`);
  };
}

export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

function keysAtHand({ masterKey: { keys, file } }: Storage): Buffer[] {
  return (keys ?? readMasterKeys(file) ?? []).map((key) => Buffer.from(key));
}

function refuseMissingKeys({ keyIds }: Pick<BackupHeader, 'keyIds'>, masterKeys: readonly string[], storage: Storage) {
  const ids = masterKeys.map((key) => masterKeyId(Buffer.from(key, 'base64')));
  const missing = keyIds.filter((keyId) => !ids.includes(keyId));
  if (ids.length > 0 && missing.length === 0) return;
  throw new Error(
    `--with-master-key needs the master key${missing.length > 0 ? `s ${missing.join(', ')}` : ''}: ` +
      `it is neither in ${storage.masterKey.file} nor in PODYARD_MASTER_KEY`,
  );
}

/** Throws if another master key is present: it would be overwritten, or win over the one that is needed. */
function refuseOtherKeys({ keyIds }: BackupHeader, masterKeys: readonly string[], storage: Storage): void {
  const present = keysAtHand(storage).map(masterKeyId);
  if (present.length === 0 || keyIds.every((keyId) => present.includes(keyId))) return;
  const inside = masterKeys.map((key) => masterKeyId(Buffer.from(key, 'base64')));
  throw new Error(
    `the backup holds the master key ${inside.join(', ')}, but here is ${present.join(', ')} ` +
      `(${storage.masterKey.keys ? 'PODYARD_MASTER_KEY' : storage.masterKey.file}): remove that key first`,
  );
}

async function placeKeys({ masterKey: { file } }: Storage, masterKeys: readonly string[]): Promise<void> {
  await ensureMasterKeys(file); // creates the directory; fails if the path holds anything else
  await replaceMasterKeys(
    file,
    masterKeys.map((key) => Buffer.from(key, 'base64')),
  );
}

function adviceOn(
  { keyIds, holdsMasterKey }: Pick<BackupHeader, 'keyIds' | 'holdsMasterKey'>,
  storage: Storage,
): string {
  if (holdsMasterKey) {
    return 'The master key is inside: anyone with this file can read its secrets. Store it as safely.';
  }
  const where = storage.masterKey.keys ? 'PODYARD_MASTER_KEY' : storage.masterKey.file;
  if (keyIds.length === 0) return 'The master key is not inside; nothing in the file needs it.';
  return `The master key is not inside. Keep ${where} too, apart from this file: without it, the secrets cannot be decrypted (key ${keyIds.join(', ')}).`;
}

function nextSteps({ keyIds }: BackupHeader, storage: Storage): string {
  const present = keysAtHand(storage).map(masterKeyId);
  const missing = keyIds.filter((keyId) => !present.includes(keyId));
  const key =
    missing.length === 0
      ? []
      : [`Copy the master key (${missing.join(', ')}) to ${storage.masterKey.file}, or set PODYARD_MASTER_KEY.`];
  return [
    ...key,
    'Files of network volumes and pods are not in a backup: copy the directory storage of the old data directory.',
    'Then stop the old server before you start one here: two would run the same jobs.',
  ].join('\n');
}

function sizeOf(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
