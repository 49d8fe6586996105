import { notFound } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type ContainerRow, containerColumns, toContainer } from './container-columns.ts';
import type { CpuConfig, Endpoint, EndpointClientSettings, EndpointType, FlashBoot, ScalerType } from './endpoint.ts';

export interface EndpointRow extends ContainerRow {
  id: EndpointId;
  user_id: UserId;
  name: string;
  type: EndpointType;
  gpu_pools: string[] | null;
  gpu_count: number | null;
  cpu: CpuConfig | null;
  workers_min: number;
  workers_max: number;
  scaler_type: ScalerType;
  scaler_value: number;
  idle_timeout_s: number;
  data_center_ids: string[];
  network_volume_ids: string[];
  timeout_ms: number;
  flashboot: FlashBoot;
  template_id: string | null;
  client_settings: EndpointClientSettings;
  version: number;
  created_at: Date;
}

export function toEndpoint(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    type: row.type,
    ...toContainer(row),
    gpu: row.gpu_pools === null ? null : { pools: row.gpu_pools, count: row.gpu_count! },
    cpu: row.cpu,
    workers: { min: row.workers_min, max: row.workers_max },
    scaling: { type: row.scaler_type, value: row.scaler_value, idleTimeoutSeconds: row.idle_timeout_s },
    dataCenterIds: row.data_center_ids,
    networkVolumeIds: row.network_volume_ids,
    timeoutMs: row.timeout_ms,
    flashboot: row.flashboot,
    templateId: row.template_id,
    clientSettings: row.client_settings,
    version: row.version,
    createdAt: row.created_at,
  };
}

/** Everything that a create or an update writes; what is fixed for good (owner, type, time) only a create does. */
function toColumns(endpoint: Endpoint): Record<string, unknown> {
  return {
    name: endpoint.name,
    ...containerColumns(endpoint),
    gpu_pools: endpoint.gpu?.pools ?? null,
    gpu_count: endpoint.gpu?.count ?? null,
    workers_min: endpoint.workers.min,
    workers_max: endpoint.workers.max,
    scaler_type: endpoint.scaling.type,
    scaler_value: endpoint.scaling.value,
    idle_timeout_s: endpoint.scaling.idleTimeoutSeconds,
    data_center_ids: endpoint.dataCenterIds,
    network_volume_ids: endpoint.networkVolumeIds,
    timeout_ms: endpoint.timeoutMs,
    flashboot: endpoint.flashboot,
    template_id: endpoint.templateId,
    client_settings: JSON.stringify(endpoint.clientSettings),
    version: endpoint.version,
  };
}

/** Spelled out: a prepared `select *` fails once a newer process has added a column. */
const COLUMNS = `id, user_id, name, type, image, args, disk_gb, ports, env, registry_id, gpu_pools, gpu_count, cpu,
  workers_min, workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms,
  flashboot, template_id, client_settings, version, created_at`;

/** What is read and rendered at a time: about five milliseconds of work. */
const PAGE_SIZE = 250;

/**
 * Oldest first, in pages, so that thousands do not keep others waiting. What is there from the first page to the last is
 * there once; what comes or goes meanwhile may or may not be. Pages are served by `endpoints_by_user`.
 */
export async function* listEndpointPages(db: Db, userId: UserId): AsyncGenerator<Endpoint[]> {
  let last: { id: string; sortKey: string } | undefined; // the text of the time: a Date would cut its microseconds off
  for (;;) {
    const { rows } = await db.query<EndpointRow & { sortKey: string }>({
      name: last ? 'endpoint-list-on' : 'endpoint-list',
      text: `select ${COLUMNS}, created_at::text as "sortKey" from endpoints
             where user_id = $1 ${last ? 'and (created_at, id) > ($2::text::timestamptz, $3)' : ''}
             order by created_at, id limit ${PAGE_SIZE}`,
      values: last ? [userId, last.sortKey, last.id] : [userId],
    });
    yield rows.map(toEndpoint);
    if (rows.length < PAGE_SIZE) return;
    last = rows.at(-1)!;
  }
}

/** Throws `notFound` when it is missing or somebody else's. `for update` keeps others from changing it until commit. */
export async function getEndpointRow(
  db: Db,
  userId: UserId,
  id: EndpointId,
  lock: '' | 'for update' = '',
): Promise<Endpoint> {
  const result = await db.query<EndpointRow>({
    name: lock === '' ? 'endpoint-get' : 'endpoint-lock',
    text: `select ${COLUMNS} from endpoints where id = $1 and user_id = $2 ${lock}`,
    values: [id, userId],
  });
  if (!result.rows[0]) throw notFound('Endpoint');
  return toEndpoint(result.rows[0]);
}

/** `createdAt` is the database's; the answer carries it. */
export async function insertEndpointRow(db: Db, endpoint: Omit<Endpoint, 'createdAt'>): Promise<Endpoint> {
  const values = {
    id: endpoint.id,
    user_id: endpoint.userId,
    type: endpoint.type,
    cpu: endpoint.cpu === null ? null : JSON.stringify(endpoint.cpu),
    ...toColumns(endpoint as Endpoint),
  };
  const names = Object.keys(values);
  const result = await db.query<EndpointRow>(
    `insert into endpoints (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')}) returning *`,
    Object.values(values),
  );
  return toEndpoint(result.rows[0]!);
}

export async function updateEndpointRow(db: Db, endpoint: Endpoint): Promise<void> {
  const values = toColumns(endpoint);
  const assignments = Object.keys(values).map((name, i) => `${name} = $${i + 3}`);
  await db.query({
    name: 'endpoint-update',
    text: `update endpoints set ${assignments.join(', ')} where id = $1 and user_id = $2`,
    values: [endpoint.id, endpoint.userId, ...Object.values(values)],
  });
}

/** Its releases go with it; its workers stay until their containers are gone. */
export async function deleteEndpointRow(db: Db, userId: UserId, id: EndpointId): Promise<void> {
  await db.query('delete from endpoints where id = $1 and user_id = $2', [id, userId]);
}
