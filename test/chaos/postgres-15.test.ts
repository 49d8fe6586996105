/** The oldest PostgreSQL that Podyard supports, as an external server, with the faults of the embedded one. */
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import { limitMs, times } from './extent.ts';
import { ExternalPostgres, hasPostgres15 } from './external-postgres.ts';
import { begin, report, SETTLE_MS } from './kills.ts';
import { expectNothingLost } from './truth.ts';

const ENDS = times(8);

const readiness = async ({ url }: ServerProcess) => (await fetch(`${url}/readyz`)).status;

/** Takes every connection that is free. Returns the function that releases them. */
async function takeAllConnections(database: ExternalPostgres): Promise<() => Promise<void>> {
  const holders: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: database.url, application_name: 'test' });
    client.on('error', () => {});
    const isIn = await client.connect().then(
      () => true,
      () => false,
    );
    if (!isIn) return async () => void (await Promise.all(holders.map((holder) => holder.end())));
    holders.push(client);
  }
}

test.skipIf(!hasPostgres15)(
  'PostgreSQL 15 of the operator, killed, restarted, read-only and without connections under load: no job accepted with 200 is lost or ends twice',
  async () => {
    const database = await ExternalPostgres.start();
    onTestFinished(() => database.dispose(), 60_000);
    const { server, load, endpointIds, random } = await begin('process', { databaseUrl: database.url });
    for (let i = 0; i < ENDS; i++) {
      await load.answers(random.between(20, 60));
      await database.end(i % 2 === 0 ? 'SIGKILL' : 'SIGINT');
      await database.restart();
    }

    await load.answers(20);
    await database.query('alter system set default_transaction_read_only = on');
    await database.query('select pg_reload_conf()');
    await until('it is not ready', async () => (await readiness(server)) === 503);
    const api = new Api(server);
    await expect(api.run(endpointIds[0]!, { echo: 'x' })).rejects.toMatchObject({ status: 503 });
    await database.query('alter system reset default_transaction_read_only');
    await database.query('select pg_reload_conf()');
    await until('it is ready', async () => (await readiness(server)) === 200);

    const release = await takeAllConnections(database);
    await load.answers(20); // on the connections that it has
    await release();

    await load.answers(20);
    await load.stop();
    await expectNothingLost(server, load, endpointIds, { mayFail: false, atMostMs: SETTLE_MS });
    report(`${ENDS} ends of PostgreSQL 15, read-only, no connections`, load);
  },
  limitMs(180_000),
);
