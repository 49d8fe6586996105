import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HubFaults, type HubModel, ModelHub } from '../model-hub.ts';
import { Api, until, type Worker } from './api.ts';
import { run } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

/** docs/interface/models.md, "Fetching them": a way in which a model that was set cannot be had, and what its endpoint says then. */
interface Fault {
  /** From when it is set. */
  faults?: HubFaults;
  model?: Partial<HubModel>;
  isGone?: boolean;
  hasToken?: boolean;
  files?: HubModel['files'];
  reason: RegExp;
}

/** A single file, because any of several may be the one that fails a start. */
const ONE_FILE = { 'model.bin': randomBytes(1_000) };

const FAULTS: Record<string, Fault> = {
  gone: {
    isGone: true,
    reason:
      /127\.0\.0\.1:\d+ refuses the model 'org\/gone' \(status 401\): it is gated, private or gone: name a secret/,
  },
  gated: {
    model: { gatedFor: [] },
    reason: /refuses the model 'org\/gated' \(status 401\): it is gated, private or gone: name a secret/,
  },
  revoked: {
    hasToken: true,
    model: { gatedFor: [] },
    reason: /refuses the model 'org\/revoked' \(status 403\): the token was revoked/,
  },
  changed: {
    files: ONE_FILE,
    faults: { isReplaced: true },
    reason:
      /the file 'model\.bin' of the model 'org\/changed' has changed at 127\.0\.0\.1:\d+: set the endpoint's models again/,
  },
  differs: {
    files: ONE_FILE,
    faults: { isChanged: true },
    reason: /the file 'model\.bin' of the model 'org\/differs' differs from its digest \w+:\w{40}/,
  },
  page: {
    files: ONE_FILE,
    faults: { isPage: true },
    reason: /127\.0\.0\.1:\d+ sent a web page of some size for the file 'model\.bin' of the model 'org\/page'/,
  },
  removed: {
    files: ONE_FILE,
    faults: { status: 404 },
    reason: /127\.0\.0\.1:\d+ has no file 'model\.bin' of the model 'org\/removed' any more/,
  },
  away: {
    faults: { status: 503 },
    reason: /of the model 'org\/away' could not be fetched from 127\.0\.0\.1:\d+: it answered with status 503/,
  },
  large: {
    files: { 'a.bin': { size: 2e9, lfs: true } },
    reason: /the model 'org\/large' has 2\.0 GB, but models may take 1\.0 GB on this machine/,
  },
};
const CASES = Object.entries(FAULTS).map(([name, fault]) => ({ name, ...fault }));

let hub: ModelHub;
let server: ServerProcess;
let api: Api;
let running: { id: string; worker: Worker };
const ids = new Map<string, string>();
const jobs = new Map<string, string>();

beforeAll(async () => {
  hub = await ModelHub.start();
  const env = { PODYARD_HUB_URL: hub.url, PODYARD_MODELS_GB: '1' };
  server = await ServerProcess.start({ runtime: 'process', env });
  api = new Api(server);
  hub.models.set('org/well', contents());
  running = await start('org/well', [{ source: 'hf:org/well' }]);
  for (const { name, hasToken, files } of CASES) {
    hub.models.set(`org/${name}`, files ? { files } : contents());
    if (hasToken) await api.call('POST', '/v2/account/secrets', { name, value: `hf_${name}` });
    const id = await api.createEndpoint({ name, workers: { min: 0, max: 1 } });
    const models = [{ source: `hf:org/${name}`, ...(hasToken && { tokenSecret: name }) }];
    await api.call('PUT', `/v2/serverless/${id}/models`, { models });
    ids.set(name, id);
  }
  for (const { name, faults, model, isGone } of CASES) {
    if (faults) hub.faults.set(`org/${name}`, faults);
    Object.assign(hub.models.get(`org/${name}`)!, model);
    if (isGone) hub.models.delete(`org/${name}`);
  }
  hub.models.delete('org/well');
  for (const { name } of CASES) jobs.set(name, (await api.run(ids.get(name)!, { echo: 1 })).id);
});
afterAll(async () => {
  await server?.dispose();
  await hub?.close();
});

const contents = () => ({ files: { 'config.json': randomBytes(50), 'model.bin': randomBytes(100_000) } });

async function start(name: string, models: object[]): Promise<{ id: string; worker: Worker }> {
  const id = await api.createEndpoint({ name, workers: { min: 0, max: 1 } });
  await api.call('PUT', `/v2/serverless/${id}/models`, { models });
  await api.patch(id, { workers: { min: 1, max: 1 } });
  const worker = await until('it runs', async () => (await api.workers(id)).find(({ status }) => status === 'IDLE'));
  return { id, worker };
}

test.each(CASES)(
  'a model that is $name: state, decisions, job, workers, log and command line say so in the same words',
  async ({ name, reason }) => {
    const id = ids.get(name)!;
    const path = `/v2/serverless/${id}`;
    const state = await until(
      'it fails',
      async () => {
        const found = await api.call<{ state: string; reason: string | null }>('GET', `${path}/state`);
        return found.state === 'FAILING' && found;
      },
      90_000,
    );
    expect(state.reason).toMatch(/^the last (?:start|\d+ starts) failed: /);
    expect(state.reason).toMatch(reason);
    const said = reason.exec(state.reason!)![0];
    const { ended } = await api.call<{ ended: { id: string; reason: string }[] }>(
      'GET',
      `${path}/workers?include=ENDED`,
    );
    expect(ended[0]!.reason).toContain(said);
    const lines = await api.logs(id, ended.at(-1)!.id, (all) =>
      all.some(({ line }) => line.includes('could not be started')),
    );
    expect(lines.map(({ line }) => line).join('\n')).toContain(said);
    const decisions = () => api.call('GET', `${path}/decisions`);
    await until('a decision says why', async () => JSON.stringify(await decisions()).includes(said));
    const explain = () => api.call('GET', `/v2/${id}/status/${jobs.get(name)}?explain=1`);
    await until('the job says why', async () => JSON.stringify(await explain()).includes(said), 90_000); // not while the next start tries
    const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
    for (const args of [['endpoints'], ['decisions', name], ['workers', name, '--ended']])
      await until(`${args.join(' ')} says why`, async () => (await run(args, env)).includes(said), 90_000);
  },
  300_000,
);

test('a worker that runs goes on when its model is gone from the hub and from the machine', async () => {
  const models = join(server.dataDir, 'models');
  const [installation] = await readdir(models);
  await rm(join(models, installation!, 'blobs'), { recursive: true });
  const { id, worker } = running;
  expect(await api.runToEnd(id, { echo: 2 })).toMatchObject({ status: 'COMPLETED', workerId: worker.id });
  expect((await api.workers(id)).map((one) => one.id)).toEqual([worker.id]);
});

test('what the patterns of two endpoints both choose is fetched once', async () => {
  const [json, bin] = ['shared.json', 'shared.bin']; // others try their files again meanwhile
  hub.models.set('org/shared', { files: { [json]: randomBytes(50), [bin]: randomBytes(100_000) } });
  await start('all', [{ source: 'hf:org/shared' }]);
  await start('some', [{ source: 'hf:org/shared', include: ['*.json'] }]);
  expect([json, bin].map((file) => hub.sent.get(file))).toEqual([50, 100_000]);
});
