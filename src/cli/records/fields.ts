import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import { addName } from '../shared/name-argument.ts';
import { addEnvChangeOptions, addEnvOptions, type EnvOptions, readEnv } from './env-options.ts';

/** Container options of endpoints, pods and templates. */
export interface ContainerOptions extends EnvOptions {
  name?: string;
  image?: string;
  args?: string;
  disk?: number;
  port?: string[];
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

export interface PodUpdateOptions extends Omit<PodOptions, 'gpu' | 'gpuCount' | 'cpu' | 'vcpus' | 'dataCenter'> {
  lock?: boolean;
  unlock?: boolean;
  globalNetworking?: boolean;
}

export interface TemplateOptions extends ContainerOptions {
  serverless?: boolean;
  public?: boolean;
  category?: string;
  ssh?: boolean;
  jupyter?: boolean;
  cuda?: string[];
  persistent?: string;
}

export interface ClusterOptions extends Omit<PodOptions, 'cpu' | 'vcpus' | 'registry'> {
  type: string;
  gpu: string;
  pods: number;
}

/** What the options are for: a create shows the server's defaults, and an update leaves alone what is not given. */
export type Purpose = 'create' | 'update';

export function addContainerOptions(command: Command, purpose: Purpose): Command {
  const none = purpose === 'update' ? "; '': none" : '';
  return addContainerSettings(command, purpose).option(
    '--registry <id>',
    `saved credentials for a private image, by id or name${none}`,
  );
}

/** The options of what takes its credentials from a template. */
export function addContainerSettings(command: Command, purpose: Purpose): Command {
  const by = defaultsFor(purpose);
  if (purpose === 'create') addName(command);
  else command.option('--name <text>', 'new name');
  command
    .option('--image <reference>', 'container image')
    .option('--args <text>', `container arguments${by("the image's")}`)
    .option('--disk <gb>', `container disk in GB${by('20')}`, wholeNumber)
    .option('--port <port/protocol...>', 'ports, e.g. 8000/http 22/tcp');
  return purpose === 'create' ? addEnvOptions(command) : addEnvChangeOptions(command);
}

export function addEndpointOptions(command: Command, purpose: Purpose): Command {
  const by = defaultsFor(purpose);
  return addContainerOptions(command, purpose)
    .option('--pool <name...>', 'GPU pools, preferred first')
    .option('--gpu-count <number>', `GPUs per worker${by('1')}`, wholeNumber)
    .option('--cpu <flavor:vcpus...>', 'CPU flavors instead of GPU pools, preferred first, e.g. cpu3c:4 cpu3g:2')
    .option('--workers-min <number>', `minimum number of workers${by('0')}`, wholeNumber)
    .option('--workers-max <number>', `maximum number of workers; 0 stops the endpoint${by('3')}`, wholeNumber)
    .addOption(
      new Option('--scaler <type>', `what to scale on${by('QUEUE_DELAY')}`).choices(['QUEUE_DELAY', 'REQUEST_COUNT']),
    )
    .option('--scaler-value <number>', `seconds in the queue, or requests per worker${by('4')}`, anyNumber)
    .option('--idle-timeout <seconds>', `how long an idle worker stays up${by('5')}`, wholeNumber)
    .option('--data-center <id...>', `data centers, preferred first${by('any')}`)
    .option('--volume <id...>', 'network volumes, by id or name')
    .option('--timeout <ms>', `execution timeout of a job; 0: none${by('300000')}`, wholeNumber)
    .addOption(
      new Option('--flashboot <mode>', `freeze idle workers instead of stopping them${by('OFF')}`).choices([
        'OFF',
        'FLASHBOOT',
        'PRIORITY_FLASHBOOT',
      ]),
    );
}

/** Returns what ends the description of an option: the server's default in a create, nothing in an update. */
export function defaultsFor(purpose: Purpose): (value: string) => string {
  return (value) => (purpose === 'create' ? ` (default: ${value})` : '');
}

export function containerBody(options: ContainerOptions): Record<string, unknown> {
  return present({
    name: options.name,
    image: options.image,
    args: options.args,
    disk: options.disk,
    ports: options.port,
    env: readEnv(options),
    registry: options.registry === '' ? null : options.registry,
  });
}

/** Parses `cpu3c:4`. */
function readCpu(text: string): { id: string; vcpuCount: number } {
  const [, id, vcpus = '2'] = /^([^:]+)(?::([0-9]{1,4}))?$/.exec(text) ?? [];
  if (id === undefined) throw new UsageError(`--cpu: '${text}' is not a flavor and its vCPUs, like cpu3c:4`);
  return { id, vcpuCount: Number(vcpus) };
}

/** Returns only what was given, so that an update leaves the rest unchanged. */
export function endpointBody(options: EndpointOptions): Record<string, unknown> {
  const workers = present({ min: options.workersMin, max: options.workersMax });
  const scaling = present({ type: options.scaler, value: options.scalerValue, idleTimeout: options.idleTimeout });
  if (options.gpuCount !== undefined && options.pool === undefined) {
    throw new UsageError('--gpu-count needs --pool: the two are one setting');
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

/** `paths`: where its mounts are, which stay there unless the options move them. */
export function podUpdateBody(options: PodUpdateOptions, paths: MountPaths = {}): Record<string, unknown> {
  if (options.lock && options.unlock) throw new UsageError('--lock and --unlock exclude each other');
  return {
    ...containerBody(options),
    ...present({
      templateId: options.template,
      locked: options.lock ?? (options.unlock ? false : undefined),
      globalNetworking: options.globalNetworking,
      mounts: mountsBody(options, paths),
    }),
  };
}

/** `--persistent ''` removes the storage from a template. */
export function templateBody(options: TemplateOptions): Record<string, unknown> {
  return {
    ...containerBody(options),
    ...present({
      serverless: options.serverless,
      public: options.public,
      category: options.category,
      startSsh: options.ssh,
      startJupyter: options.jupyter,
      allowedCudaVersions: options.cuda?.filter((version) => version !== ''),
      mounts: options.persistent === '' ? {} : mountsBody({ persistent: options.persistent }),
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

/** Where mounts are if the options give no path. */
interface MountPaths {
  persistent?: string | undefined;
  network?: string | undefined;
}

function mountsBody(
  { persistent, networkVolume }: { persistent?: string | undefined; networkVolume?: string | undefined },
  paths: MountPaths = {},
): Record<string, unknown> | undefined {
  const [size, persistentPath = paths.persistent ?? '/workspace'] = splitOnce(persistent, ':');
  const [volumeId, networkPath = paths.network ?? '/workspace'] = splitOnce(networkVolume, ':');
  if (size !== undefined && !/^\d{1,12}$/.test(size)) {
    throw new UsageError(`--persistent has '${persistent}', but takes GB and a path, like 40 or 40:/data`);
  }
  const mounts = present({
    persistent: size && { size: Number(size), path: persistentPath },
    network: volumeId && [{ volumeId, path: networkPath }],
  });
  return Object.keys(mounts).length > 0 ? mounts : undefined;
}

/** The ports of SSH and Jupyter beside the given ones. A template's ports stay as they are. */
function withStartPorts({ port, template, ssh, jupyter }: PodOptions): string[] | undefined {
  if (port === undefined && template !== undefined) return undefined;
  const added = [...(ssh ? ['22/tcp'] : []), ...(jupyter ? ['8888/http'] : [])];
  return added.length === 0 ? port : [...new Set([...(port ?? []), ...added])];
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
