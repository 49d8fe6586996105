import { createHash, randomBytes } from 'node:crypto';
import type { EgressSettings } from '../../../config/egress.ts';
import { type Clock, systemClock } from '../../../core/clock.ts';
import { Failure } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import type { EngineKind } from '../../../engine/engine-kind.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import { isKeeper, keepBridge, removeKeeper } from './bridge-keeper.ts';

/** `isPinned`: its subnet was specified when it was created; only then does the engine let us choose addresses. */
export interface Bridge {
  gateway: string;
  subnet: string;
  isPinned: boolean;
  /** The bridge's interface on the engine's machine. */
  interfaceName: string;
  hasIpv6: boolean;
  engine: EngineKind;
}

/** The members used of `GET /networks/{name}`. */
export interface NetworkDetails {
  Id: string;
  Name?: string;
  /** ISO 8601. */
  Created?: string;
  IPAM: { Config: { Subnet?: string; Gateway?: string }[] | null };
  Labels: Record<string, string> | null;
  Options?: Record<string, string> | null;
  EnableIPv6?: boolean;
  Containers?: Record<string, { Name?: string }> | null;
}

/** Marks all networks of ours. */
export const NETWORK_LABEL = 'podyard.network=true';
const PINNED_LABEL = 'podyard.network.pinned';
/** Podman does not say what the interface of a network is. */
const INTERFACE_LABEL = 'podyard.network.interface';
const TRIES = 5;
/** A probe network lives for less than a second; an older one was left by a process that was killed. */
const PROBE_LEFT_AFTER_MS = 60_000;

/** The bridge network of our containers. Installations on one engine share it: Docker has only about 30 by default. */
export class BridgeNetwork {
  readonly name: string;
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #bridge: Promise<Bridge> | undefined;
  #addresses: ContainerAddresses | undefined;

  constructor(engine: Engine, name: string, logger: Logger, clock: Clock = systemClock) {
    this.#engine = engine;
    this.name = name;
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Creates the network unless it exists. Its gateway is this machine as containers see it. Later calls are free. */
  ensure(): Promise<Bridge> {
    this.#bridge ??= this.#findOrCreate().catch((error) => {
      this.#bridge = undefined;
      throw error;
    });
    return this.#bridge;
  }

  /** Returns the address for the next container; null where the engine has to choose. */
  async nextAddress(): Promise<string | null> {
    const { subnet, gateway, isPinned } = await this.ensure();
    if (!isPinned) return null;
    this.#addresses ??= new ContainerAddresses(subnet, gateway, Math.random());
    return this.#addresses.next();
  }

  /** Makes the next `ensure` inspect the network again. */
  forget(): void {
    this.#bridge = undefined;
    this.#addresses = undefined;
  }

  /** Makes the next `ensure` find the network again if it was replaced or removed. */
  async refresh(): Promise<void> {
    const known = await this.ensure();
    const found = await this.#inspect(this.name);
    if (!found || interfaceOf(found) !== known.interfaceName) this.forget();
  }

  async #findOrCreate(): Promise<Bridge> {
    await this.#removeLeftProbes().catch(() => {}); // the next start tries again
    const kind = await this.#engine.kind();
    const network = await this.#findOrCreateNetwork(kind);
    if (!kind.keepsBridges) await keepBridge(this.#engine, this.name);
    return this.#read(network, kind);
  }

  async #findOrCreateNetwork(kind: EngineKind): Promise<NetworkDetails> {
    for (let left = TRIES; left > 0; left--) {
      const found = await this.#inspect(this.name);
      if (found && (isCurrent(found, kind) || !(await this.#removeUnused(found)))) return found;
      // Another process may create the network first, or take the subnet: the next try finds it, or uses another subnet.
      await this.#create(await this.#findFreeSubnet());
    }
    throw new Failure('unavailable', `The network ${this.name} of the container engine could not be created`);
  }

  #read(network: NetworkDetails, kind: EngineKind): Bridge {
    const { Gateway, Subnet } = network.IPAM.Config?.[0] ?? {};
    if (!Gateway || !Subnet) {
      throw new Failure('unavailable', `The network ${this.name} of the container engine has no gateway`);
    }
    if (!isCurrent(network, kind) && !kind.keepsBridges) {
      const text = `The network ${this.name} of ${kind.name} was not made by Podyard: remove its containers and the network`;
      throw new Failure('unavailable', text);
    }
    return {
      gateway: Gateway,
      subnet: Subnet,
      isPinned: isPinned(network),
      interfaceName: interfaceOf(network),
      hasIpv6: network.EnableIPv6 === true,
      engine: kind,
    };
  }

  /** A network from before subnets were pinned is replaced, unless containers use it. */
  async #removeUnused({ Id, Containers }: NetworkDetails): Promise<boolean> {
    if (usersOf(Containers).length > 0) return false;
    await removeKeeper(this.#engine, this.name);
    return this.#remove(Id).then(
      () => true,
      (error) => isRefusal(error, 404),
    );
  }

  /** The engine knows which subnets are free: create a probe network and take the subnet it was given. */
  async #findFreeSubnet(): Promise<{ Subnet: string; Gateway: string }> {
    const name = `${this.#probePrefix}${newId<string>(8)}`;
    await this.#request({ Name: name, Driver: 'bridge' });
    const probe = await this.#inspect(name).finally(() => this.#remove(name));
    const { Subnet, Gateway } = probe?.IPAM.Config?.[0] ?? {};
    if (!Subnet || !Gateway)
      throw new Failure('unavailable', 'The container engine created a network without addresses');
    return { Subnet, Gateway };
  }

  get #probePrefix(): string {
    return `${this.name}-probe-`;
  }

  /** Removes probe networks of killed processes: each would take one of the engine's few subnets for ever. */
  async #removeLeftProbes(): Promise<void> {
    const query = { filters: JSON.stringify({ name: [this.#probePrefix] }) };
    const found = await this.#engine.json<NetworkDetails[]>({ method: 'GET', path: '/networks', query });
    const latestMs = this.#clock.now() - PROBE_LEFT_AFTER_MS;
    for (const { Id, Name = '', Created = '' } of found) {
      if (Name.startsWith(this.#probePrefix) && Date.parse(Created) < latestMs) await this.#remove(Id);
    }
  }

  /** Workloads reach this machine and the internet but not each other: they may belong to different users. */
  async #create(subnet: { Subnet: string; Gateway: string }): Promise<void> {
    const interfaceName = `br-${randomBytes(6).toString('hex')}`; // as Docker names them
    const network = {
      Name: this.name,
      Driver: 'bridge',
      CheckDuplicate: true,
      Labels: { 'podyard.network': 'true', [PINNED_LABEL]: 'true', [INTERFACE_LABEL]: interfaceName },
      IPAM: { Config: [subnet] },
      Options: { 'com.docker.network.bridge.name': interfaceName },
    };
    const isTaken = (error: unknown) =>
      error instanceof EngineError && (error.status === 409 || /overlaps|already used/i.test(error.message));
    try {
      const Options = { ...network.Options, 'com.docker.network.bridge.enable_icc': 'false' };
      await this.#request({ ...network, Options });
    } catch (error) {
      if (isTaken(error)) return;
      this.#logger.warn({ err: error }, 'engine cannot isolate workloads on its network, they can reach each other');
      await this.#request(network).catch((again) => {
        if (!isTaken(again)) throw again;
      });
    }
  }

  #request(body: object): Promise<unknown> {
    return this.#engine.json({ method: 'POST', path: '/networks/create', body });
  }

  #remove(network: string): Promise<unknown> {
    return this.#engine.json({ method: 'DELETE', path: `/networks/${network}` });
  }

  #inspect(network: string): Promise<NetworkDetails | undefined> {
    return orAbsent(this.#engine.json({ method: 'GET', path: `/networks/${network}` }));
  }
}

/** Returns the network for workloads with these settings: one for each, because rules apply to all containers of a bridge. */
export function networkFor(base: string, { mode, allow }: EgressSettings): string {
  if (mode === 'lan' && allow.length === 0) return base;
  if (allow.length === 0) return `${base}-${mode}`;
  const entries = allow.map(({ network, port }) => `${network} ${port}`).sort();
  return `${base}-${mode}-${createHash('sha256').update(entries.join()).digest('hex').slice(0, 8)}`;
}

/** Returns the interface of a bridge network on the engine's machine. */
export function interfaceOf({ Id, Options, Labels }: Pick<NetworkDetails, 'Id' | 'Options' | 'Labels'>): string {
  return Labels?.[INTERFACE_LABEL] ?? Options?.['com.docker.network.bridge.name'] ?? `br-${Id.slice(0, 12)}`;
}

/** Returns the names of the containers on a network, other than the one that keeps its bridge. */
export function usersOf(containers: NetworkDetails['Containers']): string[] {
  return Object.values(containers ?? {}).flatMap(({ Name = '' }) => (isKeeper(Name) ? [] : [Name]));
}

/** False for a network of an older version, or one that Podyard did not create. */
function isCurrent(network: NetworkDetails, { keepsBridges }: EngineKind): boolean {
  return isPinned(network) && (keepsBridges || network.Labels?.[INTERFACE_LABEL] !== undefined);
}

function isPinned({ Labels }: NetworkDetails): boolean {
  return Labels?.[PINNED_LABEL] === 'true';
}

/**
 * Chooses container addresses. The engine would give an address that just became free to the next container, and a proxy
 * with an open connection or a stale cache would then talk to another user's workload. So addresses are assigned in turn
 * through the whole subnet, from a different place at each start.
 */
export class ContainerAddresses {
  readonly #base: number;
  readonly #count: number;
  readonly #gateway: number;
  #next: number;

  /** `subnet` in IPv4 CIDR notation; at most 65,536 of its addresses are used. `first` (0 to 1) is where to begin. */
  constructor(subnet: string, gateway: string, first: number) {
    const [base, bits] = subnet.split('/');
    this.#count = Math.min(2 ** (32 - Number(bits)), 2 ** 16);
    this.#base = toNumber(base!);
    this.#gateway = toNumber(gateway);
    this.#next = Math.floor(first * this.#count);
  }

  /** Never returns the network's own: the first, the last and the gateway. Others may be in use by foreign containers. */
  next(): string {
    for (;;) {
      this.#next = (this.#next + 1) % this.#count;
      const address = this.#base + this.#next;
      if (this.#next !== 0 && this.#next !== this.#count - 1 && address !== this.#gateway) return toText(address);
    }
  }
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}
