import { Failure, notFound } from '../../../core/errors.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { ObservedState } from '../../runtime.ts';
import { opaqueName } from '../../workload-spec.ts';
import { isGroupNetwork } from '../network/group-networks.ts';
import { HOLDER_KIND, LABELS } from './container-config.ts';

/** The members used of an item of `GET /containers/json`. */
export interface ContainerSummary {
  Id: string;
  Names?: string[];
  Labels: Record<string, string>;
  State: string;
  Created: number;
  NetworkSettings?: { Networks?: Record<string, { IPAddress?: string }> } | undefined;
  Ports?: { IP?: string; PrivatePort: number; PublicPort?: number }[];
  /** The engine's id of the container whose network it is on, unless that is its own. */
  holderId?: string;
}

/** The members used of `GET /containers/{id}/json`. */
export interface ContainerDetails {
  Id: string;
  State: {
    Status: string;
    Pid: number;
    ExitCode: number;
    OOMKilled: boolean;
    Error: string;
    StartedAt: string;
    FinishedAt: string;
    /** Present for containers with a health check. Podman has it for all, without a status. */
    Health?: { Status?: string } | null;
  };
  HostConfig: { Memory: number; NanoCpus: number; StorageOpt?: { size?: string } | null };
  Config: { Labels: Record<string, string> };
  NetworkSettings: {
    Networks?: Record<string, { IPAddress?: string }>;
    Ports?: Record<string, { HostIp: string; HostPort: string }[] | null>;
  };
}

const STATES: Record<string, ObservedState> = {
  created: 'created',
  running: 'running',
  restarting: 'running',
  paused: 'frozen',
};

const CREATE_TIMEOUT_MS = 120_000;
const REMOVE_TIMEOUT_MS = 60_000;
const SIZE_TIMEOUT_MS = 600_000;

/**
 * The engine's containers of one installation, by workload id. The engine's DNS gives every container the names of its neighbors, so a name
 * does not contain the id (docs/decisions/0033-unknown-neighbors.md).
 */
export class Containers {
  readonly #engine: Engine;
  readonly #installation: string;
  /** Names of containers that older versions created and the engine did not rename, by workload id. */
  #oldNames: ReadonlyMap<string, string> = new Map();

  constructor(engine: Engine, installation: string) {
    this.#engine = engine;
    this.#installation = installation;
  }

  /** Returns the name of a workload's container. Throws `badRequest` for an id that could change the request path. */
  nameOf(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id)) throw new Failure('badRequest', `'${id}' is not a valid workload id`);
    return this.#oldNames.get(id) ?? this.#newNameOf(id);
  }

  /** The containers of workloads. Renames those of older versions, whose names contain the id. */
  async list(): Promise<ContainerSummary[]> {
    const found = await this.#listAll();
    const kept = await Promise.all(found.filter((one) => this.#hasOldName(one)).map((one) => this.#rename(one)));
    this.#oldNames = new Map(kept.flat());
    const holders = new Map(found.filter(isHolder).map((one) => [one.Labels[LABELS.id], one]));
    return found.flatMap((one) => {
      if (isHolder(one)) return [];
      const holder = holders.get(one.Labels[LABELS.holder]);
      return [holder ? { ...one, NetworkSettings: holder.NetworkSettings, holderId: holder.Id } : one];
    });
  }

  /** The containers that hold networks, and which of them have a workload in them. */
  async listHolders(): Promise<{ holders: { id: string; container: ContainerSummary }[]; used: Set<string> }> {
    const found = await this.#listAll();
    const holders = found.filter(isHolder).map((container) => ({ id: container.Labels[LABELS.id]!, container }));
    return { holders, used: new Set(found.flatMap(({ Labels }) => Labels[LABELS.holder] ?? [])) };
  }

  /** Returns which container holds a workload's network; null when its own does, or when it is gone. */
  async holderOf(id: string): Promise<string | null> {
    return (await orAbsent(this.inspect(this.nameOf(id))))?.Config.Labels[LABELS.holder] ?? null;
  }

  /** Everything of this installation. */
  async #listAll(): Promise<ContainerSummary[]> {
    const filters = JSON.stringify({ label: [`${LABELS.installation}=${this.#installation}`] });
    return this.#engine.list<ContainerSummary>('/containers/json', { all: 1, filters });
  }

  /** Those that have not ended. */
  async listAlive(): Promise<ContainerSummary[]> {
    return (await this.list()).filter((container) => stateOf(container) !== 'exited');
  }

  /** Returns its processes, as the engine's machine numbers them. */
  async listPids(id: string): Promise<number[]> {
    const request = { method: 'GET', path: `/containers/${this.nameOf(id)}/top` } as const;
    const { Titles, Processes } = await this.#engine.json<{ Titles: string[]; Processes: string[][] }>(request);
    const at = Titles.indexOf('PID');
    return Processes.map((process) => Number(process[at]));
  }

  /** Containers of any installation that have real GPUs and have not ended. */
  async listGpuHolders(): Promise<ContainerSummary[]> {
    const query = { all: 1, filters: JSON.stringify({ label: [LABELS.gpuDevices] }) };
    const found = await this.#engine.list<ContainerSummary>('/containers/json', query);
    return found.filter((container) => stateOf(container) !== 'exited');
  }

  isOwn({ Labels }: ContainerSummary): boolean {
    return Labels[LABELS.installation] === this.#installation;
  }

  /** `container`: its name or the engine's id. */
  inspect(container: string): Promise<ContainerDetails> {
    return this.#engine.json({ method: 'GET', path: `/containers/${container}/json` });
  }

  /** Returns the container of a workload. Throws `notFound`. */
  async get(id: string): Promise<ContainerDetails> {
    const found = await orAbsent(this.inspect(this.nameOf(id)));
    if (!found) throw notFound('Workload');
    return found;
  }

  /** Returns the bytes that the container has written to its own layer. The engine recounts them each time. */
  async sizeOf(container: string): Promise<number> {
    const path = `/containers/${container}/json`;
    const request = { method: 'GET', path, query: { size: 1 }, timeoutMs: SIZE_TIMEOUT_MS } as const;
    return (await this.#engine.json<{ SizeRw?: number }>(request)).SizeRw ?? 0;
  }

  async create(id: string, body: object): Promise<void> {
    const query = { name: this.nameOf(id) };
    const timeoutMs = CREATE_TIMEOUT_MS;
    await this.#engine.json({ method: 'POST', path: '/containers/create', query, body, timeoutMs });
  }

  start(id: string): Promise<void> {
    return this.#post(id, 'start', { timeoutMs: CREATE_TIMEOUT_MS });
  }

  pause(id: string): Promise<void> {
    return this.#switch(id, 'pause', /already paused/i);
  }

  unpause(id: string): Promise<void> {
    return this.#switch(id, 'unpause', /is not paused/i);
  }

  /** Sends SIGTERM, and SIGKILL after `seconds`. Docker wakes a paused container for the signal; Podman needs it unpaused first. */
  async stop(id: string, seconds: number): Promise<void> {
    const stop = () => this.#post(id, 'stop', { query: { t: seconds }, timeoutMs: seconds * 1000 + REMOVE_TIMEOUT_MS });
    try {
      await stop();
    } catch (error) {
      if (!(error instanceof EngineError) || error.status === 404) throw error;
      await this.#post(id, 'unpause').catch(() => {});
      await stop();
    }
  }

  /** Kills and removes it. Resolves when the engine no longer knows it, also when another caller is removing it. */
  async remove(id: string): Promise<void> {
    const path = `/containers/${this.nameOf(id)}`;
    try {
      await this.#engine.json({ method: 'DELETE', path, query: { force: 1, v: 1 }, timeoutMs: REMOVE_TIMEOUT_MS });
    } catch (error) {
      if (!isRefusal(error, 409, /removal of container \S+ is already in progress/i)) throw error;
      const query = { condition: 'removed' };
      await this.#engine.json({ method: 'POST', path: `${path}/wait`, query, timeoutMs: REMOVE_TIMEOUT_MS });
    }
  }

  #newNameOf(id: string): string {
    return `podyard-${this.#installation}-${opaqueName(this.#installation, id)}`;
  }

  #oldNameOf({ Labels }: ContainerSummary): string {
    return `podyard-${this.#installation}-${Labels[LABELS.id]}`;
  }

  #hasOldName(container: ContainerSummary): boolean {
    return container.Names?.includes(`/${this.#oldNameOf(container)}`) === true;
  }

  /** Returns the workload with its old name when the engine refuses; the next list tries again. */
  async #rename(container: ContainerSummary): Promise<[id: string, name: string][]> {
    const id = container.Labels[LABELS.id]!;
    try {
      const path = `/containers/${container.Id}/rename`;
      await this.#engine.json({ method: 'POST', path, query: { name: this.#newNameOf(id) } });
      return [];
    } catch {
      return [[id, this.#oldNameOf(container)]];
    }
  }

  async #switch(id: string, action: 'pause' | 'unpause', isDone: RegExp): Promise<void> {
    try {
      await this.#post(id, action);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.status === 404) throw notFound('Workload');
      const { State } = await this.inspect(this.nameOf(id)); // the engine also says 'not paused' of an ended one
      if (!['running', 'paused'].includes(State.Status)) throw new Failure('conflict', `Workload ${id} has ended`);
      if (isDone.test(error.message)) return;
      throw new Failure('unavailable', `The container engine could not ${action} workload ${id}: ${error.message}`);
    }
  }

  async #post(
    id: string,
    action: string,
    more: { query?: Record<string, unknown>; timeoutMs?: number } = {},
  ): Promise<void> {
    await this.#engine.json({ method: 'POST', path: `/containers/${this.nameOf(id)}/${action}`, ...more });
  }
}

/** Returns a container's address on the network, or on another: it may have started when other networks were in use. */
export function addressOn(
  network: string,
  { Networks = {} }: NonNullable<ContainerSummary['NetworkSettings']>,
): string | null {
  const [other] = Object.entries(Networks).filter(([name]) => !isGroupNetwork(name));
  return Networks[network]?.IPAddress || other?.[1].IPAddress || null;
}

function isHolder({ Labels }: ContainerSummary): boolean {
  return Labels[LABELS.kind] === HOLDER_KIND;
}

export function stateOf(container: ContainerSummary): ObservedState {
  return STATES[container.State] ?? 'exited';
}
