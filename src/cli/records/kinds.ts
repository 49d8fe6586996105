import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import { listText, type RecordTable, shortReason } from '../shared/show-records.ts';

export interface Named {
  id: string;
  name: string;
}

/** Records that a user names by id or name. */
export interface Findable<T extends Named> {
  /** One of them, in a sentence. */
  one: string;
  /** Several of them, as the API calls their list. */
  all: string;
  list(client: ApiClient): Promise<readonly T[]>;
  get(client: ApiClient, id: string): Promise<T>;
}

/** Records that `list`, `get` and `delete` act on. */
export interface RecordKind<T extends Named, Row = T> extends Findable<T>, RecordTable<Row> {
  /** Lists them with what their table shows in addition. */
  rows(client: ApiClient): Promise<readonly Row[]>;
  /** Reads what `get` shows in addition: why a record does not run. */
  detail?(client: ApiClient, id: string): Promise<object>;
  delete(client: ApiClient, id: string): Promise<unknown>;
}

export type Endpoint = Schemas['Endpoint'];
type EndpointRow = Endpoint & { state: Omit<Schemas['EndpointState'], 'id'> | null };

const inWords = (state: string | undefined): string => state?.toLowerCase().replaceAll('_', ' ') ?? '-';

const endpoints: RecordKind<Endpoint, EndpointRow> = {
  one: 'the endpoint',
  all: 'endpoints',
  none: 'You have no endpoints. Create one: `podyard endpoints create <name> --image <image> --pool <pool>`; `podyard catalog gpus` lists the pools.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['KIND', (r) => (r.type === 'LOAD_BALANCING' ? 'load-balancing' : 'queue')],
    ['IMAGE', (r) => r.image],
    ['WORKERS', (r) => `${r.workers.min}-${r.workers.max}`],
    ['RUNS ON', (r) => (r.cpu ? `${r.cpu.id} with ${r.cpu.vcpuCount} vCPU` : listText(r.gpu?.pools))],
    ['FLASHBOOT', (r) => r.flashboot],
    ['STATE', (r) => inWords(r.state?.state)],
    ['WHY', (r) => shortReason(r.state?.reason ?? r.state?.warnings[0])],
  ],
  list: async (client) => (await client.call('get', '/v2/serverless')).endpoints,
  rows: async (client) => {
    const { endpoints, states = [] } = await client.call('get', '/v2/serverless', { query: { include: 'STATE' } });
    const stateById = new Map(states.map(({ id, ...state }) => [id, state]));
    return endpoints.map((endpoint) => ({ ...endpoint, state: stateById.get(endpoint.id) ?? null }));
  },
  get: (client, id) => client.call('get', '/v2/serverless/{id}', { path: { id } }),
  detail: async (client, id) => {
    const { id: _, ...state } = await client.call('get', '/v2/serverless/{id}/state', { path: { id } });
    return { state };
  },
  delete: (client, id) => client.call('delete', '/v2/serverless/{id}', { path: { id } }),
};

const WITH_REASON = { include: 'REASON' };

const pods: RecordKind<Schemas['Pod']> = {
  one: 'the pod',
  all: 'pods',
  none: 'You have no pods. Create one: `podyard pods create <name> --image <image> --cpu cpu3c`, or with --gpu; `podyard catalog gpus` lists the types.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['STATUS', (r) => r.status],
    ['IMAGE', (r) => r.image],
    ['HARDWARE', (r) => (r.gpu ? `${r.gpu.count} x ${r.gpu.id}` : `${r.cpu?.vcpuCount} vCPU`)],
    ['PORTS', (r) => listText(r.ports)],
    ['USD/H', (r) => r.cost],
    ['WHY', (r) => shortReason(r.reason)],
  ],
  list: async (client) => (await client.call('get', '/v2/pods')).pods,
  rows: async (client) => (await client.call('get', '/v2/pods', { query: WITH_REASON })).pods,
  get: (client, id) => client.call('get', '/v2/pods/{id}', { path: { id } }),
  detail: (client, id) => client.call('get', '/v2/pods/{id}', { path: { id }, query: WITH_REASON }),
  delete: (client, id) => client.call('delete', '/v2/pods/{id}', { path: { id } }),
};

/** Returns how many pods there are in each status: `3 running`. */
function podsOf({ byStatus }: Schemas['Cluster']['pods']): string {
  const counts = Object.entries(byStatus);
  return counts.map(([status, count]) => `${count} ${inWords(status)}`).join(', ');
}

const clusters: RecordKind<Schemas['Cluster']> = {
  one: 'the cluster',
  all: 'clusters',
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
  list: async (client) => (await client.call('get', '/v2/clusters')).clusters,
  rows: async (client) => (await client.call('get', '/v2/clusters', { query: WITH_REASON })).clusters,
  get: (client, id) => client.call('get', '/v2/clusters/{id}', { path: { id } }),
  detail: (client, id) => client.call('get', '/v2/clusters/{id}', { path: { id }, query: WITH_REASON }),
  delete: (client, id) => client.call('delete', '/v2/clusters/{id}', { path: { id } }),
};

export const CLUSTER_PODS: RecordTable<Schemas['Pod']> = {
  none: 'It has no pods: it is being deleted.',
  columns: [
    ['RANK', (r) => r.cluster?.rank],
    ['ID', (r) => r.id],
    ['STATUS', (r) => r.status],
    ['ADDRESS', (r) => r.cluster?.ip ?? '-'],
    ['USD/H', (r) => r.cost],
    ['WHY', (r) => shortReason(r.reason)],
  ],
};

export type Template = Schemas['Template'];

const listTemplates = async (client: ApiClient) => (await client.call('get', '/v2/templates')).templates;
const templates: RecordKind<Template> = {
  one: 'the template',
  all: 'templates',
  none: 'You have no templates. Create one: `podyard templates create <name> --image <image>`; `podyard templates public` lists those that everybody may use.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['IMAGE', (r) => r.image],
    ['FOR', (r) => (r.serverless ? 'endpoints' : 'pods')],
    ['PUBLIC', (r) => (r.public ? 'yes' : 'no')],
  ],
  list: listTemplates,
  rows: listTemplates,
  get: (client, id) => client.call('get', '/v2/templates/{id}', { path: { id } }),
  delete: (client, id) => client.call('delete', '/v2/templates/{id}', { path: { id } }),
};

const listSecrets = async (client: ApiClient) => (await client.call('get', '/v2/account/secrets')).secrets;
const secrets: RecordKind<Schemas['Secret']> = {
  one: 'the secret',
  all: 'secrets',
  none: 'You have no secrets. Create one: `podyard secrets create <name>`.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['USED BY', (r) => listText(r.usedBy.map(({ kind, name }) => `${kind} ${name}`))],
    ['CHANGED', (r) => r.updatedAt],
  ],
  list: listSecrets,
  rows: listSecrets,
  get: (client, id) => client.call('get', '/v2/account/secrets/{id}', { path: { id } }),
  delete: (client, id) => client.call('delete', '/v2/account/secrets/{id}', { path: { id } }),
};

const listVolumes = async (client: ApiClient) => (await client.call('get', '/v2/network-volumes')).networkVolumes;
const volumes: RecordKind<Schemas['NetworkVolume']> = {
  one: 'the volume',
  all: 'networkVolumes',
  none: 'You have no network volumes. Create one: `podyard volumes create <name> --size 10 --data-center <id>`; `podyard catalog datacenters` lists the ids.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['GB', (r) => r.size],
    ['USED GB', (r) => (r.usedBytes == null ? null : (r.usedBytes / 2 ** 30).toFixed(1))],
    ['DATA CENTER', (r) => r.dataCenter],
    ['TYPE', (r) => r.type],
  ],
  list: listVolumes,
  rows: listVolumes,
  get: (client, id) => client.call('get', '/v2/network-volumes/{id}', { path: { id } }),
  delete: (client, id) => client.call('delete', '/v2/network-volumes/{id}', { path: { id } }),
};

const listRegistries = async (client: ApiClient) => (await client.call('get', '/v2/registries')).registries;
const registries: RecordKind<Schemas['Registry']> = {
  one: 'the registry',
  all: 'registries',
  none: 'You have no registry credentials. Save some: `podyard registries create <name> --username <user>`.',
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
  ],
  list: listRegistries,
  rows: listRegistries,
  get: (client, id) => client.call('get', '/v2/registries/{id}', { path: { id } }),
  delete: (client, id) => client.call('delete', '/v2/registries/{id}', { path: { id } }),
};

export const RECORDS = { endpoints, pods, clusters, templates, secrets, volumes, registries };

/** Read-only records that every user may list. */
export interface Listing<Row> extends RecordTable<Row> {
  rows(client: ApiClient): Promise<readonly Row[]>;
}

const gpus: Listing<Schemas['GpuType']> = {
  none: "This server's catalog has no GPU types: its operator sets them (--catalog).",
  columns: [
    ['ID', (r) => r.id],
    ['POOL', (r) => r.pool ?? '-'],
    ['GB', (r) => r.memory],
    ['USD/H', (r) => r.price.secure ?? '-'],
    ['FREE', (r) => r.availability],
  ],
  rows: async (client) => (await client.call('get', '/v2/catalog/gpus', { query: { include: 'AVAILABILITY' } })).gpus,
};

const cpus: Listing<Schemas['CpuFlavor']> = {
  none: "This server's catalog has no CPU flavors: its operator sets them (--catalog).",
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['VCPUS', (r) => `${r.vcpu.min}-${r.vcpu.max}`],
    ['GB/VCPU', (r) => r.ramGbPerVcpu],
  ],
  rows: async (client) => (await client.call('get', '/v2/catalog/cpus')).cpus,
};

const datacenters: Listing<Schemas['DataCenter']> = {
  none: "This server's catalog has no data centers: its operator sets them (--catalog).",
  columns: [
    ['ID', (r) => r.id],
    ['NAME', (r) => r.name],
    ['REGION', (r) => r.region],
    ['VOLUMES', (r) => listText(r.networkVolumeTypes)],
  ],
  rows: async (client) => (await client.call('get', '/v2/catalog/datacenters')).dataCenters,
};

const models: Listing<{ id: string; owned_by: string }> = {
  none: "You have no queue endpoint, so there is no model. Create one with an image that serves OpenAI's routes: `podyard endpoints create <name> --image <image> --pool <pool>`.",
  columns: [
    ['MODEL', (r) => r.id],
    ['ENDPOINT', (r) => r.owned_by],
  ],
  rows: async (client) => (await client.json<{ data: [] }>('GET', '/openai/v1/models')).data,
};

export const CATALOG = { gpus, cpus, datacenters, models };
