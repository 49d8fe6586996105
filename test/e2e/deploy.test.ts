import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProcesses } from '../find-processes.ts';
import { packageMirrors } from '../package-mirrors.ts';
import { Api, until } from './api.ts';
import { RemoteDev } from './dev-remote.ts';
import { run, runToFailure } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

/** From an empty folder to a served endpoint and back, with real npm, on the process runtime. */
let server: ServerProcess;
let api: Api;
let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process', env: packageMirrors() });
  api = new Api(server);
  home = await mkdtemp(join(tmpdir(), 'podyard-home-'));
  env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
});
afterAll(async () => {
  await server?.dispose();
  await rm(home, { recursive: true, force: true });
});

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
});

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
});

test('an HTTP server of the template is reached under the printed URL', async () => {
  const folder = join(home, 'web');
  await run(['init', folder, '--template', 'http'], env);
  await run(['deploy', folder], env);
  const response = await fetch(`${server.url}/v2/${await idOf('web')}/lb/hello`, {
    headers: { authorization: `Bearer ${server.key}` },
  });
  expect(await response.json()).toEqual({ greeting: 'Hello, world!', path: '/hello' });
});

test('a handler in Python is served as it is', async () => {
  const folder = join(home, 'python');
  await run(['init', folder], env);
  await run(['deploy', folder], env);
  expect((await api.runToEnd(await idOf('python'), { name: 'Ada' })).output).toEqual({ greeting: 'Hello, Ada!' });
});

describe('dev --remote', () => {
  let folder: string;
  let dev: RemoteDev;
  const save = (name: string, text: string) => writeFile(join(folder, name), text);
  const answers = (output: unknown) =>
    until(
      `${output} is answered: ${dev.printed}`,
      async () => (await api.runToEnd(dev.id, {})).output === output,
      60_000,
    );
  const processes = () => findProcesses(dev.id, 'environ');
  const names = async () =>
    (await api.call<{ endpoints: { name: string }[] }>('GET', '/v2/serverless')).endpoints.map(({ name }) => name);

  beforeAll(async () => {
    folder = join(home, 'distant');
    await mkdir(join(folder, 'lib'), { recursive: true });
    await save('podyard.yaml', 'env: { MOOD: calm }\n');
    await save('.env', 'MOOD=secret\n');
    await save('lib/word.js', "export const word = 'one';\n");
    await save(
      'handler.js',
      "import { word } from './lib/word.js';\nexport default async () => word + ' ' + process.env.MOOD;\n",
    );
    dev = await RemoteDev.start(folder, env);
  });
  afterAll(() => dev?.end('SIGKILL'));

  test('a saved file runs on the worker, one that is removed is gone, and the log is printed', async () => {
    await answers('one calm');
    await save('lib/word.js', "console.log('two is loaded');\nexport const word = 'two';\n");
    await answers('two calm');
    await until('the log is printed', async () => dev.printed.includes('two is loaded'));
    const exists =
      "import { existsSync } from 'node:fs';\nexport default async () => String(existsSync('lib/word.js'));\n";
    await save('handler.js', exists);
    await answers('true');
    await rm(join(folder, 'lib'), { recursive: true });
    await answers('false');
    expect(dev.printed).not.toContain('a new worker starts');
  });

  test('a handler that ends its process fails its job at once, with the last lines, and runs again', async () => {
    await save(
      'handler.js',
      "export default async ({ input }) => { if (input.end) { console.log('about to crash'); process.exit(3); } return 'alive'; };\n",
    );
    await answers('alive');
    expect(await api.runToEnd(dev.id, { end: true })).toMatchObject({
      status: 'FAILED',
      error: expect.stringMatching(/^The program ended \(exit code 3\):\n(?:.*\n)*about to crash$/),
    });
    expect(await api.runToEnd(dev.id, {})).toMatchObject({ status: 'COMPLETED', output: 'alive' });
    await until('it says so', async () => dev.printed.includes('Its job has failed with it: it runs again'));
  });

  test('a worker that dies is replaced by one with the files as they are now', async () => {
    await save(
      'handler.js',
      'export default async ({ input }) => (input.end ? process.kill(process.ppid, 9) : "newest");\n',
    );
    await answers('newest');
    const [before] = await api.workers(dev.id);
    await api.call('POST', `/v2/${dev.id}/run`, { input: { end: true }, policy: { ttl: 10_000 } });
    await until(
      'another worker runs',
      async () => {
        const workers = await api.workers(dev.id);
        return workers.length > 0 && workers.every(({ id }) => id !== before!.id);
      },
      60_000,
    );
    await api.call('POST', `/v2/${dev.id}/purge-queue`);
    await answers('newest');
  });

  test('Ctrl-C deletes the endpoint, and leaves nothing', async () => {
    expect(processes()).not.toEqual([]);
    expect(await dev.end('SIGINT')).toEqual([0, null]);
    expect(await names()).not.toContain('distant-dev');
    await until('no worker runs', async () => processes().length === 0);
  });

  test('killed, it leaves an endpoint that goes when its lease ends, with its worker', async () => {
    await save('handler.js', "export default async () => 'again';\n");
    dev = await RemoteDev.start(folder, env);
    await answers('again');
    await dev.end('SIGKILL');
    await api.call('PUT', `/v2/serverless/${dev.id}/lease`, { seconds: 5 }); // instead of the rest of a minute
    await until('it is gone', async () => !(await names()).includes('distant-dev'), 90_000);
    await until('no worker runs', async () => processes().length === 0);
  });

  test('an endpoint of that name that stays is not touched', async () => {
    const id = await api.createEndpoint({ name: 'kept' });
    expect(await runToFailure(['dev', folder, '--remote', '--endpoint', 'kept'], env, 2)).toContain(
      'choose --endpoint',
    );
    expect(await idOf('kept')).toBe(id);
    expect(await runToFailure(['dev', folder, '--remote', '--port', '1'], env, 2)).toContain('without --remote');
  });
});
