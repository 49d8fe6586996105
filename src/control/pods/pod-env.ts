import type { ControlledPod } from '../../domain/pods/pod-lifecycle.ts';

/**
 * Returns the environment of a pod (docs/interface/rest.md, "Pod environment"): the user's variables with secrets resolved,
 * then those that describe the pod, which cannot be overridden. `PUBLIC_KEY` defaults to the account's SSH keys, and
 * `JUPYTER_PASSWORD` to the pod's own.
 */
export function podEnv(
  pod: Pick<ControlledPod, 'id' | 'dataCenterId' | 'gpu'>,
  found: {
    /** The user's variables, with secrets resolved. */
    env: Readonly<Record<string, string>>;
    storageEnv: Readonly<Record<string, string>>;
    cpus: number;
    memoryBytes: number;
    /** Empty: none. */
    publicKeys: string;
    /** Null: it starts no Jupyter. */
    jupyterPassword: string | null;
    /** Where its TCP ports are reached; null when the runtime sets it. */
    publicIp: string | null;
    /** Private port → public port. */
    tcpPorts: ReadonlyMap<number, number>;
  },
): Record<string, string> {
  return {
    ...(found.publicKeys !== '' && { PUBLIC_KEY: found.publicKeys }),
    ...(found.jupyterPassword !== null && { JUPYTER_PASSWORD: found.jupyterPassword }),
    ...found.env,
    ...found.storageEnv,
    RUNPOD_POD_ID: pod.id,
    RUNPOD_POD_HOSTNAME: pod.id,
    RUNPOD_DC_ID: pod.dataCenterId,
    RUNPOD_GPU_COUNT: String(pod.gpu?.count ?? 0),
    ...(pod.gpu && { RUNPOD_GPU_TYPE_ID: pod.gpu.id }),
    RUNPOD_CPU_COUNT: String(found.cpus),
    RUNPOD_MEM_GB: String(Math.floor(found.memoryBytes / 2 ** 30)),
    ...(found.publicIp !== null && { RUNPOD_PUBLIC_IP: found.publicIp }),
    ...Object.fromEntries([...found.tcpPorts].map(([port, at]) => [`RUNPOD_TCP_PORT_${port}`, String(at)])),
  };
}
