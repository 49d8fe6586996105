import { maxProcesses } from '../../../engine/max-processes.ts';
import type { Gpu } from '../../gpus/gpu.ts';
import type { PublishedPort, WorkloadSpec } from '../../runtime.ts';
import { opaqueName, parseArgs, parsePort, WORKLOAD_OOM_SCORE } from '../../workload-spec.ts';
import type { GpuSupport } from '../engine/engine-machine.ts';
import { gpuHostConfig, withVisibleGpus } from '../gpus/gpu-config.ts';
import { HOLDER_IMAGE, HOLDER_PROGRAM } from '../images/holder-image.ts';

export const LABELS = {
  installation: 'podyard.installation',
  id: 'podyard.id',
  kind: 'podyard.kind',
  /** `<pool>:<count>` */
  gpu: 'podyard.gpu',
  /** UUIDs of real GPUs, comma-separated. */
  gpuDevices: 'podyard.gpu.devices',
  /** `<port>/<protocol>`, comma-separated. */
  ports: 'podyard.ports',
  /** The container that holds its network (prepared-networks.ts). */
  holder: 'podyard.network.holder',
  /** The network whose bridge it keeps (bridge-keeper.ts). */
  keeper: 'podyard.network.keeper',
} as const;

const MEBIBYTE = 2 ** 20;
const DEFAULT_SHM_BYTES = 1024 * MEBIBYTE;

/**
 * Docker's default capabilities that ordinary images do not need. NET_RAW would allow spoofing a neighbor's address,
 * MKNOD creating device files, SETPCAP passing on capabilities. The others stay: package managers, sshd and servers that
 * drop root need them.
 */
const DROPPED_CAPABILITIES = ['MKNOD', 'NET_RAW', 'SETPCAP'];

/** The kind of containers that only hold a network. */
export const HOLDER_KIND = 'network';

/** The facts that the create request needs beside the workload spec. */
export interface ContainerPlace {
  installation: string;
  network: string;
  /** Null: the engine chooses. */
  address: string | null;
  /** The container whose network it joins instead of having its own; null: none. */
  holder: { id: string; name: string } | null;
  /** Real GPUs; empty when GPUs are simulated. */
  gpus: readonly Gpu[];
  gpuSupport: GpuSupport;
  /** The address of this machine on which TCP ports are published. */
  publishIp: string;
  /** Whether the engine's storage driver can limit a container's disk. */
  canLimitDisk: boolean;
}

/** The body of the engine's create request. */
export function containerConfig(spec: WorkloadSpec, place: ContainerPlace): object {
  const { entrypoint, cmd } = parseArgs(spec.args);
  // HTTP ports are published nowhere, not even on loopback: Podyard reaches them over the bridge, and everybody else through
  // the proxy, which asks for a key if the pod is private.
  const published = spec.ports.filter((port) => port.endsWith('/tcp'));
  return {
    Image: spec.image,
    ...(entrypoint && { Entrypoint: entrypoint }),
    ...(cmd && { Cmd: cmd }),
    Env: Object.entries(withVisibleGpus(spec.env, place.gpus, place.gpuSupport)).map(
      ([name, value]) => `${name}=${value}`,
    ),
    ...(place.holder === null && { Hostname: opaqueName(place.installation, spec.id) }), // the engine's DNS may know it
    Labels: labelsOf(spec, place),
    ExposedPorts: Object.fromEntries(published.map((port) => [port, {}])),
    ...(place.holder === null && place.address !== null && networkingConfig(place.network, place.address)),
    HostConfig: {
      NetworkMode: place.holder === null ? place.network : `container:${place.holder.name}`,
      PortBindings: Object.fromEntries(
        published.map((port) => {
          const hostPort = spec.publicPorts?.[Number.parseInt(port, 10)] ?? '';
          return [port, [{ HostIp: place.publishIp, HostPort: String(hostPort) }]];
        }),
      ),
      ...(place.canLimitDisk && { StorageOpt: { size: `${spec.diskGb}G` } }),
      ...(spec.memoryBytes && { Memory: spec.memoryBytes, MemorySwap: spec.memoryBytes }), // equal: no swap on top
      ...(spec.cpus && { NanoCpus: Math.round(spec.cpus * 1e9) }),
      PidsLimit: maxProcesses(spec.cpus),
      OomScoreAdj: WORKLOAD_OOM_SCORE,
      // ML data loaders share memory, and crash with the engine's default of 64 MB. It counts towards Memory.
      ShmSize: spec.memoryBytes ? Math.max(64 * MEBIBYTE, Math.floor(spec.memoryBytes / 2)) : DEFAULT_SHM_BYTES,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: DROPPED_CAPABILITIES,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } },
      Mounts: spec.mounts.map(({ source, target, isReadOnly = false }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ...(isReadOnly && { ReadOnly: true }),
      })),
      ...gpuHostConfig(place.gpus, place.gpuSupport),
    },
  };
}

/** The same for a container that holds a network for a workload, and does nothing else. */
export function holderConfig(
  id: string,
  { installation, network, address }: { installation: string; network: string; address: string },
): object {
  return {
    ...waitingConfig(network),
    Hostname: opaqueName(installation, id),
    Labels: { [LABELS.installation]: installation, [LABELS.id]: id, [LABELS.kind]: HOLDER_KIND },
    ...networkingConfig(network, address),
  };
}

/** The same for the container that keeps a network's bridge (bridge-keeper.ts). */
export function keeperConfig(network: string): object {
  return { ...waitingConfig(network), Labels: { [LABELS.keeper]: network } };
}

function waitingConfig(network: string): object {
  return {
    Image: HOLDER_IMAGE,
    Entrypoint: [HOLDER_PROGRAM],
    StopSignal: 'SIGKILL', // it handles no other, and the engine would wait for it when it stops
    HostConfig: {
      NetworkMode: network,
      ReadonlyRootfs: true,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none' },
    },
  };
}

function networkingConfig(network: string, address: string): object {
  return { NetworkingConfig: { EndpointsConfig: { [network]: { IPAMConfig: { IPv4Address: address } } } } };
}

function labelsOf(
  spec: WorkloadSpec,
  place: Pick<ContainerPlace, 'installation' | 'gpus' | 'holder'>,
): Record<string, string> {
  return {
    [LABELS.installation]: place.installation,
    [LABELS.id]: spec.id,
    [LABELS.kind]: spec.kind,
    ...(spec.gpu && { [LABELS.gpu]: `${spec.gpu.pool}:${spec.gpu.count}` }),
    ...(place.gpus.length > 0 && { [LABELS.gpuDevices]: place.gpus.map(({ uuid }) => uuid).join(',') }),
    ...(spec.ports.length > 0 && { [LABELS.ports]: spec.ports.join(',') }),
    ...(place.holder && { [LABELS.holder]: place.holder.id }),
  };
}

/** Parses the GPUs a container holds from its labels. */
export function gpuOf(labels: Readonly<Record<string, string>>): WorkloadSpec['gpu'] {
  const match = /^(.+):(\d+)$/.exec(labels[LABELS.gpu] ?? '');
  return match && { pool: match[1]!, count: Number(match[2]) };
}

/** Parses a workload's ports from its labels; `publicOf` returns where a TCP port is published. */
export function portsOf(
  labels: Readonly<Record<string, string>>,
  publicOf: (port: number) => { ip: string; public: number } | undefined,
): PublishedPort[] {
  const items = (labels[LABELS.ports] ?? '').split(',').filter(Boolean);
  return items.map((item) => {
    const port = parsePort(item);
    const published = port.type === 'tcp' ? publicOf(port.private) : undefined;
    return { ...port, ...(published ?? { public: null, ip: null }) };
  });
}
