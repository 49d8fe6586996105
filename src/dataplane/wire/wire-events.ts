type Listener = (chunk: Buffer) => void;

/**
 * The listeners of one message: a few at most, in two short lists, which cost a request less than an EventEmitter. All events but
 * `data` and `drain` happen once, so `once` differs from `on` for `drain` alone.
 */
export class WireEvents {
  readonly #events: string[] = [];
  readonly #listeners: Listener[] = [];

  on(event: string, listener: Listener): this {
    this.#events.push(event);
    this.#listeners.push(listener);
    return this;
  }

  once(event: string, listener: Listener): this {
    return this.on(event, listener);
  }

  off(event: string, listener: Listener): this {
    const at = this.#listeners.findIndex((known, i) => known === listener && this.#events[i] === event);
    if (at >= 0) this.#removeAt(at);
    return this;
  }

  /** Calls the listeners of an event that happens once, or of which each listener hears once. */
  protected emitOnce(event: string): void {
    for (let at = this.#events.indexOf(event); at >= 0; at = this.#events.indexOf(event)) {
      const listener = this.#listeners[at]!;
      this.#removeAt(at);
      listener(NOTHING);
    }
  }

  protected emitData(chunk: Buffer): void {
    for (let i = 0; i < this.#events.length; i++) if (this.#events[i] === 'data') this.#listeners[i]!(chunk);
  }

  #removeAt(at: number): void {
    this.#events.splice(at, 1);
    this.#listeners.splice(at, 1);
  }
}

const NOTHING = Buffer.alloc(0);
