import type { RestRevision } from '../../core/rest-revisions.ts';
import type { Wire } from '../shared/records.ts';
import { revisionOf } from './import-endpoints.ts';

/** A body that makes a record like another side's, in the shape of a revision. References are still the other side's. */
export interface ImportBody {
  revision: RestRevision;
  body: Wire;
}

const CONTAINER = ['image', 'args', 'disk', 'ports', 'env', 'registry'];
const ENDPOINT = [
  ...['name', 'type', 'gpu', 'cpu', 'workers', 'scaling', 'dataCenterIds', 'networkVolumes', 'timeout', 'flashboot'],
  ...CONTAINER,
];
const TEMPLATE = [
  ...['name', 'mounts', 'serverless', 'public', 'category', 'startSsh', 'startJupyter', 'allowedCudaVersions'],
  ...CONTAINER,
];
const VOLUME = ['name', 'size', 'dataCenter', 'type'];

/** Members of `gpu` that only the newer revision knows. */
const RULE = ['excludedTypes', 'allowedCudaVersions', 'minCudaVersion'];

/** Splits off what the older revision cannot take, to be sent in the newer one; null if there is nothing. */
export function splitRule({ revision, body }: ImportBody): { body: Wire; rest: Wire | null } {
  if (revision === '2026-08' || !body.gpu) return { body, rest: null };
  const { pools, count } = body.gpu;
  const rule = pick(body.gpu, RULE);
  if (Object.keys(rule).length === 0) return { body, rest: null };
  return { body: { ...body, gpu: { pools, count } }, rest: { gpu: { pools, ...rule } } };
}

/** Returns the named members that say something: not null, not absent. */
function pick(record: Wire, names: readonly string[]): Wire {
  const given = names.filter((name) => record[name] !== undefined && record[name] !== null);
  return Object.fromEntries(given.map((name) => [name, record[name]]));
}

/** Without empty lists: in a rule they say nothing, and two of them together are refused. */
function withoutEmpty(record: Wire): Wire {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
}

export function toVolumeBody(record: Wire): Wire {
  return pick(record, VOLUME);
}

export function toTemplateBody(record: Wire, revision: RestRevision): ImportBody {
  return { revision, body: pick(record, TEMPLATE) };
}

/** An endpoint keeps its own shape, so nothing is lost. Only CPU endpoints of the older one need the newer one. */
export function toEndpointBody(record: Wire): ImportBody {
  const revision = revisionOf(record);
  const body = pick(record, ENDPOINT);
  if (body.gpu) {
    body.gpu = withoutEmpty(pick(body.gpu, ['pools', 'count', ...RULE]));
    delete body.cpu;
  } else if (Array.isArray(body.cpu)) {
    body.cpu = body.cpu.map((cpu: Wire) => pick(cpu, ['id', 'vcpuCount']));
  }
  if (revision === '2026-08' || body.cpu === undefined) return { revision, body };
  return { revision: '2026-08', body: toNewerCpu(body) };
}

function toNewerCpu({ scaling, workers, cpu, type, ...body }: Wire): Wire {
  const isBalanced = type === 'LOAD_BALANCING';
  const byRequests = isBalanced || scaling.type === 'REQUEST_COUNT';
  const hasIdleTimeout = isBalanced || !byRequests;
  const cpus = (Array.isArray(cpu) ? cpu : [cpu]) as Wire[];
  return {
    ...body,
    type: isBalanced ? 'LOAD_BALANCER' : 'QUEUE',
    cpu: cpus.map((one) => pick(one, ['id', 'vcpuCount'])),
    scaling: byRequests
      ? { type: 'REQUEST_COUNT', requestCount: Math.ceil(scaling.value) }
      : { type: 'QUEUE_DELAY', queueDelay: scaling.value },
    workers: {
      ...workers,
      ...(hasIdleTimeout && { idleTimeout: Math.min(3600, Math.max(1, scaling.idleTimeout)) }),
    },
  };
}
