import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readDevFolder } from './dev-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-dev-folder-'));
});
afterEach(() => rm(folder, { recursive: true }));
const write = (name: string, text: string) => writeFile(join(folder, name), text);
const PYTHON = 'def handler(job):\n    return 1\n';

test('a handler alone is served under the name of its folder', async () => {
  await write('handler.py', PYTHON);
  const { command, ...rest } = await readDevFolder(folder, {});
  expect(rest).toEqual({
    ...{
      path: folder,
      name: basename(folder),
      type: 'QUEUE',
      ports: [],
      env: {},
      secrets: {},
      missing: [],
      hasSpare: true,
    },
  });
  expect(command).toEqual([
    'python3',
    '-u',
    expect.stringMatching(/workers\/python\/run_handler\.py$/),
    'handler.py',
    'handler',
  ]);
});

test('what is installed in the folder is used', async () => {
  await write('handler.py', PYTHON);
  await mkdir(join(folder, '.venv/bin'), { recursive: true });
  await write('.venv/bin/python', '');
  expect((await readDevFolder(folder, {})).command[0]).toBe(join(folder, '.venv/bin/python'));
});

test('a Dockerfile beside the code is for the image: here the code runs', async () => {
  await write('handler.js', 'export default async () => 1;\n');
  await write('Dockerfile', 'FROM scratch\n');
  const { command } = await readDevFolder(folder, {});
  expect(command.slice(-2)).toEqual(['handler.js', 'default']);
});

test('variables come from podyard.yaml and .env, and secrets have their values in .env', async () => {
  await write('handler.py', PYTHON);
  await write(
    'podyard.yaml',
    'name: app\nenv: { MODE: a, KEY: "{{ RUNPOD_SECRET_key }}" }\nsecrets: { TOKEN: hub, OTHER: unknown }\n',
  );
  await write('.env', 'MODE=b\nhub=h\nkey="k"\n');
  expect(await readDevFolder(folder, {})).toMatchObject({
    ...{ name: 'app', missing: ['OTHER'], secrets: { key: 'k' } },
    env: { MODE: 'b', KEY: '{{ RUNPOD_SECRET_key }}', TOKEN: 'h' },
  });
  await expect(readDevFolder(folder, { envFile: join(folder, 'none') })).rejects.toThrow(
    /none cannot be read: it does not exist$/,
  );
});

test('a secret may have any name that secrets have', async () => {
  await write('handler.py', PYTHON);
  await write('podyard.yaml', 'env: { KEY: "{{ RUNPOD_SECRET_hub.read-only }}" }\n');
  await write('.env', 'hub.read-only=k\n');
  expect((await readDevFolder(folder, {})).secrets).toEqual({ 'hub.read-only': 'k' });
});

test('a server gets its port', async () => {
  await write('main.py', 'from fastapi import FastAPI\napp = FastAPI()\n');
  await write('requirements.txt', 'fastapi\nuvicorn\n');
  await write('podyard.yaml', 'type: LOAD_BALANCING\nports: [9000/http]\n');
  const { ports, env, command } = await readDevFolder(folder, {});
  expect({ ports, env }).toEqual({ ports: ['9000/http'], env: { PORT: '9000' } });
  expect(command.slice(0, 2)).toEqual(['sh', '-c']);
});

test('of several endpoints one is chosen', async () => {
  await write('handler.py', PYTHON);
  await write('podyard.yaml', 'endpoints: [{ name: one }, { name: two }]\n');
  await expect(readDevFolder(folder, {})).rejects.toThrow('several endpoints: choose one with --name (one, two)');
  await expect(readDevFolder(folder, { name: 'three' })).rejects.toThrow("no endpoint 'three', but: one, two");
  expect((await readDevFolder(folder, { name: 'two' })).name).toBe('two');
});

test('an empty folder is refused with what to do', async () => {
  await expect(readDevFolder(folder, {})).rejects.toThrow('podyard init');
});
