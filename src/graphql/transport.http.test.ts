import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import type { Logger } from '../core/logger.ts';
import { writeUserRateLimit } from '../domain/rate-limits/user-rate-limit.ts';
import { SharedRateLimiter } from '../http/floods/rate-limiter.ts';

/** docs/interface/graphql.md, "Requests", "Errors" and "Limits". */
let rest: RestFixture;
const logged: string[] = [];
const note = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }));
const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };

beforeAll(async () => {
  rest = await startRestApp({ logger });
});
afterAll(() => rest.close());

const post = (payload: unknown, url = '/graphql', headers: Record<string, string> = {}) =>
  rest.callGraphql({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

const ME = '{ myself { id } }';

describe('the key', () => {
  test('is read from ?api_key= or the bearer header', async () => {
    for (const [url, headers] of [
      [`/graphql?api_key=${rest.alice.key}`, {}],
      ['/graphql', { authorization: `Bearer ${rest.alice.key}` }],
      [`/graphql?api_key=${rest.alice.key}`, { authorization: `Bearer ${rest.alice.key}` }],
    ] as const) {
      const response = await post({ query: ME }, url, headers);
      expect(response.statusCode).toBe(200);
      expect(response.json()).toEqual({ data: { myself: { id: rest.alice.userId } } });
    }
  });

  test.each([
    ['/graphql?api_key=wrong', {}],
    ['/graphql', { authorization: 'Bearer wrong' }],
    ['/graphql', { authorization: 'Basic x' }],
  ])('an invalid one is a 401: %s %o', async (url, headers) => {
    const response = await post({ query: ME }, url, headers);
    expect(response.statusCode).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(response.json()).toEqual({
      errors: [{ message: 'invalid API key', extensions: { code: 'UNAUTHENTICATED' } }],
    });
  });

  test('is not needed for the catalog; without it `myself` is null and the rest UNAUTHENTICATED', async () => {
    const { data, errors } = await rest.graphql(
      '{ myself { id } gpuTypes { id } cpuFlavors { id } dataCenters { id } serverlessGpuPools { id } podTemplates { id } }',
    );
    expect(data.myself).toBeNull();
    for (const list of ['gpuTypes', 'cpuFlavors', 'dataCenters', 'serverlessGpuPools']) {
      expect(data[list].length).toBeGreaterThan(0);
    }
    expect(data.podTemplates).toBeNull();
    expect(errors).toMatchObject([{ path: ['podTemplates'], extensions: { code: 'UNAUTHENTICATED' } }]);
  });

  test('is never logged, whatever happens to the request', async () => {
    const url = `/graphql?api_key=${rest.alice.key}`;
    await post({ query: ME }, url);
    await post('{', url);
    await rest.callGraphql({ method: 'GET', url });
    await post({ query: '{' }, url);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join('\n')).not.toContain(rest.alice.key);
    expect(logged.join('\n')).not.toContain('api_key');
  });
});

describe('the body', () => {
  test.each([
    ['no object', '[]', 'Batches are not supported: send one operation per request.'],
    ['a batch', [{ query: ME }], 'Batches are not supported: send one operation per request.'],
    ['text', '"x"', 'The request body must be an object.'],
    ['nothing', '', 'The request body is not valid JSON.'],
    ['no JSON', '{', 'The request body is not valid JSON.'],
    ['no query', {}, 'query: must be a string'],
    ['a query that is no text', { query: 1 }, 'query: must be a string'],
    [
      'another member',
      { query: ME, extensions: {} },
      'The request body has an unknown member; allowed are query, variables, operationName.',
    ],
    ['variables that are no object', { query: ME, variables: [] }, 'variables: must be an object'],
    ['an operation name that is no text', { query: ME, operationName: 1 }, 'operationName: must be a string'],
    [
      'a member __proto__',
      '{"query": "{ myself { id } }", "__proto__": {}}',
      "$: additional property '__proto__' is not allowed",
    ],
  ])('with %s is a 400', async (_, body, message) => {
    const response = await post(body);
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] });
  });

  test('may have null for variables and for the operation’s name', async () => {
    expect((await post({ query: ME, variables: null, operationName: null })).statusCode).toBe(200);
  });

  test('is a 415 with another type, and a 413 above 100 KiB', async () => {
    expect((await post('query', '/graphql', { 'content-type': 'text/plain' })).statusCode).toBe(415);
    expect((await post({ query: ME, variables: { a: 'x'.repeat(101 * 1024) } })).statusCode).toBe(413);
  });

  test.each(['GET', 'PUT', 'DELETE', 'PATCH'] as const)('%s is a 400 that names POST', async (method) => {
    const response = await rest.callGraphql({ method, url: '/graphql?query={myself{id}}' });
    expect(response.statusCode).toBe(400);
    expect(response.headers.allow).toBe('POST, OPTIONS');
    expect(response.json().errors[0].extensions.code).toBe('BAD_USER_INPUT');
  });
});

describe('a document', () => {
  test.each([
    ['that cannot be parsed', { query: '{ myself' }],
    ['that is empty', { query: '' }],
    ['with an unknown field', { query: '{ nobody { id } }' }],
    ['with a fragment that nothing uses', { query: `${ME} fragment F on User { id }` }],
    ['with a variable of another type', { query: 'query ($a: Int) { podTemplate(id: $a) { id } }' }],
    ['without a variable that it needs', { query: 'query ($a: String!) { podTemplate(id: $a) { id } }' }],
    [
      'with a variable’s value of another type',
      { query: 'query ($a: String!) { podTemplate(id: $a) { id } }', variables: { a: 1 } },
    ],
    ['with two operations and no name', { query: 'query A { __typename } query B { __typename }' }],
    ['with a subscription', { query: 'subscription { myself { id } }' }],
  ])('%s is a 400', async (_, body) => {
    const response = await post(body, `/graphql?api_key=${rest.alice.key}`);
    expect(response.statusCode).toBe(400);
    const { data, errors } = response.json();
    expect(data).toBeUndefined();
    expect(errors[0]).toMatchObject({ message: expect.any(String), extensions: { code: 'BAD_USER_INPUT' } });
  });

  test('may have comments, fragments, aliases, directives, several named operations', async () => {
    const query = `
      # what is asked for
      query First { __typename }
      query Second($all: Boolean = false) {
        me: myself { ...Id ... on User { mail: email @include(if: $all) } }
      }
      fragment Id on User { id }`;
    const { data } = await rest.graphql(query, { key: rest.alice.key, operationName: 'Second' });
    expect(data).toEqual({ me: { id: rest.alice.userId } });
  });

  test('a String variable may be used for an ID or an enum, and an ID variable for a String', async () => {
    const key = rest.alice.key;
    for (const [query, variables] of [
      ['mutation ($id: String!) { secretDelete(id: $id) }', { id: 'missing' }],
      ['query ($id: ID!) { podTemplate(id: $id) { id } }', { id: 'missing' }],
      [
        'mutation ($id: String!, $type: String) { saveEndpoint(input: {id: $id, type: $type}) { id } }',
        { id: 'missing', type: 'QB' },
      ],
    ] as const) {
      const { errors } = await rest.graphql(query, { key, variables });
      expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
    }
    await rest.graphql('mutation ($id: String) { secretDelete(id: $id) }', { key, variables: {}, status: 400 });
    await rest.graphql('mutation ($id: Int!) { secretDelete(id: $id) }', { key, variables: { id: 1 }, status: 400 });
  });

  test('error texts contain none of its values', async () => {
    const canary = 'canary-4711';
    for (const body of [
      { query: `mutation { secretCreate(input: "${canary}") { id } }` },
      { query: `mutation { secretCreate(input: {name "${canary}"}) { id } }` },
      { query: `mutation { secretCreate(input: {name: "a", value: "${canary}", other: 1}) { id } }` },
      { query: `mutation { secretCreate(input: {name: "a", value: ["${canary}"]}) { id } }` },
      { query: `mutation { secretCreate(input: {name: "a", value: "${canary}}) { id } }` },
      {
        query: 'mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }',
        variables: { i: { name: 'a', value: { secret: canary } } },
      },
      {
        query: 'mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }',
        variables: { i: { value: canary } },
      },
      { query: 'mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }', variables: { i: canary } },
    ]) {
      const response = await post(body, `/graphql?api_key=${rest.alice.key}`);
      expect(response.statusCode).toBe(400);
      expect(response.body).not.toContain(canary);
    }
  });
});

test('an unexpected error is INTERNAL_SERVER_ERROR without its text, which is logged', async () => {
  await rest.database.pool.query('alter table network_volumes rename to elsewhere');
  try {
    const { data, errors } = await rest.graphql('{ myself { id networkVolumes { id } } }', { key: rest.alice.key });
    expect(data).toEqual({ myself: { id: rest.alice.userId, networkVolumes: null } });
    expect(errors).toEqual([
      {
        message: 'An unexpected error occurred.',
        locations: [{ line: 1, column: 15 }],
        path: ['myself', 'networkVolumes'],
        extensions: { code: 'INTERNAL_SERVER_ERROR' },
      },
    ]);
    expect(logged.at(-2)).toContain('network_volumes');
  } finally {
    await rest.database.pool.query('alter table elsewhere rename to network_volumes');
  }
});

test('CORS allows any origin, in preflight and responses', async () => {
  const preflight = await rest.callGraphql({
    method: 'OPTIONS',
    url: '/graphql',
    headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
  });
  expect(preflight.statusCode).toBe(204);
  expect(preflight.headers).toMatchObject({ 'access-control-allow-origin': '*' });
  expect(preflight.headers['access-control-allow-methods']).toContain('POST');
  expect(preflight.headers['access-control-allow-headers']).toContain('authorization');
  for (const response of [await post({ query: ME }), await post('{')]) {
    expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.headers['access-control-expose-headers']).toContain('x-request-id');
    expect(response.headers['x-request-id']).toMatch(/./);
    expect(response.headers['cache-control']).toBe('no-store');
  }
});

/** For a test that starts its own app. */
const WITH_APP = { timeout: 30_000 };

test('introspection can be disabled; then errors suggest no names either', WITH_APP, async () => {
  const closed = await startRestApp({ isIntrospectable: false });
  try {
    await closed.graphql('{ __schema { types { name } } }', { status: 400 });
    await closed.graphql('{ __type(name: "User") { name } }', { status: 400 });
    const { errors } = await closed.graphql('{ myselfs { id } }', { status: 400 });
    expect(errors![0]!.message).not.toContain('Did you mean');
    expect((await closed.graphql('{ __typename }')).data).toEqual({ __typename: 'Query' });
  } finally {
    await closed.close();
  }
});

test('requests share REST’s rate limit, and each operation of a document counts', WITH_APP, async () => {
  const pool = { query: (...args: unknown[]) => limited.database.pool.query(...(args as [string])) } as never;
  const NOON = Date.parse('2026-03-04T12:00:00.000Z');
  const quotas = { minute: 5, hour: 100, day: 100 };
  const limited = await startRestApp({
    rateLimiter: new SharedRateLimiter({ pool, quotas, clock: { now: () => NOON } }),
  });
  try {
    await writeUserRateLimit(limited.database.pool, limited.alice.userId, { minute: 5 });
    const { key } = limited.alice;
    const ask = (query: string) =>
      limited.callGraphql({ method: 'POST', url: `/graphql?api_key=${key}`, payload: { query } });
    const first = await ask(ME);
    expect(first.headers).toMatchObject({
      ratelimit: expect.stringContaining('"minute";r=4;'),
      'ratelimit-policy': expect.stringContaining('"minute";q=5;w=60'),
    });
    const second = await ask('{ myself { id } a: podTemplates { id } }');
    expect(second.headers.ratelimit).toContain('"minute";r=2;');
    expect((await limited.call('GET', '/v2/templates', { key })).headers.ratelimit).toContain('"minute";r=1;');
    const broken = await ask('{');
    expect(broken.statusCode).toBe(400);
    expect(broken.headers.ratelimit).toContain('"minute";r=0;');
    const refused = await ask(ME);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers).toMatchObject({ 'retry-after': '60', ratelimit: expect.stringContaining('"minute";r=0;') });
    expect(refused.json()).toEqual({
      errors: [{ message: 'rate limit exceeded for the minute window', extensions: { code: 'TOO_MANY_REQUESTS' } }],
    });
  } finally {
    await limited.close();
  }
});

test('a key has the same permissions as in REST, checked per field', async () => {
  const key = await rest.keyFor(rest.alice, 'templates:read');
  const { data, errors } = await rest.graphql(
    'query { myself { id podTemplates { id } endpoints { id } secrets { id } } }',
    { key },
  );
  expect(data.myself).toEqual({ id: rest.alice.userId, podTemplates: [], endpoints: null, secrets: null });
  expect(errors!.map(({ path, extensions, message }) => [path, extensions.code, message])).toEqual([
    [['myself', 'endpoints'], 'FORBIDDEN', 'access denied'],
    [['myself', 'secrets'], 'FORBIDDEN', 'access denied'],
  ]);
});
