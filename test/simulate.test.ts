import { describe, expect, test } from 'vitest';
import { drawChart } from '../bench/simulate/chart.ts';
import type { TenantResult } from '../bench/simulate/endpoint.ts';
import { simulateInternet } from '../bench/simulate/internet.ts';
import { internetDay } from '../bench/simulate/internet-day.ts';
import { InternetTraffic } from '../bench/simulate/internet-traffic.ts';
import { mulberry32 } from '../bench/simulate/random.ts';
import { SCENARIOS } from '../bench/simulate/scenarios.ts';
import { renderSummary, waitSeconds } from '../bench/simulate/summary.ts';
import { simulate } from '../bench/simulate/world.ts';

function play(name: string, hours: number): TenantResult[] {
  const results = simulate(SCENARIOS[name]!(hours));
  for (const result of results) {
    expect(result.busyDrained).toBe(0); // no busy worker of the newest release is drained
    const unfinished = result.submitted - result.waitsMs.length;
    const last = result.samples.at(-1)!;
    expect(unfinished).toBe(last.queued + last.inProgress); // no job is lost or done twice
  }
  return results;
}
const until = (result: TenantResult, hours: number) => result.samples.filter(({ at }) => at < hours * 3_600_000);
const since = (result: TenantResult, hours: number) => result.samples.filter(({ at }) => at >= hours * 3_600_000);
const longest = (samples: TenantResult['samples']) => Math.max(...samples.map(({ waitMs }) => waitMs)) / 1_000;

describe('a simulated day', () => {
  test('steady: waits stay bounded across releases, with at most twice the workers that the work takes', () => {
    const [result] = play('steady', 2);
    expect(waitSeconds(result!, 0.95)).toBeLessThan(25);
    expect(waitSeconds(result!, 1)).toBeLessThan(60);
    expect(result!.workerMs).toBeLessThan(2 * result!.busyMs);
  });

  test('diurnal: after the first starts workers are thawed, and almost no job waits', () => {
    const [result] = play('diurnal', 3);
    expect(result!.thaws).toBeGreaterThan(10 * result!.starts);
    expect(waitSeconds(result!, 0.95)).toBeLessThan(1);
  });

  test('burst: all twenty workers run one cold start later, and none between bursts', () => {
    const [result] = play('burst', 3);
    expect(waitSeconds(result!, 1)).toBeLessThan(30);
    expect(result!.mostWorkers).toBeGreaterThanOrEqual(15);
    expect(result!.samples.filter(({ ready, starting }) => ready + starting === 0).length).toBeGreaterThan(400);
  });

  test('herd: the limit holds, and the queue drains at the rate of ten workers', () => {
    const [result] = play('herd', 3);
    expect(result!.mostWorkers).toBe(10);
    expect(waitSeconds(result!, 1)).toBeLessThan(300);
    expect(result!.waitsMs).toHaveLength(result!.submitted);
  });

  test('long-jobs: a release during a job neither interrupts it nor delays the next one by more than a start', () => {
    const [result] = play('long-jobs', 8);
    expect(result!.repeated).toBe(0);
    expect(waitSeconds(result!, 0.95)).toBeLessThan(180);
  });

  test('crash-loop: starts back off, a new release is tried at once, and the neighbour is unaffected', () => {
    const [broken, healthy] = play('crash-loop', 3);
    expect(broken!.failedStarts).toBeLessThan(25);
    expect(broken!.failedStarts).toBeGreaterThan(8);
    expect(broken!.waitsMs.length).toBeGreaterThan(0.98 * broken!.submitted);
    expect(longest(until(broken!, 1))).toBeLessThan(60);
    expect(longest(since(broken!, 2.5))).toBeLessThan(60);
    expect(waitSeconds(healthy!, 1)).toBeLessThan(60);
  });

  test('capacity-loss: no job is lost, and the backlog drains once capacity is back', () => {
    const [result] = play('capacity-loss', 3);
    expect(result!.repeated).toBeGreaterThan(0);
    expect(Math.max(...result!.samples.map(({ queued }) => queued))).toBeGreaterThan(100);
    expect(result!.samples.at(-1)!.queued).toBeLessThan(50);
  });

  test('forty-on-four: forty endpoints share four GPUs, and jobs wait for a fraction of a cold start', () => {
    const waits = (results: TenantResult[]) => results.flatMap(({ waitsMs }) => waitsMs).sort((a, b) => a - b);
    const median = (sorted: number[]) => sorted[sorted.length >> 1]!;
    const [asleep, cold] = [play('forty-on-four', 3), play('forty-cold', 3)];
    expect(median(waits(asleep))).toBeLessThan(median(waits(cold)) / 2);
    expect(asleep.reduce((sum, { starts }) => sum + starts, 0)).toBe(40);
    expect(asleep.every(({ mostWorkers }) => mostWorkers === 1)).toBe(true);
  });

  test('two-tenants: the smaller one gets its share within two minutes while the other wants everything', () => {
    const [greedy, modest] = play('two-tenants', 2);
    expect(waitSeconds(modest!, 1)).toBeLessThan(120);
    expect(greedy!.busyMs / greedy!.workerMs).toBeGreaterThan(0.9);
  });
});

describe('when everything is full', () => {
  test('full: releases roll out, and each endpoint keeps all but one of its workers', () => {
    const [released, steady] = play('full', 2);
    const onlyReleases = released!.starts - 4; // four workers, replaced by each of two releases
    expect(onlyReleases).toBe(8);
    expect(steady!.starts).toBe(4);
    for (const { ready } of since(released!, 0.1)) expect(ready).toBeGreaterThanOrEqual(3);
    expect([...released!.gaveTo, ...steady!.gaveTo]).toEqual([]);
  });

  test('broken-neighbour: endpoints whose starts fail take no worker of a healthy one, and try ever more rarely', () => {
    const [busy, badImage, crashLoop] = play('broken-neighbour', 1);
    expect([...busy!.gaveTo]).toEqual([]);
    expect(since(busy!, 0.1).every(({ ready, starting }) => ready + starting === 6)).toBe(true);
    expect(badImage!.starts).toBe(0); // without its image it never gets a GPU
    expect(badImage!.failedStarts).toBeLessThan(25);
    expect(crashLoop!.failedStarts).toBeLessThan(10);
  });

  test('borrow: idle quota is used by the other user, and is back within ten seconds and the rest of a job', () => {
    const [borrower, owner] = play('borrow', 2);
    expect(Math.max(...until(borrower!, 0.45).map(({ ready }) => ready))).toBe(8);
    const back = owner!.samples.filter(({ at }) => at > 30 * 60_000 + 45_000 && at < 60 * 60_000); // a start takes 20 s, a job 6 s
    expect(back.every(({ ready, starting }) => ready + starting === 4)).toBe(true);
    const never = borrower!.samples.filter(({ at }) => at > 5 * 60_000);
    expect(never.every(({ ready, starting }) => ready + starting >= 4)).toBe(true);
  });
});

test('internet: of many endpoints few get most jobs, no job is lost, and the day has its high and its low', () => {
  const day = internetDay(2_000);
  const report = simulateInternet(day, 3);
  const [busiest, next, rest] = report.results;
  for (const { submitted, waitsMs, samples, busyDrained } of report.results) {
    expect(busyDrained).toBe(0);
    const last = samples.at(-1)!;
    expect(submitted - waitsMs.length).toBe(last.queued + last.inProgress);
  }
  const jobs = report.results.map(({ submitted }) => submitted);
  expect(jobs.reduce((sum, count) => sum + count)).toBeGreaterThan(0.9 * 12_000);
  expect(jobs[0]).toBeGreaterThan(0.1 * 12_000); // two of two thousand endpoints
  expect(jobs[2]).toBeLessThan(0.4 * 12_000); // nine tenths of them
  expect(waitSeconds(busiest!, 0.5)).toBeLessThan(waitSeconds(rest!, 0.5));
  for (const result of [busiest!, next!, rest!]) expect(waitSeconds(result, 0.95)).toBeLessThan(45);
  expect(report.placements).toBeGreaterThanOrEqual(report.results.reduce((sum, { starts }) => sum + starts, 0));
  const reached = report.results
    .flatMap(({ samples }) => samples)
    .filter(({ starting, ready }) => starting + ready > 0);
  expect(reached.length).toBeGreaterThan(480);
  const traffic = new InternetTraffic(1_000, mulberry32(1));
  const byHour = Array.from({ length: 24 }, () => 0);
  for (let at = 0; at < 86_400_000 * 3; ) {
    ({ at } = traffic.next(at));
    byHour[Math.floor(at / 3_600_000) % 24]! += 1;
  }
  expect(Math.max(...byHour)).toBeGreaterThan(1.5 * Math.min(...byHour));
  expect(simulateInternet(day, 3)).toEqual(report);
});

test('a seed reproduces the day, with its summary and chart', () => {
  const scenario = SCENARIOS.burst!(1);
  const results = simulate(scenario, 7);
  expect(simulate(scenario, 7)).toEqual(results);
  expect(simulate(scenario, 8)).not.toEqual(results);
  expect(renderSummary(results)).toContain(String(results[0]!.starts));
  const svg = drawChart(scenario, results);
  expect(svg.match(/<polyline /g)).toHaveLength(5);
  expect(svg).not.toContain('NaN');
});
