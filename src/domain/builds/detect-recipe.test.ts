import { describe, expect, test } from 'vitest';
import { detectRecipe } from './detect-recipe.ts';
import type { RecipeWishes } from './folder-listing.ts';
import type { Recipe } from './recipe.ts';

const PY = 'def handler(job):\n    return job["input"]\n';
const JS = 'export default async (job) => job.input;\n';
const PACKAGE = (more: object = {}) => JSON.stringify({ name: 'a', type: 'module', ...more });

function detect(files: Record<string, string>, wishes: Partial<RecipeWishes> = {}): Promise<Recipe> {
  const read = async (path: string) => files[path] ?? Promise.reject(new Error(`read ${path}, which is not there`));
  return detectRecipe({ paths: Object.keys(files).sort(), read }, { serves: 'jobs', ...wishes });
}
async function entryOf(files: Record<string, string>, wishes: Partial<RecipeWishes> = {}) {
  return (await detect(files, wishes)).entry;
}
async function refusal(files: Record<string, string>, wishes: Partial<RecipeWishes> = {}): Promise<string> {
  const error = await detect(files, wishes).then(
    () => 'it was detected',
    (failure: unknown) => failure,
  );
  expect(error).toMatchObject({ kind: 'unprocessable' });
  return (error as Error).message;
}
const handler = (file: string, name = 'handler') => ({ kind: 'handler', file, name });
const program = (...command: string[]) => ({ kind: 'program', command });

describe('a Dockerfile', () => {
  test('is what the image is made with, whatever else is there', async () => {
    expect(await detect({ Dockerfile: '# a\nFROM scratch\n', 'handler.py': PY }, { target: 'run' })).toMatchObject({
      language: 'dockerfile',
      dockerfile: 'Dockerfile',
      target: 'run',
      entry: null,
    });
    expect(await detect({ 'a/Docker.prod': 'from scratch' }, { dockerfile: 'a/Docker.prod' })).toMatchObject({
      dockerfile: 'a/Docker.prod',
    });
  });

  test('that is not there, has no FROM, or makes another setting idle is refused', async () => {
    expect(await refusal({ 'a.py': PY }, { dockerfile: 'prod' })).toMatch(/'prod', but the folder has no such file/);
    expect(await refusal({ Dockerfile: '# FROM scratch\n' })).toMatch(/has no FROM/);
    expect(await refusal({ Dockerfile: 'FROM scratch' }, { base: 'cuda' })).toMatch(/build\.base says nothing/);
  });
});

describe('Python', () => {
  test.each([
    ['def', PY],
    ['async def', 'import time\n\nasync  def handler( job ):\n  yield 1\n'],
    ['a decorator', '@traced\ndef handler(job): ...'],
    ['an assignment', 'handler = make()\n'],
    ['a typed assignment', 'handler: Callable = make()\n'],
    ['an import', 'from work import other, handler\n'],
  ])('a handler by %s in handler.py is served', async (_, text) => {
    expect(await entryOf({ 'handler.py': text })).toEqual(handler('handler.py'));
  });

  test.each([
    ['a comment', '# def handler(job): pass\n'],
    ['a string', '"""\ndef handler(job):\n    pass\n"""\n'],
    ['a raw string with a backslash', "x = r'''\\\ndef handler(job):\n'''\n"],
    ['a method', 'class A:\n    def handler(self): ...\n'],
    ['another name', 'def handlers(job): ...\n'],
    ['a comparison', 'handler == 1\n'],
  ])('a handler in %s is none', async (_, text) => {
    expect(await refusal({ 'handler.py': text })).toMatch(/No handler was found: a Dockerfile, handler\.py with/);
  });

  test('one file that has it is enough, also one folder below; tests and the kit do not count', async () => {
    const tests = { 'test_a.py': PY, 'conftest.py': PY, 'podyard_worker.py': PY, 'tests/b.py': PY };
    expect(await entryOf({ ...tests, 'run.py': PY })).toEqual(handler('run.py'));
    expect(await entryOf({ 'tests/b.py': PY, 'src/run.py': PY })).toEqual(handler('src/run.py'));
  });

  test('handler.py comes first; two others are a question', async () => {
    expect(await entryOf({ 'handler.py': PY, 'b.py': PY })).toEqual(handler('handler.py'));
    expect(await refusal({ 'a.py': PY, 'b.py': PY })).toBe(
      'a.py and b.py each define handler(job): say which one to serve with build.handler or build.command in podyard.yaml',
    );
  });

  test.each([
    ['the public SDK', 'import runpod\n\nrunpod.serverless.start({"handler": handler})\n'],
    ['the public SDK under a guard', `${PY}\nif __name__ == "__main__":\n    runpod.serverless.start({})\n`],
    ['its function', 'from runpod.serverless import start\nstart({"handler": f})\n'],
    ['the kit', 'from podyard_worker import start\nstart(lambda job: 1)\n'],
  ])('a file that starts %s runs unchanged', async (_, text) => {
    expect(await entryOf({ 'worker.py': text, 'handler.py': PY })).toEqual(program('python', '-u', 'worker.py'));
  });

  test('a start in a comment or a string is none', async () => {
    const text = `# runpod.serverless.start({})\nx = "from podyard_worker import start"\n${PY}`;
    expect(await entryOf({ 'handler.py': text })).toEqual(handler('handler.py'));
  });

  test('build.handler names another function, and a wrong one says which there are', async () => {
    const files = { 'src/deep/app.py': 'async def run(job): ...\ndef other(): ...\n' };
    expect(await entryOf(files, { handler: './src/deep/app.py:run' })).toEqual(handler('src/deep/app.py', 'run'));
    expect(await refusal(files, { handler: 'src/deep/app.py:walk' })).toMatch(
      /has no function walk; it has run, other/,
    );
    expect(await refusal(files, { handler: 'app.py' })).toMatch(/the folder has no file app\.py/);
    expect(await refusal(files, { handler: 'src/deep/app.py:a:b' })).toMatch(
      /must be a file, or a file and a function/,
    );
  });

  test('requirements.txt, its includes, and what cannot be installed from it', async () => {
    const files = {
      'handler.py': PY,
      'requirements.txt': '# nothing\n-r more/base.txt\nfastapi[standard]>=0.1 # web\n',
      'more/base.txt': '-c ../pins.txt\nnumpy==2\n',
      'pins.txt': 'numpy<3\n',
    };
    expect(await detect(files)).toMatchObject({
      installer: 'pip',
      lockFiles: ['requirements.txt', 'more/base.txt', 'pins.txt'],
    });
    expect(await refusal({ 'handler.py': PY, 'requirements.txt': '\n-r base.txt' })).toBe(
      'requirements.txt, line 2: the folder has no file base.txt',
    );
    expect(await refusal({ 'handler.py': PY, 'requirements.txt': '-e .' })).toMatch(/line 1 installs from a folder/);
    expect(await detect({ 'handler.py': PY, 'requirements.txt': '# none\n' })).toMatchObject({ installer: null });
    expect(await detect({ 'handler.py': PY, 'requirements.txt': '-r requirements.txt\na\n' })).toMatchObject({
      lockFiles: ['requirements.txt'],
    });
  });

  test('pyproject.toml, alone and with uv.lock', async () => {
    const project = '[project]\nname = "a"\ndependencies = ["Flask_Login>=1", "numpy"]\n';
    const lock = (...names: string[]) =>
      `version = 1\n[[package]]\nname = "a"\nsource = { virtual = "." }\n[package.metadata]\nrequires-dist = [${names.map((name) => `{ name = "${name}" }`).join(', ')}]\n`;
    const files = { 'handler.py': PY, 'pyproject.toml': project };
    expect(await detect(files)).toMatchObject({ installer: 'pip', lockFiles: ['pyproject.toml'] });
    expect(await detect({ ...files, 'uv.lock': lock('flask-login', 'numpy') })).toMatchObject({
      installer: 'uv',
      lockFiles: ['uv.lock', 'pyproject.toml'],
    });
    expect(await refusal({ ...files, 'uv.lock': lock('numpy') })).toMatch(
      /uv\.lock disagrees with pyproject\.toml: flask-login is in pyproject\.toml and not in uv\.lock\. Run `uv lock`/,
    );
    expect(await refusal({ ...files, 'uv.lock': lock('flask-login', 'numpy', 'old') })).toMatch(/old is in uv\.lock/);
    expect(await refusal({ ...files, 'pyproject.toml': '[project\n' })).toMatch(/pyproject\.toml is not valid TOML/);
    expect(await refusal({ 'handler.py': PY, 'uv.lock': lock() })).toMatch(/uv\.lock is there, but not/);
    const poetry = { 'handler.py': PY, 'pyproject.toml': '[tool.poetry]\nname = "a"\n' };
    expect(await refusal(poetry)).toMatch(/Poetry’s own form/);
    expect(await detect({ ...poetry, 'requirements.txt': 'a' })).toMatchObject({ lockFiles: ['requirements.txt'] });
  });

  test('a version file pins Python, and podyard.yaml wins', async () => {
    const files = { 'handler.py': PY, '.python-version': '3.11.7\n' };
    expect(await detect(files)).toMatchObject({ version: '3.11' });
    expect(await detect(files, { python: '3.13' })).toMatchObject({ version: '3.13' });
  });

  test('a version that the kit does not run on is refused, unless a program serves without it', async () => {
    const old = { '.python-version': '3.7.16\n' };
    expect(await refusal({ 'handler.py': PY, ...old })).toBe(
      '.python-version asks for Python 3.7, and the worker kit that serves the handler needs 3.9 or newer',
    );
    expect(await refusal({ 'handler.py': PY }, { python: '3.8' })).toMatch(/^build\.python asks for Python 3\.8,/);
    expect((await detect({ 'handler.py': PY }, { python: '3.9' })).version).toBe('3.9');
    expect((await detect({ 'a.py': '', ...old }, { command: ['python', 'a.py'] })).version).toBe('3.7');
  });

  test('an HTTP app is served by what its dependencies have', async () => {
    const app = 'from fastapi import FastAPI\nweb: FastAPI = FastAPI(title="a")\n';
    const http = { serves: 'requests' } as const;
    expect(await entryOf({ 'app/api.py': app, 'requirements.txt': 'fastapi\nUvicorn==1' }, http)).toEqual(
      program('sh', '-c', `exec python -m uvicorn app.api:web --host 0.0.0.0 --port "\${PORT:-80}"`),
    );
    expect(await refusal({ 'main.py': app, 'requirements.txt': 'fastapi' }, http)).toBe(
      'main.py is a FastAPI app, but requirements.txt has no uvicorn, which serves it: add it',
    );
    const flask = 'import flask\napp = flask.Flask(__name__)\n';
    expect(await entryOf({ 'main.py': flask, 'requirements.txt': 'flask\ngunicorn' }, http)).toEqual(
      program('sh', '-c', `exec python -m gunicorn main:app --bind 0.0.0.0:"\${PORT:-80}"`),
    );
    const own = `${app}if __name__ == "__main__":\n    uvicorn.run(web)\n`;
    expect(await entryOf({ 'main.py': own }, http)).toEqual(program('python', '-u', 'main.py'));
    expect(await refusal({ 'main.py': PY }, http)).toMatch(/^No HTTP server was found/);
    expect(await refusal({ 'main.py': app })).toMatch(/an HTTP server needs `type: LOAD_BALANCING`/);
  });
});

describe('JavaScript', () => {
  test.each([
    ['an arrow function', 'handler.js', JS, 'default'],
    ['a function', 'index.js', 'export default async function* run(job) {}', 'default'],
    ['TypeScript', 'handler.ts', 'interface A {}\nexport default (job: A) => 1;', 'default'],
    ['a named export', 'work.mjs', 'export async function handler(job) {}', 'handler'],
    ['a list of exports', 'work.js', 'const handler = 1;\nexport {\n  other,\n  handler };', 'handler'],
    ['exports.handler', 'work.cjs', 'exports.handler = async () => 1;', 'handler'],
    ['module.exports', 'handler.cjs', 'module.exports = async () => 1;', 'default'],
    ['module.exports of several', 'work.cjs', 'module.exports = { handler, other };', 'handler'],
  ])('a handler by %s is served', async (_, file, text, name) => {
    expect(await entryOf({ [file]: text, 'other.js': 'export const a = 1;' })).toEqual(handler(file, name));
  });

  test.each([
    ['a comment', '/* \nexport default 1\n*/ // export default 1'],
    ['a template', `const a = \`\nexport default \${\`\nexport default\` + "}"}\nexport default \`;`],
    ['a string', "const a = '\\'export default\\\nexport default';"],
    ['after a regular expression', 'const a = /[/"`]/; const b = 4 / 2; const c = "\\\nexport default / ";'],
  ])('an export in %s is none', async (_, text) => {
    expect(await refusal({ 'handler.js': text })).toMatch(/No handler was found/);
  });

  test('what follows a regular expression or a template is read', async () => {
    const text = `const a = /["'\`]/g, b = \`\${ {a: '}'} }\`, c = 1 / 2;\nif (a) return /'/;\n${JS}`;
    expect(await entryOf({ 'handler.js': text })).toEqual(handler('handler.js', 'default'));
  });

  test('handler comes before index, two others are a question, and tests do not count', async () => {
    expect(await entryOf({ 'index.js': JS, 'handler.ts': JS })).toEqual(handler('handler.ts', 'default'));
    expect(await refusal({ 'a.js': 'exports.handler = 1', 'b.js': 'exports.handler = 1' })).toMatch(/^a\.js and b\.js/);
    expect(await entryOf({ 'src/index.ts': JS, 'vite.config.js': JS, 'a.test.js': JS })).toEqual(
      handler('src/index.ts', 'default'),
    );
    expect(await refusal({ 'a.js': JS, 'b.js': JS })).toMatch(/No handler was found/);
  });

  test('a file that starts the kit runs unchanged; an import in a comment does not count', async () => {
    const worker = "import { start } from 'podyard/worker';\nawait start({ handler });\n";
    const flags = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'];
    expect(await entryOf({ 'worker.mjs': worker, 'handler.js': JS })).toEqual(program('node', ...flags, 'worker.mjs'));
    expect(await entryOf({ 'handler.js': `// from 'podyard/worker' start(\n${JS}` })).toEqual(
      handler('handler.js', 'default'),
    );
    const built = { 'package.json': PACKAGE({ scripts: { build: 'tsc', start: 'node dist/worker.js' } }) };
    expect(await detect({ 'src/worker.ts': worker, ...built })).toMatchObject({
      entry: program('node', 'dist/worker.js'),
      buildCommand: ['npm', 'run', 'build'],
    });
  });

  test('an HTTP server is what package.json starts, or the file that listens', async () => {
    const http = { serves: 'requests' } as const;
    const server = 'createServer().listen(process.env.PORT)';
    expect(await entryOf({ 'a.cjs': server }, http)).toMatchObject({
      command: expect.arrayContaining(['node', 'a.cjs']),
    });
    const scripts = { start: 'NODE_ENV=production node a.js' };
    expect(await entryOf({ 'package.json': PACKAGE({ scripts }), 'a.js': server }, http)).toEqual(
      program('sh', '-c', 'NODE_ENV=production node a.js'),
    );
    expect(await refusal({ 'server.js': server })).toMatch(/an HTTP server needs `type: LOAD_BALANCING`/);
  });

  const dependencies = { 'left-pad': '^1.3.0', '@a/b': '1.x' };
  const manifest = { 'handler.js': JS, 'package.json': PACKAGE({ dependencies }) };
  const npmLock = (locked: object) =>
    JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies: locked } } });
  const pnpmLock = (range: string) =>
    `lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      '@a/b':\n        specifier: 1.x\n        version: 1.0.0\n      left-pad:\n        specifier: ${range}\n        version: 1.3.0\n\npackages:\n\n  left-pad@1.3.0: {}\n`;
  const yarnLock = (range: string) =>
    `# yarn\n\n"@a/b@1.x":\n  version "1"\n\nleft-pad@${range}, left-pad@1:\n  version "1"\n`;

  test.each([
    ['npm', 'package-lock.json', npmLock(dependencies)],
    ['pnpm', 'pnpm-lock.yaml', pnpmLock('^1.3.0')],
    ['yarn', 'yarn.lock', yarnLock('^1.3.0')],
    ['yarn', 'yarn.lock', yarnLock('npm:^1.3.0')],
  ])('the lock file of %s decides what is installed', async (installer, name, text) => {
    expect(await detect({ ...manifest, [name]: text })).toMatchObject({ installer, lockFiles: [name, 'package.json'] });
  });

  test.each([
    [
      'package-lock.json',
      npmLock({ ...dependencies, 'left-pad': '^1.2.0' }),
      'it has left-pad ^1.2.0, and package.json ^1.3.0. Run `npm install`',
    ],
    ['package-lock.json', npmLock({ '@a/b': '1.x' }), 'it lacks left-pad'],
    ['pnpm-lock.yaml', pnpmLock('^1.2.0'), 'it has left-pad ^1.2.0, and package.json ^1.3.0. Run `pnpm install`'],
    ['yarn.lock', yarnLock('^1.2.0'), 'it has left-pad'],
  ])('%s that disagrees is refused', async (name, text, why) => {
    const message = await refusal({ ...manifest, [name]: text });
    expect(message).toContain(`${name} disagrees with package.json: ${why}`);
  });

  test('two lock files, a lock file alone, and malformed ones are refused', async () => {
    const two = { 'package-lock.json': npmLock(dependencies), 'yarn.lock': yarnLock('^1.3.0') };
    expect(await refusal({ ...manifest, ...two })).toMatch(/^package-lock\.json and yarn\.lock both lock/);
    const chosen = { 'package.json': PACKAGE({ dependencies, packageManager: 'yarn@1.22.0' }) };
    expect(await detect({ ...manifest, ...two, ...chosen })).toMatchObject({ installer: 'yarn' });
    expect(await refusal({ 'handler.js': JS, 'yarn.lock': '' })).toMatch(/not the package\.json that it locks/);
    expect(await refusal({ 'handler.js': JS, 'package.json': '{' })).toMatch(/^package\.json is not valid JSON/);
    expect(await refusal({ 'handler.js': JS, 'package.json': '[]' })).toBe('package.json must be a JSON object');
    expect(await refusal({ 'handler.js': JS, 'package.json': PACKAGE({ dependencies: { a: 1 } }) })).toMatch(
      /dependencies must be an object of strings/,
    );
  });

  test('without a lock file package.json decides; without dependencies nothing is installed', async () => {
    expect(await detect(manifest)).toMatchObject({ installer: 'npm', lockFiles: ['package.json'] });
    expect(await detect({ 'handler.js': JS, 'package.json': PACKAGE() })).toMatchObject({ installer: null });
  });
});

test.each([
  ['handler.py', PY],
  ['handler.js', JS],
  ['Dockerfile', 'FROM scratch\n'],
])('a byte order mark at the beginning of %s changes nothing', async (path, text) => {
  expect(await detect({ [path]: `\uFEFF${text}` })).toEqual(await detect({ [path]: text }));
});

test('an empty folder, and one with handlers in two languages', async () => {
  expect(await refusal({})).toMatch(/The folder is empty: `podyard init`/);
  expect(await refusal({ 'README.md': 'hello' })).toMatch(/No handler was found/);
  expect(await refusal({ 'handler.py': PY, 'handler.js': JS })).toMatch(
    /Both handler in handler\.py and default in handler\.js could be served/,
  );
  expect(await entryOf({ 'handler.py': PY, 'package.json': PACKAGE() })).toEqual(handler('handler.py'));
});
