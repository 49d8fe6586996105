import type { ClusterPlace, ControlledPod } from '../../domain/pods/pod-lifecycle.ts';
import type { GroupNetwork } from '../../runtimes/runtime.ts';
import { defaultsEnv, type EnvDefaults, hardwareEnv, portsEnv } from '../workloads/workload-env.ts';

/**
 * Returns the environment of a pod (docs/interface/rest.md, "Pod environment"): the user's variables with secrets resolved,
 * then those that describe the pod, which cannot be overridden. Its keys and passwords are defaults.
 */
export function podEnv(
  pod: Pick<ControlledPod, 'id' | 'dataCenterId' | 'gpu'>,
  found: {
    /** The user's variables, with secrets resolved. */
    env: Readonly<Record<string, string>>;
    storageEnv: Readonly<Record<string, string>>;
    cpus: number;
    memoryBytes: number;
    defaults: EnvDefaults;
    /** Null: it starts no Jupyter. */
    jupyterPassword: string | null;
    /** Where its TCP ports are reached; null when the runtime sets it. */
    publicIp: string | null;
    /** Private port → public port. */
    tcpPorts: ReadonlyMap<number, number>;
    /** The place of a cluster's pod in the cluster, and the network. */
    cluster?: (ClusterPlace & GroupNetwork) | null;
  },
): Record<string, string> {
  return {
    ...defaultsEnv(found.defaults),
    ...(found.jupyterPassword !== null && { JUPYTER_PASSWORD: found.jupyterPassword }),
    ...(found.cluster && interfaceEnv(found.cluster)),
    ...found.env,
    ...found.storageEnv,
    RUNPOD_POD_ID: pod.id,
    RUNPOD_POD_HOSTNAME: pod.id,
    ...hardwareEnv({ ...found, ...pod, gpuCount: pod.gpu?.count ?? 0, gpuTypeId: pod.gpu?.id ?? null }),
    ...(found.cluster && clusterEnv(found.cluster, pod.gpu?.count ?? 0)),
    ...portsEnv(found.publicIp, found.tcpPorts),
  };
}

/** Returns what programs of several nodes look for (docs/interface/rest.md, "Clusters"); most have two names. */
function clusterEnv(cluster: ClusterPlace & GroupNetwork, gpus: number): Record<string, string> {
  const { rank, podCount, primary } = cluster;
  const port = String(cluster.port);
  const own = cluster.addressOf(rank);
  return {
    NODE_RANK: String(rank),
    NUM_NODES: String(podCount),
    NUM_TRAINERS: String(gpus),
    WORLD_SIZE: String(podCount * gpus),
    MASTER_ADDR: primary,
    MASTER_PORT: port,
    PRIMARY_ADDR: primary,
    PRIMARY_PORT: port,
    HOST_NODE_ADDR: `${primary}:${port}`,
    ...(own !== null && { NODE_ADDR: own }),
  };
}

/** Libraries that choose an interface themselves would take the first, where the pods do not reach each other. */
function interfaceEnv({ interfaceName }: GroupNetwork): Record<string, string> {
  return interfaceName === null ? {} : { NCCL_SOCKET_IFNAME: interfaceName, GLOO_SOCKET_IFNAME: interfaceName };
}
