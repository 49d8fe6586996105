import pg from 'pg';
import { newId } from '../../core/ids.ts';
import { counted } from '../../core/text/counted.ts';
import { UsageError } from '../../core/usage-error.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { connectionOptions } from '../../db/connection-options.ts';
import { loadDump, type Snapshot, withSnapshot } from '../../db/dump.ts';
import { readAppliedMigrations } from '../../db/migrate.ts';
import type { Db } from '../../db/pool.ts';
import { deleteMoveMark, findMoveMark, type MoveMark, saveMoveMark } from '../../domain/move-mark.ts';
import type { CommandOutput, Storage } from '../shared/cli-pieces.ts';
import { follow, grouped, progressReporter } from './backup.ts';
import { holdWithoutServers, nameOf, withDatabaseOf } from './installation.ts';

/**
 * Moves everything to another database: ids, keys, secrets, jobs, results, logs. No server may run on the source, and none
 * can start on it meanwhile. The target must be empty, or an older copy of the same installation that was moved away.
 *
 * Two databases cannot commit together, so the move has three steps: commit the copy with a mark that keeps servers off it;
 * mark the source as left; remove the copy's mark. Servers can never run on both. An interrupted move resumes when run again.
 */
export async function move(storage: Storage, options: { to: string }, output: CommandOutput): Promise<void> {
  const target: Storage = { ...storage, databaseUrl: options.to === 'embedded' ? null : options.to };
  if (options.to === 'embedded' && storage.databaseUrl === null) {
    throw new Error(
      'name the database to move from, with --database-url: --to embedded is the one in the data directory',
    );
  }
  if (options.to !== 'embedded' && !/^postgres(ql)?:\/\//.test(options.to)) {
    throw new UsageError('--to must be the URL of a PostgreSQL, postgresql://…, or embedded');
  }
  await withDatabaseOf(storage, (sourceUrl) =>
    withDatabaseOf(target, (targetUrl) => moveBetween({ storage, target, sourceUrl, targetUrl }, output), {
      mayCreate: true,
    }),
  );
}

interface Move {
  storage: Storage;
  target: Storage;
  sourceUrl: string;
  targetUrl: string;
}

async function moveBetween(move: Move, output: CommandOutput): Promise<void> {
  const { storage, target, sourceUrl, targetUrl } = move;
  const source = await connect(sourceUrl);
  const destination = await connect(targetUrl).catch(async (error) => {
    await source.end();
    throw error;
  });
  try {
    await refuseSameDatabase(source, destination);
    await holdWithoutServers(source, nameOf(storage));
    const mark: MoveMark = { id: newId(), state: 'arriving', to: nameOf(target), at: new Date().toISOString() };
    const left = await findMoveMark(source).catch(() => undefined); // no such table: the copy fails with a better message
    const arrived = await findArriving(destination);
    if (left?.state === 'arriving') throw new Error(`a move to ${nameOf(storage)} was interrupted: finish it first`);
    if (left && left.id !== arrived?.id)
      throw new Error(`${nameOf(storage)} was already moved to ${left.to} at ${left.at}`);
    if (!left) {
      await copy(move, mark, output);
      await saveMoveMark(source, { ...mark, state: 'left' });
    }
    await deleteMoveMark(destination);
    output.print(`everything is now in ${nameOf(target)}`);
    output.note(nextSteps(storage, target, await countRunning(destination)));
  } finally {
    await Promise.all([source.end(), destination.end()]);
  }
}

async function copy({ sourceUrl, targetUrl, target }: Move, mark: MoveMark, output: CommandOutput): Promise<void> {
  await withSnapshot(sourceUrl, async ({ db, migrations, records }: Snapshot) => {
    const installation = await findInstallation(db);
    const { followed, counts } = follow(records(), output.terminal.interrupted, progressReporter(output));
    await loadDump(targetUrl, {
      migrations,
      records: followed,
      allowReplacing: async (present) => {
        const isOldCopy = (await findMoveMark(present)) && (await findInstallation(present)) === installation;
        if (isOldCopy) return;
        throw new Error(`${nameOf(target)} is not empty, and a move replaces nothing: name an empty database`);
      },
      beforeCommit: (filled) => saveMoveMark(filled, mark),
    });
    output.terminal.progress('');
    output.note(`${counts.tables} tables, ${grouped(counts.rows)} rows copied.`);
  });
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(connectionOptions({ databaseUrl, applicationName: 'podyard move' }));
  client.on('error', () => {}); // the pending query rejects
  await client.connect();
  return client;
}

/** Throws if both connections reach one database, whatever their names: a lock of one is then visible to the other. */
async function refuseSameDatabase(source: Db, destination: Db): Promise<void> {
  const key = [Math.floor(Math.random() * 2 ** 31), ADVISORY_LOCKS.migration];
  await source.query('select pg_advisory_lock($1::int, $2::int)', key);
  const other = await destination.query<{ won: boolean }>('select pg_try_advisory_lock($1::int, $2::int) as won', key);
  if (!other.rows[0]!.won) throw new Error('that is the same database');
}

async function findArriving(db: Db): Promise<MoveMark | undefined> {
  if ((await readAppliedMigrations(db)).length === 0) return undefined;
  const mark = await findMoveMark(db);
  return mark?.state === 'arriving' ? mark : undefined;
}

async function findInstallation(db: Db): Promise<string | undefined> {
  const result = await db.query<{ id: string }>("select value ->> 'id' as id from settings where key = 'installation'");
  return result.rows[0]?.id;
}

/** Workloads that the stopped server may have left running. */
interface Running {
  runtime: string | null;
  workers: number;
  pods: number;
}

async function countRunning(db: Db): Promise<Running> {
  const result = await db.query<Running>(
    `select (select value ->> 'runtime' from settings where key = 'installation') as runtime,
       (select count(*)::int from workers where phase in ('STARTING', 'RUNNING', 'FROZEN')) as workers,
       (select count(*)::int from pods where gone_at is null and phase in ('STARTING', 'RUNNING')) as pods`,
  );
  return result.rows[0]!;
}

function nextSteps(storage: Storage, target: Storage, { runtime, workers, pods }: Running): string {
  const { databaseUrl, dataDir, masterKey } = target;
  const where = databaseUrl === null ? `--data-dir ${dataDir}` : `--data-dir ${dataDir} --database-url <the same URL>`;
  const left =
    workers + pods === 0
      ? []
      : [
          `${counted(workers, 'worker')} and ${counted(pods, 'pod')} may still run${runtime === null ? '' : ` (${runtime})`}: a server with this data directory adopts them.`,
          `To start a server elsewhere, stop them first: podyard stop-workers ${where}`,
        ];
  const key = masterKey.keys ? 'the same keys' : `the key in ${masterKey.file}`;
  return [
    `Start the server with: podyard serve ${where}${databaseUrl === null ? ', without DATABASE_URL' : ''}`,
    ...left,
    `Keep the data directory: it holds the master key and the files of volumes and pods. On another machine or a cluster, set PODYARD_MASTER_KEY to ${key}.`,
    `${nameOf(storage)} keeps a copy on which no server starts. Delete it when you no longer need it.`,
  ].join('\n');
}
