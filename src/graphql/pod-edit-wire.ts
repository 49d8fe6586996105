import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../domain/pods/pod.ts';
import type { PodChange } from '../domain/pods/update-pod.ts';
import { type EnvironmentVariable, toEnv, toId, toPorts } from './container-wire.ts';
import { readNumber } from './inputs.ts';

/** Any field but the id may be null, which counts as absent. */
export interface PodEditInput {
  podId: string;
  imageName?: string | null;
  dockerArgs?: string | null;
  env?: (EnvironmentVariable | null)[] | null;
  ports?: string | null;
  containerDiskInGb?: number | null;
  volumeInGb?: number | null;
  volumeMountPath?: string | null;
  containerRegistryAuthId?: string | null;
}

/** Maps the fields that are present. Throws `badRequest`. */
export function toPodChange(input: PodEditInput, pod: Pod): PodChange {
  const { imageName, dockerArgs, env, ports, containerDiskInGb: disk, containerRegistryAuthId: registry } = input;
  return {
    ...(imageName ? { image: imageName } : {}),
    ...(isGiven(dockerArgs) ? { args: dockerArgs } : {}),
    ...(isGiven(env) ? { env: toEnv(env) } : {}),
    ...(isGiven(ports) ? { ports: toPorts(ports) } : {}),
    ...(isGiven(disk) ? { diskGb: readNumber(disk, 'containerDiskInGb', { min: 1, fallback: 1 }) } : {}),
    ...(isGiven(registry) ? { registryId: toId(registry) } : {}),
    ...toMountChange(input, pod),
  };
}

/**
 * A size of 0, which clients send for none, and an empty path change nothing. Storage cannot be added, so its size is ignored
 * for a pod without it: clients send one with every edit.
 */
function toMountChange({ volumeInGb, volumeMountPath: path }: PodEditInput, pod: Pod): Pick<PodChange, 'mounts'> {
  const { persistent, network } = pod.mounts;
  const sizeGb = readNumber(volumeInGb, 'volumeInGb', { min: 0, fallback: 0 });
  if (network) return path ? { mounts: { network: { ...network, path } } } : {};
  if (!persistent || (sizeGb === 0 && !path)) return {};
  return { mounts: { persistent: { sizeGb: sizeGb || persistent.sizeGb, path: path || persistent.path } } };
}

/** Returns the fields of a change that differ from the pod's. */
export function differingFields(change: PodChange, pod: Pod): PodChange {
  const before: Record<string, unknown> = { ...pod };
  const after: Record<string, unknown> = { ...change, mounts: { ...pod.mounts, ...change.mounts } };
  return Object.fromEntries(Object.entries(change).filter(([name]) => !isDeepStrictEqual(after[name], before[name])));
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
