import { type AddressInfo, createServer } from 'node:net';
import { Failure } from '../../../core/errors.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { defaultsEnv, type EnvDefaults, hardwareEnv, portsEnv } from '../../workloads/workload-env.ts';

const MAX_PING_INTERVAL_MS = 10_000;
/** So often within a lease: two pings may be lost or late. */
const PINGS_PER_LEASE = 4;

/**
 * Returns the environment of a worker: the user's variables, then those of the worker protocol, which cannot be overridden
 * (docs/interface/worker-api.md, "Worker environment"). URLs are complete except for `$ID`, which workers replace with the
 * job's id, and each has a query, to which workers append.
 */
export function workerEnv(
  worker: Pick<ControlledWorker, 'id' | 'endpointId' | 'gpuCount'> & { spec: Pick<ControlledWorker['spec'], 'env'> },
  options: {
    apiUrl: string;
    leaseMs: number;
    token: string;
    defaults: EnvDefaults;
    gpuTypeId: string | null;
    dataCenterId: string | null;
    cpus: number;
    memoryBytes: number;
    /** Where its TCP ports are reached; null when the runtime sets it, or when it has none. */
    publicIp: string | null;
    /** Private port → public port. */
    tcpPorts: ReadonlyMap<number, number>;
    /** Another worker can use its GPUs while it sleeps. */
    canSleep: boolean;
    /** Null unless it is a load-balancing worker. */
    ports: WorkerPorts | null;
  },
): Record<string, string> {
  const base = `${options.apiUrl}/v2/${worker.endpointId}`;
  const query = `?gpu=${encodeURIComponent(options.gpuTypeId ?? 'cpu')}`;
  return {
    ...defaultsEnv(options.defaults),
    ...worker.spec.env,
    RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/${worker.id}${query}`,
    RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/${worker.id}/$ID${query}`,
    RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/${worker.id}/$ID${query}`,
    RUNPOD_WEBHOOK_PING: `${base}/ping/${worker.id}${query}`,
    RUNPOD_PING_INTERVAL: String(Math.min(MAX_PING_INTERVAL_MS, Math.floor(options.leaseMs / PINGS_PER_LEASE))),
    RUNPOD_AI_API_KEY: options.token,
    RUNPOD_AI_API_ID: worker.endpointId,
    RUNPOD_POD_ID: worker.id,
    RUNPOD_POD_HOSTNAME: worker.id,
    RUNPOD_ENDPOINT_ID: worker.endpointId,
    ...hardwareEnv({ ...options, gpuCount: worker.gpuCount }),
    ...portsEnv(options.publicIp, options.tcpPorts),
    ...(options.canSleep && { PODYARD_SLEEP: '1' }),
    ...(options.ports && { PORT: String(options.ports.http), PORT_HEALTH: String(options.ports.health) }),
  };
}

const DEFAULT_PORT = 80;

/** Where a load-balancing worker takes requests and answers health checks. */
export interface WorkerPorts {
  http: number;
  health: number;
}

/**
 * Returns `PORT` and `PORT_HEALTH` of the container's env. `PORT` defaults to 80, `PORT_HEALTH` to `PORT`
 * (docs/interface/worker-api.md, "Worker environment"). Workers that run as processes share one machine: each gets a free
 * port unless the user chose one. Throws `badRequest` for an invalid port.
 */
export async function workerPorts(env: Readonly<Record<string, string>>, runtime: Runtime): Promise<WorkerPorts> {
  const http = readPort(env, 'PORT') ?? (runtime.name === 'process' ? await findFreePort() : DEFAULT_PORT);
  return { http, health: readPort(env, 'PORT_HEALTH') ?? http };
}

function readPort(env: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new Failure('badRequest', `the variable ${name} is '${text.slice(0, 40)}', but must be a port from 1 to 65535`);
}

/** Returns a port that is free now. If another process takes it first, the worker fails to start and is replaced. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
