import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { builderContract } from '../../../test/builder-contract/contract.ts';
import type { Project } from '../../../test/builder-contract/projects.ts';
import { findProcesses } from '../../../test/find-processes.ts';
import { newId } from '../../core/ids.ts';
import { kitFiles } from '../../domain/builds/kit-files.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';
import { killOrphans, MARKER } from '../../runtimes/process/process-group.ts';
import { removeFolder } from './folder-content.ts';
import { createProcessBuilder } from './process-builder.ts';

const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
const ANY_BASE = { admitBase: async () => {}, prepareBase: async () => {} };
const MIRRORS = ['npm_config_registry', 'PIP_INDEX_URL', 'PIP_FIND_LINKS', 'PIP_CERT', 'NODE_EXTRA_CA_CERTS'];
const env = {
  PATH,
  ...Object.fromEntries(MIRRORS.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
};

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-images-'));
});
afterAll(() => removeFolder(root));

const used = new Set<string>();
const open = (installation: string, { path = PATH, reserveBytes = 0 } = {}) =>
  createProcessBuilder({
    root: join(root, installation),
    reserveBytes,
    env: { ...env, PATH: path },
    marker: { variable: MARKER, kill: killOrphans },
    isUsed: async (image) => used.has(image),
  });

const RECIPE: Recipe = {
  ...{ language: 'python', dockerfile: null, target: null, base: null, version: null, installer: null },
  ...{ lockFiles: [], systemPackages: [], secretIds: [], buildCommand: null },
  entry: { kind: 'program', command: ['cat', 'note.txt'] },
};
const shell = (text: string): Recipe => ({ ...RECIPE, buildCommand: ['sh', '-c', text] });

async function write(project: Project, folder: string): Promise<Recipe> {
  switch (project) {
    case 'plain':
      return shell('echo building');
    case 'failing':
      return shell('echo about to fail; exit 3');
    case 'endless':
      return shell(
        "trap '' TERM; sleep 1000 & (trap '' TERM; setsid sleep 1000) & echo started; while :; do sleep 1; done",
      );
    case 'chatty':
      return shell('yes 0123456789abcdef | head -c 67108864; head -c 8388608 /dev/zero | tr "\\0" x; echo');
    case 'large':
      return shell('head -c 33554432 /dev/urandom >large');
    case 'secret': {
      // npm shows what scripts print only when it is told to.
      await writeFile(join(folder, '.npmrc'), 'foreground-scripts=true\n');
      const scripts = { preinstall: 'printf "%.4s…\\n" "$TOKEN"' };
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', version: '1.0.0', scripts }));
      for (const { path, source } of kitFiles({ language: 'javascript' })) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await cp(source, join(folder, path));
      }
      return { ...RECIPE, language: 'javascript', installer: 'npm', lockFiles: ['package.json'], secretIds: ['TOKEN'] };
    }
  }
}

/** Returns the installation's folder of a build. */
async function folderOf(image: string): Promise<string> {
  const id = image.slice(image.lastIndexOf(':') + 1);
  for (const installation of await readdir(root)) {
    const folder = join(root, installation, id);
    if (existsSync(folder)) return folder;
  }
  throw new Error(`there is no image ${image}`);
}

function processesOf(buildId: string): string[] {
  return findProcesses(`${MARKER}=build-${buildId}`, 'environ').map((pid) => `process ${pid}`);
}

builderContract('processes', async () => ({
  open: async (installation) => open(installation),
  write,
  read: async (image, path) => readFile(join(await folderOf(image), 'files', path), 'utf8'),
  use: async (image) => {
    used.add(image);
    return async () => {
      used.delete(image);
    };
  },
  leftovers: async (buildId) => {
    const folders = await Promise.all(
      (await readdir(root)).map(async (installation) => {
        const names = await readdir(join(root, installation, buildId)).catch(() => []);
        return names.filter((name) => name !== 'files' && name !== 'image.json').map((name) => `${buildId}/${name}`);
      }),
    );
    return [...folders.flat(), ...processesOf(buildId)];
  },
  caches: false,
}));

describe('the images of processes', { timeout: 120_000 }, () => {
  const limits = { cpus: 1, memoryBytes: 1e9, timeoutMs: 100_000, maxImageBytes: 1e9 };

  async function build(recipe: Recipe, files: Record<string, string>, builder = open('own'), installation = 'own') {
    const id = newId<string>();
    const context = await mkdtemp(join(root, 'context-'));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(context, path)), { recursive: true });
      await writeFile(join(context, path), content);
    }
    for (const { path, source } of kitFiles(recipe)) {
      await mkdir(dirname(join(context, path)), { recursive: true });
      await cp(source, join(context, path));
    }
    const lines: string[] = [];
    const request = { id, image: `builds.podyard.internal/own:${id}`, folder: context, recipe, args: {}, secrets: {} };
    try {
      const built = await builder.build(
        { ...request, registries: {}, ...ANY_BASE, usesCache: true, cacheScope: 'a' },
        {
          limits,
          signal: new AbortController().signal,
          onEvent: (event) => void (event.kind === 'line' && lines.push(event.text)),
        },
      );
      const folder = join(root, installation, id);
      const { command } = JSON.parse(await readFile(join(folder, 'image.json'), 'utf8'));
      return { built, lines, id, files: join(folder, 'files'), command: command as string[] };
    } finally {
      await rm(context, { recursive: true });
    }
  }

  async function run(command: string[], cwd: string): Promise<string> {
    const child = spawn(command[0]!, command.slice(1), { cwd, env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts: Buffer[] = [];
    child.stdout.on('data', (data) => texts.push(data));
    child.stderr.on('data', (data) => texts.push(data));
    await new Promise((resolve) => child.once('close', resolve));
    return Buffer.concat(texts).toString().trim();
  }

  test('npm ci installs what the lock file says, from a real registry, and the program finds it', async () => {
    const dependencies = { 'is-number': '7.0.0' };
    const integrity = 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==';
    const lock = {
      ...{ name: 'app', lockfileVersion: 3, requires: true },
      packages: { '': { dependencies }, 'node_modules/is-number': { version: '7.0.0', integrity } },
    };
    const recipe: Recipe = {
      ...RECIPE,
      language: 'javascript',
      installer: 'npm',
      lockFiles: ['package-lock.json', 'package.json'],
      entry: { kind: 'program', command: ['node', 'main.js'] },
    };
    const { files, command } = await build(recipe, {
      'package.json': JSON.stringify({ dependencies }),
      'package-lock.json': JSON.stringify(lock),
      'main.js': "console.log(require('is-number')(5), require.resolve('podyard/worker') !== '')",
    });
    expect(await run(command, files)).toBe('true true');
  });

  test('pip installs a wheel into an environment of its own, and scripts of packages run', async () => {
    const wheels = await mkdtemp(join(root, 'wheels-'));
    await makeWheel(wheels);
    const { files, command } = await build(
      {
        ...RECIPE,
        installer: 'pip',
        lockFiles: ['requirements.txt'],
        entry: {
          kind: 'program',
          command: ['sh', '-c', 'greet && python -c "import greet_pkg; print(greet_pkg.__file__)"'],
        },
      },
      { 'requirements.txt': `--no-index\n--find-links ${wheels}\ngreet-pkg==1.0\n`, 'main.py': '' },
    );
    const [greeting, file] = (await run(command, files)).split('\n');
    expect(greeting).toBe('hello from a wheel');
    expect(file).toContain(join(files, '.podyard/venv/lib'));
  });

  test('with uv on the machine, uv makes the environment of the Python that is there, and installs', async () => {
    const programs = await mkdtemp(join(root, 'programs-'));
    const standIn = `#!/bin/sh
echo "uv $*" "\${UV_PROJECT_ENVIRONMENT:+in $UV_PROJECT_ENVIRONMENT}" >&2
[ "$1" != venv ] || exec python3 -m venv --without-pip .podyard/venv
`;
    await writeFile(join(programs, 'uv'), standIn, { mode: 0o755 });
    const withUv = (recipe: Partial<Recipe>, files: Record<string, string>) =>
      build(
        { ...RECIPE, entry: { kind: 'program', command: ['python', 'main.py'] }, ...recipe },
        { 'main.py': 'import sys; print(sys.prefix)', ...files },
        open('own', { path: [programs, PATH].join(delimiter) }),
      );
    const venv = 'uv venv --quiet --no-python-downloads --python 3 .podyard/venv ';

    const pip = await withUv({ installer: 'pip', lockFiles: ['requirements.txt'] }, { 'requirements.txt': 'a==1\n' });
    expect(pip.lines).toEqual([venv, 'uv pip install --python .podyard/venv/bin/python -r requirements.txt ']);
    expect(await run(pip.command, pip.files)).toBe(join(pip.files, '.podyard/venv'));

    const lockFiles = ['uv.lock', 'pyproject.toml'];
    const locked = await withUv({ installer: 'uv', lockFiles }, { 'uv.lock': '', 'pyproject.toml': '' });
    expect(locked.lines).toEqual([
      venv,
      'uv sync --no-python-downloads --frozen --no-dev --no-install-project in .podyard/venv',
    ]);
  });

  test.each([
    ['1.22.22', 'yarn install --frozen-lockfile --production '],
    ['4.18.1', 'yarn install --immutable node-modules'],
  ])('Yarn %s gets the options that it takes, and puts packages where Node.js looks', async (version, line) => {
    const programs = await mkdtemp(join(root, 'programs-'));
    const standIn = `#!/bin/sh
[ "$1" != --version ] || exec echo ${version}
echo "yarn $*" "$YARN_NODE_LINKER"
`;
    await writeFile(join(programs, 'yarn'), standIn, { mode: 0o755 });
    const recipe: Recipe = {
      ...{ ...RECIPE, language: 'javascript', installer: 'yarn', lockFiles: ['yarn.lock', 'package.json'] },
      entry: { kind: 'program', command: ['node', 'main.js'] },
    };
    const files = { 'yarn.lock': '', 'package.json': '{}', 'main.js': '' };
    const { lines } = await build(recipe, files, open('own', { path: [programs, PATH].join(delimiter) }));
    expect(lines).toEqual([line]);
  });

  describe('with an index of packages over HTTP', () => {
    const WHEEL = 'greet_pkg-1.0-py3-none-any.whl';
    let index: Server;
    let url: string;
    let wheel: Buffer;

    beforeAll(async () => {
      const wheels = await mkdtemp(join(root, 'index-'));
      await makeWheel(wheels);
      wheel = await readFile(join(wheels, WHEEL));
      index = createServer(({ url: path }, answer) => {
        if (path === `/files/${WHEEL}`) return void answer.end(wheel);
        if (path !== '/simple/greet-pkg/') return void answer.writeHead(404).end();
        answer.setHeader('content-type', 'text/html');
        answer.end(`<!DOCTYPE html><a href="/files/${WHEEL}#sha256=${digest()}">${WHEEL}</a>`);
      });
      index.listen(0, '127.0.0.1');
      await once(index, 'listening');
      url = `http://127.0.0.1:${(index.address() as AddressInfo).port}/simple/`;
    });
    afterAll(() => {
      index?.closeAllConnections();
      index?.close();
    });
    const digest = () => createHash('sha256').update(wheel).digest('hex');
    const install = (...lines: string[]) =>
      build(
        {
          ...{ ...RECIPE, installer: 'pip', lockFiles: ['requirements.txt'] },
          entry: { kind: 'program', command: ['greet'] },
        },
        { 'requirements.txt': `--index-url ${url}\n${lines.join('\n')}\n` },
      );

    test('pip installs from it, with the hash that the lock file has', async () => {
      const { files, command } = await install(`greet-pkg==1.0 --hash=sha256:${digest()}`);
      expect(await run(command, files)).toBe('hello from a wheel');
    });

    test.each([
      [
        'a hash that disagrees',
        `greet-pkg==1.0 --hash=sha256:${'0'.repeat(64)}`,
        /DO NOT MATCH THE HASHES.*greet-pkg==1\.0.*Expected sha256 0{64}/s,
      ],
      ['a version that is not there', 'greet-pkg==2.0', /No matching distribution found for greet-pkg==2\.0/],
      [
        'two lines that disagree',
        'greet-pkg==1.0\ngreet-pkg==1.1',
        /The user requested greet-pkg==1\.0.*The user requested greet-pkg==1\.1/s,
      ],
      ['a package that is not there', 'unknown-pkg', /No matching distribution found for unknown-pkg/],
    ])('%s is named, and there is no image', async (_what, line, reason) => {
      await expect(install(line)).rejects.toMatchObject({
        kind: 'unprocessable',
        message: expect.stringMatching(reason),
      });
    });

    test('an index that is away is named, with the package that it should have given', async () => {
      index.closeAllConnections();
      await new Promise((resolve) => index.close(resolve));
      const { message } = await install('greet-pkg==1.0').then(
        () => expect.fail('it is away'),
        (error: Error) => error,
      );
      expect(message).toContain('Connection refused');
      expect(message).toContain('/simple/greet-pkg/');
      expect(message).toContain('No matching distribution found for greet-pkg==1.0');
    });
  });

  test('an image is read-only, and of the same files is the same', async () => {
    const recipe = { ...shell('echo x >made; chmod 4755 made'), language: 'javascript' } as const;
    const first = await build(recipe, { 'package.json': '{}' });
    const second = await build(recipe, { 'package.json': '{}' });
    expect(first.built.digest).toBe(second.built.digest);
    const other = await build(recipe, { 'package.json': '{ }' });
    expect(other.built.digest).not.toBe(first.built.digest);
    const modes = await Promise.all(['', 'made', 'package.json'].map((path) => stat(join(first.files, path))));
    expect(modes.map(({ mode }) => (mode & 0o7777).toString(8))).toEqual(['555', '555', '444']);
  });

  test('a Dockerfile, a program that is not installed and a package that does not exist are refused with what is missing', async () => {
    await expect(build({ ...RECIPE, language: 'dockerfile', dockerfile: 'D', entry: null }, { D: '' })).rejects.toThrow(
      'A Dockerfile needs a container engine',
    );
    await expect(build({ ...RECIPE, buildCommand: ['no-such-program'] }, {})).rejects.toThrow(
      "'no-such-program' is not installed on the server's machine: no-such-program needs it.",
    );
    const recipe: Recipe = { ...RECIPE, installer: 'pip', lockFiles: ['requirements.txt'] };
    await expect(build(recipe, { 'requirements.txt': '--no-index\nno-such-package\n' })).rejects.toThrow(
      /failed with exit code 1\. Its last lines:\n.*No matching distribution found for no-such-package/s,
    );
  });

  test.skipIf(process.getuid!() !== 0)(
    'a full disk is named and left as it was, and a build that would fill it ends before: others have room',
    async () => {
      const disk = join(root, 'small');
      await mkdir(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'podyard-test', disk]);
      onTestFinished(() => void execFileSync('umount', [disk]));
      const onDisk = (recipe: Recipe, reserveBytes: number, files = {}) =>
        build(recipe, files, open('small', { reserveBytes }), 'small');
      const fill = 'head -c 33554432 /dev/zero >large';
      await expect(onDisk(RECIPE, 0, { large: 'x'.repeat(2 ** 25) })).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The disk of the server is full: the image could not be written.',
      });
      await expect(onDisk(shell(fill), 0)).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(/^The disk of the server is full, in step '.+'\.$/),
      });
      const pip: Recipe = { ...RECIPE, installer: 'pip', lockFiles: ['requirements.txt'] };
      await expect(onDisk(pip, 2 ** 23, { 'requirements.txt': '' })).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(
          /^The disk of the server is almost full: \d MB are free, and builds leave 8 MB\.$/,
        ),
      });
      const slowly = 'head -c 12582912 /dev/zero >large; sleep 1000';
      await expect(onDisk(shell(slowly), 2 ** 23)).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The disk of the server is almost full: 4 MB are free, and builds leave 8 MB.',
      });
      await expect(onDisk(RECIPE, 2 ** 25)).rejects.toThrow('16 MB are free, and builds leave 33 MB.');
      expect(await readdir(disk)).toEqual([]);
      expect((await onDisk(shell('echo there is room'), 2 ** 23)).lines).toContain('there is room');
    },
  );

  test('what a killed build has left, its processes included, is gone after tidy', async () => {
    const id = newId<string>();
    const folder = join(root, 'own', id);
    await mkdir(join(folder, 'files'), { recursive: true });
    const left = spawn('sleep', ['1000'], { env: { PATH, [MARKER]: `build-${id}` }, detached: true, stdio: 'ignore' });
    const ended = new Promise((resolve) => left.once('exit', (_, signal) => resolve(signal)));
    await open('own').tidy();
    expect(await ended).toBe('SIGKILL');
    expect(existsSync(folder)).toBe(false);
  });
});

/** Writes a wheel with a module and a script, as an index of packages would serve it. */
async function makeWheel(folder: string): Promise<void> {
  const script = `
import sys, zipfile
info = 'greet_pkg-1.0.dist-info/'
files = {
  'greet_pkg/__init__.py': 'def main():\\n    print("hello from a wheel")\\n',
  info + 'METADATA': 'Metadata-Version: 2.1\\nName: greet-pkg\\nVersion: 1.0\\n',
  info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
  info + 'entry_points.txt': '[console_scripts]\\ngreet = greet_pkg:main\\n',
}
files[info + 'RECORD'] = ''.join(name + ',,\\n' for name in files) + info + 'RECORD,,\\n'
with zipfile.ZipFile(sys.argv[1] + '/greet_pkg-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items(): wheel.writestr(name, text)
`;
  const child = spawn('python3', ['-c', script, folder], { stdio: 'inherit' });
  await new Promise((resolve) => child.once('close', resolve));
}
