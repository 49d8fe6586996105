import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

/** docs/interface/rest-v1.md, "Rules": no value of any field or parameter is answered with more than a refusal. */

const GPU = 'NVIDIA GeForce RTX 4090';
const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  0.5,
  2_147_483_648,
  1e308,
  '',
  ' ',
  'a\0b',
  '\ud800',
  'x'.repeat(5_000),
  '../../etc/passwd',
  "'; drop table pods; --",
  [],
  [null],
  ['a\0b'],
  Array.from({ length: 300 }, () => 'x'),
  {},
  { 'a\0b': 'c' },
  { a: 1 },
  { constructor: 'x' },
];
const INTERNAL = /node_modules|\.ts:\d+|\bat [\w.<>]+ \(|SQLSTATE|\bpg_|syntax error at|invalid byte/;

interface Schema {
  $ref?: string;
  readOnly?: boolean;
  examples?: object[];
  properties?: Record<string, Schema>;
}
interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
  parameters?: { in: string; name: string }[];
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let rest: RestFixture;
let description: Description;
const ids: Record<string, string> = {};
beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 100_000, free: 100_000 }];
  const capacity = { read: async () => ({ gpus, cpus: 100_000, memoryBytes: 2 ** 50 }) };
  rest = await startRestApp({ capacity });
  description = (await rest.callV1('GET', '/v1/openapi.json')).json();
  const make = async (path: string, body: object) => {
    const response = await send('POST', `/v1/${path}`, body);
    ids[path] = response.json().id;
  };
  await make('templates', { name: 't', imageName: 'i', isServerless: true });
  await make('pods', { imageName: 'i', gpuTypeIds: [GPU] });
  await make('endpoints', { templateId: ids.templates, gpuTypeIds: [GPU] });
  await make('networkvolumes', { name: 'v', size: 10, dataCenterId: 'LOCAL-1' });
  await make('containerregistryauth', { name: 'r', username: 'u', password: 'p' });
});
afterAll(() => rest.close());

const send = (method: string, url: string, body?: unknown) =>
  rest.callV1(method, url, { key: rest.alice.key, ...(body !== undefined && { body }) });
const idOf = (path: string) => ids[path.split('/')[2]!] ?? 'x';

async function sendAll(
  requests: readonly [method: string, url: string, body?: unknown][],
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  for (const [method, url, body] of requests) {
    const response = await send(method, url, body);
    const { statusCode, body: text } = response;
    const shown = `${method} ${url.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 300)} was answered ${statusCode} ${text}`;
    if (statusCode >= 500 || (statusCode >= 400 && INTERNAL.test(text))) throw new Error(shown);
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
  }
  return statuses;
}

test('any value in any field of a body is taken or refused', { timeout: 60_000 }, async () => {
  const requests: [string, string, unknown][] = [];
  for (const [path, operations] of Object.entries(description.paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const name = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1);
      if (name === undefined || path.endsWith('/update')) continue; // the same as PATCH
      const example = description.components.schemas[name]!.examples![0]!;
      const fields = Object.entries(description.components.schemas[name]!.properties!);
      // A create ignores these, and would make something for each of them: they are sent together.
      const ignored = fields.filter(([, { readOnly }]) => readOnly && method === 'post').map(([field]) => field);
      const single = fields.flatMap(([field]) => (ignored.includes(field) ? [] : [[field]]));
      for (const names of ignored.length === 0 ? single : [...single, ignored]) {
        for (const value of VALUES) {
          const given = Object.fromEntries(names.map((field) => [field, value]));
          requests.push([method.toUpperCase(), path.replace('{id}', idOf(path)), { ...example, ...given }]);
        }
      }
    }
  }
  expect(requests.length).toBeGreaterThan(1_000);
  const statuses = await sendAll(requests);
  expect([...statuses.keys()].toSorted()).toEqual([200, 201, 400]);
});

test('any text in any parameter is taken or refused', { timeout: 60_000 }, async () => {
  const texts = [
    '',
    ' ',
    '%00',
    '-1',
    '1e999',
    'true',
    '9999-12-31T23:59:59Z',
    '%ED%A0%80',
    'x'.repeat(400),
    "';--",
    'a&NAME=b',
  ];
  const requests: [string, string][] = [];
  for (const [path, operations] of Object.entries(description.paths)) {
    for (const { in: place, name } of operations.get?.parameters ?? []) {
      for (const text of texts) {
        const url = path.replace('{id}', place === 'path' ? text.replaceAll('&', '%26') : idOf(path));
        requests.push(['GET', place === 'query' ? `${url}?${name}=${text.replace('NAME', name)}` : url]);
      }
    }
  }
  expect(requests.length).toBeGreaterThan(300);
  const statuses = await sendAll(requests);
  expect([...statuses.keys()].toSorted()).toEqual([200, 400, 404]);
});
