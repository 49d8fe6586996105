/** The variables that workers and pods have in common (docs/guide/images.md). */
import { reachableAddress } from '../../runtimes/reachable-address.ts';
import type { Capacity } from '../../runtimes/runtime.ts';

/** A workload's hardware, and where it is. */
export interface Hardware {
  gpuCount: number;
  /** Null without GPUs, or where the type is unknown. */
  gpuTypeId: string | null;
  cpus: number;
  memoryBytes: number;
  dataCenterId: string | null;
}

/** Returns the variables that describe the hardware; the user's env cannot override them. */
export function hardwareEnv({
  gpuCount,
  gpuTypeId,
  cpus,
  memoryBytes,
  dataCenterId,
}: Hardware): Record<string, string> {
  return {
    RUNPOD_GPU_COUNT: String(gpuCount),
    RUNPOD_CPU_COUNT: String(cpus),
    RUNPOD_MEM_GB: String(Math.floor(memoryBytes / 2 ** 30)),
    RUNPOD_DC_ID: dataCenterId ?? '',
    // Images decode the name as a form does: `NVIDIA+A40`.
    ...(gpuTypeId !== null && {
      RUNPOD_GPU_TYPE_ID: gpuTypeId,
      RUNPOD_GPU_NAME: encodeURIComponent(gpuTypeId).replaceAll('%20', '+'),
    }),
  };
}

/** Returns the variables that say where TCP ports are reached: private port → public port. `publicIp` null: the runtime sets it. */
export function portsEnv(publicIp: string | null, tcpPorts: ReadonlyMap<number, number>): Record<string, string> {
  return {
    ...(publicIp !== null && { RUNPOD_PUBLIC_IP: reachableAddress(publicIp) }),
    ...Object.fromEntries([...tcpPorts].map(([port, at]) => [`RUNPOD_TCP_PORT_${port}`, String(at)])),
  };
}

/** Variables that a program of the user's may set otherwise. */
export interface EnvDefaults {
  /** SSH keys of the account; empty: none. */
  publicKeys: string;
  /** The workload's own key; null: the user's env has one. */
  apiKey: string | null;
  /** Where the API is reached; null unless the operator says so (`--public-url`). */
  publicUrl: string | null;
}

/** Returns the variables that the user's env overrides. The key is of use only where clients find this installation. */
export function defaultsEnv({ publicKeys, apiKey, publicUrl }: EnvDefaults): Record<string, string> {
  return {
    ...(publicKeys !== '' && { PUBLIC_KEY: publicKeys }),
    ...(publicUrl !== null && {
      RUNPOD_API_BASE_URL: publicUrl,
      RUNPOD_ENDPOINT_BASE_URL: `${publicUrl}/v2`,
      RUNPOD_REST_V2_API_URL: `${publicUrl}/2026-08`,
      RUNPOD_SERVERLESS_API_URL: `${publicUrl}/v2`,
    }),
    ...(apiKey !== null && { RUNPOD_API_KEY: apiKey }),
  };
}

/** Returns the CUDA version of the drivers of these GPUs in a data center; null where it is unknown, or not the same on all. */
export function cudaVersionOf(
  { gpus }: Pick<Capacity, 'gpus'>,
  place: { pool: string | null; gpuTypeId: string | null; dataCenterId: string | null },
): string | null {
  const here = gpus.filter(
    (one) => one.pool === place.pool && one.gpuTypeId === place.gpuTypeId && one.dataCenterId === place.dataCenterId,
  );
  const [version, ...others] = new Set(here.map(({ cudaVersion }) => cudaVersion));
  return others.length === 0 ? (version ?? null) : null;
}
