/**
 * The engine gives an address that just became free to the next container. Whoever still holds the old one, a proxy with
 * an open connection or a directory that was read a moment ago, would then speak with somebody else's workload. So the
 * addresses are chosen here: one after the other through the whole subnet, from a place that differs with every start.
 */
export class ContainerAddresses {
  readonly #base: number;
  readonly #count: number;
  readonly #gateway: number;
  #next: number;

  /** `subnet` in CIDR notation, IPv4, 65,536 addresses of it at most. `first` from 0 to 1 says where to begin. */
  constructor(subnet: string, gateway: string, first: number) {
    const [base, bits] = subnet.split('/');
    this.#count = Math.min(2 ** (32 - Number(bits)), 2 ** 16);
    this.#base = toNumber(base!);
    this.#gateway = toNumber(gateway);
    this.#next = Math.floor(first * this.#count);
  }

  /** Never the first, the last or the gateway's, which are the network's own. Others may be in use by strangers. */
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
