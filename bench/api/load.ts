/**
 * The load generator of `bench api`: `connections` keep-alive connections, each with one request in flight and its own
 * endpoint, so that no two wait for the same row. Prints an `ApiLoadResult` as JSON.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { HttpConnection } from '../queue/http-connection.ts';
import { Latencies, type Percentiles } from '../queue/latencies.ts';
import { machineBusySeconds, usageOfTree } from '../queue/process-usage.ts';

/**
 * `patch` changes settings that apply at once, `patchNewer` the same in revision 2026-08, which `getNewer` reads in; `release` changes the image, which makes a release. `list` reads all endpoints,
 * list after list, while a second connection gets single ones, whose latencies are `probeMs`. `template` changes a template
 * over REST, `saveTemplate` the same one over GraphQL with variables, `literals` with values in the document; `ids` are then
 * those of templates.
 */
export type ApiMode =
  | 'get'
  | 'getNewer'
  | 'patch'
  | 'patchNewer'
  | 'release'
  | 'list'
  | 'template'
  | 'saveTemplate'
  | 'literals';

export interface ApiLoadResult {
  perSecond: number;
  latenciesMs: Percentiles;
  /** Mode `list`: latencies of the requests beside the lists. */
  probeMs: Percentiles | null;
  responseBytes: number;
  serverCpuUs: number;
  storeCpuUs: number;
  /** CPU used by other programs, as a share of all processors. With much of it the figures mean little. */
  othersCpuShare: number;
  errors: number;
  firstError: string | null;
}

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'get' },
    url: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    ids: { type: 'string', default: '' },
    connections: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '1' },
    server: { type: 'string', default: '' },
    store: { type: 'string', default: '' },
  },
});
const mode = values.mode as ApiMode;
const ids = values.ids.split(',');
const { hostname, port, host } = new URL(values.url);

let isMeasuring = false;
let isOver = false;
let count = 0;
let errors = 0;
let firstError: string | null = null;
let responseBytes = 0;
let changes = 0;

/** The fields that REST returns, too. */
const TEMPLATE = `id name imageName dockerArgs containerDiskInGb ports env { key value } containerRegistryAuthId volumeInGb
  volumeMountPath isServerless isPublic category`;

function requestText(kind: ApiMode, id: string): string {
  const head = `host: ${host}\r\nauthorization: Bearer ${values.key}\r\n`;
  if (kind === 'list') return `GET /v2/serverless HTTP/1.1\r\n${head}\r\n`;
  const prefix = kind.endsWith('Newer') ? '/2026-08' : '';
  if (kind === 'get' || kind === 'getNewer') return `GET ${prefix}/v2/serverless/${id} HTTP/1.1\r\n${head}\r\n`;
  const n = ++changes;
  const post = (path: string, content: object, method = 'POST') => {
    const text = JSON.stringify(content);
    return `${method} ${path} HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  };
  if (kind === 'template') {
    return post(
      `/v2/templates/${id}`,
      { image: `bench/worker:${n}`, args: 'serve', env: { N: `${n}`, MODE: 'bench' } },
      'PATCH',
    );
  }
  if (kind === 'saveTemplate') {
    const env = [
      { key: 'N', value: `${n}` },
      { key: 'MODE', value: 'bench' },
    ];
    const input = {
      id,
      name: id,
      imageName: `bench/worker:${n}`,
      containerDiskInGb: 20,
      volumeInGb: 0,
      dockerArgs: 'serve',
      env,
    };
    return post('/graphql', {
      query: `mutation ($input: SaveTemplateInput!) { saveTemplate(input: $input) { ${TEMPLATE} } }`,
      variables: { input },
    });
  }
  if (kind === 'literals') {
    const input = `{id: "${id}", name: "${id}", imageName: "bench/worker:${n}", containerDiskInGb: 20, volumeInGb: 0, dockerArgs: "serve",
      env: [{key: "N", value: "${n}"}, {key: "MODE", value: "bench"}]}`;
    return post('/graphql', { query: `mutation { saveTemplate(input: ${input}) { ${TEMPLATE} } }` });
  }
  const change =
    kind !== 'release' ? { workers: { max: 1 + (n % 50) }, timeout: 1000 + n } : { image: `bench/worker:${n}-${id}` };
  const body = JSON.stringify(change);
  return `PATCH ${prefix}/v2/serverless/${id} HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Sends one request after another until the end. */
function play(kind: ApiMode, id: string, latencies: Latencies, isCounted: boolean): Promise<void> {
  const connection = new HttpConnection({ host: hostname, port: Number(port) });
  return new Promise((resolve) => {
    const next = () => {
      if (isOver) {
        connection.close();
        return resolve();
      }
      const startedAt = performance.now();
      connection.request(requestText(kind, id), (response) => {
        if (response?.status !== 200 || response.body.includes('"errors"')) {
          errors++;
          firstError ??= response ? `${response.status} ${response.body.slice(0, 300)}` : 'connection closed';
        } else if (isMeasuring) {
          latencies.add(performance.now() - startedAt);
          if (isCounted) {
            count++;
            responseBytes = response.body.length;
          }
        }
        // Not from within the read: a server that responds at once would never let the reader's stack unwind.
        setImmediate(next);
      });
    };
    next();
  });
}

const latencies = new Latencies();
const probe = new Latencies();
const players = Array.from({ length: Number(values.connections) }, (_, i) =>
  play(mode, ids[i % ids.length]!, latencies, true),
);
if (mode === 'list') players.push(play('get', ids[0]!, probe, false));

const usage = () => ({
  server: usageOfTree(Number(values.server)),
  store: usageOfTree(Number(values.store)),
  own: usageOfTree(process.pid),
  busySeconds: machineBusySeconds(),
});
await sleep(Number(values['warm-up']) * 1000);
const before = usage();
const startedAt = performance.now();
isMeasuring = true;
await sleep(Number(values.seconds) * 1000);
isMeasuring = false;
const seconds = (performance.now() - startedAt) / 1000;
const after = usage();
isOver = true;
await Promise.all(players);

const cpuSeconds = (part: 'server' | 'store' | 'own') => after[part].cpuSeconds - before[part].cpuSeconds;
const watchedSeconds = cpuSeconds('server') + cpuSeconds('store') + cpuSeconds('own');
const othersSeconds = after.busySeconds - before.busySeconds - watchedSeconds;
const result: ApiLoadResult = {
  perSecond: count / seconds,
  latenciesMs: latencies.percentiles() ?? { count: 0, p50: Number.NaN, p99: Number.NaN, max: Number.NaN },
  probeMs: probe.percentiles(),
  responseBytes,
  serverCpuUs: (cpuSeconds('server') * 1e6) / count,
  storeCpuUs: (cpuSeconds('store') * 1e6) / count,
  othersCpuShare: Math.max(0, othersSeconds / seconds / availableParallelism()),
  errors,
  firstError,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
