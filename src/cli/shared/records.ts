import { inOneLine } from '../../domain/logs/quote-output.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { ApiClient } from './api-client.ts';
import type { CliOutput } from './cli-pieces.ts';

/** A record as the API returns it. */
// biome-ignore lint/suspicious/noExplicitAny: the command line shows whatever the server sends
export type Wire = Record<string, any>;

/** A table of records. */
export interface RecordTable {
  columns: readonly Column<Wire>[];
  /** Printed by an empty `list`: says what to do next. */
  none: string;
}

/** A kind of record: its path and its table. */
export interface RecordKind extends RecordTable {
  path: string;
  /** One of them, in a sentence. */
  one: string;
  /** Member of the list response that holds the records. */
  list: string;
  /** What `list` reads in addition: a query, and how its answer becomes records. */
  more?: { query: string; toRecords: (answer: Wire) => Wire[] };
  /** What `get` shows in addition: why a record does not run. */
  detail?: (client: ApiClient, id: string) => Promise<Wire>;
}

const MAX_REASON = 160;

/** Returns a reason for a cell: the sentence and the last line of output. */
function shortReason(reason: string | null | undefined): string {
  if (!reason) return '-';
  const line = inOneLine(reason);
  return line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line;
}

/** Returns how many pods there are in each status: `3 running`. */
function podsOf({ byStatus }: Wire): string {
  const counts = Object.entries(byStatus as Record<string, number>);
  return counts.map(([status, count]) => `${count} ${stateOf(status)}`).join(', ');
}

function stateOf(state: string | undefined): string {
  return state?.toLowerCase().replaceAll('_', ' ') ?? '-';
}

function withStates({ endpoints, states }: Wire): Wire[] {
  const stateById = new Map((states as Wire[] | undefined)?.map(({ id, ...state }) => [id, state]));
  return (endpoints as Wire[]).map((endpoint) => ({ ...endpoint, state: stateById.get(endpoint.id) ?? null }));
}

const list = (items: unknown): string => (items as unknown[] | undefined)?.join(', ') || '-';

export const RECORDS = {
  endpoints: {
    one: 'the endpoint',
    path: '/v2/serverless',
    list: 'endpoints',
    none: 'You have no endpoints. Create one: `podyard endpoints create <name> --image <image> --pool <pool>`; `podyard catalog gpus` lists the pools.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['KIND', (r) => (r.type === 'LOAD_BALANCING' ? 'load-balancing' : 'queue')],
      ['IMAGE', (r) => r.image],
      ['WORKERS', (r) => `${r.workers.min}-${r.workers.max}`],
      ['RUNS ON', (r) => (r.cpu ? `${r.cpu.id} with ${r.cpu.vcpuCount} vCPU` : list(r.gpu?.pools))],
      ['FLASHBOOT', (r) => r.flashboot],
      ['STATE', (r) => stateOf(r.state?.state)],
      ['WHY', (r) => shortReason(r.state?.reason)],
    ],
    more: { query: 'include=STATE', toRecords: withStates },
    detail: async (client, id) => {
      const { id: _, ...state } = await client.call<Wire>('GET', `/v2/serverless/${id}/state`);
      return { state };
    },
  },
  pods: {
    one: 'the pod',
    path: '/v2/pods',
    list: 'pods',
    none: 'You have no pods. Create one: `podyard pods create <name> --image <image> --cpu cpu3c`, or with --gpu; `podyard catalog gpus` lists the types.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['STATUS', (r) => r.status],
      ['IMAGE', (r) => r.image],
      ['HARDWARE', (r) => (r.gpu ? `${r.gpu.count} x ${r.gpu.id}` : `${r.cpu?.vcpuCount} vCPU`)],
      ['PORTS', (r) => list(r.ports)],
      ['USD/H', (r) => r.cost],
      ['WHY', (r) => shortReason(r.reason)],
    ],
    more: { query: 'include=REASON', toRecords: ({ pods }) => pods },
    detail: (client, id) => client.call<Wire>('GET', `/v2/pods/${id}?include=REASON`),
  },
  clusters: {
    one: 'the cluster',
    path: '/v2/clusters',
    list: 'clusters',
    none: 'You have no clusters. Create one: `podyard clusters create <name> --image <image> --gpu <type> --pods 2`; `podyard catalog gpus` lists the types.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['TYPE', (r) => r.type],
      ['PODS', (r) => podsOf(r.pods)],
      ['EACH', (r) => `${r.compute.gpuCountPerPod} x ${r.compute.gpuTypeId}`],
      ['NETWORK', (r) => r.network?.cidr ?? '-'],
      ['WHY', (r) => shortReason(r.reason)],
    ],
    more: { query: 'include=REASON', toRecords: ({ clusters }) => clusters },
    detail: (client, id) => client.call<Wire>('GET', `/v2/clusters/${id}?include=REASON`),
  },
  templates: {
    one: 'the template',
    path: '/v2/templates',
    list: 'templates',
    none: 'You have no templates. Create one: `podyard templates create <name> --image <image>`; `podyard templates public` lists those that everybody may use.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['IMAGE', (r) => r.image],
      ['FOR', (r) => (r.serverless ? 'endpoints' : 'pods')],
      ['PUBLIC', (r) => (r.public ? 'yes' : 'no')],
    ],
  },
  secrets: {
    one: 'the secret',
    path: '/v2/account/secrets',
    list: 'secrets',
    none: 'You have no secrets. Create one: `podyard secrets create <name>`.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['USED BY', (r) => list((r.usedBy as Wire[]).map(({ kind, name }) => `${kind} ${name}`))],
      ['CHANGED', (r) => r.updatedAt],
    ],
  },
  volumes: {
    one: 'the volume',
    path: '/v2/network-volumes',
    list: 'networkVolumes',
    none: 'You have no network volumes. Create one: `podyard volumes create <name> --size 10 --data-center <id>`; `podyard catalog datacenters` lists the ids.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['GB', (r) => r.size],
      ['USED GB', (r) => (r.usedBytes == null ? null : (r.usedBytes / 2 ** 30).toFixed(1))],
      ['DATA CENTER', (r) => r.dataCenter],
      ['TYPE', (r) => r.type],
    ],
  },
  registries: {
    one: 'the registry',
    path: '/v2/registries',
    list: 'registries',
    none: 'You have no registry credentials. Save some: `podyard registries create <name> --username <user>`.',
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
    ],
  },
  gpus: {
    one: 'the GPU type',
    path: '/v2/catalog/gpus?include=AVAILABILITY',
    list: 'gpus',
    none: "This server's catalog has no GPU types: its operator sets them (--catalog).",
    columns: [
      ['ID', (r) => r.id],
      ['POOL', (r) => r.pool ?? '-'],
      ['GB', (r) => r.memory],
      ['USD/H', (r) => r.price.secure ?? '-'],
      ['FREE', (r) => r.availability],
    ],
  },
  cpus: {
    one: 'the CPU flavor',
    path: '/v2/catalog/cpus',
    list: 'cpus',
    none: "This server's catalog has no CPU flavors: its operator sets them (--catalog).",
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['VCPUS', (r) => `${r.vcpu.min}-${r.vcpu.max}`],
      ['GB/VCPU', (r) => r.ramGbPerVcpu],
    ],
  },
  datacenters: {
    one: 'the data center',
    path: '/v2/catalog/datacenters',
    list: 'dataCenters',
    none: "This server's catalog has no data centers: its operator sets them (--catalog).",
    columns: [
      ['ID', (r) => r.id],
      ['NAME', (r) => r.name],
      ['REGION', (r) => r.region],
      ['VOLUMES', (r) => list(r.networkVolumeTypes)],
    ],
  },
  models: {
    one: 'the model',
    path: '/openai/v1/models',
    list: 'data',
    none: "You have no queue endpoint, so there is no model. Create one with an image that serves OpenAI's routes: `podyard endpoints create <name> --image <image> --pool <pool>`.",
    columns: [
      ['MODEL', (r) => r.id],
      ['ENDPOINT', (r) => r.owned_by],
    ],
  },
} satisfies Record<string, RecordKind>;

export const CLUSTER_POD_COLUMNS: readonly Column<Wire>[] = [
  ['RANK', (r) => r.cluster.rank],
  ['ID', (r) => r.id],
  ['STATUS', (r) => r.status],
  ['ADDRESS', (r) => r.cluster.ip ?? '-'],
  ['USD/H', (r) => r.cost],
  ['WHY', (r) => shortReason(r.reason)],
];

export const WORKER_COLUMNS: readonly Column<Wire>[] = [
  ['ID', (r) => r.id],
  ['STATUS', (r) => r.status],
  ['VERSION', (r) => (r.isStale ? `${r.version} (old)` : r.version)],
  ['GPU', (r) => (r.gpuTypeId ? `${r.gpuCount} x ${r.gpuTypeId}` : '-')],
  ['DATA CENTER', (r) => r.dataCenterId ?? '-'],
  ['UP, S', (r) => r.uptimeSeconds ?? '-'],
  ['WHY', (r) => shortReason(r.reason)],
];

export const ENDED_WORKER_COLUMNS: readonly Column<Wire>[] = [
  ['ID', (r) => r.id],
  ['ENDED', (r) => r.endedAt],
  ['VERSION', (r) => r.version],
  ['UP, S', (r) => r.uptimeSeconds ?? '-'],
  ['EXIT', (r) => r.exitCode ?? '-'],
  ['LOST', (r) => (r.lost ? 'yes' : 'no')],
  ['WHY', (r) => shortReason(r.reason)],
];

export const RELEASE_COLUMNS: readonly Column<Wire>[] = [
  ['VERSION', (r) => r.version],
  ['ID', (r) => r.id],
  ['WORKERS', (r) => r.workerCount],
  ['CREATED', (r) => r.createdAt],
  ['CHANGED', (r) => list((r.diff as Wire[]).map(({ field }) => field))],
];

/** Prints records as JSON or as a table. Where there are none, stderr says what to do next. */
export function showRecords(
  records: readonly Wire[],
  { columns, none }: RecordTable,
  isJson: boolean,
  output: CliOutput,
): void {
  if (isJson) output.print(jsonText(records));
  else if (records.length === 0) output.note(none);
  else output.print(formatTable(columns, records, output.screen));
}

const FIELD_COLUMNS: readonly Column<[name: string, value: unknown]>[] = [
  ['FIELD', ([name]) => name],
  ['VALUE', ([, value]) => value],
];

/** Prints one record as JSON, or one field per line, with nested ones as `workers.min`. */
export function showRecord(record: Wire, isJson: boolean, output: CliOutput): void {
  output.print(isJson ? jsonText(record) : formatTable(FIELD_COLUMNS, flatten('', record), output.screen));
}

function flatten(name: string, value: unknown): [name: string, value: unknown][] {
  const isPlainList = Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object');
  if (isPlainList) return [[name, list(value)]];
  if (value === null || typeof value !== 'object') return [[name, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[name, '-']];
  return entries.flatMap(([key, member]) => flatten(name === '' ? key : `${name}.${key}`, member));
}

export async function listRecords(client: ApiClient, kind: RecordKind): Promise<Wire[]> {
  return (await client.call<Wire>('GET', kind.path))[kind.list];
}

/** Lists records with what their table shows in addition. */
export async function listForTable(client: ApiClient, kind: RecordKind): Promise<Wire[]> {
  if (!kind.more) return listRecords(client, kind);
  return kind.more.toRecords(await client.call<Wire>('GET', `${kind.path}?${kind.more.query}`));
}
