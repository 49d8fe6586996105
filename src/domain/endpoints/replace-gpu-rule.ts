import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import type { Endpoint } from './endpoint.ts';
import { getEndpointRow } from './endpoint-store.ts';
import { checkGpuRule, gpuRuleOf } from './gpu-rule.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { writeEndpoint } from './write-endpoint.ts';

/** Which GPUs of its pools an endpoint may get, as the API has it. */
export interface GpuRuleSettings {
  excludedGpuTypes: string[];
  /** Empty: any. */
  allowedCudaVersions: string[];
  minCudaVersion: string | null;
}

export function readGpuRule({ gpu }: Endpoint): GpuRuleSettings {
  return {
    excludedGpuTypes: gpu?.excludedTypes ?? [],
    allowedCudaVersions: gpu?.allowedCudaVersions ?? [],
    minCudaVersion: gpu?.minCudaVersion ?? null,
  };
}

/**
 * Replaces the rule; a change makes a release, as one of the pools does. Throws `notFound`, and `badRequest` for a type that
 * is in none of the endpoint's pools, if no type is left, and for a CPU endpoint.
 */
export const replaceGpuRule: Operation<Tx, { id: EndpointId; rule: GpuRuleSettings }, GpuRuleSettings> = {
  name: 'endpoint.replace-gpu-rule',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, rule }) {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    if (before.gpu === null) throw new Failure('badRequest', 'a CPU endpoint has no GPUs');
    const { excludedGpuTypes, allowedCudaVersions, minCudaVersion } = rule;
    const given = { excludedTypes: excludedGpuTypes, allowedCudaVersions, minCudaVersion: minCudaVersion ?? '' };
    const { pools, count } = before.gpu;
    const gpu = { pools, count, ...gpuRuleOf(given) };
    checkGpuRule(gpu, 'excludedGpuTypes');
    publishEndpoint(bus, id);
    return readGpuRule(await writeEndpoint(db, actor, before, { ...before, gpu }));
  },
  subject: ({ id }) => id,
};
