import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
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
export async function replaceGpuRule(
  context: Context,
  actor: Actor,
  id: EndpointId,
  rule: GpuRuleSettings,
): Promise<GpuRuleSettings> {
  const endpoint = await transaction(context.pool, async (db) => {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    if (before.gpu === null) throw new Failure('badRequest', 'a CPU endpoint has no GPUs');
    const { excludedGpuTypes, allowedCudaVersions, minCudaVersion } = rule;
    const given = { excludedTypes: excludedGpuTypes, allowedCudaVersions, minCudaVersion: minCudaVersion ?? '' };
    const { pools, count } = before.gpu;
    const gpu = { pools, count, ...gpuRuleOf(given) };
    checkGpuRule(gpu, 'excludedGpuTypes');
    return writeEndpoint(db, actor, before, { ...before, gpu });
  });
  publishEndpoint(context, id);
  return readGpuRule(endpoint);
}
