import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { buildImages } from '../../src/runtimes/docker/images/example-images.ts';
import { BareEngine } from '../coldstart/bare.ts';
import { KEY, SETTLE_MS } from '../coldstart/client.ts';
import { isInstalled } from '../needs.ts';
import { type Program, startProgram } from '../queue/program.ts';

const run = promisify(execFile);
const BARE_IMAGE = 'localhost/podyard/bench-bare:1';
const PYTHON_BASE = 'localhost/podyard/bench-python:1';
/** How long jobs are measured, and how long a build keeps all CPUs busy meanwhile. */
const JOBS_MS = 6_000;
const BUSY_MS = 10_000;

/** Times in ms, one value a round, or a job. */
export interface EngineBuilds {
  changedMs: number[];
  /** The same change by the engine alone: BuildKit's build, and `docker run` until the handler runs. */
  bareChangedMs: number[];
  firstMs: number[];
  bareFirstMs: number[];
  quietJobMs: number[];
  busyJobMs: number[];
}

/** Measures builds by the container engine, beside the engine alone, in turns. */
export async function measureEngineBuilds(home: string, rounds: number, main: string): Promise<EngineBuilds> {
  await mkdir(home);
  const found: EngineBuilds = {
    ...{ changedMs: [], bareChangedMs: [], firstMs: [], bareFirstMs: [], quietJobMs: [], busyJobMs: [] },
  };
  await buildImages();
  const server = await startProgram({
    command: process.execPath,
    args: [main, 'serve', '--port', '0', '--data-dir', join(home, 'data'), '--runtime', 'docker', '--stop-workers'],
    env: { PODYARD_ADMIN_KEY: KEY, HOME: home, PODYARD_RATE_LIMIT: 'off' },
    ready: /Podyard is ready at (http:\S+)/,
  });
  const bare = await BareEngine.open(BARE_IMAGE);
  const bench = new EngineBench(home, main, server, bare);
  try {
    for (let round = 0; round <= rounds; round++) {
      const times = [await bench.deployChange(round), await bench.buildChange(round)];
      if (round === 0) continue; // the first deploy is no change
      found.changedMs.push(times[0]!);
      found.bareChangedMs.push(times[1]!);
    }
    if (await makePythonBase(home)) {
      const ejected = await bench.ejectPython();
      for (let round = 0; round < rounds; round++) {
        found.firstMs.push(await bench.deployPython(round));
        found.bareFirstMs.push(await buildBare(ejected, { usesCache: false }));
      }
    }
    for (let round = 0; round < rounds; round++) {
      found.quietJobMs.push(...(await bench.jobs()));
      found.busyJobMs.push(...(await bench.jobsDuringBuild(round)));
    }
    return found;
  } finally {
    const built = await bench.builtImages().catch(() => []); // the server has ended
    await bare.close();
    await server.stop();
    await run('docker', ['rmi', '-f', BARE_IMAGE, PYTHON_BASE, ...built]).catch(() => {}); // one was not made
  }
}

class EngineBench {
  readonly #home: string;
  readonly #main: string;
  readonly #url: string;
  readonly #bare: BareEngine;

  constructor(home: string, main: string, { readyAt }: Program, bare: BareEngine) {
    this.#home = home;
    this.#main = main;
    this.#url = readyAt;
    this.#bare = bare;
  }

  /** From zero: the worker of the round before has gone. */
  async deployChange(round: number): Promise<number> {
    const folder = await this.#changing(`own ${round}`);
    await sleep(SETTLE_MS);
    return this.#deploy(folder);
  }

  async buildChange(round: number): Promise<number> {
    const folder = await this.#changing(`bare ${round}`);
    await sleep(SETTLE_MS);
    const buildMs = await buildBare(folder, { usesCache: true });
    const startMs = await this.#bare.run();
    await this.#bare.removeContainers();
    return buildMs + startMs;
  }

  async #changing(line: string): Promise<string> {
    const folder = join(this.#home, 'changing');
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'Dockerfile'),
      'FROM podyard/echo-js:dev\nCOPY main.js /worker/main.js\nENTRYPOINT ["node", "/worker/main.js"]\n',
    );
    await writeFile(
      join(folder, 'main.js'),
      `import { start } from './podyard-worker.js';\nawait start({ handler: () => '${line}' });\n`,
    );
    await writeFile(join(folder, 'podyard.yaml'), 'workers: { max: 1 }\nscaling: { idleTimeout: 1 }\n');
    return folder;
  }

  /** Every step anew, and without the worker that is tried at the end: the peer starts none. */
  async deployPython(round: number): Promise<number> {
    return this.#deploy(join(this.#home, 'python-own'), '--name', `python-${round}`, '--no-cache', '--no-wait');
  }

  /** Returns a folder with what `deployPython` builds, as a Dockerfile. */
  async ejectPython(): Promise<string> {
    const [own, bare] = [join(this.#home, 'python-own'), join(this.#home, 'python-bare')];
    await this.#podyard('init', own);
    const file = join(own, 'podyard.yaml');
    await writeFile(file, `build: { base: '${PYTHON_BASE}' }\nworkers: { max: 1 }\n`);
    await cp(own, bare, { recursive: true });
    await this.#podyard('deploy', bare, '--eject');
    return bare;
  }

  /** Returns how long each of many jobs took, one after another, on a worker that is there. */
  async jobs(): Promise<number[]> {
    const id = await this.#echo();
    const times: number[] = [];
    for (const endsAt = performance.now() + JOBS_MS; performance.now() < endsAt; ) {
      const startedAt = performance.now();
      await this.#call('POST', `/v2/${id}/runsync`, { input: 1 });
      times.push(performance.now() - startedAt);
    }
    return times;
  }

  async jobsDuringBuild(round: number): Promise<number[]> {
    const folder = join(this.#home, 'busy');
    await mkdir(folder, { recursive: true });
    const spin = `node -e 'for (const end = Date.now() + ${BUSY_MS}; Date.now() < end; );'`;
    await writeFile(
      join(folder, 'Dockerfile'),
      `FROM podyard/echo-js:dev\nRUN echo ${round}; ${spin} & ${spin} & ${spin} & wait\n`,
    );
    const deployed = this.#deploy(folder, '--no-wait', '--no-trial');
    while (!(await this.#isBuilding())) await sleep(100);
    const times = await this.jobs();
    if (!(await this.#isBuilding())) throw new Error('the build ended before the jobs');
    await deployed;
    return times;
  }

  async builtImages(): Promise<string[]> {
    const { builds } = await this.#call<{ builds: { image: string | null }[] }>('GET', '/v2/builds');
    return builds.flatMap(({ image }) => (image === null ? [] : [image]));
  }

  async #isBuilding(): Promise<boolean> {
    const { builds } = await this.#call<{ builds: { name: string; steps: { name: string; status: string }[] }[] }>(
      'GET',
      '/v2/builds?limit=1',
    );
    return (
      builds[0]?.name === 'busy' &&
      builds[0].steps.some((step) => step.name.includes('RUN echo') && step.status === 'RUNNING')
    );
  }

  #echoId: string | undefined;

  async #echo(): Promise<string> {
    if (this.#echoId !== undefined) return this.#echoId;
    const folder = join(this.#home, 'jobs');
    await mkdir(folder);
    await writeFile(join(folder, 'podyard.yaml'), 'image: podyard/echo-js:dev\nworkers: { min: 1, max: 1 }\n');
    await this.#deploy(folder);
    const { endpoints } = await this.#call<{ endpoints: { id: string; name: string }[] }>('GET', '/v2/serverless');
    const { id } = endpoints.find(({ name }) => name === 'jobs')!;
    this.#echoId = id;
    await this.#call('POST', `/v2/${id}/runsync`, { input: 1 });
    return id;
  }

  /** From Enter to the prompt. */
  async #deploy(...args: string[]): Promise<number> {
    const startedAt = performance.now();
    await this.#podyard('deploy', ...args, '--yes');
    return performance.now() - startedAt;
  }

  async #podyard(...args: string[]): Promise<void> {
    const env = { ...process.env, PODYARD_URL: this.#url, PODYARD_API_KEY: KEY, HOME: this.#home };
    await run(process.execPath, [this.#main, ...args], { env });
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
}

/** The engine's own build with BuildKit, as `docker build` asks for it where it has buildx. Returns how long it took, in ms. */
async function buildBare(
  folder: string,
  { usesCache, tag = BARE_IMAGE }: { usesCache: boolean; tag?: string },
): Promise<number> {
  const startedAt = performance.now();
  const url = `http://docker/build?version=2&t=${tag}${usesCache ? '' : '&nocache=1'}`;
  const send =
    'curl -sS --fail-with-body --unix-socket /var/run/docker.sock -H content-type:application/x-tar --data-binary @- "$2"';
  const { stdout } = await run('sh', ['-c', `tar -C "$1" -c . | ${send}`, 'sh', folder, url], { maxBuffer: 2 ** 26 });
  if (!stdout.includes('Successfully tagged')) throw new Error(`the engine did not build: ${stdout.slice(-500)}`);
  return performance.now() - startedAt;
}

/** An image with Python, its `venv` and a shell, of this machine's own files: no registry is needed. False: this machine lacks some. */
async function makePythonBase(home: string): Promise<boolean> {
  const script = 'import sys, ensurepip; print("%d.%d" % sys.version_info[:2], ensurepip.__path__[0])';
  const python = await run('python3', ['-I', '-c', script]).catch(() => null);
  if (python === null || !isInstalled('busybox')) return false;
  const [version, ensurepip] = python.stdout.trim().split(' ') as [string, string];
  const folder = await mkdtemp(join(home, 'base-'));
  await cp(ensurepip, join(folder, 'ensurepip'), { recursive: true });
  const wheels = '/usr/share/python-wheels';
  await mkdir(join(folder, 'wheels'));
  await cp(wheels, join(folder, 'wheels'), { recursive: true }).catch(() => {}); // only Debian keeps them there
  const busybox = await run('sh', ['-c', 'command -v busybox']);
  await copyFile(busybox.stdout.trim(), join(folder, 'busybox'));
  const lines = [
    'FROM podyard/echo-python:dev',
    ...['chown', 'ln', 'mkdir'].map((program) => `COPY busybox /bin/${program}`),
    `COPY ensurepip /usr/local/lib/python${version}/ensurepip`,
    `COPY wheels ${wheels}`,
    'ENTRYPOINT []',
  ];
  await writeFile(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`);
  await buildBare(folder, { usesCache: true, tag: PYTHON_BASE });
  return true;
}
