import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

test('every setting has a default', () => {
  const config = readConfig({}, {});
  expect(config).toMatchObject({ port: 8080, host: '127.0.0.1', dataDir: resolve('.podyard'), databaseUrl: null });
  expect(config).toMatchObject({ runtime: 'auto', logLevel: 'info', adminKey: null, stopWorkersOnExit: false });
  expect([...config.roles]).toEqual(['api', 'data', 'control']);
  expect(config.limits).toMatchObject({ leaseMs: 40_000, takeHoldMs: 30_000, resultRetentionMs: 1_800_000 });
});

test('another address than loopback without TLS and proxies is warned of, and so is a short admin key', () => {
  const warnings = (flags: object, env = {}) => readConfig(flags, env).warnings;
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) expect(warnings({ host })).toEqual([]);
  for (const host of ['0.0.0.0', '::', '192.168.1.2']) {
    expect(warnings({ host })).toEqual([expect.stringMatching(/^WARNING: --host \S+ is reached without TLS/)]);
    expect(warnings({ host, tlsCert: 'c', tlsKey: 'k' })).toEqual([]);
    expect(warnings({ host, trustedProxies: '10.0.0.0/8' })).toEqual([]);
  }
  const short = warnings({}, { PODYARD_ADMIN_KEY: 'pyk_admin' });
  expect(short).toEqual([expect.stringContaining('PODYARD_ADMIN_KEY has fewer than 16 characters')]);
  expect(short[0]).not.toContain('pyk_admin');
  expect(warnings({}, { PODYARD_ADMIN_KEY: 'pyk_0123456789ab' })).toEqual([]);
});

test('a flag wins over its variable; an empty variable counts as unset', () => {
  expect(readConfig({ port: '1' }, { PODYARD_PORT: '2' }).port).toBe(1);
  expect(readConfig({}, { PODYARD_PORT: '2' }).port).toBe(2);
  expect(readConfig({}, { PODYARD_PORT: '' }).port).toBe(8080);
});

test('a data directory whose path has a control character is refused, and shown without it', () => {
  for (const [path, shown] of [
    ['/srv/a\nb', '/srv/a\\u000ab'],
    ['/srv/\u0007', '/srv/\\u0007'],
    ['/srv/\u0085', '/srv/\\u0085'],
  ] as const) {
    const sentence = `is '${shown}', but must have no line breaks or other control characters`;
    expect(() => readConfig({ dataDir: path }, {})).toThrow(`--data-dir ${sentence}`);
    expect(() => readConfig({}, { PODYARD_DATA_DIR: path })).toThrow(`--data-dir ${sentence}`);
  }
  expect(readConfig({ dataDir: '/srv/ein Ordner: ü😀' }, {}).dataDir).toBe('/srv/ein Ordner: ü😀');
});

test('--data-processes above 1 requires role api or data', () => {
  expect(readConfig({}, {})).toMatchObject({ dataProcesses: 1, stopDelayMs: 0 });
  expect(readConfig({ dataProcesses: '4', roles: 'data' }, {}).dataProcesses).toBe(4);
  expect(() => readConfig({ roles: 'control' }, { PODYARD_DATA_PROCESSES: '2' })).toThrow(
    '--data-processes is 2, but --roles leaves them nothing to serve: add api or data',
  );
  expect(() => readConfig({ dataProcesses: '0' }, {})).toThrow("--data-processes is '0'");
});

test('PODYARD_DATABASE_URL wins over DATABASE_URL', () => {
  const env = { PODYARD_DATABASE_URL: 'postgresql://own', DATABASE_URL: 'postgresql://general' };
  expect(readConfig({}, env).databaseUrl).toBe('postgresql://own');
  expect(readConfig({}, { DATABASE_URL: env.DATABASE_URL }).databaseUrl).toBe('postgresql://general');
});

test('given quotas replace the defaults; `off` disables rate limits', () => {
  expect(readConfig({}, {}).rateLimit).toEqual({ minute: 600, hour: 30_000, day: 500_000 });
  expect(readConfig({ rateLimit: 'hour=5' }, {}).rateLimit).toEqual({ minute: 600, hour: 5, day: 500_000 });
  expect(readConfig({}, { PODYARD_RATE_LIMIT: 'off' }).rateLimit).toBeNull();
});

test('simulated GPUs are pools with counts, optionally in a data center', () => {
  const { simulateGpus } = readConfig({ simulateGpus: 'ADA_24:4,AMPERE_80,ADA_24@EU-RO-1:2' }, {});
  expect(simulateGpus).toEqual([
    { pool: 'ADA_24', dataCenterId: null, total: 4 },
    { pool: 'AMPERE_80', dataCenterId: null, total: 1 },
    { pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 2 },
  ]);
  expect(readConfig({ simulateGpus: 'off' }, {}).simulateGpus).toEqual([]);
  expect(readConfig({}, {}).simulateGpus).toBeNull();
  expect(() => readConfig({ simulateGpus: '@EU-RO-1:2' }, {})).toThrow("--simulate-gpus has '@EU-RO-1:2'");
});

test('the memory for frozen workers is a size or a share of the machine’s memory', () => {
  const read = (frozenMemory: string) => readConfig({ frozenMemory }, {}).frozenMemory;
  expect(readConfig({}, {}).frozenMemory).toEqual({ share: 0.25 });
  expect(readConfig({}, { PODYARD_FROZEN_MEMORY: '10%' }).frozenMemory).toEqual({ share: 0.1 });
  expect(read('1.5GiB')).toEqual({ bytes: 1.5 * 2 ** 30 });
  expect(read('500MB')).toEqual({ bytes: 500e6 });
  expect(read('0')).toEqual({ bytes: 0 });
  for (const wrong of ['', 'much', '5', '101%', '-1GiB']) expect(() => read(wrong)).toThrow('--frozen-memory is');
});

test('an invalid master key is rejected without being shown', () => {
  const key = Buffer.alloc(32, 7);
  expect(readConfig({}, { PODYARD_MASTER_KEY: key.toString('base64') }).masterKey.keys).toEqual([key]);
  const file = resolve('data', 'master-key');
  expect(readConfig({ dataDir: 'data' }, {})).toMatchObject({ masterKey: { keys: null, file }, catalogFile: null });
  const refusal = 'PODYARD_MASTER_KEY does not hold a master key: it must be 32 bytes in base64 or hex';
  expect(() => readConfig({}, { PODYARD_MASTER_KEY: 'hunter2' })).toThrow(new Error(refusal));
});

test('proxy hosts may have a port; a certificate requires its key', () => {
  expect(readConfig({}, {})).toMatchObject({ proxyHost: null, lbHost: null, tls: null, trustedProxies: [] });
  expect(readConfig({ proxyHost: 'Pods.Example.com:8443' }, { PODYARD_LB_HOST: 'lb.example.com' })).toMatchObject({
    proxyHost: 'pods.example.com:8443',
    lbHost: 'lb.example.com',
  });
  expect(readConfig({ tlsCert: 'a.crt', tlsKey: 'a.key' }, {}).tls).toEqual({
    certFile: resolve('a.crt'),
    keyFile: resolve('a.key'),
  });
  expect(readConfig({ trustedProxies: '10.0.0.0/8, ::1' }, {}).trustedProxies).toEqual(['10.0.0.0/8', '::1']);
  expect(() => readConfig({ tlsCert: 'a.crt' }, {})).toThrow('--tls-cert and --tls-key belong together');
  for (const wrong of ['example.com/x', 'http://x', '.x', 'a..b']) {
    expect(() => readConfig({ proxyHost: wrong }, {})).toThrow(`--proxy-host is '${wrong}'`);
  }
  for (const wrong of ['10.0.0.0/33', '::1/129', 'proxy.example.com', '10.0.0.0/8/8', '10.0.0.0/x']) {
    expect(() => readConfig({ trustedProxies: wrong }, {})).toThrow(`--trusted-proxies has '${wrong}'`);
  }
});

test('the catalog file is set by flag or variable', () => {
  expect(readConfig({ catalog: 'mine.json' }, { PODYARD_CATALOG: 'other' }).catalogFile).toBe(resolve('mine.json'));
});

test.for([
  [{ port: '70000' }, {}, "--port is '70000', but must be a whole number from 0 to 65535"],
  [{ port: '1.5' }, {}, "--port is '1.5', but must be a whole number from 0 to 65535"],
  [{ runtime: 'magic' }, {}, "--runtime is 'magic', but must be one of auto, docker, process, kubernetes, simulated"],
  [{ roles: 'api,queen' }, {}, "--roles is 'queen', but must be one of api, data, control"],
  [{ rateLimit: 'week=7' }, {}, "--rate-limit is 'week=7', but must be like minute=60,hour=3000,day=50000"],
  [{ rateLimit: 'minute=0' }, {}, "--rate-limit is 'minute=0', but must be like minute=60,hour=3000,day=50000"],
  [{ publicUrl: 'ftp://x' }, {}, "--public-url is 'ftp://x', but must be an http or https URL"],
  [
    { simulateGpus: 'ADA_24:many' },
    {},
    "--simulate-gpus ADA_24 is 'many', but must be a whole number from 0 to 100000",
  ],
  [{}, { PODYARD_LEASE_SECONDS: '-1' }, "PODYARD_LEASE_SECONDS is '-1', but must be a whole number from 0 to 604800"],
] as const)('%j with %j is rejected with the setting, its value and what is allowed', ([flags, env, sentence]) => {
  expect(() => readConfig(flags, env)).toThrow(sentence);
});

test('docs/configuration.md lists every variable that is read, and no others', async () => {
  const variables = async (...files: string[]) => {
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, import.meta.url), 'utf8')));
    return new Set(texts.join('\n').match(/PODYARD_[A-Z_]+/g));
  };
  const files = (await readdir(new URL('.', import.meta.url))).filter((file) => !file.includes('.test.'));
  const read = await variables(...files);
  expect(await variables('../../docs/configuration.md')).toEqual(read);
});

test('traces follow OpenTelemetry’s variables', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
  const tracing = (env: NodeJS.ProcessEnv = {}) => readConfig({}, { OTEL_EXPORTER_OTLP_ENDPOINT, ...env }).tracing;
  expect(readConfig({}, {}).tracing).toBeNull();
  expect(readConfig({}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: OTEL_EXPORTER_OTLP_ENDPOINT }).tracing).not.toBeNull();
  expect(tracing({ OTEL_SDK_DISABLED: 'true' })).toBeNull();
  expect(tracing({ OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
  expect(tracing()).toEqual({ sampler: 'always_on', isParentBased: true, ratio: 1, delayMs: 5_000, timeoutMs: 3_000 });
  const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25', OTEL_BSP_SCHEDULE_DELAY: '50' };
  expect(tracing({ OTEL_EXPORTER_OTLP_TIMEOUT: '10000' })?.timeoutMs).toBe(10_000);
  expect(tracing(ratio)).toEqual({
    sampler: 'traceidratio',
    isParentBased: false,
    ratio: 0.25,
    delayMs: 50,
    timeoutMs: 3_000,
  });
  expect(tracing({ OTEL_TRACES_SAMPLER: 'of my own', OTEL_TRACES_SAMPLER_ARG: 'x' })).toEqual(tracing());
});

test('plain /v2 speaks the oldest revision unless another is set', () => {
  expect(readConfig({}, {}).restRevision).toBe('2026-07');
  expect(readConfig({}, { PODYARD_REST_REVISION: '2026-08' }).restRevision).toBe('2026-08');
  expect(readConfig({ restRevision: '2026-07' }, { PODYARD_REST_REVISION: '2026-08' }).restRevision).toBe('2026-07');
  expect(() => readConfig({ restRevision: '2025-01' }, {})).toThrow(/--rest-revision.*'2025-01'.*2026-07.*2026-08/);
});

test('limits per GPU are a size, a share, a number of CPUs, auto or off', () => {
  const memory = (memoryPerGpu: string) => readConfig({ memoryPerGpu }, {}).perGpu.memory;
  const cpus = (cpusPerGpu: string) => readConfig({ cpusPerGpu }, {}).perGpu.cpus;
  expect(readConfig({}, {}).perGpu).toEqual({ memory: 'auto', cpus: 'auto' });
  const env = { PODYARD_MEMORY_PER_GPU: '25%', PODYARD_CPUS_PER_GPU: '0.5' };
  expect(readConfig({}, env).perGpu).toEqual({ memory: { share: 0.25 }, cpus: 0.5 });
  expect([memory('auto'), memory('off'), memory('8GiB')]).toEqual(['auto', null, { bytes: 2 ** 33 }]);
  expect([cpus('auto'), cpus('off'), cpus('8')]).toEqual(['auto', null, 8]);
  for (const wrong of ['much', '5', '0', '0%', '1MiB', '101%', '-1GiB']) {
    expect(() => memory(wrong)).toThrow(/^--memory-per-gpu is/);
  }
  for (const wrong of ['many', '0', '-1', '1e9', '2000', '8 cores', 'Infinity']) {
    expect(() => cpus(wrong)).toThrow(/^--cpus-per-gpu is/);
  }
});

test('webhooks may go to networks, addresses and hosts that are named, each with a port or all', () => {
  const allowed = (webhookNetworks: string) => readConfig({ webhookNetworks }, {}).webhooks.allowed;
  expect(readConfig({}, {}).webhooks).toEqual({ allowPrivate: false, allowed: [] });
  expect(readConfig({}, { PODYARD_WEBHOOK_NETWORKS: '10.0.0.0/8' }).webhooks.allowed).toHaveLength(1);
  expect(allowed('10.0.5.0/24, 127.0.0.1:9000,[fd00::1]:443,fd00::/8,Hooks.LAN.,*.hooks.lan:8080,worker_1')).toEqual([
    { network: '10.0.5.0/24', port: null },
    { network: '127.0.0.1', port: 9000 },
    { network: 'fd00::1', port: 443 },
    { network: 'fd00::/8', port: null },
    { host: 'hooks.lan', port: null },
    { host: '*.hooks.lan', port: 8080 },
    { host: 'worker_1', port: null },
  ]);
  for (const wrong of [
    '10.0.0.0/33',
    '10.0.0',
    '300.1.1.1',
    '2130706433',
    '0x7f.1',
    'http://a',
    'a/b',
    'a*.b',
    '*',
    'a:0',
  ]) {
    expect(() => allowed(wrong), wrong).toThrow(`--webhook-networks has '${wrong}', but takes networks and hosts`);
  }
});

test('workers as processes inherit where programs and libraries of the machine are, and nothing else', () => {
  const env = {
    PATH: '/bin',
    LD_LIBRARY_PATH: '/usr/local/nvidia/lib64',
    PODYARD_ADMIN_KEY: 'pyk_0123456789ab',
    HF_TOKEN: 'hf_1',
  };
  expect(readConfig({}, env).hostEnv).toEqual({ PATH: '/bin', LD_LIBRARY_PATH: '/usr/local/nvidia/lib64' });
});
