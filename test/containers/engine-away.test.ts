/** An engine that is away while workers have to stop: a few lines in the log, and all is done once it is back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CuttableProxy } from '../cuttable-proxy.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { containersOf, describeWithEngine, needExampleImages } from './container-engine.ts';

const ENGINE = '/var/run/docker.sock';
/** Long enough that the next of the growing pauses would end ten seconds later. */
const AWAY_MS = 17_500;
/** From the return of the engine until all is done, with the stop of three containers. */
const MAX_RETURN_MS = 6_000;

describeWithEngine('an engine that is away', () => {
  let folder: string;
  let proxy: CuttableProxy;
  let socket: string;
  let server: ServerProcess;
  beforeAll(async () => {
    await needExampleImages();
    folder = await mkdtemp(join(tmpdir(), 'podyard-engine-'));
    socket = join(folder, 'engine.sock');
    proxy = new CuttableProxy({ path: socket }, () => ({ path: ENGINE }));
    await proxy.connect();
    server = await ServerProcess.start({
      runtime: 'docker',
      gpus: 'ADA_24:10',
      env: { DOCKER_HOST: `unix://${socket}` },
    });
  });
  afterAll(async () => {
    await server?.dispose();
    await proxy?.cut();
    await rm(folder, { recursive: true, force: true });
  });

  test('costs a few lines in the log while workers have to stop, which they do once it is back', async () => {
    const api = new Api(server);
    const id = await api.createEndpoint({ workers: { min: 3, max: 3 } });
    await until('all wait', async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 3);
    await proxy.cut();
    const before = server.stderr.length;
    await api.call('DELETE', `/v2/serverless/${id}`);
    await sleep(AWAY_MS);
    const lines = server.stderr.slice(before).split('\n');
    console.log(`${lines.length} lines in ${AWAY_MS / 1000} s`);
    expect(lines.length).toBeLessThan(40);
    await proxy.connect();
    const areGone = async () => (await containersOf(server.installation)).size === 0;
    const tookMs = await fairMs(() => until('they are gone', areGone));
    console.log(`done ${Math.round(tookMs)} ms after the engine's return`);
    expect(tookMs).toBeLessThan(MAX_RETURN_MS);
  });
});
