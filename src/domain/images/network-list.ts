import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** How long the addresses of this machine are remembered: reading them takes up to milliseconds where there are many. */
const REMEMBERED_MS = 1_000;

/** Addresses and networks, whatever the spelling of an address. An IPv6 address that maps an IPv4 one counts as the latter. */
export class NetworkList {
  /** Apart: in one list, `::/3` would hold every IPv4 address, as the IPv6 address that maps it. */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** `networks`: valid addresses and networks, e.g. `10.0.0.0/8` or `::1`. */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address, prefix] = network.split('/');
      const family = familyOf(address!);
      if (prefix === undefined) this.#lists[family].addAddress(address!, family);
      else this.#lists[family].addSubnet(address!, Number(prefix), family);
    }
  }

  /** `address`: a valid one, without brackets. */
  has(address: string): boolean {
    const plain = unmapped(address);
    const family = familyOf(plain);
    return this.#lists[family].check(plain, family);
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Addresses that mean this machine wherever they are used. */
export const LOOPBACK_NETWORKS = ['127.0.0.0/8', '0.0.0.0/8', '::1', '::'] as const;

const loopback = new NetworkList(LOOPBACK_NETWORKS);
let ownAddresses: { list: NetworkList; readAt: number } | null = null;

/** True for loopback, and for each address of a network interface of this machine, up to a second after it has changed. */
export function isOwnAddress(address: string): boolean {
  if (loopback.has(address)) return true;
  const now = performance.now();
  if (ownAddresses === null || now - ownAddresses.readAt > REMEMBERED_MS) {
    const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
    ownAddresses = { list: new NetworkList(all.map((entry) => entry.address.replace(/%.*/, ''))), readAt: now };
  }
  return ownAddresses.list.has(address);
}

/** Returns the IPv4 address that an IPv6 address maps, in either spelling; another address as it is. */
export function unmapped(address: string): string {
  const [, dotted] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

/**
 * Networks that belong to a machine itself: link-local ones, and the services of clouds for their machines (metadata, and
 * Azure's WireServer). No workload and no registry has a reason to be there.
 */
export const MACHINE_SERVICES: Readonly<Record<4 | 6, readonly string[]>> = {
  4: ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
  6: ['fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128'],
};
