import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { ModelHub } from '../../../test/model-hub.ts';
import { newId } from '../../core/ids.ts';
import { readRecipes } from '../../domain/models/read-recipes.ts';
import type { Recipe } from '../../domain/models/recipe.ts';
import { chooseRecipe, filesFor, memoryOf, placeModel } from '../../domain/models/serve-model.ts';
import type { ResolvedModel } from '../models/endpoint-models.ts';

let hub: ModelHub;
let cli: CliFixture;
let folder: string;
let recipes: Recipe[];
let name: string;
beforeAll(async () => {
  hub = await ModelHub.start();
  const gpus = [
    { pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 4, free: 3 },
    { pool: 'AMPERE_80', gpuTypeId: 'NVIDIA A100 80GB PCIe', dataCenterId: 'LOCAL-1', total: 1, free: 1 },
  ];
  recipes = await readRecipes(null);
  cli = await startCliFixture({
    hubUrl: hub.url,
    recipes,
    capacity: { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 38 }) },
  });
  folder = await mkdtemp(join(tmpdir(), 'podyard-recipes-'));
});
afterAll(async () => {
  await cli.close();
  await hub.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  name = newId();
  hub.models.clear();
  hub.models.set('Qwen/Qwen3-8B', {
    task: 'text-generation',
    files: {
      'config.json': { size: 1_000 },
      'model-1.safetensors': { size: 8_000_000_000, lfs: true },
      'model-2.safetensors': { size: 8_400_000_000, lfs: true },
      'pytorch_model.bin': { size: 16_400_000_000, lfs: true },
    },
  });
});
const deploy = (...args: string[]) => cli.podyard(['deploy', ...args, '--name', name, '--no-wait']);

test('a model becomes an endpoint with an OpenAI-style URL, and the plan says what, why and where', async () => {
  const commit = hub.commitOf('Qwen/Qwen3-8B').slice(0, 7);
  const dry = await deploy('hf:Qwen/Qwen3-8B', '--dry-run');
  expect([dry.status, dry.out]).toEqual([0, '']);
  expect(dry.err.split('\n')).toEqual([
    `Create the endpoint ${name}`,
    '  recipe    text generation, because the hub says text-generation',
    expect.stringMatching(/^ {2}image {5}vllm\/vllm-openai:v/),
    `  model     Qwen/Qwen3-8B@${commit}, revision main`,
    '  download  16.4 GB in 3 files, once for each machine; 1 file that the image does not read: left out',
    '  memory    22.7 GB of GPU memory for a worker: 16.4 GB × 1.2 + 3 GB',
    '  GPUs      1 for a worker, of ADA_24 with 24 GB, 3 of 4 free; AMPERE_80 with 80 GB, 1 of 1 free',
    '  sleeps    after 60 seconds without a request; FlashBoot is FLASHBOOT',
  ]);
  expect((await cli.podyard(['endpoints', 'get', name])).status).toBe(4);
  const { status, out, err } = await deploy('hf:Qwen/Qwen3-8B');
  expect([status, err]).toEqual([0, dry.err]);
  const endpoint = await cli.json(['endpoints', 'get', name]);
  expect(out).toBe(
    `${endpoint.requestUrls.base}/v1  (${endpoint.id})\n\n  curl ${endpoint.requestUrls.base}/v1/chat/completions -H "Authorization: Bearer $PODYARD_API_KEY" \\\n` +
      `    -H 'Content-Type: application/json' -d '{"model":"Qwen/Qwen3-8B","messages":[{"role":"user","content":"Hello"}]}'`,
  );
  expect(endpoint).toMatchObject({
    ...{ type: 'LOAD_BALANCING', gpu: { pools: ['ADA_24', 'AMPERE_80'], count: 1 }, flashboot: 'FLASHBOOT' },
    ...{ args: '--model Qwen/Qwen3-8B --tensor-parallel-size 1 --enable-sleep-mode', ports: ['8000/http'] },
    env: { PORT: '8000', HF_HUB_OFFLINE: '1', PODYARD_WAKE_URL: 'http://localhost:8000/wake_up' },
  });
  expect(await cli.json(['models', 'show', name])).toMatchObject([
    { name: 'Qwen/Qwen3-8B', bytes: 16_400_001_000, exclude: ['*.bin'], files: 3 },
  ]);
  expect((await deploy('hf:Qwen/Qwen3-8B')).err).toContain(
    `there is already an endpoint named '${name}' (${endpoint.id})`,
  );
});

test('GPUs that do not hold it are a refusal, unless they are named', async () => {
  hub.models.set('org/huge', { task: 'text-generation', files: { 'a.safetensors': { size: 400e9, lfs: true } } });
  const refused = await deploy('hf:org/huge');
  expect([refused.status, refused.err]).toEqual([
    1,
    expect.stringContaining(
      'no GPUs here have 483.0 GB of memory for a worker of org/huge: choose a smaller or quantized model, or name GPUs with --pool',
    ),
  ]);
  expect(refused.err).toContain(
    'GPUs      none here do: ADA_24 with 24 GB, 3 of 4 free; AMPERE_80 with 80 GB, 1 of 1 free',
  );
  const named = await deploy('hf:org/huge', '--pool', 'HOPPER_141', '--gpu-count', '4', '--dry-run');
  expect([named.status, named.err]).toEqual([
    0,
    expect.stringContaining('4 for a worker, of HOPPER_141: none here now'),
  ]);
});

test('what no recipe serves is a refusal that says what to do', async () => {
  hub.models.set('org/depth', { task: 'depth-estimation', files: { 'a.safetensors': { size: 1, lfs: true } } });
  const depth = await deploy('hf:org/depth');
  expect([depth.status, depth.err]).toEqual([
    1,
    "podyard: org/depth is for depth-estimation, which has no recipe: choose one with --recipe ('text generation', 'embedding', 'speech', 'images'), or create an endpoint with an image of your own: podyard endpoints create <name> --image <image> --pool <pool> --model hf:org/depth",
  ]);
  expect((await deploy('hf:org/depth', '--recipe', 'embedding', '--dry-run')).err).toContain(
    'embedding, as --recipe says',
  );
  expect((await deploy('hf:org/depth', '--recipe', 'x')).err).toContain(
    "there is no recipe 'x', but: 'text generation'",
  );
  hub.models.set('org/speech', { task: 'automatic-speech-recognition', files: { 'a.safetensors': { size: 1 } } });
  expect((await deploy('hf:org/speech')).err).toContain("has no file model.bin, which the recipe 'speech' needs");
  expect((await deploy('hf:org/none')).status).toBe(5);
  expect((await deploy(folder, '--recipe', 'x')).err).toBe(
    'podyard: --recipe is for a model: podyard deploy hf:<owner>/<name>',
  );
  expect((await deploy('hf:org/depth', '--eject')).status).toBe(2);
});

describe('an operator’s own recipes', () => {
  test('are the server’s, or those of a file of one’s own', async () => {
    const own = { ...recipes[0]!, name: 'own', image: 'registry.lan/vllm:1', exclude: [] };
    const file = join(folder, 'own.json');
    await writeFile(file, JSON.stringify([own]));
    const { err } = await deploy('hf:Qwen/Qwen3-8B', '--dry-run', '--recipes', file);
    expect(err).toContain('image     registry.lan/vllm:1');
    expect(err).toContain('download  32.8 GB in 4 files, once for each machine\n');
    recipes.unshift({ ...own, image: 'registry.lan/vllm:2' });
    try {
      expect((await deploy('hf:Qwen/Qwen3-8B', '--dry-run')).err).toContain('image     registry.lan/vllm:2');
    } finally {
      recipes.shift();
    }
  });

  test.each([
    ['{', 'is not JSON'],
    ['[]', 'the file must NOT have fewer than 1 items'],
    ['[{"name": "x", "more": 1}]', "0 must have required property 'tasks'"],
  ])('%s is refused', async (text, problem) => {
    const file = join(folder, 'wrong.json');
    await writeFile(file, text);
    const { status, err } = await deploy('hf:Qwen/Qwen3-8B', '--recipes', file);
    expect([status, err]).toEqual([2, expect.stringContaining(problem)]);
  });
});

test('the recipes that come with Podyard are as a file of recipes must be, and choose files and GPUs', async () => {
  const recipes = await readRecipes(null);
  const file = join(folder, 'same.json');
  await writeFile(file, JSON.stringify(recipes));
  expect(await readRecipes(file)).toEqual(recipes);
  const model = (task: string, ...paths: string[]) =>
    ({ name: 'org/m', task, content: paths.map((path) => ({ path, bytes: 10e9 })) }) as ResolvedModel;
  const image = model('text-to-image', 'model_index.json', 'unet/a.safetensors', 'unet/a.bin');
  const chosen = chooseRecipe(recipes, image, undefined);
  const recipe = 'recipe' in chosen ? chosen.recipe : recipes[0]!;
  expect([recipe.name, filesFor(recipe, image)]).toEqual(['images', { bytes: 20e9, files: 2, exclude: ['*.bin'] }]);
  expect(memoryOf(recipe, 20e9)).toBe(28);
  const several = recipes.find(({ args }) => args.includes('{gpus}'))!;
  const stock = [
    { pool: 'BIG', memoryGb: 80, total: 2, free: 0 },
    { pool: 'SMALL', memoryGb: 24, total: 4, free: 4 },
  ];
  const place = (of: Recipe, needGb: number) => placeModel(of, needGb, stock);
  expect(place(several, 20)).toEqual({ pools: ['SMALL', 'BIG'], count: 1 });
  expect(place(several, 60)).toEqual({ pools: ['BIG'], count: 1 });
  expect(place(several, 90)).toEqual({ pools: ['BIG'], count: 2 });
  expect(place(recipe, 90)).toBeNull();
  expect(place(several, 200)).toBeNull();
});
