/** An engine that is away while workers have to stop: a few lines in the log, and all is done once it is back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { containersOf, describeWithEngine, needExampleImages } from './container-engine.ts';

const ENGINE = '/var/run/docker.sock';
/** Long enough that the next of the growing pauses would end ten seconds later. */
const AWAY_MS = 17_500;
/** From the return of the engine until all is done, with the stop of three containers. */
const MAX_RETURN_MS = 6_000;

/** Passes connections on to the engine's socket until it is cut. */
class EngineProxy {
  readonly path: string;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();

  constructor(folder: string) {
    this.path = join(folder, 'engine.sock');
  }

  async connect(): Promise<void> {
    this.#server = createServer((socket) => {
      const engine = connect(ENGINE);
      for (const one of [socket, engine]) {
        this.#sockets.add(one.on('error', () => {}));
        one.on('close', () => this.#sockets.delete(one));
      }
      socket.pipe(engine).pipe(socket);
      socket.on('close', () => engine.destroy());
      engine.on('close', () => socket.destroy());
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.path, resolve));
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server!.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await rm(this.path, { force: true });
  }
}

describeWithEngine('an engine that is away', () => {
  let folder: string;
  let proxy: EngineProxy;
  let server: ServerProcess;
  beforeAll(async () => {
    await needExampleImages();
    folder = await mkdtemp(join(tmpdir(), 'podyard-engine-'));
    proxy = new EngineProxy(folder);
    await proxy.connect();
    server = await ServerProcess.start({
      runtime: 'docker',
      gpus: 'ADA_24:10',
      env: { DOCKER_HOST: `unix://${proxy.path}` },
    });
  });
  afterAll(async () => {
    await server?.dispose();
    await proxy?.cut();
    await rm(folder, { recursive: true, force: true });
  });

  test('costs a few lines in the log while workers have to stop, which they do once it is back', async () => {
    const api = new Api(server);
    const id = await api.createEndpoint({ workers: { min: 3, max: 3 } });
    await until('all wait', async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 3);
    await proxy.cut();
    const before = server.stderr.length;
    await api.call('DELETE', `/v2/serverless/${id}`);
    await sleep(AWAY_MS);
    const lines = server.stderr.slice(before).split('\n');
    console.log(`${lines.length} lines in ${AWAY_MS / 1000} s`);
    expect(lines.length).toBeLessThan(40);
    await proxy.connect();
    const returnedAt = performance.now();
    await until('they are gone', async () => (await containersOf(server.installation)).size === 0);
    const tookMs = performance.now() - returnedAt;
    console.log(`done ${Math.round(tookMs)} ms after the engine's return`);
    expect(tookMs).toBeLessThan(MAX_RETURN_MS);
  });
});
