/**
 * Gives everything that a user owns to another one, in one transaction: a crash leaves all of it with one of the two. Ids, URLs
 * and what runs stay as they are. Keys are not transferred, except those of running workers and pods, which open only these.
 * Sealed values are bound to their record, not to its user, and so stay readable.
 */
import { Failure } from '../../core/errors.ts';
import type { ClusterId, EndpointId, PodId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { User } from '../access/users.ts';
import { getUserLimits } from '../quotas/user-limits.ts';
import { MAX_SECRET_NAME_LENGTH } from '../secrets/secret.ts';
import { REFERENCE_PREFIX, replaceReferences } from '../secrets/secret-references.ts';
import { findExceeded, type Renaming, renameTaken, secretNameFrom, templateNameFrom } from './plan-transfer.ts';

export interface TransferPlan {
  renamed: Renaming[];
  /** Limits of the new owner that are too low, as sentences. */
  exceeded: string[];
}

/** Records that were transferred, to be published after the commit. */
export interface TransferredRecords {
  endpointIds: EndpointId[];
  podIds: PodId[];
  clusterIds: ClusterId[];
  workerIds: WorkerId[];
}

/** Throws `notFound` if one of the two was deleted meanwhile. */
export async function planTransfer(db: Db, from: User, newOwner: User): Promise<TransferPlan> {
  const { usage } = await getUserLimits(db, from.id);
  const others = await getUserLimits(db, newOwner.id);
  const named = async (table: 'templates' | 'secrets', id: UserId) =>
    (await db.query<{ id: string; name: string }>(`select id, name from ${table} where user_id = $1 order by id`, [id]))
      .rows;
  const rename = async (kind: Renaming['kind'], join: (name: string, suffix: string) => string) => {
    const table = kind === 'template' ? 'templates' : 'secrets';
    const taken = (await named(table, newOwner.id)).map(({ name }) => name);
    return renameTaken(kind, await named(table, from.id), taken, join);
  };
  return {
    renamed: [
      ...(await rename('template', templateNameFrom(from.name))),
      ...(await rename('secret', secretNameFrom(from.name, MAX_SECRET_NAME_LENGTH))),
    ],
    exceeded: findExceeded(others, usage),
  };
}

/** Throws `conflict` if a limit of the new owner is too low. The caller holds the locks of both users' rows. */
export async function transferRecords(db: Db, from: User, newOwner: User): Promise<TransferredRecords> {
  const { renamed, exceeded } = await planTransfer(db, from, newOwner);
  if (exceeded.length > 0) {
    throw new Failure(
      'conflict',
      `'${newOwner.name}' cannot take this over: ${exceeded.join('; ')}: raise the limit first`,
    );
  }
  await rewriteReferences(db, from.id, renamed);
  for (const { kind, id, to } of renamed) {
    await db.query(`update ${kind === 'template' ? 'templates' : 'secrets'} set name = $2 where id = $1`, [id, to]);
  }
  return move(db, from.id, newOwner.id);
}

async function move(db: Db, from: UserId, to: UserId): Promise<TransferredRecords> {
  const update = async <Id>(table: string, where = 'true') => {
    const text = `update ${table} set user_id = $2 where user_id = $1 and ${where} returning id`;
    return (await db.query<{ id: Id }>(text, [from, to])).rows.map(({ id }) => id);
  };
  const endpointIds = await update<EndpointId>('endpoints');
  // In the order of lock-order.ts. Workers of endpoints that are deleted already stay: they end.
  const workers = await db.query<{ id: WorkerId }>(
    `update workers w set user_id = $2 from (
       select id from workers where endpoint_id = any($1::text[]) order by id for no key update) as own
     where w.id = own.id returning w.id`,
    [endpointIds, to],
  );
  const clusterIds = await update<ClusterId>('clusters', "wanted <> 'DELETE'");
  const podIds = await update<PodId>('pods', "wanted <> 'TERMINATE'");
  await db.query('update pod_runs set user_id = $2 where pod_id = any($1::text[]) and ended_at is null', [podIds, to]);
  for (const table of [
    'network_volumes',
    'registries',
    'registry_delegations',
    'templates',
    'secrets',
    'batches',
    'builds',
  ]) {
    await update(table);
  }
  await db.query('update budgets set user_id = $2 where endpoint_id = any($1::text[])', [endpointIds, to]);
  await update('api_keys', 'workload is not null');
  return { endpointIds, podIds, clusterIds, workerIds: workers.rows.map(({ id }) => id) };
}

/** Where a user's environment variables are stored: in a column, or in the `env` of a JSON column. */
const ENVS = [
  { table: 'endpoints', where: 'user_id = $1' },
  { table: 'templates', where: 'user_id = $1' },
  { table: 'pods', where: "user_id = $1 and wanted <> 'TERMINATE'" },
  { table: 'releases', where: 'endpoint_id in (select id from endpoints where user_id = $1)', inSpec: true },
  {
    table: 'workers',
    where: "endpoint_id in (select id from endpoints where user_id = $1) and phase <> 'EXITED'",
    inSpec: true,
  },
] as const;

/** Makes everything that references a renamed secret reference its new name. */
async function rewriteReferences(db: Db, userId: UserId, renamed: readonly Renaming[]): Promise<void> {
  const names = new Map(renamed.flatMap(({ kind, from, to }) => (kind === 'secret' ? [[from, to] as const] : [])));
  if (names.size === 0) return;
  for (const source of ENVS) {
    const env = 'inSpec' in source ? "spec -> 'env'" : 'env';
    const { rows } = await db.query<{ id: string; env: Record<string, string> }>(
      `select id, ${env} as env from ${source.table} where ${source.where} and strpos((${env})::text, $2) > 0
       order by id for no key update`,
      [userId, REFERENCE_PREFIX],
    );
    const set = 'inSpec' in source ? "spec = jsonb_set(spec, '{env}', $2)" : 'env = $2';
    for (const row of rows) {
      const after = replaceReferences(row.env, (name) => `{{ ${REFERENCE_PREFIX}${names.get(name) ?? name} }}`);
      await db.query(`update ${source.table} set ${set} where id = $1`, [row.id, JSON.stringify(after)]);
    }
  }
}
