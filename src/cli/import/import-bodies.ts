import type { RestRevision } from '../../core/rest-revisions.ts';
import type { ModelRequest } from '../models/endpoint-models.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';

type Older = Schemas['Endpoint'];
type Newer = NewerSchemas['Endpoint'];
/**
 * An endpoint in the shape that shows all of it. The older revision has every scaling, the newer one the GPU rule and CPUs; so a
 * GPU endpoint of a server with both is in the older shape with the newer one's `gpu`, a CPU endpoint in the newer shape.
 */
export type SourceEndpoint = (Older | Newer | (Omit<Older, 'gpu'> & Pick<Newer, 'gpu'>)) & {
  /** As a create takes them; absent: it has none. */
  models?: ModelRequest[];
};

type OlderEndpointBody = Omit<Schemas['CreateEndpointRequest'], 'gpu'> &
  Pick<NewerSchemas['CreateEndpointRequest'], 'gpu'>;
export type EndpointBody =
  | { revision: '2026-07'; body: OlderEndpointBody }
  | { revision: '2026-08'; body: NewerSchemas['CreateEndpointRequest'] };
export type TemplateBody = Partial<NewerSchemas['CreateTemplateRequest']>;
/** The members of bodies that refer to other records, by id. */
export interface References {
  registry?: string | null;
  networkVolumes?: string[];
}

export type ImportBody = (VolumeBody | TemplateBody | EndpointBody['body']) & References;
export type VolumeBody = Partial<Schemas['CreateNetworkVolumeRequest']>;

type Container = Pick<Schemas['CreateEndpointRequest'], 'image' | 'args' | 'disk' | 'ports' | 'env' | 'registry'>;
/** For each field of a request, whether an import copies it. A new field of the API is an error here until it is decided. */
type Copied<Body> = Readonly<Record<keyof Body, boolean>>;

const CONTAINER: Copied<Container> = { image: true, args: true, disk: true, ports: true, env: true, registry: true };
const ENDPOINT: Copied<NewerSchemas['CreateEndpointRequest']> = {
  ...{ name: true, type: true, gpu: true, cpu: true, workers: true, scaling: true, dataCenterIds: true },
  ...{ networkVolumes: true, timeout: true, flashboot: true, templateId: false, models: true },
  ...CONTAINER,
};
const TEMPLATE: Copied<NewerSchemas['CreateTemplateRequest']> = {
  ...{ name: true, mounts: true, serverless: true, public: true, category: true, startSsh: true, startJupyter: true },
  ...{ allowedCudaVersions: true, entrypoint: false, cmd: false },
  ...CONTAINER,
};
const VOLUME: Copied<Schemas['CreateNetworkVolumeRequest']> = { name: true, size: true, dataCenter: true, type: true };

type Gpu = NonNullable<NewerSchemas['CreateEndpointRequest']['gpu']>;
const GPU: Copied<Gpu> = {
  pools: true,
  count: true,
  excludedTypes: true,
  allowedCudaVersions: true,
  minCudaVersion: true,
};
const CPU: Copied<NonNullable<NewerSchemas['CreateEndpointRequest']['cpu']>[number]> = { id: true, vcpuCount: true };

/** Returns the members to copy that are neither null nor absent. */
function pick<Body extends object>(record: object, copied: Copied<Body>): Body {
  const members = record as Readonly<Record<string, unknown>>;
  const given = Object.keys(copied).filter((name) => copied[name as keyof Body] && members[name] != null);
  return Object.fromEntries(given.map((name) => [name, members[name]])) as Body;
}

export const toVolumeBody = (record: object): VolumeBody => pick(record, VOLUME);

export const toTemplateBody = (record: object): TemplateBody => pick(record, TEMPLATE);

/** An endpoint keeps its own shape, so nothing is lost. Only CPU endpoints of the older one need the newer one. */
export function toEndpointBody(record: SourceEndpoint): EndpointBody {
  const { gpu, cpu: _, ...settings } = pick(record, ENDPOINT);
  const cpus = [record.cpu ?? []].flat().map((one) => pick(one, CPU));
  const hardware = gpu ? { gpu: withoutEmpty(pick(gpu, GPU)) } : cpus.length > 0 ? { cpu: cpus } : {};
  const isNewer = revisionOf(record) === '2026-08';
  if (isNewer || !('cpu' in hardware)) {
    return { revision: isNewer ? '2026-08' : '2026-07', body: { ...settings, ...hardware } } as EndpointBody;
  }
  return { revision: '2026-08', body: { ...settings, ...hardware, ...toNewerScaling(record as Older) } };
}

/** Omits empty lists: in a rule they say nothing, and two of them together are refused. */
function withoutEmpty(gpu: Gpu): Gpu {
  return Object.fromEntries(
    Object.entries(gpu).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  ) as unknown as Gpu;
}

function toNewerScaling({
  type,
  scaling,
  workers,
}: Older): Pick<NewerSchemas['CreateEndpointRequest'], 'type' | 'scaling' | 'workers'> {
  const isBalanced = type === 'LOAD_BALANCING';
  const isByRequests = isBalanced || scaling.type === 'REQUEST_COUNT';
  const hasIdleTimeout = isBalanced || !isByRequests;
  return {
    type: isBalanced ? 'LOAD_BALANCER' : 'QUEUE',
    scaling: isByRequests
      ? { type: 'REQUEST_COUNT', requestCount: Math.ceil(scaling.value) }
      : { type: 'QUEUE_DELAY', queueDelay: scaling.value },
    workers: {
      ...workers,
      ...(hasIdleTimeout && { idleTimeout: Math.min(3600, Math.max(1, scaling.idleTimeout)) }),
    },
  };
}

/** Splits off the GPU rule, which the older revision cannot take, to be sent in the newer one; null if there is none. */
export function splitRule({ revision, body }: { revision: RestRevision; body: { gpu?: Gpu } }): {
  body: { gpu?: Gpu };
  rest: { gpu: Gpu } | null;
} {
  if (revision === '2026-08' || !body.gpu) return { body, rest: null };
  const { pools, count, ...rule } = body.gpu;
  if (Object.keys(rule).length === 0) return { body, rest: null };
  return { body: { ...body, gpu: { pools, ...(count && { count }) } }, rest: { gpu: { pools, ...rule } } };
}

/** Returns the endpoints of a Podyard server, read in both revisions, each in the shape that shows all of it. */
export function mergeShapes(older: readonly Older[], newer: readonly Newer[]): SourceEndpoint[] {
  const newerById = new Map(newer.map((record) => [record.id, record]));
  return older.map((record) => {
    const other = newerById.get(record.id);
    if (other === undefined) return record;
    return other.gpu ? { ...record, gpu: other.gpu } : other;
  });
}

/** Returns the revision of a record, which only the types of endpoints show. */
export function revisionOf({ type }: { type: string }): RestRevision {
  return type === 'QUEUE' || type === 'LOAD_BALANCER' ? '2026-08' : '2026-07';
}
