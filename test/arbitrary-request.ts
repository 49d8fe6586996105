import fc from 'fast-check';
import { withoutRevision } from '../src/core/rest-revisions.ts';
import { describedBy, type Operation } from './check-answer.ts';

/**
 * Generates requests from the OpenAPI description: most of them almost valid, some valid, the rest hostile. A text `@name` stands
 * for a record that the sender knows (`RECORDS`), so that requests get past the first check of an id.
 */
export interface FuzzRequest {
  method: string;
  url: string;
  key: 'alice' | 'bob' | 'reader' | 'unknown' | 'none';
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

type Json = unknown;
type Schema = Record<string, Json> & {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: Json[];
};

const description = describedBy('2026-07');

/** The values of `@name`: the id of a record of the sender, or of the other user. */
export const RECORDS = [
  'endpoint',
  'worker',
  'template',
  'volume',
  'registry',
  'delegation',
  'apiKey',
  'secret',
  'foreign',
] as const;

/** Existing values for fields whose schema is only "string". */
const EXISTING: Record<string, string[]> = {
  pools: ['ADA_24', 'AMPERE_16', 'AMPERE_80'],
  dataCenterIds: ['EU-RO-1', 'US-TX-3'],
  dataCenter: ['EU-RO-1', 'LOCAL-1'],
  networkVolumes: ['@volume', '@foreign'],
  registry: ['@registry', '@foreign'],
  templateId: ['@template', '@foreign'],
  scopes: ['all', 'read-only', 'serverless:read', 'invoke', 'serverless/@endpoint:write'],
};

const MAX_DEPTH = 20_000;
const hostileTexts = fc.constantFrom(
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff\ud800',
  '\u202e\u0000',
  '👩‍👩‍👧‍👦',
  'ﷺ'.repeat(50),
  "'; drop table users; --",
  '{{ RUNPOD_SECRET_x }}',
  '$1',
  '%s%n',
  '../../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  '1e999',
  'x'.repeat(5000),
);
const hostileNames = fc.constantFrom(
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'length',
  '',
  '$',
  'id',
  '\0',
);
const hostileNumbers = fc.constantFrom(
  -1,
  0,
  0.5,
  0.1,
  1.5,
  -0,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  1e21,
  1.7e308,
  5e-324,
);
const hostileValues: fc.Arbitrary<Json> = fc.oneof(
  hostileTexts,
  hostileNumbers,
  fc.constantFrom(null, true, [], {}, [[]], [null], { a: 1 }),
  fc.dictionary(hostileNames, fc.constantFrom(1, 'x', null), { maxKeys: 3 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Bodies that are not the JSON of an object. */
const hostileBodies: fc.Arbitrary<string | Buffer> = fc.oneof(
  fc.constantFrom<string | Buffer>(
    '',
    ' ',
    '{',
    '{}{}',
    '{"name":',
    '{"name":"x",}',
    "{'name':'x'}",
    'null',
    '[]',
    '"text"',
    '1e400',
    'NaN',
    '\ufeff{}',
    '{"name":"first","name":"second"}',
    '{"name":1e400}',
    '{"disk":123456789012345678901234567890}',
    '{"disk":-0}',
    '{"__proto__":{"name":"x"}}',
    '{"env":{"__proto__":"x"}}',
    '{"\\u005f_proto__":{}}',
    '{"constructor":{"prototype":{}}}',
    '{"name":"\\u0000"}',
    '{"name":"\\ud800"}',
    '{"env":{"\\udc00":"x"}}',
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from([0xed, 0xa0, 0x80]),
    `{"name":"${'n'.repeat(100 * 1024)}"}`,
  ),
  fc.integer({ min: -5, max: 5 }).map((more) => '{"name":"n"}'.padEnd(1024 * 1024 + more)),
  fc.integer({ min: 1, max: MAX_DEPTH }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.integer({ min: 1, max: MAX_DEPTH / 2 }).map((depth) => `${'{"env":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);

const SAMPLE_SEED = 1;

function resolve(schema: Schema): Schema {
  const { $ref } = schema as { $ref?: string };
  return $ref ? (description.components.schemas[$ref.split('/').at(-1)!] as Schema) : schema;
}

/** Values that match the schema, apart from what depends on records. `name` is the name of the property. */
function fitting(given: Schema, name: string): fc.Arbitrary<Json> {
  const schema = resolve(given);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return fc.oneof(...alternatives.map((one) => fitting(one, name)));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const types = [schema.type as string | string[]].flat();
  return fc.oneof(...types.map((type) => fittingType(schema, type, name)));
}

function fittingType(schema: Schema, type: string, name: string): fc.Arbitrary<Json> {
  const min = schema.minimum as number | undefined;
  const max = schema.maximum as number | undefined;
  switch (type) {
    case 'object':
      return fittingObject(schema);
    case 'array':
      return fc.array(fitting(schema.items!, name), { minLength: (schema.minItems as number) ?? 0, maxLength: 4 });
    case 'integer':
      return fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: min ?? 0, max: Math.min(max ?? 50, (min ?? 0) + 50) }) },
        fc.integer({ min: min ?? 0, max: max ?? 2 ** 31 }),
      );
    case 'number':
      return fc.double({ min: min ?? -1e6, max: max ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fittingText(schema, name);
  }
}

const matches = new Map<string, fc.Arbitrary<string>>();

/** Some hundred different texts that match the pattern: to make each anew takes longer than a request. */
function matching(pattern: string, maxLength: number): fc.Arbitrary<string> {
  const known = matches.get(pattern);
  if (known) return known;
  const texts = fc.sample(fc.stringMatching(new RegExp(pattern), { maxLength }), { numRuns: 300, seed: SAMPLE_SEED });
  const made = fc.constantFrom(...new Set(texts));
  matches.set(pattern, made);
  return made;
}

function fittingText(schema: Schema, name: string): fc.Arbitrary<string> {
  const existing = EXISTING[name];
  if (existing) return fc.constantFrom(...existing);
  if (schema.pattern) return matching(schema.pattern as string, 60);
  if (schema.format === 'date-time') {
    const from = new Date('1970-01-01T00:00:00Z');
    return fc
      .date({ min: from, max: new Date('2200-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  return fc.string({ unit: 'grapheme', minLength: (schema.minLength as number) ?? 0, maxLength: 20 });
}

function fittingObject(schema: Schema): fc.Arbitrary<Json> {
  if (!schema.properties) {
    const names = matching('^[^=\\0]+$', 12);
    return fc.dictionary(names, fc.string({ maxLength: 12 }), { maxKeys: 4, noNullPrototype: true });
  }
  const properties = Object.entries(schema.properties).map(([name, inner]) => [name, fitting(inner, name)] as const);
  const required = (schema.required as string[]) ?? [];
  return fc.record(Object.fromEntries(properties), {
    requiredKeys: required as never,
    noNullPrototype: true,
  });
}

/** Makes one thing wrong, somewhere in the value. */
function nearly(arbitrary: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const step = fc.constantFrom('drop', 'add', 'replace', 'replace', 'replace');
  return fc.tuple(arbitrary, step, fc.nat(30), hostileNames, hostileValues).map(([given, kind, at, name, other]) => {
    const value = structuredClone(given); // parts of it are constants shared with other requests
    const holders = objectsIn(value);
    const holder = holders[at % Math.max(1, holders.length)];
    if (!holder) return other;
    const names = Object.keys(holder);
    const chosen = names[at % Math.max(1, names.length)];
    if (Array.isArray(holder)) holder.splice(at % (holder.length + 1), kind === 'add' ? 0 : 1, other);
    else if (kind === 'add' || chosen === undefined) define(holder, name, other);
    else if (kind === 'drop') delete holder[chosen];
    else define(holder, chosen, other);
    return value;
  });
}

/** Defines a property: assigning to `__proto__` would not. */
function define(holder: Record<string, Json>, name: string, value: Json): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function objectsIn(value: Json): Record<string, Json>[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Record<string, Json>, ...Object.values(value).flatMap(objectsIn)];
}

const hostileSegments = fc.oneof(
  fc.constantFrom('', '.', '..', '%2e%2e', '%2E%2e%2F', '%2F', 'a%2Fb', '%5c', '%00', 'a%00', '%zz', '%', '%ed%a0%80'),
  fc.constantFrom(
    '__proto__',
    'constructor',
    '%20',
    '%0d%0a',
    '%F0%9F%92%A9',
    '*',
    ';',
    'a;b=c',
    ':id',
    '{id}',
    '@foreign',
  ),
  fc.integer({ min: 490, max: 3000 }).map((length) => 'x'.repeat(length)),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
  matching('^[a-z0-9]{14}$', 14),
);

function pathOf(template: string): fc.Arbitrary<string> {
  const parts = template.split(/\{\w+\}/);
  const ids = parts
    .slice(1)
    .map((_, i) =>
      fc.oneof(
        { weight: 3, arbitrary: i === 0 ? existingIds(template) : fc.constant('@worker') },
        { weight: 1, arbitrary: hostileSegments },
      ),
    );
  return fc.tuple(...ids).map((chosen) => parts.map((part, i) => part + (chosen[i] ?? '')).join(''));
}

function existingIds(path: string): fc.Arbitrary<string> {
  const template = withoutRevision(path);
  if (template.startsWith('/v2/serverless')) return fc.constant('@endpoint');
  if (template.startsWith('/v2/templates')) return fc.constant('@template');
  if (template.startsWith('/v2/network-volumes')) return fc.constant('@volume');
  if (template.startsWith('/v2/registries/delegations')) return fc.constant('@delegation');
  if (template.startsWith('/v2/registries')) return fc.constant('@registry');
  if (template.startsWith('/v2/account/api-keys')) return fc.constant('@apiKey');
  if (template.startsWith('/v2/account/secrets')) return fc.constant('@secret');
  return fc.constantFrom('NVIDIA%20GeForce%20RTX%204090', 'cpu3c', 'EU-RO-1');
}

function queryOf(operation: Operation): fc.Arbitrary<string> {
  const known = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  const encode = (value: Json) => encodeURIComponent(String(value).toWellFormed());
  const one = fc.oneof(
    ...known.map(({ name, schema }) =>
      fc
        .oneof({ weight: 2, arbitrary: fitting(schema as Schema, name) }, hostileTexts, hostileNumbers)
        .map((value) => `${name}=${encode(value)}`),
    ),
    fc.tuple(hostileNames, hostileTexts).map(([name, text]) => `${encode(name)}=${encode(text)}`),
    fc.constantFrom('&', '=', '%', '%zz=1', 'a[b]=1', 'include[]=1', '?', 'x', 'tail=%00', 'since=%ff'),
  );
  return fc
    .array(one, { maxLength: known.length > 0 ? 4 : 2 })
    .map((parts) => (parts.length ? `?${parts.join('&')}` : ''));
}

const oddHeaders = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  fc.constantFrom<Record<string, string>[]>(
    { 'content-type': 'text/plain' },
    { 'content-type': '' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'APPLICATION/JSON' },
    { 'content-type': 'application/json; charset=utf-8; boundary=x' },
    { 'content-type': 'application/jsonx' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'multipart/form-data' },
    { 'content-type': ';;;' },
    { 'content-encoding': 'gzip' },
    { accept: 'text/html' },
    { 'accept-encoding': 'gzip;q=0' },
    { 'if-none-match': '*' },
    { 'x-http-method-override': 'DELETE' },
    { 'x-request-id': 'x'.repeat(1000) },
    { 'last-event-id': 'nonsense' },
    { 'last-event-id': '2026-01-01T00:00:00.000Z/000000000001' },
    { 'x-giant': 'g'.repeat(60_000) },
    { cookie: '__proto__=1; a=b' },
    { forwarded: 'host=evil.test', 'x-forwarded-host': 'evil.test', host: 'evil.test/<script>' },
  ),
);

function listOperations(prefix: string, paths: typeof description.paths) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: `${prefix}${path}`,
      method: method.toUpperCase(),
      operation,
    })),
  );
}

const newer = describedBy('2026-08');

/** Replaces references into the newer description, as `resolve` knows only those into the older one. */
function inlined(value: Json): Json {
  if (Array.isArray(value)) return value.map(inlined);
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as { $ref?: string };
  const schema = $ref?.startsWith('#/components/schemas/') && newer.components.schemas[$ref.split('/').at(-1)!];
  if (schema) return inlined(schema);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, inlined(inner)]));
}

/** Where the revisions differ. */
const differing = Object.entries(newer.paths).filter(([path]) => /^\/v2\/(serverless|pods|templates)/.test(path));
const operations = [
  ...listOperations('', description.paths),
  ...listOperations('/2026-08', inlined(Object.fromEntries(differing)) as typeof description.paths),
];
const otherMethods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE');
const keys = fc.oneof(
  { weight: 30, arbitrary: fc.constant('alice' as const) },
  fc.constantFrom('bob' as const, 'reader' as const, 'unknown' as const, 'none' as const),
);

function bodyOf(operation: Operation): fc.Arbitrary<string | Buffer | undefined> {
  const schema = operation.requestBody?.content['application/json']?.schema as Schema | undefined;
  if (!schema) {
    return fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, hostileBodies);
  }
  const right = fitting(schema, '');
  const json = (arbitrary: fc.Arbitrary<Json>) => arbitrary.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 5, arbitrary: json(right) },
    { weight: 6, arbitrary: json(nearly(right)) },
    { weight: 2, arbitrary: json(nearly(nearly(right))) },
    { weight: 1, arbitrary: json(hostileValues) },
    { weight: 2, arbitrary: hostileBodies },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

const toOperation: fc.Arbitrary<FuzzRequest> = fc.constantFrom(...operations).chain(({ path, method, operation }) =>
  fc.record({
    method: fc.oneof({ weight: 25, arbitrary: fc.constant(method) }, { weight: 1, arbitrary: otherMethods }),
    url: fc.tuple(pathOf(path), queryOf(operation)).map((parts) => parts.join('')),
    key: keys,
    headers: oddHeaders,
    body: bodyOf(operation),
  }),
);

const toAnywhere: fc.Arbitrary<FuzzRequest> = fc.record({
  method: otherMethods,
  url: fc
    .array(fc.oneof(hostileSegments, fc.constantFrom('v2', 'serverless', 'workers', 'V2', 'docs', 'assets')), {
      maxLength: 5,
    })
    .map((segments) => `/${segments.join('/')}`),
  key: keys,
  headers: oddHeaders,
  body: fc.oneof(fc.constant(undefined), hostileBodies),
});

export const arbitraryRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 20, arbitrary: toOperation },
  { weight: 1, arbitrary: toAnywhere },
);
