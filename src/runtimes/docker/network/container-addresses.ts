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
