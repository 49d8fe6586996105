import type { Engine } from '../../../engine/engine.ts';
import type { EngineKind } from '../../../engine/engine-kind.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import type { Observed, ObservedState } from '../../runtime.ts';
import { LABELS, portsOf } from './container-config.ts';
import type { ContainerFreezer } from './container-freezer.ts';
import { addressOn, type ContainerDetails, type ContainerSummary, type Containers, stateOf } from './containers.ts';

/** The exit code of a program that SIGKILL ended. */
const KILLED = 137;

type Ending = Pick<Observed, 'exitCode' | 'reason' | 'startedAt' | 'finishedAt'>;

/** The engine's list of an installation's containers, as a runtime reports it. */
export class ObservedContainers {
  readonly #engine: Engine;
  readonly #containers: Containers;
  readonly #freezer: ContainerFreezer;
  readonly #network: string;
  /** How ended containers ended, by container id. Final once known. */
  readonly #endings = new Map<string, Ending>();
  /** When this process started a workload; the engine's list has only the creation, in whole seconds. */
  readonly #startedAt = new Map<string, Date>();

  constructor(engine: Engine, containers: Containers, freezer: ContainerFreezer, network: string) {
    this.#engine = engine;
    this.#containers = containers;
    this.#freezer = freezer;
    this.#network = network;
  }

  recordStart(id: string): void {
    this.#startedAt.set(id, new Date());
  }

  forget(id: string): void {
    this.#startedAt.delete(id);
  }

  async list(): Promise<Observed[]> {
    const containers = await this.#containers.list();
    const seen = new Set(containers.map(({ Id }) => Id));
    for (const id of this.#endings.keys()) if (!seen.has(id)) this.#endings.delete(id);
    const frozen = await this.#freezer.listFrozen(containers);
    const observed = await Promise.all(
      containers.map((container) => this.#observe(container, frozen.has(container.Id) ? 'frozen' : stateOf(container))),
    );
    return observed.filter((one) => one !== undefined);
  }

  async #observe(container: ContainerSummary, state: ObservedState): Promise<Observed | undefined> {
    const id = container.Labels[LABELS.id] ?? '';
    const known = { id, kind: container.Labels[LABELS.kind] === 'pod' ? 'pod' : 'worker', state } as const;
    if (state === 'exited') {
      const ending = await this.#endingOf(container.Id);
      return ending && { ...known, ...ending, address: null, publishedPorts: [] };
    }
    const address = addressOn(this.#network, container.NetworkSettings ?? {});
    const publishedPorts = state === 'created' ? [] : portsOf(container.Labels, publicPortsOf(container));
    const startedAt = state === 'created' ? null : (this.#startedAt.get(id) ?? new Date(container.Created * 1000));
    return { ...known, address, publishedPorts, exitCode: null, reason: null, startedAt, finishedAt: null };
  }

  /** Undefined when the container has been removed meanwhile. */
  async #endingOf(containerId: string): Promise<Ending | undefined> {
    const known = this.#endings.get(containerId);
    if (known) return known;
    const details = await orAbsent(this.#containers.inspect(containerId));
    if (!details) return undefined;
    const ending = endingOf(details, await this.#engine.kind());
    this.#endings.set(containerId, ending);
    return ending;
  }
}

/** Returns where a container's ports are published, from the engine's list. */
function publicPortsOf({ Ports }: ContainerSummary): (port: number) => { ip: string; public: number } | undefined {
  return (port) => {
    const found = Ports?.find(({ PrivatePort, PublicPort }) => PrivatePort === port && PublicPort !== undefined);
    return found && { ip: found.IP ?? '0.0.0.0', public: found.PublicPort! };
  };
}

function endingOf({ State, HostConfig }: ContainerDetails, { reportsOutOfMemory }: EngineKind): Ending {
  const limit = HostConfig.Memory > 0 ? ` (limit ${Math.round(HostConfig.Memory / 2 ** 20)} MiB)` : '';
  const isSuspect = !reportsOutOfMemory && State.ExitCode === KILLED && limit !== '';
  const suspicion = isSuspect ? `Killed, probably out of memory${limit}` : null;
  return {
    exitCode: State.ExitCode,
    reason: State.OOMKilled ? `Out of memory${limit}` : State.Error || suspicion,
    startedAt: timeOf(State.StartedAt),
    finishedAt: timeOf(State.FinishedAt),
  };
}

/** The engine uses the year 1 for never. */
function timeOf(text: string): Date | null {
  const time = new Date(text);
  return time.getTime() > 0 ? time : null;
}
