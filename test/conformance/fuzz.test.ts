import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEndpoint, readPodOrTemplate } from '../../src/rest/shared/terraform.ts';
import { arbitraryRequest, type FuzzRequest, type RECORDS } from '../arbitrary-request.ts';
import { checkAnswer, findOperation, requestBodyProblem } from '../check-answer.ts';
import { type Person, type RestFixture, startRestApp } from '../rest-app.ts';

const BATCH = 50;
const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';
const BATCHES = isThorough ? 400 : process.env.CI === 'true' ? 200 : 12;
/** Fixed in CI, so that a failure belongs to the change; random elsewhere. */
const SEED = Number(process.env.FUZZ_SEED ?? (process.env.CI ? 20_261_121 : Date.now() % 2 ** 31));
const TIME_LIMIT_MS = 480_000;
const ANSWER_WITHIN_MS = 30_000;
const MAX_HEAP_GROWTH_BYTES = 50 * 2 ** 20;
/** Part of every record of the other user, and of no request. */
const FOREIGN = 'strangers-own-7f3a9c';
const INTERNAL = /node_modules|\.ts:\d+|\bat [\w.<>]+ \(|SQLSTATE|\bpg_|syntax error at/;
const COMMON_STATUSES = [200, 201, 400, 401, 404, 422];
const RARE_STATUSES = [204, 403, 405, 413, 415];
const PATHS = ['/v2/serverless', '/v2/templates', '/v2/network-volumes', '/v2/registries', '/v2/account/secrets'];

let rest: RestFixture;
let server: Server;
let keys: Record<FuzzRequest['key'], string | undefined>;
let foreign: string;
const agent = new Agent({ keepAlive: true, maxSockets: BATCH });

beforeAll(async () => {
  rest = await startRestApp();
  server = createServer((request, response) => rest.handle(request, response));
  server.keepAliveTimeout = 0; // an idle connection that it closes may just be taken for the next request
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reader = await rest.keyFor(rest.alice, 'read-only');
  keys = {
    alice: rest.alice.key,
    bob: await rest.keyFor(await rest.addPerson('nobody'), 'all'),
    reader,
    unknown: 'pyk_x',
    none: undefined,
  };
  foreign = (await makeRecords(rest.bob, FOREIGN)).endpoint;
});
afterAll(async () => {
  agent.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

/** docs/interface/rest.md, "Errors" */
test(
  `no request, however malformed, gets an answer outside the description (seed ${SEED})`,
  async () => {
    console.log(`fuzz: ${BATCH * BATCHES} requests, FUZZ_SEED=${SEED}`);
    const before = await readAll(rest.bob.key);
    const statuses = new Map<number, number>();
    const deadline = Date.now() + TIME_LIMIT_MS;
    let batches = 0;
    let heapAtFirst = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryRequest, { minLength: BATCH, maxLength: BATCH }), async (requests) => {
        if (Date.now() > deadline) throw new Error(`only ${batches} of ${BATCHES} batches in ${TIME_LIMIT_MS} ms`);
        const records = await makeRecords(rest.alice, `own-${batches}`);
        await Promise.all(
          requests.map(async (request) => {
            const status = await sendAndCheck(fillIn(request, { ...records, foreign }));
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }),
        );
        if (++batches === Math.ceil(BATCHES / 10)) heapAtFirst = await heapUsed();
      }),
      { seed: SEED, numRuns: BATCHES, endOnFailure: true, asyncReporter: report },
    );
    console.log('fuzz: answers', Object.fromEntries([...statuses].toSorted(([one], [other]) => one - other)));
    for (const status of BATCHES > 100 ? COMMON_STATUSES.concat(RARE_STATUSES) : COMMON_STATUSES) {
      expect(statuses.has(status), `no request was answered ${status}: the requests are not wild enough`).toBe(true);
    }
    expect((await heapUsed()) - heapAtFirst).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
    expect(await readAll(rest.bob.key)).toEqual(before);
  },
  TIME_LIMIT_MS + 60_000,
);

/** The error names the one request that failed, without the rest of its batch. */
async function report({ failed, errorInstance, seed }: { failed: boolean; errorInstance: unknown; seed: number }) {
  if (failed) throw new Error(`${(errorInstance as Error).message}\nAgain: FUZZ_SEED=${seed}`);
}

type Records = Record<(typeof RECORDS)[number], string>;

/** Creates one record of each kind and removes all earlier ones, so that lists do not grow with the number of batches. */
async function makeRecords({ key, userId }: Person, name: string): Promise<Omit<Records, 'foreign'>> {
  const make = async (path: string, body: object): Promise<string> => {
    const response = await rest.call('POST', `/v2/${path}`, { key, body });
    expect(response.statusCode).toBe(201);
    return response.json().id;
  };
  await rest.database.pool.query('delete from endpoints where user_id = $1', [userId]);
  const [endpoint, template, volume, registry, delegation, apiKey, secret] = await Promise.all([
    make('serverless', { name, image: name, env: { NAME: name }, gpu: { pools: ['ADA_24'] } }),
    make('templates', { name: `${name} ${Math.random()}`, image: name, serverless: true, args: name }),
    make('network-volumes', { name, size: 10, dataCenter: 'EU-RO-1' }),
    make('registries', { name, username: name, password: name }),
    make('registries/delegations', { resource: 'arn:aws:ecr:us-east-1:123456789012:repository/a', name }),
    make('account/api-keys', { name, scopes: ['read-only'] }),
    make('account/secrets', { name: `s${Math.random()}`, value: name, description: name }),
  ]);
  const worker = `worker${Math.random().toString(36).slice(2)}`;
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ($1, $2, $3, 1, '', '{}')`,
    [worker, endpoint, userId],
  );
  return { endpoint, worker, template, volume, registry, delegation, apiKey, secret };
}

async function readAll(key: string): Promise<unknown[]> {
  return Promise.all(PATHS.map(async (path) => (await rest.call('GET', path, { key })).json()));
}

function fillIn(request: FuzzRequest, records: Records): FuzzRequest {
  const fill = (text: string) => text.replaceAll(/@(\w+)/g, (whole, name) => records[name as keyof Records] ?? whole);
  const body = typeof request.body === 'string' ? fill(request.body) : request.body;
  return { ...request, url: fill(request.url), body };
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  body: string;
}

/** Returns the status. Throws an error that contains the whole request. */
async function sendAndCheck(request: FuzzRequest): Promise<number> {
  const shown = `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${String(request.body)}`.slice(
    0,
    1500,
  );
  try {
    const answer = await inTime(isStream(request) ? sendOverHttp(request) : inject(request));
    if (answer === undefined) return 0;
    if (answer.status >= 500) throw new Error(`the answer was ${answer.status} ${answer.body}`);
    checkAnswer({ method: request.method, url: request.url, ...answer });
    if (answer.body.includes(FOREIGN)) throw new Error(`the answer shows data of another user: ${answer.body}`);
    if (answer.status >= 400 && INTERNAL.test(answer.body))
      throw new Error(`the answer shows internals: ${answer.body}`);
    checkBodyRule(request, answer);
    return answer.status;
  } catch (error) {
    throw new Error(`${(error as Error).message}\nThe request was: ${shown}`, { cause: error });
  }
}

/** Checks that bodies are rejected exactly when the description does not allow them, nor what they mean by it. */
function checkBodyRule(request: FuzzRequest, { status, body }: Answer): void {
  const found = findOperation(request.method, request.url);
  if (!found?.operation.requestBody || typeof request.body !== 'string') return;
  let value: unknown;
  try {
    value = JSON.parse(request.body.replace(/^\uFEFF/, '')); // RFC 8259: a byte order mark may be ignored, and is
  } catch {
    if (status < 300) throw new Error('the request was accepted, but its body is not JSON');
    return;
  }
  const problem = requestBodyProblem(request.method, request.url, value);
  const meant = [readEndpoint(value), readPodOrTemplate(value)]; // what Terraform writes (decision 101)
  const isMeant = meant.some((body) => requestBodyProblem(request.method, request.url, body) === null);
  if (status < 300 && problem && !isMeant)
    throw new Error(`the request was accepted, but the description does not allow its body: ${problem}`);
  const isStorable =
    !/\\u0000|\\ud[89a-f]/i.test(request.body) && !/^(create|update)ApiKey$/.test(found.operation.operationId ?? '');
  const isForQuery = /"query(?:\/[^:"]*)?: /.test(body); // its rules are not those of the body
  const isForRecord = /this endpoint is a|"\/templateId: /.test(body); // it depends on the endpoint or template
  const isForMember = /additional property '(?:__proto__|constructor|prototype)' is not allowed/.test(body); // at any depth
  const isForFolder = /"The folder cannot be built\."/.test(body); // its recipe names files that are not among its files
  const isOther = isForQuery || isForRecord || isForMember || isForFolder;
  if (status === 422 && problem === null && isStorable && !isOther)
    throw new Error(`the description allows its body: ${body}`);
}

/** The only answers that never end. */
function isStream({ method, url }: FuzzRequest): boolean {
  const answer = findOperation(method, url)?.operation.responses['200'] as { content?: object } | undefined;
  return 'text/event-stream' in (answer?.content ?? {}) || /[^\w/?=&-]/.test(url);
}

async function inject(request: FuzzRequest): Promise<Answer> {
  const { method, url, body } = request;
  const { statusCode, ...answer } = await rest.inject({
    method: method as 'GET',
    url,
    headers: headersOf(request),
    ...(body === undefined ? {} : { payload: body }),
  });
  return { status: statusCode, headers: answer.headers, body: answer.body };
}

/** Sends the path unchanged, which `inject` would normalize. Undefined if the client refuses to send it. */
function sendOverHttp(request: FuzzRequest): Promise<Answer | undefined> {
  const { port } = server.address() as AddressInfo;
  const headers = headersOf(request);
  if (request.body !== undefined) headers['content-length'] = `${Buffer.byteLength(request.body)}`; // of a GET, too
  delete headers['x-giant']; // the parser of Node.js rejects it first
  return new Promise((resolve, reject) => {
    let sent: ReturnType<typeof httpRequest>;
    try {
      sent = httpRequest({ agent, host: '127.0.0.1', port, method: request.method, path: request.url, headers });
    } catch {
      resolve(undefined);
      return;
    }
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) {
        chunks.push(chunk);
        if (response.headers['content-type'] === 'text/event-stream') break;
      }
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks).toString() });
    });
    sent.end(request.body);
  });
}

function headersOf(request: FuzzRequest): Record<string, string> {
  const key = keys[request.key];
  return {
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...request.headers,
  };
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)), ANSWER_WITHIN_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}
