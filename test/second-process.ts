import { readConfig } from '../src/config/config.ts';
import type { EndpointId } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { ensureInstallation } from '../src/domain/installation.ts';
import { startServer } from '../src/server.ts';
import { FakeWorker } from './fake-worker.ts';
import type { QueuePlaneFixture } from './queue-plane.ts';

/** A second Podyard on the same database, with its own ports: like another process, except that both run in this one. */
export class SecondProcess {
  readonly url: string;
  readonly stop: () => Promise<void>;
  readonly #workerApiUrl: string;

  static async start(plane: QueuePlaneFixture): Promise<SecondProcess> {
    const config = readConfig(
      {
        port: '0',
        databaseUrl: plane.database.url,
        runtime: 'simulated',
        roles: 'api,data',
        simulateGpus: 'ADA_24:1000',
      },
      { PODYARD_MASTER_KEY: 'ab'.repeat(32) },
    );
    const server = await startServer(config, silentLogger, () => {});
    const { workerApiPort } = await ensureInstallation(plane.database.pool); // the port of the first one was taken, so it chose another
    return new SecondProcess(server.url, `http://127.0.0.1:${workerApiPort}`, () => server.stop());
  }

  private constructor(url: string, workerApiUrl: string, stop: () => Promise<void>) {
    this.url = url;
    this.#workerApiUrl = workerApiUrl;
    this.stop = stop;
  }

  /** Returns the same worker, connected to this process. */
  worker(endpointId: EndpointId, workerId: string): FakeWorker {
    return new FakeWorker({ apiUrl: this.#workerApiUrl, endpointId, workerId, token: `pyw_${workerId}` });
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any answer
  async call(method: string, path: string, body?: object, authorization = 'Bearer pyk_test-admin'): Promise<any> {
    const response = await fetch(`${this.url}/v2/${path}`, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined,
    };
  }
}
