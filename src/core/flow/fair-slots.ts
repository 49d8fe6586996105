interface Owner {
  running: number;
  waiting: (() => void)[];
}

/**
 * Lets a number of callers in at a time, `perOwner` of each owner; the owners take turns, each in order of arrival. `alone`: as many
 * of one owner while no other has callers.
 */
export class FairSlots {
  #free: number;
  readonly #perOwner: number;
  readonly #alone: number;
  /** Those with callers inside or waiting, in the order in which they take turns. */
  readonly #owners = new Map<string, Owner>();

  constructor({ slots, perOwner, alone = perOwner }: { slots: number; perOwner: number; alone?: number }) {
    this.#free = slots;
    this.#perOwner = perOwner;
    this.#alone = alone;
  }

  /** Runs `work` once there is a free slot. */
  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#enter(owner);
    if (turn) await turn;
    try {
      return await work();
    } finally {
      this.#leave(owner);
    }
  }

  /** Resolves once there is a free slot, with the function that frees it. Calling that again does nothing. */
  async enter(owner: string): Promise<() => void> {
    await this.#enter(owner);
    let isInside = true;
    return () => {
      if (isInside) this.#leave(owner);
      isInside = false;
    };
  }

  #enter(name: string): Promise<void> | undefined {
    const owner = this.#owners.get(name) ?? { running: 0, waiting: [] };
    this.#owners.set(name, owner);
    if (this.#mayRun(owner)) {
      this.#take(owner);
      return undefined;
    }
    return new Promise((resolve) => owner.waiting.push(resolve));
  }

  #leave(name: string): void {
    const owner = this.#owners.get(name)!;
    owner.running -= 1;
    this.#free += 1;
    this.#moveBehindOthers(name, owner);
    while (this.#letNextIn());
  }

  #letNextIn(): boolean {
    for (const [name, owner] of this.#owners) {
      if (owner.waiting.length === 0 || !this.#mayRun(owner)) continue;
      this.#take(owner);
      this.#moveBehindOthers(name, owner);
      owner.waiting.shift()!();
      return true;
    }
    return false;
  }

  #moveBehindOthers(name: string, owner: Owner): void {
    this.#owners.delete(name);
    if (owner.running > 0 || owner.waiting.length > 0) this.#owners.set(name, owner);
  }

  #mayRun(owner: Owner): boolean {
    return this.#free > 0 && owner.running < (this.#owners.size === 1 ? this.#alone : this.#perOwner);
  }

  #take(owner: Owner): void {
    owner.running += 1;
    this.#free -= 1;
  }
}
