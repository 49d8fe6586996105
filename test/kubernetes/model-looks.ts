import { type Api, until } from '../e2e/api.ts';

export const HUB = '/runpod-volume/huggingface-cache/hub';

/** Prints what a worker sees of the model, and what it can write. */
const LOOKS = JSON.stringify({
  entrypoint: [
    'node',
    '-e',
    `const fs = require('fs');
     const code = (act) => { try { act(); return 'done'; } catch (error) { return error.code; } };
     const own = '${HUB}/models--org--name';
     const commit = fs.readFileSync(own + '/refs/main', 'utf8');
     const hash = (path) => require('crypto').createHash('sha256').update(fs.readFileSync(path)).digest('hex');
     console.log('saw ' + JSON.stringify({
       commit,
       weights: hash(own + '/snapshots/' + commit + '/model.safetensors'),
       sdk: hash('/runpod/cache/org/name/main/model.safetensors'),
       config: fs.readFileSync(own + '/snapshots/' + commit + '/config.json', 'utf8'),
       hub: process.env.HF_HUB_CACHE,
       blob: code(() => fs.appendFileSync(own + '/snapshots/' + commit + '/config.json', 'x')),
       beside: code(() => fs.mkdirSync('${HUB}/models--org--other')),
       volume: code(() => fs.writeFileSync('/runpod-volume/mine', 'x')),
     }));
     process.on('SIGTERM', () => process.exit());
     setInterval(() => {}, 1000);`,
  ],
});

/** Creates an endpoint without workers whose workers tell what they see of the model `org/name`. Returns its id. */
export async function createWithModel(api: Api, more: object = {}): Promise<string> {
  const id = await api.createEndpoint({ args: LOOKS, workers: { min: 0, max: 0 }, ...more });
  await api.call('PUT', `/v2/serverless/${id}/models`, { models: [{ source: 'hf:org/name' }] });
  return id;
}

export async function scale(api: Api, id: string, min: number): Promise<void> {
  await api.call('PATCH', `/v2/serverless/${id}`, { workers: { min, max: min } });
}

/** Resolves with what so many workers of an endpoint see. */
export async function seenByWorkers(api: Api, id: string, count: number) {
  const workers = await until(
    `there are ${count}`,
    async () => {
      const found = await api.workers(id);
      return found.length === count && found.map((worker) => worker.id);
    },
    90_000,
  );
  return Promise.all(
    workers.map(async (worker) => {
      const lines = await api.logs(id, worker, (all) => all.some(({ line }) => line.startsWith('saw ')), {
        atMostMs: 120_000,
      });
      return { worker, ...JSON.parse(lines.find(({ line }) => line.startsWith('saw '))!.line.slice(4)) };
    }),
  );
}
