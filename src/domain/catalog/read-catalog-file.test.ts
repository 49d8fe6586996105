import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findGpuType, gpuPools, OWN_CATALOG, useCatalog } from './catalog.ts';
import { readCatalogFile } from './read-catalog-file.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-catalog-'));
});
afterAll(() => rm(directory, { recursive: true }));
afterEach(() => useCatalog(OWN_CATALOG));

const read = async (content: unknown) => {
  const file = join(directory, 'mine.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readCatalogFile(file);
};

const GPU = { ...OWN_CATALOG.gpus[0]!, id: 'NVIDIA GeForce RTX 2070', pool: 'LAB' };

test('the built-in catalog is a valid catalog file', async () => {
  expect(await read({ replace: true, ...OWN_CATALOG })).toEqual(OWN_CATALOG);
});

test('the documentation’s example is valid', async () => {
  const text = await readFile(new URL('../../../docs/catalog.md', import.meta.url), 'utf8');
  const catalog = await read(/```json\n(.*?)```/s.exec(text)![1]!);
  expect(catalog.gpus.at(-1)).toMatchObject({ id: 'NVIDIA GeForce RTX 2070', pool: 'LAB' });
});

test('entries are added to the built-in ones, or replace those with the same id', async () => {
  const known = { ...OWN_CATALOG.gpus[1]!, memory: 999 };
  const catalog = await read({ gpuPools: ['LAB', 'ADA_24'], gpus: [GPU, known] });
  expect(catalog.gpuPools).toEqual([...OWN_CATALOG.gpuPools, 'LAB']);
  expect(catalog.gpus).toHaveLength(OWN_CATALOG.gpus.length + 1);
  expect(catalog.gpus.filter(({ id }) => id === known.id)).toEqual([known]);
  expect(catalog.cpus).toEqual(OWN_CATALOG.cpus);
});

test('with replace, a given list replaces the built-in one, and the others stay', async () => {
  const catalog = await read({ replace: true, gpuPools: ['LAB'], gpus: [GPU] });
  expect([catalog.gpuPools, catalog.gpus]).toEqual([['LAB'], [GPU]]);
  expect(catalog.dataCenters).toEqual(OWN_CATALOG.dataCenters);
});

test('a template needs an id, a name and an image; one with the id of a built-in one sets its image', async () => {
  const catalog = await read({ templates: [{ id: 'runpod-ubuntu', name: 'Ubuntu', image: 'registry.lab/base:1' }] });
  expect(catalog.templates).toHaveLength(OWN_CATALOG.templates.length);
  expect(catalog.templates.at(-1)).toEqual({
    id: 'runpod-ubuntu',
    name: 'Ubuntu',
    image: 'registry.lab/base:1',
    args: '',
    diskGb: 20,
    ports: [],
    env: {},
    persistentMount: null,
    category: 'NVIDIA',
    isServerless: false,
    readme: '',
  });
});

test('what is used is what is found', async () => {
  useCatalog(await read({ gpuPools: ['LAB'], gpus: [GPU] }));
  expect(gpuPools()).toContain('LAB');
  expect(findGpuType(GPU.id)).toEqual(GPU);
});

test.each([
  ['not JSON', '{"gpus": [', 'is not valid JSON: '],
  ['no object', [], ': $: must be object'],
  ['an unknown list', { gpu: [] }, ': $: must NOT have additional properties: gpu'],
  ['half an entry', { gpus: [{ id: 'x' }] }, ": /gpus/0: must have required property 'price'"],
  [
    'a wrong price',
    { gpus: [{ ...GPU, price: { secure: '1', community: null } }] },
    ': /gpus/0/price/secure: must be number,null',
  ],
  [
    'an unknown region',
    { dataCenters: [{ ...OWN_CATALOG.dataCenters[0], region: 'MOON' }] },
    ': /dataCenters/0/region: must be equal to one of the allowed values: NORTH_AMERICA, ',
  ],
  ['a pool that nobody declares', { gpus: [GPU] }, ": /gpus/0/pool: there is no pool 'LAB' in gpuPools"],
  [
    'a repeated id',
    { gpuPools: ['LAB'], gpus: [GPU, { ...GPU, memory: 1 }] },
    `: /gpus/1/id: '${GPU.id}' is listed twice`,
  ],
  [
    'an empty range',
    { cpus: [{ ...OWN_CATALOG.cpus[0], vcpu: { min: 4, max: 2 } }] },
    ': /cpus/0/vcpu: min must not be greater than max',
  ],
  ['an unusable image', { templates: [{ id: 'a', name: 'a', image: 'i//x' }] }, ': /templates/0/image: '],
  [
    'a port without its protocol',
    { templates: [{ id: 'a', name: 'a', image: 'i', ports: ['80'] }] },
    ': /templates/0/ports/0: must match pattern',
  ],
  [
    'a template for endpoints with storage',
    { templates: [{ id: 'a', name: 'a', image: 'i', isServerless: true, persistentMount: { sizeGb: 1, path: '/a' } }] },
    ': /templates/0: a serverless template has no persistentMount',
  ],
])('a file with %s is refused with its name and the place', async (_, content, problem) => {
  const error = await read(content).then(
    () => undefined,
    (refusal: Error) => refusal,
  );
  expect(error?.message).toContain(`the catalog ${join(directory, 'mine.json')}`);
  expect(error?.message).toContain(problem);
});

test('a missing file is named in the error', async () => {
  await expect(readCatalogFile(join(directory, 'none.json'))).rejects.toThrow(/catalog .*none\.json cannot be read/);
});
