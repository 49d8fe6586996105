/** A folder with a Dockerfile, built by the engine: deployed, changed, gone back to, and cleaned up after. */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { RemoteDev } from '../e2e/dev-remote.ts';
import { run, runToFailure } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { whileImagesGo } from '../engine.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

const BASE = 'localhost/podyard/test-dev:1';
const DOCKERFILE = `FROM podyard/echo-js:dev
COPY greet.js /worker/greet.js
ENTRYPOINT ["node", "/worker/greet.js"]
`;
const greet = (word: string) => `import { start } from './podyard-worker.js';
await start({ handler: async (job) => \`${word}, \${job.input.name}!\` });
`;

describeWithEngine('a folder is deployed', () => {
  let server: ServerProcess;
  let api: Api;
  let home: string;
  let folder: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    await needExampleImages();
    server = await ServerProcess.start({ runtime: 'docker' });
    api = new Api(server);
    home = await mkdtemp(join(tmpdir(), 'podyard-deploy-'));
    folder = await mkdtemp(join(home, 'greet-'));
    await writeFile(join(folder, 'Dockerfile'), DOCKERFILE);
    await writeFile(join(folder, 'greet.js'), greet('Hello'));
    env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
  });
  afterAll(async () => {
    await new Docker()
      .getImage(BASE)
      .remove({ force: true })
      .catch(() => {}); // never made
    for (const { image } of await builtImages())
      await whileImagesGo(() => new Docker().getImage(image).remove({ force: true }));
    await server?.dispose();
    if (home) await rm(home, { recursive: true, force: true });
  });

  const builtImages = async () =>
    (await api.call<{ builds: { image: string | null }[] }>('GET', '/v2/builds')).builds.filter(
      (build): build is { image: string } => build.image !== null,
    );
  /** A generated Dockerfile and its worker need a shell with its usual programs, and Node.js. */
  async function makeBase(): Promise<void> {
    const context = await mkdtemp(join(home, 'base-'));
    const programs = ['chown', 'ln', 'mv'];
    await writeFile(join(context, 'Dockerfile'), `FROM podyard/echo-js:dev\nCOPY ${programs.join(' ')} /bin/\n`);
    for (const name of programs) await copyFile('/bin/busybox', join(context, name));
    const docker = new Docker();
    const built = await docker.buildImage({ context, src: ['Dockerfile', ...programs] }, { t: BASE });
    await new Promise((resolve, reject) => {
      docker.modem.followProgress(built, (error, lines) => (error ? reject(error) : resolve(lines)));
    });
  }
  const answer = async (id: string) => (await api.runToEnd(id, { name: 'Ada' })).output;

  test('changed, broken and rolled back, it always runs the code of its release', async () => {
    expect(await run(['deploy', folder, '--name', 'greet'], env)).toContain('curl ');
    const { id } = JSON.parse(await run(['endpoints', 'get', 'greet', '--json'], env));
    expect(await answer(id)).toBe('Hello, Ada!');
    expect(await run(['deploy', folder, '--name', 'greet'], env)).toMatch(/^Nothing changed: greet/);

    await writeFile(join(folder, 'greet.js'), greet('Hi'));
    await run(['deploy', folder, '--name', 'greet'], env);
    await until('the new code answers', async () => (await answer(id)) === 'Hi, Ada!');

    await writeFile(join(folder, 'Dockerfile'), `${DOCKERFILE}RUN exit 3\n`);
    expect(await runToFailure(['deploy', folder, '--name', 'greet'], env, 9)).toContain('exit code 3');
    expect(await answer(id)).toBe('Hi, Ada!');

    await run(['rollback', 'greet'], env);
    await until('the former code answers', async () => (await answer(id)) === 'Hello, Ada!');
    expect(await builtImages()).toHaveLength(2);
  });

  test('with dev --remote, a container gets the files as they change, and goes with the command', async () => {
    const distant = await mkdtemp(join(home, 'distant-'));
    const saveAll = (word: string) =>
      Promise.all([
        writeFile(join(distant, 'word.js'), `export const word = '${word}';\n`),
        writeFile(
          join(distant, 'handler.js'),
          "import { word } from './word.js';\nexport default async (job) => word + ', ' + job.input.name + '!';\n",
        ),
      ]);
    await writeFile(join(distant, 'podyard.yaml'), `build: { base: '${BASE}' }\n`);
    await makeBase();
    await saveAll('Hello');
    const dev = await RemoteDev.start(distant, env, '--endpoint', 'distant');
    try {
      await until(`it answers: ${dev.printed}`, async () => (await answer(dev.id)) === 'Hello, Ada!', 60_000);
      await saveAll('Hi');
      await until('the new code answers', async () => (await answer(dev.id)) === 'Hi, Ada!', 60_000);
    } finally {
      await dev.end('SIGINT');
    }
    const { endpoints } = await api.call<{ endpoints: { name: string }[] }>('GET', '/v2/serverless');
    expect(endpoints.map(({ name }) => name)).not.toContain('distant');
  });
});
