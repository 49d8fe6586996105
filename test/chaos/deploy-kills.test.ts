import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { MARKER } from '../../src/runtimes/process/process-group.ts';
import { Api, until } from '../e2e/api.ts';
import { podyard, run } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { findProcesses } from '../find-processes.ts';
import { limitMs, times } from './extent.ts';
import { Random } from './random.ts';

const MOMENTS = times(32);
/** Who is killed, in turn. */
const VICTIMS = ['server', 'command', 'database'] as const;
const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];

interface Build {
  id: string;
  status: string;
  reason: string | null;
  image: string | null;
}

test(
  `kill -9 at ${MOMENTS} moments of a deploy: its build goes on or says why not, the endpoint runs whole code, and the next deploy works`,
  async () => {
    const random = new Random();
    console.log(`PODYARD_CHAOS_SEED=${random.seed}`);
    const server = await ServerProcess.start({ runtime: 'process' });
    onTestFinished(() => server.dispose(), 60_000);
    const home = await mkdtemp(join(tmpdir(), 'podyard-home-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
    const api = new Api(server);
    const folder = join(home, 'app');
    await run(['init', folder, '--template', 'javascript'], env);
    const write = (round: number) =>
      writeFile(join(folder, 'handler.js'), `export default async (job) => ({ round: ${round}, of: job.input });\n`);
    await write(0);
    await run(['deploy', folder, '--yes'], env);
    const endpointId: string = JSON.parse(await run(['endpoints', 'get', 'app', '--json'], env)).id;
    await write(-1);
    const startedAt = performance.now();
    await run(['deploy', folder, '--yes'], env);
    const lastsMs = performance.now() - startedAt;
    let before = -1;
    for (let round = 1; round <= MOMENTS; round++) {
      await write(round);
      const job = await api.run(endpointId, round);
      const command = podyard(['deploy', folder, '--yes'], env);
      const closed = once(command, 'close');
      await sleep(((round - random.between(0, 99) / 100) * lastsMs) / MOMENTS);
      const victim = VICTIMS[round % VICTIMS.length]!;
      if (victim === 'command') command.kill('SIGKILL');
      else if (victim === 'database') await killDatabase(server);
      else {
        await server.kill();
        await server.start();
      }
      await closed;
      if (victim !== 'command') expect([0, 6], command.text()).toContain(command.exitCode); // 6: run it again
      const { status, output } = await api.ended(endpointId, job.id);
      expect([victim, status]).toEqual([victim, 'COMPLETED']);
      expect([before, round]).toContain((output as { round: number }).round);
      await until('the build has ended', async () => (await builds(api)).every((one) => ENDED.includes(one.status)));
      for (const { status, reason } of await builds(api))
        expect([status, reason === null]).toEqual([status, status === 'COMPLETED']);
      expect(await run(['deploy', folder, '--yes'], env)).toMatch(/app/);
      await until(`the code of round ${round} answers`, async () => {
        const { output } = await api.runToEnd(endpointId, round);
        return (output as { round: number }).round === round;
      });
      before = round;
      console.log(
        `round ${round}: the ${victim} was killed; the command ended with ${command.exitCode ?? command.signalCode}: ${command.text().slice(-400)}`,
      );
    }
    await expectNothingLeft(server, api);
  },
  limitMs(300_000),
);

async function killDatabase(server: ServerProcess): Promise<void> {
  const { pid } = await server.postmaster();
  process.kill(pid, 'SIGKILL');
  await until('a new PostgreSQL answers, and the server uses it', async () => {
    const isAnother = (await server.postmaster()).pid !== pid;
    return isAnother && (await fetch(`${server.url}/readyz`)).ok;
  });
}

const builds = async (api: Api): Promise<Build[]> =>
  (await api.call<{ builds: Build[] }>('GET', '/v2/builds?limit=100')).builds;

/** No process and no folder of a build, but those of images that a record has. */
async function expectNothingLeft(server: ServerProcess, api: Api): Promise<void> {
  const kept = (await builds(api)).filter(({ image }) => image !== null).map(({ id }) => id);
  expect(await readdir(join(server.dataDir, 'builds'))).toEqual([]);
  const stored = await readdir(join(server.dataDir, 'images', server.installation));
  expect(stored.filter((id) => !kept.includes(id))).toEqual([]);
  expect(findProcesses(`${MARKER}=build-`, 'environ')).toEqual([]);
}
