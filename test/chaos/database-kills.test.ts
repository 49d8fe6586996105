import { test } from 'vitest';
import { until } from '../e2e/api.ts';
import { limitMs, times } from './extent.ts';
import { begin, report, SETTLE_MS } from './kills.ts';
import { expectNothingLost } from './truth.ts';

const ENDS = times(6);

test(
  'restarts and kill -9 of PostgreSQL under load: no job accepted with 200 is lost or ends twice',
  async () => {
    const { server, load, endpointIds, random } = await begin('process');
    for (let i = 0; i < ENDS; i++) {
      await load.answers(random.between(20, 60));
      const { pid } = await server.postmaster();
      process.kill(pid, (ENDS - i) % 2 === 1 ? 'SIGKILL' : 'SIGINT');
      if (i === ENDS - 1) {
        await server.kill(); // like a power failure
        await server.start();
      }
      await until('a new PostgreSQL answers', async () => {
        const isAnother = (await server.postmaster()).pid !== pid;
        return isAnother && (await server.query('select 1')).length === 1;
      });
    }
    await load.answers(20);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    report(`${ENDS} ends of PostgreSQL`, load);
  },
  limitMs(180_000),
);
