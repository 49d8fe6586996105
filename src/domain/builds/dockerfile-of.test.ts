import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { commandsOf } from './commands-of.ts';
import { dockerfileOf } from './dockerfile-of.ts';
import { kitFiles } from './kit-files.ts';
import type { Recipe } from './recipe.ts';

const PYTHON: Recipe = {
  language: 'python',
  dockerfile: null,
  target: null,
  base: null,
  version: null,
  installer: 'pip',
  lockFiles: ['requirements.txt', 'more/base.txt', 'more/b c.txt'],
  systemPackages: ['ffmpeg'],
  secretIds: ['PIP_TOKEN'],
  buildCommand: null,
  entry: { kind: 'handler', file: 'src/handler.py', name: 'run' },
};
const JAVASCRIPT: Recipe = {
  ...PYTHON,
  language: 'javascript',
  installer: 'npm',
  lockFiles: ['package-lock.json', 'package.json'],
  systemPackages: [],
  secretIds: [],
  entry: { kind: 'handler', file: 'handler.js', name: 'default' },
};
/** The lines from the first that begins with one text to the first that begins with another. */
function order(text: string, ...starts: string[]): number[] {
  return starts.map((start) => text.split('\n').findIndex((line) => line.startsWith(start)));
}

test('a generated Dockerfile installs from lock files alone, copies the code last, and is not root', () => {
  const text = dockerfileOf(PYTHON);
  const places = order(
    text,
    'FROM python:3.12-slim',
    'COPY ["requirements.txt"',
    'RUN --mount',
    'COPY --chown',
    'USER 10001',
    'CMD',
  );
  expect(places.every((place, i) => place >= 0 && place > (places[i - 1] ?? -1))).toBe(true);
  expect(text).toContain('COPY ["requirements.txt","./"]\nCOPY ["more/base.txt","more/b c.txt","./more/"]\n');
  expect(text).toContain(
    'RUN --mount=type=secret,id=PIP_TOKEN PIP_TOKEN="$(cat /run/secrets/PIP_TOKEN)" && export PIP_TOKEN && pip install',
  );
  expect(text).toContain('apt-get install -y --no-install-recommends ffmpeg');
  expect(text).toMatch(/CMD \["python","-u","\.podyard\/python\/run_handler\.py","src\/handler\.py","run"\]\n$/);
});

test('another base gets Python if it has none, and what it has stays visible', () => {
  const text = dockerfileOf({ ...PYTHON, base: 'nvidia/cuda:12.4.1-runtime-ubuntu22.04' });
  expect(text).toMatch(/^FROM nvidia\/cuda:12\.4\.1-runtime-ubuntu22\.04\n/);
  expect(text).toContain('RUN command -v python3 > /dev/null');
  expect(text).toContain('--system-site-packages');
});

test.each<[string, Partial<Recipe>, string]>([
  ['npm with a lock file', {}, 'RUN npm ci --omit=dev'],
  ['npm without one', { lockFiles: ['package.json'] }, 'RUN npm install --omit=dev'],
  ['npm before a build', { buildCommand: ['npm', 'run', 'build'] }, 'RUN npm ci --include=dev'],
  ['pnpm', { installer: 'pnpm', lockFiles: ['pnpm-lock.yaml'] }, 'pnpm install --frozen-lockfile --prod'],
  ['yarn', { installer: 'yarn', lockFiles: ['yarn.lock'] }, 'yarn install --frozen-lockfile --production'],
  ['another version', { version: '22' }, 'FROM node:22-slim'],
])('JavaScript: %s', (_, change, line) => {
  expect(dockerfileOf({ ...JAVASCRIPT, ...change })).toContain(line);
});

test.each([
  ['http://mirror.internal:4873/npm/', 'http://mirror.internal:4873/npm/ mirror.internal'],
  ['https://ada:secret@mirror.internal', 'https://ada:secret@mirror.internal'],
  ['', ''],
])('Yarn 2 and later take npm’s registry %s, with an engine and without', async (registry, expected) => {
  const programs = await mkdtemp(join(tmpdir(), 'podyard-yarn-'));
  onTestFinished(() => rm(programs, { recursive: true }));
  const yarn = `#!/bin/sh
[ "$1" != --version ] || exec echo 4.18.1
echo "$YARN_NPM_REGISTRY_SERVER $YARN_UNSAFE_HTTP_WHITELIST"
[ "$COREPACK_NPM_REGISTRY" = "$YARN_NPM_REGISTRY_SERVER" ]
`;
  await writeFile(join(programs, 'yarn'), yarn, { mode: 0o755 });
  await writeFile(join(programs, 'corepack'), '#!/bin/sh\n', { mode: 0o755 });
  const recipe: Recipe = { ...JAVASCRIPT, installer: 'yarn', lockFiles: ['yarn.lock', 'package.json'] };
  const line = /^RUN (.*yarn install.*)$/m.exec(dockerfileOf(recipe))![1]!;
  const PATH = `${programs}:${process.env.PATH}`;
  for (const [program, ...args] of [['sh', '-c', line], commandsOf(recipe, { hasUv: false }).steps[0]!.command]) {
    const { stdout } = await promisify(execFile)(program!, args, { env: { PATH, NPM_CONFIG_REGISTRY: registry } });
    expect(stdout.trim()).toBe(expected);
  }
});

test('nothing to install is no layer, and a build runs once the code is there', () => {
  const text = dockerfileOf({
    ...JAVASCRIPT,
    installer: null,
    lockFiles: [],
    buildCommand: ['npm', 'run', 'build it'],
  });
  expect(text).not.toContain('npm ci');
  const places = order(text, 'COPY --chown', "RUN npm run 'build it'", 'CMD');
  expect(places.toSorted((a, b) => a - b)).toEqual(places);
});

test('uv and pyproject.toml', () => {
  expect(dockerfileOf({ ...PYTHON, installer: 'uv', lockFiles: ['uv.lock', 'pyproject.toml'] })).toContain(
    'uv sync --frozen',
  );
  expect(dockerfileOf({ ...PYTHON, lockFiles: ['pyproject.toml'] })).toContain('tomllib');
});

test('without an engine: the same in a virtual environment, or with npm', () => {
  const { steps, serve } = commandsOf({ ...PYTHON, systemPackages: [] }, { hasUv: false });
  expect(steps.map(({ name, secretIds }) => [name, secretIds])).toEqual([
    ['Create the virtual environment', []],
    ['Install dependencies (requirements.txt)', ['PIP_TOKEN']],
  ]);
  expect(serve).toEqual(['.podyard/venv/bin/python', '-u', '.podyard/python/run_handler.py', 'src/handler.py', 'run']);
  const withUv = commandsOf(PYTHON, { hasUv: true }).steps.map(({ command }) => command[0]);
  expect(withUv).toEqual(['uv', 'uv']);
  const javascript = commandsOf(JAVASCRIPT, { hasUv: false });
  expect(javascript.steps.map(({ command }) => command.slice(0, 2).join(' '))).toEqual(['npm ci', 'sh -c']);
  const program = commandsOf(
    { ...JAVASCRIPT, entry: { kind: 'program', command: ['node', 'a.js'] } },
    { hasUv: false },
  );
  expect(program.serve.slice(3)).toEqual(['podyard', 'node', 'a.js']);
  expect(() => commandsOf({ ...PYTHON, language: 'dockerfile' }, { hasUv: false })).toThrow(/a container engine/);
});

test('without an engine, a program in Python finds the kit, and the packages that its endpoint’s PYTHONPATH names', async () => {
  const entry: Recipe['entry'] = { kind: 'program', command: ['sh', '-c', 'echo "$PYTHONPATH"'] };
  const [program, ...args] = commandsOf({ ...PYTHON, entry }, { hasUv: false }).serve;
  const kit = join(tmpdir(), '.podyard/python');
  for (const [PYTHONPATH, expected] of [
    ['', kit],
    ['/opt/torch', `${kit}:/opt/torch`],
  ] as const) {
    const env = { PATH: process.env.PATH, PYTHONPATH };
    expect((await promisify(execFile)(program!, args, { cwd: tmpdir(), env })).stdout.trim()).toBe(expected);
  }
});

test('the kit’s files are in the package, and an own Dockerfile gets none', () => {
  for (const language of ['python', 'javascript'] as const) {
    for (const { path, source } of kitFiles({ language })) {
      expect([path, path.startsWith('.podyard/'), existsSync(source)]).toEqual([path, true, true]);
    }
  }
  expect(kitFiles({ language: 'dockerfile' })).toEqual([]);
});
