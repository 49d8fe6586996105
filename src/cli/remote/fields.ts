import { type Command, InvalidArgumentError, Option } from 'commander';

/** Container options of endpoints, pods and templates. */
export interface ContainerOptions {
  name?: string;
  image?: string;
  args?: string;
  disk?: number;
  port?: string[];
  env?: string[];
  registry?: string;
}

export interface EndpointOptions extends ContainerOptions {
  type?: string;
  template?: string;
  pool?: string[];
  gpuCount?: number;
  /** `flavor` or `flavor:vCPUs`. */
  cpu?: string[];
  workersMin?: number;
  workersMax?: number;
  scaler?: string;
  scalerValue?: number;
  idleTimeout?: number;
  dataCenter?: string[];
  volume?: string[];
  timeout?: number;
  flashboot?: string;
}

export interface PodOptions extends ContainerOptions {
  template?: string;
  gpu?: string;
  gpuCount?: number;
  cpu?: string;
  vcpus?: number;
  dataCenter?: string[];
  persistent?: string;
  networkVolume?: string;
  ssh?: boolean;
  jupyter?: boolean;
}

export interface ClusterOptions extends Omit<PodOptions, 'cpu' | 'vcpus' | 'registry'> {
  type: string;
  gpu: string;
  pods: number;
}

export function addContainerOptions(command: Command): Command {
  return addContainerSettings(command).option('--registry <id>', 'saved credentials for a private image');
}

/** The options of what takes its credentials from a template. */
export function addContainerSettings(command: Command): Command {
  return command
    .option('--name <text>', 'name')
    .option('--image <reference>', 'container image')
    .option('--args <text>', 'container arguments')
    .option('--disk <gb>', 'container disk in GB', wholeNumber)
    .option('--port <port/protocol...>', 'ports, e.g. 8000/http 22/tcp')
    .option('--env <name=value...>', 'environment variables; they replace all existing ones');
}

export function addEndpointOptions(command: Command): Command {
  return addContainerOptions(command)
    .option('--pool <name...>', 'GPU pools, preferred first')
    .option('--gpu-count <number>', 'GPUs per worker', wholeNumber)
    .option('--cpu <flavor:vcpus...>', 'CPU flavors instead of GPU pools, preferred first, e.g. cpu3c:4 cpu3g:2')
    .option('--workers-min <number>', 'minimum number of workers', wholeNumber)
    .option('--workers-max <number>', 'maximum number of workers; 0 stops the endpoint', wholeNumber)
    .addOption(new Option('--scaler <type>', 'what to scale on').choices(['QUEUE_DELAY', 'REQUEST_COUNT']))
    .option('--scaler-value <number>', 'seconds in the queue, or requests per worker', anyNumber)
    .option('--idle-timeout <seconds>', 'how long an idle worker stays up', wholeNumber)
    .option('--data-center <id...>', 'preferred data centers')
    .option('--volume <id...>', 'network volumes')
    .option('--timeout <ms>', 'execution timeout of a job; 0: none', wholeNumber)
    .addOption(
      new Option('--flashboot <mode>', 'freeze idle workers instead of stopping them').choices([
        'OFF',
        'FLASHBOOT',
        'PRIORITY_FLASHBOOT',
      ]),
    );
}

export function containerBody(options: ContainerOptions): Record<string, unknown> {
  return present({
    name: options.name,
    image: options.image,
    args: options.args,
    disk: options.disk,
    ports: options.port,
    env: options.env && readEnv(options.env),
    registry: options.registry === '' ? null : options.registry,
  });
}

/** Parses `cpu3c:4`. */
function readCpu(text: string): { id: string; vcpuCount: number } {
  const [, id, vcpus = '2'] = /^([^:]+)(?::([0-9]{1,4}))?$/.exec(text) ?? [];
  if (id === undefined) throw new Error(`--cpu: '${text}' is not a flavor and its vCPUs, like cpu3c:4`);
  return { id, vcpuCount: Number(vcpus) };
}

/** Returns only what was given, so that an update leaves the rest unchanged. */
export function endpointBody(options: EndpointOptions): Record<string, unknown> {
  const workers = present({ min: options.workersMin, max: options.workersMax });
  const scaling = present({ type: options.scaler, value: options.scalerValue, idleTimeout: options.idleTimeout });
  if (options.gpuCount !== undefined && options.pool === undefined) {
    throw new Error('--gpu-count needs --pool: the two are one setting');
  }
  return {
    ...containerBody(options),
    ...present({
      type: options.type,
      templateId: options.template,
      gpu: options.pool && present({ pools: options.pool, count: options.gpuCount }),
      cpu: options.cpu?.map(readCpu),
      workers: Object.keys(workers).length > 0 ? workers : undefined,
      scaling: Object.keys(scaling).length > 0 ? scaling : undefined,
      dataCenterIds: options.dataCenter,
      networkVolumes: options.volume,
      timeout: options.timeout,
      flashboot: options.flashboot,
    }),
  };
}

export function podBody(options: PodOptions): Record<string, unknown> {
  return {
    ...containerBody(options),
    ...present({ ports: withStartPorts(options) }),
    ...present({
      templateId: options.template,
      startSsh: options.ssh,
      startJupyter: options.jupyter,
      gpu: options.gpu && present({ id: options.gpu, count: options.gpuCount }),
      cpu: options.cpu && { id: options.cpu, vcpuCount: options.vcpus ?? 2 },
      dataCenterIds: options.dataCenter,
      mounts: mountsBody(options),
    }),
  };
}

export function clusterBody(options: ClusterOptions): Record<string, unknown> {
  const { gpu, gpuCount = 1, pods } = options;
  return {
    ...containerBody(options),
    type: options.type,
    compute: { gpuTypeId: gpu, gpuCountPerPod: gpuCount, podCount: pods },
    ...present({
      templateId: options.template,
      dataCenterIds: options.dataCenter,
      mounts: mountsBody(options),
      startSsh: options.ssh,
      startJupyter: options.jupyter,
    }),
  };
}

function mountsBody(options: Pick<PodOptions, 'persistent' | 'networkVolume'>): Record<string, unknown> | undefined {
  const [size, persistentPath] = splitOnce(options.persistent, ':');
  const [volumeId, networkPath] = splitOnce(options.networkVolume, ':');
  const mounts = present({
    persistent: size && { size: wholeNumber(size), path: persistentPath ?? '/workspace' },
    network: volumeId && [{ volumeId, path: networkPath ?? '/workspace' }],
  });
  return Object.keys(mounts).length > 0 ? mounts : undefined;
}

/** The ports of SSH and Jupyter beside the given ones. A template's ports stay as they are. */
function withStartPorts({ port, template, ssh, jupyter }: PodOptions): string[] | undefined {
  if (port === undefined && template !== undefined) return undefined;
  const added = [...(ssh ? ['22/tcp'] : []), ...(jupyter ? ['8888/http'] : [])];
  return added.length === 0 ? port : [...new Set([...(port ?? []), ...added])];
}

function readEnv(items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const at = item.indexOf('=');
      if (at < 1) throw new Error(`--env has '${item}', but takes NAME=value`);
      return [item.slice(0, at), item.slice(at + 1)];
    }),
  );
}

function splitOnce(text: string | undefined, by: string): [string | undefined, string | undefined] {
  if (text === undefined) return [undefined, undefined];
  const at = text.indexOf(by);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Drops undefined members. */
export function present(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function anyNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}
