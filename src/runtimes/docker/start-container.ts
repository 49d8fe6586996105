import { Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { StartOptions, WorkloadSpec } from '../runtime.ts';
import type { BridgeNetwork } from './bridge-network.ts';
import { containerConfig } from './container-config.ts';
import type { Containers } from './containers.ts';
import { EngineError, isRefusal } from './engine.ts';
import type { EngineImages } from './engine-images.ts';
import type { EngineMachine } from './engine-machine.ts';

/** What a start needs of the engine's runtime. */
export interface StartParts {
  installation: string;
  containers: Containers;
  network: BridgeNetwork;
  images: EngineImages;
  machine: EngineMachine;
  /** The address of this machine on which ports of pods are published. */
  publishIp: string;
  logger: Logger;
}

/** An address that somebody else has, or a port of this machine. */
const TAKEN = /address already in use|ip address .* already allocated|port is already allocated/i;
const PORT_TAKEN = /port is already allocated|bind: address already in use/i;
const ADDRESS_TRIES = 20;

/**
 * Creates and starts the container of a workload, unless it runs already. `address` is null where only the engine knows it.
 * An address that turns out to be taken costs another try: strangers on the network choose theirs without asking.
 */
export async function startContainer(
  parts: StartParts,
  spec: WorkloadSpec,
  devices: readonly string[],
  tell: StartOptions,
): Promise<{ isNew: boolean; address: string | null }> {
  const { containers, network } = parts;
  for (let left = ADDRESS_TRIES; ; left--) {
    const address = left > 1 ? await network.nextAddress() : null;
    if ((await create(parts, spec, devices, address)) === 'runs already') return { isNew: false, address: null };
    tell.onProgress?.('Container created');
    tell.onCreated?.();
    try {
      await containers.start(spec.id);
    } catch (error) {
      await containers.remove(spec.id).catch(() => {});
      if (left > 1 && error instanceof EngineError && isChanceTaken(error.message, spec)) continue;
      if (isRefusal(error, 404, /network/i)) network.forget(); // somebody removed it: the next start makes it anew
      throw startFailure(error);
    }
    return { isNew: true, address };
  }
}

async function create(
  parts: StartParts,
  spec: WorkloadSpec,
  devices: readonly string[],
  address: string | null,
): Promise<'created' | 'runs already'> {
  const { installation, containers, network, images, publishIp, logger } = parts;
  const machine = await parts.machine.read();
  const { canLimitDisk } = machine;
  const place = { installation, network: network.name, address, devices, publishIp, canLimitDisk };
  const body = containerConfig(spec, place);
  try {
    await containers.create(spec.id, body);
    return 'created';
  } catch (error) {
    if (isRefusal(error, 409, /already in use/i)) return settleConflict(containers, spec.id, body);
    if (isRefusal(error, 404)) {
      images.forget(spec.image);
      throw new Failure('unavailable', `Image '${spec.image}' is not present on this machine`, { cause: error });
    }
    if (error instanceof EngineError && /storage-opt/i.test(error.message) && canLimitDisk) {
      logger.warn({ err: error }, 'the engine cannot hold containers to the size of their disk');
      machine.canLimitDisk = false;
      return create(parts, spec, devices, address);
    }
    throw startFailure(error);
  }
}

/** The name is taken: by the workload itself, or by what is left of it. */
async function settleConflict(containers: Containers, id: string, body: object): Promise<'created' | 'runs already'> {
  const { State } = await containers.inspect(containers.nameOf(id));
  if (State.Status === 'running' || State.Status === 'paused') return 'runs already';
  await containers.remove(id); // also one that never ran: it may stand on an address of before
  await containers.create(id, body);
  return 'created';
}

/** Whether what is taken would be another one at the next try; ports that the caller chose would be the same again. */
function isChanceTaken(message: string, { publicPorts }: WorkloadSpec): boolean {
  const isChosen = Object.keys(publicPorts ?? {}).length > 0 && PORT_TAKEN.test(message);
  return TAKEN.test(message) && !isChosen;
}

/** The end of the engine's sentence is what a user can act on; the layers before it are its own. */
function startFailure(error: unknown): Error {
  if (!(error instanceof EngineError)) return error as Error;
  if (/no space left/i.test(error.message)) {
    return new Failure('unavailable', 'The disk of this machine is full: the container could not be made', {
      cause: error,
    });
  }
  const words = error.message.replace(/^.*unable to start container process: /s, '').replace(/: unknown$/, '');
  return new Failure('unprocessable', `The container could not be started: ${words}`, { cause: error });
}
