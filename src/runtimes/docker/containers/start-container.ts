import { existsSync } from 'node:fs';
import { Failure } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import type { Gpu } from '../../gpus/gpu.ts';
import type { StartOptions, WorkloadSpec } from '../../runtime.ts';
import type { EngineMachine } from '../engine/engine-machine.ts';
import type { GpuDevices } from '../gpus/gpu-devices.ts';
import type { EngineImages } from '../images/engine-images.ts';
import type { BridgeNetwork } from '../network/bridge-network.ts';
import type { EgressGuard } from '../network/egress-guard.ts';
import type { EngineGroupNetworks } from '../network/group-networks.ts';
import type { PreparedNetworks } from '../network/prepared-networks.ts';
import { type ContainerPlace, containerConfig } from './container-config.ts';
import type { Containers } from './containers.ts';

/** The parts of the docker runtime that a start needs. */
export interface StartParts {
  installation: string;
  engine: Pick<Engine, 'kind'>;
  containers: Containers;
  network: BridgeNetwork;
  egress: EgressGuard;
  groups: EngineGroupNetworks;
  images: EngineImages;
  machine: EngineMachine;
  gpus: Pick<GpuDevices, 'confirm'>;
  prepared: PreparedNetworks;
  /** The address of this machine on which TCP ports are published. */
  publishIp: string;
  logger: Logger;
}

/** A container address or a port of this machine that is in use. */
const TAKEN = /address already in use|already allocated/i;
const PORT_TAKEN = /port is already allocated|bind: address already in use/i;
/** The network that a container was to join is gone. */
const JOIN_REFUSED = /non running container|cannot join|no such container/i;
const ADDRESS_TRIES = 20;

type Where = Pick<ContainerPlace, 'address' | 'holder'>;

interface Started {
  isNew: boolean;
  /** Null where only the engine knows it. */
  address: string | null;
}

/** Creates and starts the container of a workload, unless it already runs; in a prepared network, if there is one. */
export function startContainer(
  parts: StartParts,
  spec: WorkloadSpec,
  gpus: readonly Gpu[],
  options: StartOptions,
): Promise<Started> {
  return parts.prepared.yieldTo(() => startWhereReady(parts, spec, gpus, options));
}

async function startWhereReady(
  parts: StartParts,
  spec: WorkloadSpec,
  gpus: readonly Gpu[],
  options: StartOptions,
): Promise<Started> {
  const prepared = mayJoin(spec) ? parts.prepared.take(spec.id) : null;
  if (prepared === null) return startOnNetwork(parts, spec, gpus, options);
  const { address } = prepared;
  const holder = { id: prepared.id, name: parts.containers.nameOf(prepared.id) };
  try {
    const isNew = await tryStart(parts, spec, gpus, options, { address, holder });
    if (isNew) return { isNew, address };
    parts.prepared.free(spec.id, prepared.id);
    return { isNew, address: null };
  } catch (error) {
    parts.prepared.free(spec.id, prepared.id);
    if (error instanceof EngineError && JOIN_REFUSED.test(error.message)) {
      return startOnNetwork(parts, spec, gpus, options);
    }
    throw startFailure(error);
  }
}

/** A published port and a second network belong to a container with a network of its own. */
function mayJoin({ kind, ports, group }: WorkloadSpec): boolean {
  return kind === 'worker' && group === undefined && !ports.some((port) => port.endsWith('/tcp'));
}

/** An address that turns out to be in use costs another try: foreign containers on the network choose theirs freely. */
async function startOnNetwork(
  parts: StartParts,
  spec: WorkloadSpec,
  gpus: readonly Gpu[],
  options: StartOptions,
): Promise<Started> {
  const { network } = parts;
  for (let left = ADDRESS_TRIES; ; left--) {
    const address = left > 1 ? await network.nextAddress() : null;
    try {
      const isNew = await tryStart(parts, spec, gpus, options, { address, holder: null });
      return { isNew, address: isNew ? address : null };
    } catch (error) {
      if (isNetworkGone(error))
        network.forget(); // it was removed: the next try creates it again
      else if (!(error instanceof EngineError && isRetryable(error.message, spec))) throw startFailure(error);
      if (left <= 1) throw startFailure(error);
    }
  }
}

/** False when it runs already. What was created by a try that fails is removed. */
async function tryStart(
  parts: StartParts,
  spec: WorkloadSpec,
  gpus: readonly Gpu[],
  options: StartOptions,
  where: Where,
): Promise<boolean> {
  const { containers } = parts;
  await parts.egress.ready();
  if ((await create(parts, spec, gpus, where)) === 'runs already') return false;
  options.onProgress?.('Container created');
  options.onCreated?.();
  try {
    await parts.gpus.confirm(spec.id, gpus);
    if (spec.group) await parts.groups.attach(spec.group, containers.nameOf(spec.id));
    await containers.start(spec.id);
    return true;
  } catch (error) {
    await containers.remove(spec.id).catch(() => {});
    throw error;
  }
}

async function create(
  parts: StartParts,
  spec: WorkloadSpec,
  gpus: readonly Gpu[],
  where: Where,
): Promise<'created' | 'runs already'> {
  const { installation, containers, network, images, publishIp, logger } = parts;
  const machine = await parts.machine.read();
  if (!(await parts.engine.kind()).refusesMissingMounts) checkMounts(spec);
  const { canLimitDisk } = machine;
  const gpuSupport = machine.gpus;
  const place = { installation, network: network.name, ...where, gpus, gpuSupport, publishIp, canLimitDisk };
  const env = { ...(await missingIn(images, spec)), ...spec.env };
  const body = containerConfig({ ...spec, image: await images.nameHere(spec.image), env }, place);
  try {
    await containers.create(spec.id, body);
    return 'created';
  } catch (error) {
    if (isNameTaken(error)) return settleConflict(containers, spec.id, body);
    if (isRefusal(error, 404)) {
      images.forget(spec.image);
      throw new Failure('unavailable', `Image '${spec.image}' is not present on this machine`, { cause: error });
    }
    if (error instanceof EngineError && /storage-opt/i.test(error.message) && canLimitDisk) {
      logger.warn({ err: error }, 'engine cannot limit the disk of containers');
      machine.canLimitDisk = false;
      return create(parts, spec, gpus, where);
    }
    throw error;
  }
}

function checkMounts({ mounts }: WorkloadSpec): void {
  for (const { source, target } of mounts) {
    if (!existsSync(source)) {
      throw new Failure('unavailable', `Directory ${source} does not exist and cannot be mounted at ${target}`);
    }
  }
}

/** Returns the defaults for variables that the image does not set. */
async function missingIn(
  images: EngineImages,
  { image, imageDefaults = {} }: WorkloadSpec,
): Promise<Record<string, string>> {
  const defaults = Object.entries(imageDefaults);
  if (defaults.length === 0) return {};
  const own = await images.variablesOf(image);
  return Object.fromEntries(defaults.filter(([name]) => !own.has(name)));
}

/** Docker's status is 409, Podman's 500. */
function isNameTaken(error: unknown): boolean {
  const words = error instanceof EngineError ? error.message : '';
  return /container name/i.test(words) && /already in use/i.test(words);
}

/** The name is in use: by the workload itself, or by its remains. */
async function settleConflict(containers: Containers, id: string, body: object): Promise<'created' | 'runs already'> {
  const { State } = await containers.inspect(containers.nameOf(id));
  if (State.Status === 'running' || State.Status === 'paused') return 'runs already';
  await containers.remove(id); // also one that never ran: it may have an outdated address
  await containers.create(id, body);
  return 'created';
}

/** Docker's status is 404, Podman's 500. */
function isNetworkGone(error: unknown): boolean {
  return isRefusal(error, 404, /network/i) || isRefusal(error, 500, /unable to find network/i);
}

/** True when the next try uses another address or port; ports that the caller chose would be the same again. */
function isRetryable(message: string, { publicPorts }: WorkloadSpec): boolean {
  const isChosen = Object.keys(publicPorts ?? {}).length > 0 && PORT_TAKEN.test(message);
  return TAKEN.test(message) && !isChosen;
}

/** Keeps the end of the engine's message, which users can act on; the layers before it are internal. */
function startFailure(error: unknown): Error {
  if (!(error instanceof EngineError)) return error as Error;
  if (/no space left/i.test(error.message)) {
    const text = 'The container could not be created: the disk of this machine is full';
    return new Failure('unavailable', text, { cause: error });
  }
  const words = error.message.replace(/^.*unable to start container process: /s, '').replace(/: unknown$/, '');
  return new Failure('unprocessable', `The container could not be started: ${words}`, { cause: error });
}
