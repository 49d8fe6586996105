/** Lets a number of waiters pass in each turn of the event loop, first in, first out. */
export class TurnLimit<Waiter> {
  readonly #max: number;
  readonly #letPass: (waiter: Waiter) => void;
  #waiting: Waiter[] = [];
  #passed = 0;
  #isArmed = false;

  constructor(max: number, letPass: (waiter: Waiter) => void) {
    this.#max = max;
    this.#letPass = letPass;
  }

  /** Returns true if the waiter may pass at once; else it is let pass in a later turn. */
  enter(waiter: Waiter): boolean {
    if (!this.#isArmed) {
      this.#isArmed = true;
      setImmediate(() => this.#endTurn());
    }
    if (this.#waiting.length > 0 || this.#passed >= this.#max) {
      this.#waiting.push(waiter);
      return false;
    }
    this.#passed += 1;
    return true;
  }

  #endTurn(): void {
    const ready = this.#waiting.slice(0, this.#max);
    this.#waiting = this.#waiting.slice(this.#max);
    this.#passed = ready.length;
    this.#isArmed = ready.length > 0;
    if (this.#isArmed) setImmediate(() => this.#endTurn());
    for (const waiter of ready) this.#letPass(waiter);
  }
}
