const DAY_MS = 86_400_000;
/** On average; the busiest endpoint of a million gets 400,000, most get fewer than one. */
const JOBS_PER_DAY = 6;
/** Shares of the endpoints, and how many hours before UTC their day begins. */
const REGIONS = [
  { share: 0.4, hoursBehind: 6 },
  { share: 0.35, hoursBehind: -1 },
  { share: 0.25, hoursBehind: -8 },
];
/** At noon a region gets this many times its average, and at midnight as much less. */
const SWING = 0.8;

/**
 * Arrivals at very many endpoints: the rates follow Zipf's law, so few endpoints get most jobs, and follow the day and the night
 * of the endpoint's region. Arrivals are random at these rates.
 */
export class InternetTraffic {
  /** The sums of the rates of the endpoints up to each, relative to all. */
  readonly #shares: Float64Array;
  readonly #perMs: number;
  readonly #random: () => number;

  constructor(endpoints: number, random: () => number) {
    this.#shares = new Float64Array(endpoints);
    let sum = 0;
    for (let i = 0; i < endpoints; i++) this.#shares[i] = sum += 1 / (i + 1);
    for (let i = 0; i < endpoints; i++) this.#shares[i]! /= sum;
    this.#perMs = (endpoints * JOBS_PER_DAY) / DAY_MS;
    this.#random = random;
  }

  /** Returns the next arrival after `from`. Endpoints are numbered by their rates, the busiest first. */
  next(from: number): { at: number; endpoint: number } {
    let at = from;
    for (;;) {
      at += -Math.log(1 - this.#random()) / (this.#perMs * (1 + SWING));
      const endpoint = this.#choose(this.#random());
      // Arrivals come at the highest rate; the share that comes at this time of the day is kept.
      if (this.#random() * (1 + SWING) < activityOf(endpoint, at)) return { at, endpoint };
    }
  }

  #choose(share: number): number {
    let low = 0;
    let high = this.#shares.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#shares[middle]! < share) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Returns the rate of an endpoint at a time of the day, relative to its average. */
function activityOf(endpoint: number, at: number): number {
  let rest = ((endpoint * 61) % 100) / 100;
  let region = REGIONS[0]!;
  for (region of REGIONS) {
    if (rest < region.share) break;
    rest -= region.share;
  }
  return 1 - SWING * Math.cos(2 * Math.PI * (at / DAY_MS - region.hoursBehind / 24));
}
