import { InFlight } from '../in-flight.ts';
import type { Whereabouts } from '../runtime.ts';
import { portsOf } from './container-config.ts';
import type { Containers } from './containers.ts';
import { isRefusal } from './engine.ts';

/** How long an address is believed; a workload that ended or started anew is found out by then. */
const ADDRESS_TTL_MS = 2000;

/** Where workloads are, by the engine. Their addresses are remembered for a moment, since each new connection asks. */
export class ContainerWhereabouts {
  readonly #containers: Containers;
  readonly #network: string;
  /** Where workloads were last seen; null: not running. */
  readonly #lastSeen = new Map<string, { address: string | null; at: number }>();
  readonly #looks = new InFlight<string | null>();

  constructor(containers: Containers, network: string) {
    this.#containers = containers;
    this.#network = network;
  }

  /** Rejects with the engine's 404 when it is not there. */
  async find(id: string): Promise<Whereabouts> {
    const { State, Config, NetworkSettings } = await this.#containers.inspect(this.#containers.nameOf(id));
    const isThere = State.Status === 'running' || State.Status === 'paused';
    const address = (isThere && NetworkSettings.Networks?.[this.#network]?.IPAddress) || null;
    this.note(id, address);
    if (!isThere) return { address, publishedPorts: [] };
    const publishedPorts = portsOf(Config.Labels, (port) => {
      const binding = NetworkSettings.Ports?.[`${port}/tcp`]?.[0];
      return binding && { ip: binding.HostIp, public: Number(binding.HostPort) };
    });
    return { address, publishedPorts };
  }

  /** Null when it does not run. */
  async addressOf(id: string): Promise<string | null> {
    const seen = this.#lastSeen.get(id);
    const isFresh = seen !== undefined && performance.now() - seen.at < ADDRESS_TTL_MS;
    return isFresh ? seen.address : this.#looks.run(id, () => this.#lookUp(id));
  }

  note(id: string, address: string | null): void {
    if (this.#lastSeen.size > 10_000) this.#lastSeen.clear();
    this.#lastSeen.set(id, { address, at: performance.now() });
  }

  forget(id: string): void {
    this.#lastSeen.delete(id);
  }

  async #lookUp(id: string): Promise<string | null> {
    try {
      return (await this.find(id)).address;
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
      this.note(id, null);
      return null;
    }
  }
}
