import type { Person, RestFixture } from './rest-app.ts';

const GPU = 'NVIDIA GeForce RTX 4090';

/** The records of a person who has one of everything. */
export interface Owned {
  endpoint: string;
  pod: string;
  volume: string;
  template: string;
  secret: string;
  registry: string;
  worker: string;
}

/** Enough GPUs for pods of `ownEverything`. */
export const PLENTY = {
  read: async () => ({
    gpus: [
      {
        pool: 'ADA_24',
        gpuTypeId: GPU,
        dataCenterId: 'LOCAL-1',
        total: 1_000,
        free: 1_000,
        cudaVersion: '12.8',
        machine: { cpus: 64, memoryBytes: 2 ** 38, gpus: 8 },
      },
    ],
    cpus: 64,
    memoryBytes: 2 ** 38,
  }),
};

/** Creates one of everything over the API, with a running worker that has a log and a key. Names begin with `prefix`. */
export async function ownEverything(rest: RestFixture, { key, userId }: Person, prefix = 'own'): Promise<Owned> {
  const make = async (path: string, body: object): Promise<string> => {
    const response = await rest.call('POST', `/v2/${path}`, { key, body });
    if (response.statusCode !== 201) throw new Error(`${path}: ${response.body}`);
    return response.json().id;
  };
  const secret = await make('account/secrets', { name: 'TOKEN', value: `${prefix} value` });
  const env = { TOKEN: '{{ RUNPOD_SECRET_TOKEN }}', PLAIN: prefix };
  const registry = await make('registries', { name: prefix, username: prefix, password: `${prefix} password` });
  const template = await make('templates', { name: 'shared name', image: 'any:1', serverless: true, env });
  const volume = await make('network-volumes', { name: prefix, size: 10, dataCenter: 'LOCAL-1' });
  const endpoint = await make('serverless', {
    name: prefix,
    image: 'any:1',
    env,
    registry,
    gpu: { pools: ['ADA_24'] },
    networkVolumes: [volume],
  });
  const pod = await make('pods', { name: prefix, image: 'any:1', env, gpu: { id: GPU, count: 1 } });
  await make('registries/delegations', {
    resource: 'arn:aws:ecr:us-east-1:123456789012:repository/a',
    name: prefix,
  });
  const worker = `w${endpoint}`;
  const { pool } = rest.database;
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_count, started_at)
     select $1, e.id, e.user_id, 1, '', r.spec, 'RUNNING', 1, now() from endpoints e
     join releases r on r.endpoint_id = e.id where e.id = $2`,
    [worker, endpoint],
  );
  await pool.query(
    `insert into api_keys (id, user_id, name, secret_hash, scopes, workload)
     values ($1::text, $2, 'worker', sha256($1::text::bytea), array['invoke/' || $3::text], 'WORKER')`,
    [worker, userId, endpoint],
  );
  await pool.query(
    "insert into log_lines (workload_id, endpoint_id, ts, source, line) values ($1, $2, now(), 'container', 'hello')",
    [worker, endpoint],
  );
  await pool.query(
    `insert into pod_runs (pod_id, revision, user_id, tariff, gpu_count, vcpus, disk_gb) values ($1, 1, $2, 'SECURE', 1, 0, 5)`,
    [pod, userId],
  );
  return { endpoint, pod, volume, template, secret, registry, worker };
}

/** Does what control would: ends what is to end, and meters it. */
export async function endContainers({ database: { pool } }: RestFixture): Promise<void> {
  await pool.query(`update workers set phase = 'EXITED', exited_at = now() - interval '1 hour' where wanted = 'STOP'`);
  await pool.query(
    `update pods set phase = 'EXITED', gone_at = now() - interval '1 hour' where wanted = 'TERMINATE' and gone_at is null`,
  );
  await pool.query("update clusters set gone_at = now() where wanted = 'DELETE' and gone_at is null");
  await pool.query('update usage_meter set metered_until = now()');
}
