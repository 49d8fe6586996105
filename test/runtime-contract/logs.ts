import { expect, test } from 'vitest';
import type { LogLine } from '../../src/runtimes/runtime.ts';
import { collect, lineOf, never, type Suite, until } from './probes.ts';

/** Tests what runtime.ts guarantees of `logs` and `lastOutput`. */
export function logsContract({ runtime, started, ready }: Suite): void {
  test('logs have every line in order, also after the end, and a resume neither loses nor repeats one', async () => {
    const id = await started('burst');
    const all = await collect(runtime().logs(id, { follow: true, signal: never() }));
    const expected = [...Array.from({ length: 2000 }, (_, i) => `line ${i + 1}`), 'last'];
    expect(all.map(({ line }) => line)).toEqual(expected);
    await until(runtime(), id, (seen) => seen?.state === 'exited');
    for (const at of [0, 1, 777, 1500, 1999, 2000]) {
      const { ts } = all[at]!;
      const seen = all.slice(0, at + 1).filter((line) => line.ts.getTime() === ts.getTime()).length;
      const rest = await collect(runtime().logs(id, { since: ts, seen, follow: false, signal: never() }));
      expect(rest).toEqual(all.slice(at + 1));
      const later = await collect(runtime().logs(id, { since: ts, follow: false, signal: never() }));
      expect(later).toEqual(all.filter((line) => line.ts > ts));
    }
  });

  test('logs can be followed, left, and followed again while the workload runs', async () => {
    const id = await started('tick');
    const first: LogLine[] = [];
    await lineOf(runtime(), id, (line, ts) => first.push({ line, ts }) === 5);
    const { ts } = first.at(-1)!;
    const seen = first.filter((line) => line.ts.getTime() === ts.getTime()).length;
    const next: string[] = [];
    await lineOf(runtime(), id, (line) => next.push(line) === 5, { since: ts, seen });
    expect(next).toEqual(['tick 6', 'tick 7', 'tick 8', 'tick 9', 'tick 10']);
  });

  test('following logs ends when the workload is stopped or the reader aborts', async () => {
    const id = await ready('idle');
    const abort = new AbortController();
    const aborted = runtime().logs(id, { follow: true, signal: abort.signal })[Symbol.asyncIterator]();
    const followed = runtime().logs(id, { follow: true, signal: never() })[Symbol.asyncIterator]();
    for (const one of [aborted, followed]) expect((await one.next()).value).toMatchObject({ line: 'ready' });
    const ends = [aborted.next(), followed.next()];
    abort.abort();
    expect(await ends[0]).toMatchObject({ done: true });
    await runtime().stop(id, 0);
    expect(await ends[1]).toMatchObject({ done: true });
  });

  test('the last lines that a workload printed to stderr are known after its end, until it is stopped', async () => {
    const id = await started('crash');
    await until(runtime(), id, (seen) => seen?.state === 'exited');
    // Where the streams are mixed, 'going' may stand anywhere: each has a reader of its own.
    const last = async (count: number) =>
      (await runtime().lastOutput(id, count)).filter((line) => line.startsWith('oops'));
    expect((await last(4)).slice(-3)).toEqual(['oops 28', 'oops 29', 'oops 30']);
    expect(await last(100)).toEqual(Array.from({ length: 30 }, (_, n) => `oops ${n + 1}`));
    expect((await runtime().lastOutput(id, 4)).length).toBe(4);
    await runtime().stop(id, 0);
    expect(await runtime().lastOutput(id, 3)).toEqual([]);
  });

  test('the last lines of a workload that prints nothing to stderr are those of stdout, also while it runs', async () => {
    const id = await ready('idle');
    expect(await runtime().lastOutput(id, 3)).toEqual(['ready']);
  });
}
