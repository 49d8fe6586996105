/**
 * Clocks that are wrong or jump: of the server, of its database, of both. Durations are monotonic and ages are sent instead of
 * times, so that no job fails and no worker is called silent (docs/interface/worker-api.md, "Leases").
 */
import { chmodSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { limitMs } from './extent.ts';
import { ExternalPostgres, hasPostgres15 } from './external-postgres.ts';
import { begin, report, SETTLE_MS } from './kills.ts';
import { expectNothingLost } from './truth.ts';

/** Debian's library that lies to a program about the time. */
const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
const JUMPS = ['+2h', '-2h'];
const LEASE_SECONDS = 6;
/** Some runs of the loops that judge silence and timeouts. */
const WATCH_MS = 3_000;

/** A program's clock, which jumps when the file changes. Its monotonic clock stays true. */
class Clock {
  readonly env: Record<string, string>;
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#file = join(folder, name);
    this.jump('+0');
    this.env = {
      LD_PRELOAD: LIBRARY!,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1', // its name in some versions
    };
  }

  jump(offset: string): void {
    writeFileSync(this.#file, `${offset}\n`, { mode: 0o644 });
  }
}

/** In hours, rounded: how far a clock is ahead. */
const hoursAhead = (now: number) => Math.round((now - Date.now()) / 3_600_000);

test.skipIf(!hasPostgres15 || !LIBRARY)(
  'jumps of two hours of the clocks of the server, the database or both lose no job and no worker',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'podyard-clocks-'));
    chmodSync(folder, 0o755); // PostgreSQL runs as another user
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const clocks = { server: new Clock(folder, 'server'), database: new Clock(folder, 'database') };
    const database = await ExternalPostgres.start(clocks.database.env);
    onTestFinished(() => database.dispose(), 60_000);
    const env = {
      ...clocks.server.env,
      PODYARD_LEASE_SECONDS: String(LEASE_SECONDS),
      PODYARD_TAKE_HOLD_SECONDS: '2',
      PODYARD_RESULT_RETENTION_SECONDS: '86400', // results must outlive the jumps
      PODYARD_SYNC_RESULT_RETENTION_SECONDS: '86400',
    };
    const { server, load, endpointIds } = await begin('process', { databaseUrl: database.url, env });
    const seen = {
      server: async () => Date.parse((await fetch(`${server.url}/healthz`)).headers.get('date')!),
      database: async () => (await database.query<{ now: Date }>('select now()'))[0]!.now.getTime(),
    };
    for (const names of [['server'], ['database'], ['server', 'database']] as const) {
      for (const offset of JUMPS) {
        for (const name of names) clocks[name].jump(offset);
        const hours = Number.parseInt(offset, 10);
        for (const name of names) {
          await until(`the clock of the ${name} is ${offset}`, async () => hoursAhead(await seen[name]()) === hours);
        }
        await load.answers(20);
        await sleep(WATCH_MS);
      }
      for (const name of names) clocks[name].jump('+0');
    }
    await load.answers(20);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    expect(await server.query('select * from lost_attempts')).toEqual([]);
    expect(await server.query("select id, phase_reason from workers where is_lost or phase_reason ~ 'silent'")).toEqual(
      [],
    );
    report('jumps of clocks', load);
  },
  limitMs(240_000),
);
