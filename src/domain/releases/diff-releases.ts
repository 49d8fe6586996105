import { isDeepStrictEqual } from 'node:util';
import type { GpuConfig, ReleaseSpec } from '../endpoints/endpoint.ts';
import { modelText } from '../models/model-text.ts';
import type { ReleaseChange } from './release.ts';

/** Replaces every value of `env`, because any of them may be a secret. */
const HIDDEN = '***';

/** The name of each member of a release in its diff. Members of `gpu` are fields of their own. */
const FIELDS = {
  image: 'image',
  args: 'args',
  diskGb: 'disk',
  ports: 'ports',
  env: 'env',
  registryId: 'registry',
  gpu: {
    pools: 'gpu.pools',
    count: 'gpu.count',
    excludedTypes: 'gpu.excludedTypes',
    allowedCudaVersions: 'gpu.allowedCudaVersions',
    minCudaVersion: 'gpu.minCudaVersion',
  },
  cpu: 'cpu',
  networkVolumeIds: 'networkVolumes',
  models: 'models',
} satisfies Record<keyof ReleaseSpec, string | Record<keyof GpuConfig, string>>;

/** The members of an endpoint whose change makes a release. */
export const RELEASED = Object.keys(FIELDS) as (keyof ReleaseSpec)[];

/**
 * Returns the changes between two versions, in the words of the wire (docs/interface/rest.md, "Releases"); empty when a
 * release would be pointless. Fields outside the spec are not looked at. Values of `env` never appear, only the names
 * that changed.
 */
export function diffReleases(before: ReleaseSpec, after: ReleaseSpec): ReleaseChange[] {
  if (RELEASED.every((member) => before[member] === after[member])) return [];
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
  const fields = Object.entries(FIELDS).flatMap(([member, field]) =>
    typeof field === 'string'
      ? [[field, spec[member as keyof ReleaseSpec]]]
      : Object.entries(field).map(([inner, name]) => [name, spec.gpu?.[inner as keyof GpuConfig] ?? null]),
  );
  return { ...Object.fromEntries(fields), [FIELDS.models]: spec.models.map(modelText) };
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
