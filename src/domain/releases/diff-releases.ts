import { isDeepStrictEqual } from 'node:util';
import type { ReleaseSpec } from '../endpoints/endpoint.ts';
import type { ReleaseChange } from './release.ts';

/** Replaces every value of `env`, because any of them may be a secret. */
const HIDDEN = '***';

/**
 * What changed between two versions, in the words of the wire (docs/interface/rest.md, "Releases"); empty when a
 * release would be pointless. Fields outside the spec are not looked at. Values of `env` never appear, only the names
 * that changed.
 */
export function diffReleases(before: ReleaseSpec, after: ReleaseSpec): ReleaseChange[] {
  const was = fieldsOf(before);
  const is = fieldsOf(after);
  const changes: ReleaseChange[] = [];
  for (const field of Object.keys(was)) {
    if (isDeepStrictEqual(was[field], is[field])) continue;
    changes.push(field === 'env' ? envChange(before.env, after.env) : { field, old: was[field], new: is[field] });
  }
  return changes;
}

function fieldsOf(spec: ReleaseSpec): Record<string, unknown> {
  return {
    image: spec.image,
    args: spec.args,
    disk: spec.diskGb,
    ports: spec.ports,
    env: spec.env,
    registry: spec.registryId,
    'gpu.pools': spec.gpu?.pools ?? null,
    'gpu.count': spec.gpu?.count ?? null,
    'gpu.excludedTypes': spec.gpu?.excludedTypes ?? null,
    'gpu.allowedCudaVersions': spec.gpu?.allowedCudaVersions ?? null,
    'gpu.minCudaVersion': spec.gpu?.minCudaVersion ?? null,
    cpu: spec.cpu ?? null,
    networkVolumes: spec.networkVolumeIds,
  };
}

function envChange(before: Record<string, string>, after: Record<string, string>): ReleaseChange {
  const hasChanged = (name: string) =>
    Object.hasOwn(before, name) !== Object.hasOwn(after, name) || before[name] !== after[name];
  const hide = (env: Record<string, string>) =>
    Object.fromEntries(
      Object.keys(env)
        .filter(hasChanged)
        .map((name) => [name, HIDDEN]),
    );
  return { field: 'env', old: hide(before), new: hide(after) };
}
