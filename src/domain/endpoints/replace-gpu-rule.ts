import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { gpuTypesOfPool } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import type { Endpoint, EndpointClientSettings } from './endpoint.ts';
import { getEndpointRow, updateEndpointRow } from './endpoint-store.ts';
import { splitVersions } from './gpu-rule.ts';
import { publishEndpoint } from './publish-endpoint.ts';

/** Which GPUs of its pools an endpoint may get, as the API has it. */
export interface GpuRuleSettings {
  excludedGpuTypes: string[];
  /** Empty: any. */
  allowedCudaVersions: string[];
  minCudaVersion: string | null;
}

export function readGpuRule({ clientSettings }: Endpoint): GpuRuleSettings {
  return {
    excludedGpuTypes: clientSettings.excludedGpuTypeIds ?? [],
    allowedCudaVersions: splitVersions(clientSettings.allowedCudaVersions),
    minCudaVersion: splitVersions(clientSettings.minCudaVersion)[0] ?? null,
  };
}

/**
 * Replaces the rule; running workers stay where they are. Throws `notFound`, and `badRequest` for a type that is in none of
 * the endpoint's pools, or if no type is left.
 */
export async function replaceGpuRule(
  context: Context,
  actor: Actor,
  id: EndpointId,
  rule: GpuRuleSettings,
): Promise<GpuRuleSettings> {
  const endpoint = await transaction(context.pool, async (db) => {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    checkTypes(before, rule.excludedGpuTypes);
    const after = { ...before, clientSettings: toClientSettings(rule) };
    await updateEndpointRow(db, after);
    return after;
  });
  publishEndpoint(context, id);
  return readGpuRule(endpoint);
}

function toClientSettings(rule: GpuRuleSettings): EndpointClientSettings {
  const { excludedGpuTypes, allowedCudaVersions, minCudaVersion } = rule;
  return {
    ...(excludedGpuTypes.length > 0 && { excludedGpuTypeIds: excludedGpuTypes }),
    ...(allowedCudaVersions.length > 0 && { allowedCudaVersions: allowedCudaVersions.join(',') }),
    ...(minCudaVersion !== null && { minCudaVersion }),
  };
}

function checkTypes({ gpu }: Endpoint, excluded: readonly string[]): void {
  const pools = gpu?.pools ?? [];
  const types = pools.flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));
  const other = excluded.find((type) => !types.includes(type));
  if (other !== undefined) {
    const where = pools.length === 0 ? 'a CPU endpoint has no GPUs' : `it is in none of the pools ${pools.join(', ')}`;
    throw new Failure('badRequest', `excludedGpuTypes: '${other}': ${where}`);
  }
  if (types.length > 0 && types.every((type) => excluded.includes(type))) {
    throw new Failure('badRequest', `excludedGpuTypes: no type of the pools ${pools.join(', ')} is left`);
  }
}
