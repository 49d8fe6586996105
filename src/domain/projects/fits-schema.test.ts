import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { fits } from './fits-schema.ts';

const SCHEMA = JSON.parse(readFileSync(new URL('../../../api/podyard-yaml.json', import.meta.url), 'utf8'));
const validate = new Ajv({ strict: false, validateFormats: false }).compile(SCHEMA);

const WHOLE = {
  name: 'hello',
  type: 'QUEUE_BASED',
  gpu: { pools: ['ADA_24'], count: 1 },
  args: '',
  disk: 5,
  ports: ['8000/http'],
  env: { LEVEL: 'info' },
  registry: null,
  workers: { min: 0, max: 5 },
  scaling: { type: 'REQUEST_COUNT', value: 4, idleTimeout: 5 },
  timeout: 600_000,
  volumes: ['data'],
  secrets: { TOKEN: 'token' },
  schedule: { timeZone: 'UTC', floors: [{ days: ['MON'], from: '08:00', until: '18:00', workersMin: 1 }] },
  models: ['hf:a/b', { source: 'hf:c/d' }],
  build: { base: 'cuda', python: '3.12', systemPackages: ['ffmpeg'], secrets: { PIP_TOKEN: 'pip' } },
};
const VALUES: unknown[] = [
  '',
  'x',
  'x'.repeat(600),
  '3.5',
  0,
  -1,
  1.5,
  2 ** 40,
  Number.NaN,
  true,
  null,
  [],
  ['a', 'a'],
  {},
];
const MORE: unknown[] = [
  ['a', 'b'],
  [{}],
  { a: 1 },
  { '': 'b' },
  { constructor: 'a' },
  { 'a-b': 'c' },
  'hf:x/y',
  'MON',
  '08:00',
];

/** Returns copies of a value, each with one member of it, at any depth, replaced, removed or added. */
function* changesOf(value: unknown): Generator<unknown> {
  yield* [...VALUES, ...MORE];
  if (typeof value !== 'object' || value === null) return;
  const copy = (change: (members: Record<string, unknown>) => void) => {
    const changed = structuredClone(value) as Record<string, unknown>;
    change(changed);
    return changed;
  };
  if (!Array.isArray(value)) yield copy((members) => Object.assign(members, { unknown: 1 }));
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) yield copy((members) => delete members[name]);
    for (const other of changesOf(member)) yield copy((members) => Object.assign(members, { [name]: other }));
  }
}

test('it takes what Ajv takes of podyard.yaml’s schema, and nothing else', () => {
  const wholes = [WHOLE, { endpoints: [WHOLE, { name: 'b', cpu: [{ id: 'cpu3c', vcpuCount: 2 }], image: 'a:1' }] }];
  const counts = { taken: 0, refused: 0 };
  for (const value of wholes.flatMap((whole) => [whole, ...changesOf(whole)])) {
    expect([value, fits(value, SCHEMA)]).toEqual([value, validate(value)]);
    counts[validate(value) ? 'taken' : 'refused'] += 1;
  }
  expect(wholes.map((whole) => fits(whole, SCHEMA))).toEqual([true, true]);
  expect(counts).toEqual({
    taken: expect.toSatisfy((count) => count > 200),
    refused: expect.toSatisfy((count) => count > 500),
  });
});

test('it takes nothing by a keyword that it does not know', () => {
  expect(fits('a', { type: 'string', not: { const: 'a' } })).toBe(false);
});
