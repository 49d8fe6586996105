import { expect, onTestFinished, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { limitMs, times } from './extent.ts';
import { begin, killTests, report, SETTLE_MS } from './kills.ts';
import { Random } from './random.ts';
import { expectNothingLost } from './truth.ts';

const STOPS = times(5);

killTests('process', { serverKills: times(20), workerKills: times(15) });

test(
  `SIGTERM of the server under load, ${STOPS} times: it exits with 0, and every job accepted with 200 is done`,
  async () => {
    const { server, load, endpointIds, random } = await begin('process');
    const stopsMs: number[] = [];
    for (let i = 0; i < STOPS; i++) {
      await load.answers(random.between(1, 20));
      stopsMs.push(await fairMs(async () => expect(await server.stop()).toBe(0)));
      await server.start();
    }
    await load.answers(20);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    report(`${STOPS} stops by SIGTERM, which took ${stopsMs.map(Math.round).join(', ')} ms`, load);
    expect(Math.max(...stopsMs)).toBeLessThan(5_000);
  },
  limitMs(120_000),
);

test('kill -9 at any moment of the very first start: the next start succeeds', async () => {
  const random = new Random();
  console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
  const server = await ServerProcess.create({ runtime: 'process' });
  onTestFinished(() => server.dispose(), 60_000);
  for (let i = 0; i < times(6); i++) await server.startAndKill(random.between(200, 1_800));
  await server.start();
  const api = new Api(server);
  const id = await api.createEndpoint({ workers: { min: 0, max: 1 } });
  expect(await api.runToEnd(id, { echo: 'alive' })).toMatchObject({ status: 'COMPLETED', output: 'alive' });
});
