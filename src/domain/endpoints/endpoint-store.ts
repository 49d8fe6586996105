import { BoundedMap } from '../../core/bounded-map.ts';
import { notFound } from '../../core/errors.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { textArray } from '../../db/arrays.ts';
import {
  assignments,
  type ColumnMap,
  column,
  fixedColumn,
  insertedRow,
  insertValues,
  jsonColumn,
  selectList,
  updatedRow,
} from '../../db/columns.ts';
import { type Db, foundRow, isValueFault, type RowLock } from '../../db/pool.ts';
import type { WritingStatement } from '../audit/insert-entry.ts';
import { CONTAINER_COLUMNS } from '../containers/container-columns.ts';
import type { Endpoint } from './endpoint.ts';
import { gpuRuleOf } from './gpu-rule.ts';

/** A single CPU flavor was written by a version that knew no list. */
export const ENDPOINT_COLUMNS = {
  id: fixedColumn('id'),
  userId: fixedColumn('user_id'),
  name: column('name'),
  type: fixedColumn('type'),
  ...CONTAINER_COLUMNS,
  gpu: {
    read: `case when gpu_pools is not null then jsonb_build_object('pools', gpu_pools, 'count', gpu_count) || gpu_rule end`,
    write: (gpu) => ({
      gpu_pools: gpu?.pools ?? null,
      gpu_count: gpu?.count ?? null,
      gpu_rule: JSON.stringify(gpuRuleOf(gpu)),
    }),
  },
  cpu: { ...jsonColumn('cpu'), read: `case jsonb_typeof(cpu) when 'object' then jsonb_build_array(cpu) else cpu end` },
  workers: {
    read: `json_build_object('min', workers_min, 'max', workers_max)`,
    write: ({ min, max }) => ({ workers_min: min, workers_max: max }),
  },
  scaling: {
    read: `json_build_object('type', scaler_type, 'value', scaler_value, 'idleTimeoutSeconds', idle_timeout_s)`,
    write: ({ type, value, idleTimeoutSeconds }) => ({
      scaler_type: type,
      scaler_value: value,
      idle_timeout_s: idleTimeoutSeconds,
    }),
  },
  dataCenterIds: column('data_center_ids'),
  networkVolumeIds: column('network_volume_ids'),
  timeoutMs: column('timeout_ms'),
  flashboot: column('flashboot'),
  templateId: column('template_id'),
  modelReferences: column('model_references'),
  models: jsonColumn('models'),
  version: column('version'),
  createdAt: { read: 'created_at' },
} satisfies ColumnMap<Endpoint>;
const SELECTED = selectList(ENDPOINT_COLUMNS);

/** Rows per page: about five milliseconds of reading and rendering. */
const PAGE_SIZE = 250;

/**
 * Yields the user's endpoints, oldest first, in pages, so that a list of thousands does not block other requests. One that
 * exists throughout appears exactly once; one created or deleted meanwhile may be missing. `limit`: at most so many. Served by
 * `endpoints_by_user`.
 */
export async function* listEndpointPages(
  db: Db,
  userId: UserId,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Endpoint[]> {
  let left = limit;
  let last: { id: string; sortKey: string } | undefined; // the time as text: a Date would lose its microseconds
  for (;;) {
    const { rows } = await db.query<Endpoint & { sortKey: string }>({
      name: last ? 'endpoint-list-on' : 'endpoint-list',
      text: `select ${SELECTED}, created_at::text as "sortKey" from endpoints
             where user_id = $1 ${last ? 'and (created_at, id) > ($2::text::timestamptz, $3)' : ''}
             order by created_at, id limit ${PAGE_SIZE}`,
      values: last ? [userId, last.sortKey, last.id] : [userId],
    });
    last = rows.at(-1);
    yield rows.slice(0, left).map(({ sortKey, ...endpoint }) => endpoint);
    left -= rows.length;
    if (rows.length < PAGE_SIZE || left <= 0) return;
  }
}

/** Returns the ids of the user's endpoints, oldest first. Served by `endpoints_by_user`. */
export async function listEndpointIds(db: Db, userId: UserId): Promise<EndpointId[]> {
  const result = await db.query<{ id: EndpointId }>(
    'select id from endpoints where user_id = $1 order by created_at, id',
    [userId],
  );
  return result.rows.map(({ id }) => id);
}

/** Throws `notFound` if the user has no such endpoint. `for update` locks it against changes until the commit. */
export async function getEndpointRow(db: Db, userId: UserId, id: EndpointId, lock: RowLock = ''): Promise<Endpoint> {
  return foundRow(
    await db.query<Endpoint>({
      name: lock === '' ? 'endpoint-get' : 'endpoint-lock',
      text: `select ${SELECTED} from endpoints where id = $1 and user_id = $2 ${lock}`,
      values: [id, userId],
    }),
    'Endpoint',
  );
}

/** Returns the endpoint with `createdAt`, which the database sets. */
export async function insertEndpointRow(db: Db, endpoint: Omit<Endpoint, 'createdAt'>): Promise<Endpoint> {
  const row = insertedRow(ENDPOINT_COLUMNS, endpoint);
  const result = await db.query<Endpoint>(
    `insert into endpoints ${insertValues(row)} returning ${SELECTED}`,
    Object.values(row),
  );
  return result.rows[0]!;
}

/** An endpoint with its row's version, which any write changes. */
export interface EndpointVersion {
  endpoint: Endpoint;
  rowVersion: string;
}

type OwnedEndpoint = Pick<Endpoint, 'id' | 'userId'>;
type VersionReads = Batcher<OwnedEndpoint, EndpointVersion | undefined>;
const versionReads = new WeakMap<Db, VersionReads>();
/** Endpoints that are read together: about a millisecond of reading. */
const MAX_READ = 32;

/**
 * Reads the endpoint with its row's version, and remembers both. Simultaneous reads share a statement, which begins after each of
 * them. Throws `notFound`.
 */
export async function getEndpointVersion(pool: Db, userId: UserId, id: EndpointId): Promise<EndpointVersion> {
  const version = await readsOf(pool).run({ userId, id });
  if (!version) throw notFound('Endpoint');
  return version;
}

function readsOf(pool: Db): VersionReads {
  const known = versionReads.get(pool);
  if (known) return known;
  const flush = (wanted: readonly OwnedEndpoint[]) => readVersions(pool, wanted);
  const reads: VersionReads = new Batcher({ lanes: 2, maxSize: MAX_READ, isCallFault: isValueFault, flush });
  versionReads.set(pool, reads);
  return reads;
}

async function readVersions(pool: Db, wanted: readonly OwnedEndpoint[]): Promise<(EndpointVersion | undefined)[]> {
  const { rows } = await pool.query<Endpoint & { rowVersion: string }>({
    name: 'endpoint-versions',
    text: `select ${SELECTED}, xmin::text as "rowVersion" from endpoints where id = any($1::text[])`,
    values: [textArray(wanted.map(({ id }) => id))],
  });
  const byId = new Map(rows.map(({ rowVersion, ...endpoint }) => [endpoint.id, { endpoint, rowVersion }]));
  return wanted.map(({ userId, id }) => {
    const version = byId.get(id);
    if (version?.endpoint.userId !== userId) return undefined;
    rememberVersion(pool, version);
    return version;
  });
}

const MAX_REMEMBERED = 1_000;
/** Characters of `env`; of 1,000 endpoints with more, the memory would be felt. */
const MAX_REMEMBERED_ENV = 16 * 1024;
/** Long before the numbers of transactions, which versions are, come round again. */
const REMEMBERED_MS = 60_000;
type RememberedVersion = EndpointVersion & { untilMs: number };
const remembered = new WeakMap<Db, BoundedMap<EndpointId, RememberedVersion>>();

/**
 * Returns the endpoint as this process last read or wrote it, in the last minute. It may be outdated: a write on the condition that
 * the row still has that version shows.
 */
export function recallVersion(db: Db, userId: UserId, id: EndpointId): EndpointVersion | undefined {
  const known = remembered.get(db)?.get(id);
  return known !== undefined && known.endpoint.userId === userId && performance.now() < known.untilMs
    ? known
    : undefined;
}

export function rememberVersion(db: Db, { endpoint, rowVersion }: EndpointVersion): void {
  let length = 0;
  for (const name in endpoint.env) length += name.length + endpoint.env[name]!.length;
  if (length > MAX_REMEMBERED_ENV) return;
  const versions = remembered.get(db) ?? new BoundedMap<EndpointId, RememberedVersion>(MAX_REMEMBERED);
  remembered.set(db, versions);
  versions.set(endpoint.id, { endpoint, rowVersion, untilMs: performance.now() + REMEMBERED_MS });
}

let updateText: string | undefined;

/**
 * Returns the statement that stores an endpoint, if its row is there and still has `rowVersion`; null: any will do. A new version ends
 * the service of an earlier release.
 */
export function updateEndpointStatement(endpoint: Endpoint, rowVersion: string | null): WritingStatement {
  const row = updatedRow(ENDPOINT_COLUMNS, endpoint);
  updateText ??= `update endpoints set ${assignments(row, 5)}, serving_version = case when version = $4 then serving_version end
    where id = $1 and user_id = $2 and ($3::text is null or xmin = $3::text::xid)`;
  return {
    name: 'endpoint-update',
    text: updateText,
    values: [endpoint.id, endpoint.userId, rowVersion, endpoint.version, ...Object.values(row)],
  };
}

/** Deletes its releases too; worker rows stay until their containers are gone. */
export async function deleteEndpointRow(db: Db, userId: UserId, id: EndpointId): Promise<void> {
  await db.query('delete from endpoints where id = $1 and user_id = $2', [id, userId]);
}

/**
 * Returns how many workers must stay when nodes are drained, by endpoint: half of `workers.min`, rounded up, of those that
 * always have at least two. Others may lose their workers: they have one, or none without work.
 */
export async function listGuardedEndpoints(db: Db): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; workers: number }>(
    'select id, (workers_min + 1) / 2 as workers from endpoints where workers_min >= 2 and workers_max >= 2',
  );
  return new Map(rows.map(({ id, workers }) => [id, workers]));
}
