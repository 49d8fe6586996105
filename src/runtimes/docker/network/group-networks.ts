import { randomBytes } from 'node:crypto';
import { Failure } from '../../../core/errors.ts';
import { InFlight } from '../../../core/flow/in-flight.ts';
import type { Logger } from '../../../core/logger.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import { type Group, type GroupNetwork, type GroupNetworks, RENDEZVOUS_PORT } from '../../groups.ts';
import { opaqueName } from '../../workload-spec.ts';
import type { NetworkDetails } from './bridge-network.ts';

const LABELS = { installation: 'podyard.group.installation', id: 'podyard.group' } as const;
/**
 * 198.18.0.0/15 is set aside for tests of network devices, so that neither the internet nor the machine's own network has it.
 * Docker's own ranges would be used up after about 30 networks.
 */
const SUBNETS = 512;
/** A network has 254 addresses; the first is the gateway's, which the engine keeps although the bridge has none. */
const MAX_GROUP_SIZE = 252;
const FIRST_ADDRESS = 2;
/** The engine attaches the common network first. */
const INTERFACE = 'eth1';

/**
 * A bridge network for each group, beside the common one: containers reach each other there, and the internet and the worker API
 * by the common one. It is internal, and its bridge has no address, so that neither other containers nor this machine's own
 * programs are on it.
 */
export class EngineGroupNetworks implements GroupNetworks {
  readonly #engine: Engine;
  readonly #installation: string;
  readonly #logger: Logger;
  readonly #ensuring = new InFlight<GroupNetwork>();

  constructor(engine: Engine, installation: string, logger: Logger) {
    this.#engine = engine;
    this.#installation = installation;
    this.#logger = logger;
  }

  ensure({ id, size }: Group): Promise<GroupNetwork> {
    if (size > MAX_GROUP_SIZE) {
      throw new Failure(
        'badRequest',
        `A network of the container engine holds ${MAX_GROUP_SIZE} workloads, not ${size}`,
      );
    }
    return this.#ensuring.run(id, async () => {
      const found = await this.#inspect(id);
      return describe(found ?? (await this.#create(id)));
    });
  }

  async remove(id: string): Promise<void> {
    await orAbsent(this.#engine.json({ method: 'DELETE', path: `/networks/${this.#nameOf(id)}` }));
  }

  async list(): Promise<string[]> {
    const filters = JSON.stringify({ label: [`${LABELS.installation}=${this.#installation}`] });
    const found = await this.#engine.json<NetworkDetails[]>({ method: 'GET', path: '/networks', query: { filters } });
    return found.flatMap(({ Labels }) => Labels?.[LABELS.id] ?? []);
  }

  /** Attaches a created container, which has not started. */
  async attach(group: { id: string; rank: number }, container: string): Promise<void> {
    const network = await this.#inspect(group.id);
    if (!network) throw new Failure('unavailable', 'The network of the group is gone');
    const address = describe(network).addressOf(group.rank);
    await this.#engine.json({
      method: 'POST',
      path: `/networks/${this.#nameOf(group.id)}/connect`,
      body: { Container: container, EndpointConfig: { IPAMConfig: { IPv4Address: address } } },
    });
  }

  /** Tries ranges from a random one until the engine has one free. */
  async #create(id: string): Promise<NetworkDetails> {
    const first = Math.floor(Math.random() * SUBNETS);
    for (let i = 0; i < SUBNETS; i++) {
      const n = (first + i) % SUBNETS;
      const prefix = `198.${18 + Math.floor(n / 256)}.${n % 256}`;
      if (!(await this.#tryCreate(id, prefix))) continue;
      const made = await this.#inspect(id);
      if (made) return made;
    }
    throw new Failure('unavailable', 'The container engine has no network left for a cluster');
  }

  /** Resolves with false if the range is taken. */
  async #tryCreate(id: string, prefix: string): Promise<boolean> {
    const network = {
      Name: this.#nameOf(id),
      Driver: 'bridge',
      CheckDuplicate: true,
      Internal: true,
      Labels: { [LABELS.installation]: this.#installation, [LABELS.id]: id },
      IPAM: { Config: [{ Subnet: `${prefix}.0/24`, Gateway: `${prefix}.1` }] },
      Options: { 'com.docker.network.bridge.name': `${GROUP_BRIDGE_PREFIX}${randomBytes(5).toString('hex')}` },
    };
    try {
      const Options = { ...network.Options, 'com.docker.network.bridge.inhibit_ipv4': 'true' };
      await this.#request({ ...network, Options });
      return true;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.status === 409) return true; // another process created it
      if (isTaken(error)) return false;
      this.#logger.warn({ err: error }, 'engine gives this machine an address on networks of clusters');
    }
    return this.#request(network).then(
      () => true,
      (error) => {
        if (error instanceof EngineError && isTaken(error)) return false;
        throw error;
      },
    );
  }

  #nameOf(id: string): string {
    return groupNetworkName(this.#installation, id);
  }

  #request(body: object): Promise<unknown> {
    return this.#engine.json({ method: 'POST', path: '/networks/create', body });
  }

  #inspect(id: string): Promise<NetworkDetails | undefined> {
    return orAbsent(this.#engine.json({ method: 'GET', path: `/networks/${this.#nameOf(id)}` }));
  }
}

function isTaken({ message }: EngineError): boolean {
  return /overlaps|already used|already in use/i.test(message);
}

function describe({ Name, IPAM }: NetworkDetails): GroupNetwork {
  const cidr = IPAM.Config?.[0]?.Subnet;
  if (!cidr) throw new Failure('unavailable', `The network ${Name} of the container engine has no addresses`);
  const prefix = cidr.slice(0, cidr.lastIndexOf('.'));
  const addressOf = (rank: number) => `${prefix}.${FIRST_ADDRESS + rank}`;
  return { cidr, primary: addressOf(0), port: RENDEZVOUS_PORT, interfaceName: INTERFACE, addressOf };
}

/** The prefix of the names of their bridges' interfaces. */
export const GROUP_BRIDGE_PREFIX = 'pyg-';

const PREFIX = 'podyard-group-';

/** Returns the name of a group's network. It does not contain the id, as containers' names do not. */
function groupNetworkName(installation: string, id: string): string {
  return `${PREFIX}${opaqueName(installation, id)}`;
}

/** True for a network that containers have beside the common one. */
export function isGroupNetwork(name: string): boolean {
  return name.startsWith(PREFIX);
}
