interface Entry {
  at: number;
  order: number;
  act: () => void;
}

/** Future events by time, and at the same time in order of addition: a binary heap. */
export class Agenda {
  readonly #entries: Entry[] = [];
  #order = 0;

  add(at: number, act: () => void): void {
    this.#order += 1;
    const entries = this.#entries;
    const entry = { at, order: this.#order, act };
    let i = entries.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(entry, entries[parent]!)) break;
      entries[i] = entries[parent]!;
      i = parent;
    }
    entries[i] = entry;
  }

  /** Runs everything due up to `end`, calling `setNow` before each. */
  runUntil(end: number, setNow: (at: number) => void): void {
    for (let next = this.#take(); next !== undefined && next.at <= end; next = this.#take()) {
      setNow(next.at);
      next.act();
    }
    setNow(end);
  }

  #take(): Entry | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= entries.length) break;
      if (child + 1 < entries.length && isBefore(entries[child + 1]!, entries[child]!)) child += 1;
      if (!isBefore(entries[child]!, last)) break;
      entries[i] = entries[child]!;
      i = child;
    }
    entries[i] = last;
    return first;
  }
}

/** Runs an action at the earliest of the times that are set before it runs. */
export class Alarm {
  readonly #agenda: Agenda;
  readonly #act: () => void;
  #at = Number.POSITIVE_INFINITY;

  constructor(agenda: Agenda, act: () => void) {
    this.#agenda = agenda;
    this.#act = act;
  }

  set(at: number): void {
    if (this.#at <= at) return;
    this.#at = at;
    this.#agenda.add(at, () => {
      if (this.#at !== at) return; // an earlier time was set since
      this.#at = Number.POSITIVE_INFINITY;
      this.#act();
    });
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
