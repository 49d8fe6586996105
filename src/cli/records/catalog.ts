import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import { listText, type RecordTable } from '../shared/show-records.ts';

/** What everybody may list, and nobody changes. */
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
