import { BlockList, isIP } from 'node:net';

/** The proxies in front of this server, whose forwarding headers are believed. */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** `networks`: valid addresses and networks, e.g. `10.0.0.0/8`. */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const network of networks) {
      const [address, prefix] = network.split('/');
      const family = isIP(address!) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) this.#list.addAddress(address!, family);
      else this.#list.addSubnet(address!, Number(prefix), family);
    }
  }

  /** Slow for a non-empty list: call it once per connection. */
  has(address: string): boolean {
    return !this.#isEmpty && this.#list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
}
