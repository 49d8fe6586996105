/** A metric that several processes add up: one takes what it counted, and another adds that to its own. */
export interface Summable<Delta> {
  /** Returns what was counted, as plain values, and resets it. */
  take(): Delta;
  add(delta: Delta): void;
}

/** Metrics by name, in groups. A plain map or number has no way to be added up, and does not compile here. */
// biome-ignore lint/suspicious/noExplicitAny: each adds up values of its own type
export type SummableTree = Summable<any> | { readonly [name: string]: SummableTree };

export type DeltaOf<T> = T extends Summable<infer Delta> ? Delta : { [K in keyof T]: DeltaOf<T[K]> };

export function takeAll<T extends SummableTree>(tree: T): DeltaOf<T> {
  if (isSummable(tree)) return tree.take() as DeltaOf<T>;
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, takeAll(part)])) as DeltaOf<T>;
}

export function addAll<T extends SummableTree>(tree: T, delta: DeltaOf<T>): void {
  if (isSummable(tree)) tree.add(delta);
  else for (const [name, part] of Object.entries(tree)) addAll(part, (delta as Record<string, unknown>)[name] as never);
}

function isSummable(tree: SummableTree): tree is Summable<unknown> {
  return typeof tree.take === 'function';
}

/** The content of a histogram. */
export interface Counts {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Counts values by the smallest bound that holds them; readers add up cumulative buckets. */
export class Histogram implements Summable<Counts> {
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last one counts larger values. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let i = 0;
    while (i < this.bounds.length && value > this.bounds[i]!) i += 1;
    this.counts[i]! += 1;
    this.sum += value;
  }

  /** Adds the counts of a histogram with the same bounds. */
  add({ counts, sum }: Counts): void {
    for (const [i, count] of counts.entries()) this.counts[i]! += count;
    this.sum += sum;
  }

  take(): Counts {
    const taken = { counts: [...this.counts], sum: this.sum };
    this.counts.fill(0);
    this.sum = 0;
    return taken;
  }
}

export class Counter implements Summable<number> {
  value = 0;

  add(times = 1): void {
    this.value += times;
  }

  take(): number {
    const taken = this.value;
    this.value = 0;
    return taken;
  }
}

/** How often each key was counted. */
export class Tally<K> extends Map<K, number> implements Summable<[K, number][]> {
  count(key: K, times = 1): void {
    this.set(key, (this.get(key) ?? 0) + times);
  }

  add(delta: [K, number][]): void {
    for (const [key, times] of delta) this.count(key, times);
  }

  take(): [K, number][] {
    const taken = [...this];
    this.clear();
    return taken;
  }
}

/** Metrics of one kind by a label's value, created when first used. */
export class Family<K, Delta, M extends Summable<Delta> = Summable<Delta>>
  extends Map<K, M>
  implements Summable<[K, Delta][]>
{
  readonly #create: () => M;

  constructor(create: () => M) {
    super();
    this.#create = create;
  }

  of(key: K): M {
    let metric = this.get(key);
    if (metric === undefined) {
      metric = this.#create();
      this.set(key, metric);
    }
    return metric;
  }

  add(delta: [K, Delta][]): void {
    for (const [key, part] of delta) this.of(key).add(part);
  }

  take(): [K, Delta][] {
    const taken = [...this].map(([key, metric]): [K, Delta] => [key, metric.take()]);
    this.clear();
    return taken;
  }
}
