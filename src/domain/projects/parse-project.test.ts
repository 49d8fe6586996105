import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parseProject } from './parse-project.ts';

const read = (text: string) => parseProject('podyard.yaml', text);
const refusal = (text: string): Promise<string> =>
  read(text).then(
    () => 'it was read',
    (error: Error) => error.message,
  );

test('an endpoint has the fields of REST under their names', async () => {
  const text = `
name: hello
gpu: { pools: [ADA_24] }
workers: { min: 0, max: 5 }
env: { LEVEL: info }
secrets: { TOKEN: token }
schedule: { timeZone: UTC, floors: [{ days: [MON], from: "08:00", until: "18:00", workersMin: 1 }] }
build: { base: cuda, python: "3.12", systemPackages: [ffmpeg], secrets: { PIP_TOKEN: pip } }
`;
  expect(await read(text)).toMatchObject([
    { name: 'hello', gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 5 }, build: { base: 'cuda' } },
  ]);
});

test('the schema is a valid one', async () => {
  const schema = await readFile(new URL('../../../api/podyard-yaml.json', import.meta.url), 'utf8');
  expect(new Ajv({ strict: false }).validateSchema(JSON.parse(schema))).toBe(true);
});

test('several endpoints stand under endpoints; an empty file is one without fields', async () => {
  expect(await read('endpoints:\n  - name: a\n  - name: b\n')).toEqual([{ name: 'a' }, { name: 'b' }]);
  expect(await read('# nothing\n')).toEqual([{}]);
});

test.each([
  ['name: a\nworker: {}\n', "podyard.yaml:2:1: 'worker' is not a field. Did you mean 'workers'?"],
  ['workers:\n  min: 1\n  maxx: 2\n', "podyard.yaml:3:3: 'maxx' is not a field of workers. Did you mean 'max'?"],
  ['workers:\n  max: many\n', 'podyard.yaml:2:8: workers.max must be a whole number'],
  ['env:\n  A: 1\n', 'podyard.yaml:2:6: env.A must be text: write "1" in quotes'],
  [
    'type: LOAD_BALANCER\n',
    "podyard.yaml:1:7: type must be one of QUEUE_BASED, LOAD_BALANCING. Did you mean 'LOAD_BALANCING'?",
  ],
  ['gpu: { count: 1 }\n', 'podyard.yaml:1:6: gpu lacks pools'],
  ['endpoints:\n  - name: a\n  - workers: {}\n', 'podyard.yaml:3:5: endpoints.1 lacks name'],
  ['endpoints:\n  - name: a\n  - name: a\n', "podyard.yaml:3:11: two endpoints are named 'a'"],
  ['name: b\nendpoints: [{ name: a }]\n', 'podyard.yaml:1:1: name stands beside endpoints: move it into one of them'],
  ['gpu: { pools: [A] }\ncpu: [{ id: cpu3c, vcpuCount: 2 }]\n', 'podyard.yaml:2:1: gpu and cpu exclude each other'],
  ['image: a\nbuild: {}\n', 'podyard.yaml:1:1: image and build exclude each other'],
  ['env: { A: "1" }\nsecrets: { A: b }\n', 'podyard.yaml:2:12: env and secrets both set A'],
  ['name: a\nname: b\n', 'podyard.yaml:2:1: this field is there already, further up'],
  ['workers: { max: 1e10 }\n', 'podyard.yaml:1:17: workers.max must be at most 2147483647'],
  ['endpoints: []\n', 'podyard.yaml:1:12: endpoints must not be empty'],
  ['name: [a\n', 'podyard.yaml:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]'],
  ['- a\n', 'podyard.yaml:1:1: the file must be a map of fields'],
  ['build: { python: 3.12 }\n', 'podyard.yaml:1:18: build.python must be text: write "3.12" in quotes'],
])('%j is refused with its place', async (text, message) => {
  expect(await refusal(text)).toBe(message);
});

test('aliases that multiply, several documents and a huge file are refused', async () => {
  const names = 'abcdefghi'.split('');
  const bomb = names
    .map((name, i) => `${name}: &${name} [${Array(9).fill(i === 0 ? 'x' : `*${names[i - 1]}`)}]`)
    .join('\n');
  expect(await refusal(bomb)).toMatch(/^podyard\.yaml: Excessive alias count/);
  expect(await refusal('name: a\n---\nname: b\n')).toMatch(
    /^podyard\.yaml:2:1: a second document begins here: keep one/,
  );
  expect(await refusal(`# ${'x'.repeat(1_000_000)}`)).toMatch(/more than 1000000 characters/);
});

test('many faults are told at once', async () => {
  expect((await refusal('a: 1\nb: 2\nworkers: 3\n')).split('\n')).toHaveLength(3);
});
