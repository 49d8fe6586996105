import { statSync } from 'node:fs';
import { Failure } from '../../../core/errors.ts';
import { KFD } from '../../gpus/amd-gpus.ts';
import type { Gpu } from '../../gpus/gpu.ts';
import type { GpuSupport } from '../engine/engine-machine.ts';

/** The variable by which NVIDIA's runtime decides what a container sees, and which images and users set, too. */
const NVIDIA_VARIABLE = 'NVIDIA_VISIBLE_DEVICES';

/**
 * Returns the part of the engine's create request that gives a container these GPUs and no others, by UUID. Throws
 * `unavailable` when the engine knows no such device.
 */
export function gpuHostConfig(gpus: readonly Gpu[], support: GpuSupport): object {
  const nvidia = gpus.filter(({ vendor }) => vendor === 'NVIDIA').map(({ uuid }) => uuid);
  const amd = gpus.filter(({ vendor }) => vendor === 'AMD');
  return {
    ...(nvidia.length > 0 && { DeviceRequests: [deviceRequest(nvidia, support)] }),
    ...(amd.length > 0 && amdDevices(amd)),
  };
}

/** All GPUs of the machine, for a container that only looks at them. */
export function allGpusRequest(support: GpuSupport): object {
  if (!needsCdi(support)) return { Driver: 'nvidia', Count: -1, Capabilities: [['gpu', 'utility']] };
  return { Driver: 'cdi', DeviceIDs: [`${support.cdiKind}=all`] };
}

function deviceRequest(uuids: readonly string[], support: GpuSupport): object {
  if (!needsCdi(support)) return { Driver: 'nvidia', DeviceIDs: uuids, Capabilities: [['gpu']] };
  const names = uuids.map((uuid) => `${support.cdiKind}=${uuid}`);
  const unknown = names.find((name) => !support.cdiDevices.includes(name));
  if (unknown !== undefined) {
    const advice = 'sudo nvidia-ctk cdi generate --device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml';
    throw new Failure('unavailable', `The container engine has no CDI device ${unknown}. Run: ${advice}`);
  }
  return { Driver: 'cdi', DeviceIDs: names };
}

/** An engine without the NVIDIA runtime gives devices by their CDI names, if it has any. */
function needsCdi({ hasNvidiaRuntime, cdiDevices }: GpuSupport): boolean {
  return !hasNvidiaRuntime && cdiDevices.length > 0;
}

/** The files of the GPUs and of the driver, and the groups that may open them. */
function amdDevices(gpus: readonly Gpu[]): object {
  const paths = [KFD, ...gpus.flatMap(({ devicePaths }) => devicePaths)];
  const groups = paths.flatMap((path) => statSync(path, { throwIfNoEntry: false })?.gid ?? []);
  return {
    Devices: paths.map((path) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rw' })),
    GroupAdd: [...new Set(groups)].filter((gid) => gid !== 0).map(String),
  };
}

/**
 * Returns the environment with the GPUs that the container may see. On an engine whose default runtime is NVIDIA's, the
 * variable alone gives a container devices: without this, any image or user could take all of them.
 */
export function withVisibleGpus(
  env: Readonly<Record<string, string>>,
  gpus: readonly Gpu[],
  { hasNvidia }: GpuSupport,
): Record<string, string> {
  if (!hasNvidia) return env;
  const uuids = gpus.filter(({ vendor }) => vendor === 'NVIDIA').map(({ uuid }) => uuid);
  return { ...env, [NVIDIA_VARIABLE]: uuids.join(',') || 'void' };
}
