import { parseArgs } from '../args.ts';
import type { WorkloadSpec } from '../runtime.ts';

export const LABELS = {
  installation: 'podyard.installation',
  id: 'podyard.id',
  kind: 'podyard.kind',
  /** `<pool>:<count>` */
  gpu: 'podyard.gpu',
  /** Real GPUs by UUID, separated by commas. */
  gpuDevices: 'podyard.gpu.devices',
} as const;

const MEBIBYTE = 2 ** 20;
const DEFAULT_SHM_BYTES = 1024 * MEBIBYTE;
const PIDS_LIMIT = 4096;

/**
 * Capabilities of Docker's default set that ordinary images do without. NET_RAW would allow a workload to speak with a
 * neighbour's address, MKNOD to make device files, SETPCAP to pass on capabilities. The others stay: package managers,
 * sshd and servers that give up root need them.
 */
const DROPPED_CAPABILITIES = ['MKNOD', 'NET_RAW', 'SETPCAP'];

/** The body of the engine's create request. `devices`: UUIDs of real GPUs; none when GPUs are simulated. */
export function containerConfig(
  spec: WorkloadSpec,
  place: { installation: string; network: string; devices: readonly string[] },
): object {
  const { entrypoint, cmd } = parseArgs(spec.args);
  return {
    Image: spec.image,
    ...(entrypoint && { Entrypoint: entrypoint }),
    ...(cmd && { Cmd: cmd }),
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Hostname: spec.id,
    Labels: labelsOf(spec, place),
    HostConfig: {
      NetworkMode: place.network,
      ...(spec.memoryBytes && { Memory: spec.memoryBytes, MemorySwap: spec.memoryBytes }), // equal: no swap on top
      ...(spec.cpus && { NanoCpus: Math.round(spec.cpus * 1e9) }),
      PidsLimit: PIDS_LIMIT,
      // Data loaders of ML frameworks share memory; the engine's 64 MB make them crash. It counts towards Memory.
      ShmSize: spec.memoryBytes ? Math.max(64 * MEBIBYTE, Math.floor(spec.memoryBytes / 2)) : DEFAULT_SHM_BYTES,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: DROPPED_CAPABILITIES,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } },
      Mounts: spec.mounts.map(({ source, target }) => ({ Type: 'bind', Source: source, Target: target })),
      ...(place.devices.length > 0 && {
        DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: place.devices, Capabilities: [['gpu']] }],
      }),
    },
  };
}

function labelsOf(
  spec: WorkloadSpec,
  place: { installation: string; devices: readonly string[] },
): Record<string, string> {
  return {
    [LABELS.installation]: place.installation,
    [LABELS.id]: spec.id,
    [LABELS.kind]: spec.kind,
    ...(spec.gpu && { [LABELS.gpu]: `${spec.gpu.pool}:${spec.gpu.count}` }),
    ...(place.devices.length > 0 && { [LABELS.gpuDevices]: place.devices.join(',') }),
  };
}

/** What a container's labels say about the GPUs it holds. */
export function gpuOf(labels: Readonly<Record<string, string>>): WorkloadSpec['gpu'] {
  const match = /^(.+):(\d+)$/.exec(labels[LABELS.gpu] ?? '');
  return match && { pool: match[1]!, count: Number(match[2]) };
}
