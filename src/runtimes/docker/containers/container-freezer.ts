import { BoundedMap } from '../../../core/bounded-map.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import { type CgroupFreezer, findCgroupFreezer } from './cgroups.ts';
import type { ContainerDetails, ContainerSummary, Containers } from './containers.ts';

const MAX_FROZEN = 10_000;

/**
 * Freezes containers with the kernel's switch where this process may write it: a thaw by the engine takes 20 ms, this one
 * less than one. The engine does not know of it and says that they run; so this asks the kernel too. Elsewhere, and for
 * containers with a health check, which the engine would continue, the engine freezes them.
 */
export class ContainerFreezer {
  readonly #containers: Containers;
  readonly #root: string;
  /** The freezers of workloads that this process froze. */
  readonly #frozen = new BoundedMap<string, CgroupFreezer>(MAX_FROZEN);
  /** That of any container, which leads to those of others; null: not here. */
  #example: CgroupFreezer | null | undefined;

  constructor(containers: Containers, root = '') {
    this.#containers = containers;
    this.#root = root;
  }

  async freeze(id: string): Promise<void> {
    const details = await this.#containers.get(id);
    const freezer = details.State.Health?.Status ? null : await this.#freezerOf(details);
    if (freezer && (await freezer.freeze())) this.#frozen.set(id, freezer);
    else await this.#containers.pause(id);
  }

  /** Asks the engine only about workloads that this process did not freeze. */
  async thaw(id: string): Promise<void> {
    if (!(await this.#thawKnown(id)) && !(await this.#thawUnknown(id))) await this.#containers.unpause(id);
  }

  /** Thaws a workload that is to be stopped: a frozen one receives no signal. */
  async release(id: string): Promise<void> {
    if (!(await this.#thawKnown(id))) await this.#thawUnknown(id).catch(() => {}); // what is wrong, the stop says too
  }

  forget(id: string): void {
    this.#frozen.delete(id);
  }

  /** True when the kernel, but not the engine, has frozen this container. */
  async isFrozen(container: ContainerDetails): Promise<boolean> {
    return (await (await this.#freezerOf(container))?.isFrozen()) ?? false;
  }

  /** The same for items of the engine's list. Inspects one of them, once. */
  async listFrozen(containers: readonly ContainerSummary[]): Promise<Set<string>> {
    const running = containers.filter(({ State }) => State === 'running').map(({ Id }) => Id);
    if (this.#example === undefined && running.length > 0) await this.#findExample(running[0]!);
    const example = this.#example;
    if (!example) return new Set();
    const frozen = await Promise.all(running.map((id) => example.of(id).isFrozen()));
    return new Set(running.filter((_, i) => frozen[i]));
  }

  async #thawKnown(id: string): Promise<boolean> {
    const freezer = this.#frozen.get(id);
    this.#frozen.delete(id);
    return (await freezer?.thaw()) ?? false;
  }

  async #thawUnknown(id: string): Promise<boolean> {
    const freezer = await this.#freezerOf(await this.#containers.get(id));
    return freezer !== null && (await freezer.isFrozen()) && (await freezer.thaw());
  }

  /** Null for one that the engine has frozen, and for one that has ended. */
  async #freezerOf({ Id, State }: ContainerDetails): Promise<CgroupFreezer | null> {
    return State.Status === 'running' ? findCgroupFreezer(Id, State.Pid, this.#root) : null;
  }

  async #findExample(container: string): Promise<void> {
    const details = await orAbsent(this.#containers.inspect(container)); // one that was just removed: the next list tries another
    if (details?.State.Status === 'running') this.#example = await this.#freezerOf(details);
  }
}
