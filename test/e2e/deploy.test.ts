import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from './api.ts';
import { run, runToFailure } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

/** From an empty folder to a served endpoint and back, with real npm, on the process runtime. */
let server: ServerProcess;
let api: Api;
let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process', env: mirrors() });
  api = new Api(server);
  home = await mkdtemp(join(tmpdir(), 'podyard-home-'));
  env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
}, 90_000);
afterAll(async () => {
  await server?.dispose();
  await rm(home, { recursive: true, force: true });
}, 60_000);

/** Where this machine gets packages. */
function mirrors(): Record<string, string> {
  const names = ['npm_config_registry', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

const idOf = async (name: string): Promise<string> =>
  JSON.parse(await run(['endpoints', 'get', name, '--json'], env)).id;

test('init, deploy, call, change a line, break it, read why, roll back', async () => {
  const folder = join(home, 'hello');
  await run(['init', folder, '--template', 'javascript'], env);
  expect(await run(['deploy', folder], env)).toContain('curl ');
  const id = await idOf('hello');
  expect((await api.runToEnd(id, { name: 'Ada' })).output).toEqual({ greeting: 'Hello, Ada!' });
  expect(await run(['deploy', folder], env)).toMatch(/^Nothing changed: hello/);

  await promisify(execFile)('npm', ['install', '--package-lock-only', 'is-number@7.0.0'], { cwd: folder });
  const handler = join(folder, 'handler.js');
  await writeFile(handler, "import isNumber from 'is-number';\nexport default async (job) => isNumber(job.input);\n");
  const changed = await run(['deploy', folder], env);
  expect(changed).toContain('package-lock.json with npm');
  await until('the new code answers', async () => (await api.runToEnd(id, 7)).output === true);

  await writeFile(handler, "throw new Error('the model is missing');\n");
  const broken = await runToFailure(['deploy', folder, '--yes'], env, 2);
  expect(broken).toContain('No handler was found');
  await writeFile(handler, "throw new Error('the model is missing');\nexport default async () => 1;\n");
  expect(await runToFailure(['deploy', folder], env, 8)).toContain('the model is missing');
  expect((await api.runToEnd(id, 8)).output).toBe(true); // the release before serves on

  await run(['rollback', 'hello'], env);
  expect((await api.runToEnd(id, 9)).output).toBe(true);
}, 240_000);

test('a dependency that does not resolve fails the build with npm’s own lines, and changes nothing', async () => {
  const folder = join(home, 'lost');
  await run(['init', folder, '--template', 'javascript'], env);
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ ...manifest, dependencies: { 'is-number': '999.0.0' } }),
  );
  const text = await runToFailure(['deploy', folder], env, 9);
  expect(text).toContain('is-number@999.0.0');
  expect(text).toMatch(
    /build \w+ failed: Step 'Install dependencies \(package\.json\)' failed with exit code 1\. Nothing was changed/,
  );
  expect(JSON.parse(await run(['endpoints', '--json'], env)).map(({ name }: { name: string }) => name)).not.toContain(
    'lost',
  );
}, 120_000);

test('an HTTP server of the template is reached under the printed URL', async () => {
  const folder = join(home, 'web');
  await run(['init', folder, '--template', 'http'], env);
  await run(['deploy', folder], env);
  const response = await fetch(`${server.url}/v2/${await idOf('web')}/lb/hello`, {
    headers: { authorization: `Bearer ${server.key}` },
  });
  expect(await response.json()).toEqual({ greeting: 'Hello, world!', path: '/hello' });
}, 120_000);

test('a handler in Python is served as it is', async () => {
  const folder = join(home, 'python');
  await run(['init', folder], env);
  await run(['deploy', folder], env);
  expect((await api.runToEnd(await idOf('python'), { name: 'Ada' })).output).toEqual({ greeting: 'Hello, Ada!' });
}, 120_000);
