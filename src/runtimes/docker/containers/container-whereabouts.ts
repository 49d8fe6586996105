import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { InFlight } from '../../../core/flow/in-flight.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import { reachableAddress } from '../../reachable-address.ts';
import type { Whereabouts } from '../../runtime.ts';
import { LABELS, portsOf } from './container-config.ts';
import { addressOn, type ContainerDetails, type Containers } from './containers.ts';

/** How long an address is cached. A workload that ended or restarted is noticed after this. */
const ADDRESS_TTL_MS = 2000;
const MAX_CACHED = 10_000;

/** Where workloads are, according to the engine. Addresses are cached briefly, since each new connection asks. */
export class ContainerWhereabouts {
  readonly #containers: Containers;
  readonly #network: string;
  readonly #clock: Clock;
  /** The last known address by workload; null: not running. */
  readonly #cache = new BoundedMap<string, { address: string | null; at: number }>(MAX_CACHED);
  readonly #lookups = new InFlight<string | null>();

  constructor(containers: Containers, network: string, clock: Clock = monotonicClock) {
    this.#containers = containers;
    this.#network = network;
    this.#clock = clock;
  }

  /** Asks the engine. Rejects with its 404 when the container does not exist. */
  async find(id: string): Promise<Whereabouts> {
    const { State, Config, NetworkSettings } = await this.#containers.inspect(this.#containers.nameOf(id));
    const isThere = State.Status === 'running' || State.Status === 'paused';
    const holder = Config.Labels[LABELS.holder];
    const networks = holder === undefined ? NetworkSettings : await this.#networksOf(holder);
    const address = isThere ? addressOn(this.#network, networks) : null;
    this.set(id, address);
    if (!isThere) return { address, publishedPorts: [] };
    const publishedPorts = portsOf(Config.Labels, (port) => {
      const binding = NetworkSettings.Ports?.[`${port}/tcp`]?.[0];
      return binding && { ip: reachableAddress(binding.HostIp), public: Number(binding.HostPort) };
    });
    return { address, publishedPorts };
  }

  /** Returns null when it does not run. */
  async addressOf(id: string): Promise<string | null> {
    const seen = this.#cache.get(id);
    const isFresh = seen !== undefined && this.#clock.now() - seen.at < ADDRESS_TTL_MS;
    return isFresh ? seen.address : this.#lookups.run(id, () => this.#lookUp(id));
  }

  set(id: string, address: string | null): void {
    this.#cache.set(id, { address, at: this.#clock.now() });
  }

  forget(id: string): void {
    this.#cache.delete(id);
  }

  async #networksOf(holder: string): Promise<ContainerDetails['NetworkSettings']> {
    return (await orAbsent(this.#containers.inspect(this.#containers.nameOf(holder))))?.NetworkSettings ?? {};
  }

  async #lookUp(id: string): Promise<string | null> {
    const found = await orAbsent(this.find(id));
    if (!found) this.set(id, null);
    return found?.address ?? null;
  }
}
