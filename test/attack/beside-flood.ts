import { expect } from 'vitest';
import { until } from '../e2e/api.ts';
import { type Bystander, quantile } from './bystander.ts';
import { Flood, type FloodTask } from './flood.ts';
import { peakRssMb, resetPeakRss } from './peak-rss.ts';

/** Times as long as without the flood, at p99. */
const MAX_RATIO = process.env.CI ? 5 : 3;
/** Below this, the machine's own noise decides. */
const MIN_ALONE_MS = 6;
/** With fewer, one stall of the machine is the p99. */
const MIN_SAMPLES = 101;
const MAX_RSS_MB = 500;
/** CI has other tests on its two cores. */
const TRIES = process.env.CI ? 5 : 2;
/** How soon after a flood its bystander must be as quick as before. */
const CALM_WITHIN_MS = 45_000;

/** A server with a client whose requests a flood must not hold up. */
export interface Scene {
  serverPid: number;
  bystander: Bystander;
  /** How long its requests take without a flood, at p99. */
  aloneMs: number;
  /** Times that a request waits for the machine: client, server, database and whatever is between them, both ways. */
  turns: number;
  measureMs: number;
  /** The largest resident size of the server; default: 500. */
  maxRssMb?: number;
}

/** On a machine that keeps even timers waiting, a request may take longer by that, as often as it waits for the machine. */
export function limitMs({ aloneMs, turns }: Pick<Scene, 'aloneMs' | 'turns'>, late: number[]): number {
  return MAX_RATIO * Math.max(aloneMs, MIN_ALONE_MS) + turns * quantile(late, 0.99);
}

/** A flood, and what to wait for before it counts: by default for all its connections to be begun. */
export type Attack = FloodTask & { untilBegun?: () => Promise<void> };

interface Seen {
  p99: number;
  limit: number;
}

/**
 * Measures the bystander beside the flood; again if that was over the limit. A stall of the machine doesn't come several
 * times in a row at will, and a server that lets a flood starve its neighbors does so every time.
 */
export async function expectUnharmed(scene: Scene, prepare: () => Attack | Promise<Attack>): Promise<void> {
  const overMs = await leastOver(async () => {
    const { p99, limit } = await besideFlood(scene, await prepare());
    return p99 - limit;
  });
  expect(overMs).toBeLessThanOrEqual(0);
}

/** Measures by how much a limit is exceeded; again if it is. Returns the last figure. */
export async function leastOver(measure: () => Promise<number>): Promise<number> {
  let overMs = await measure();
  for (let again = 1; again < TRIES && overMs > 0; again += 1) overMs = await measure();
  return overMs;
}

async function besideFlood(scene: Scene, { untilBegun, ...task }: Attack): Promise<Seen> {
  const { serverPid, bystander, aloneMs, measureMs, maxRssMb = MAX_RSS_MB } = scene;
  resetPeakRss(serverPid);
  const flood = await Flood.start(task);
  await untilBegun?.();
  const { waits, late, faults } = await bystander.measure(measureMs, MIN_SAMPLES);
  const { opened, answers } = flood.counts;
  await flood.stop();
  const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
  const lateMs = quantile(late, 0.99);
  const rss = peakRssMb(serverPid);
  console.log(
    `${expect.getState().currentTestName}: ${waits.length} answers, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms ` +
      `(alone ${aloneMs.toFixed(1)} ms), timers late by ${lateMs.toFixed(1)} ms; the flood: ${opened} connections, ` +
      `${answers} answers; peak RSS ${rss.toFixed(0)} MB`,
  );
  expect(faults).toEqual([]);
  expect(rss).toBeLessThanOrEqual(maxRssMb);
  return { p99, limit: limitMs(scene, late) };
}

/** Resolves once the bystander's requests take about as long as they do without a flood. */
export async function untilCalm({ bystander, aloneMs }: Pick<Scene, 'bystander' | 'aloneMs'>): Promise<void> {
  await until(
    'the server has done with the flood before',
    async () => quantile((await bystander.measure(100)).waits, 0.5) <= Math.max(aloneMs, MIN_ALONE_MS),
    CALM_WITHIN_MS,
  );
}
