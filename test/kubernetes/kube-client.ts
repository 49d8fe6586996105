import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { createInterface } from 'node:readline';
import { KubeConfig } from '@kubernetes/client-node';

/** Any object of the API server. */
// biome-ignore lint/suspicious/noExplicitAny: tests inspect any object
export type KubeObject = any;

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: KubeObject;
}

const MERGE = 'application/merge-patch+json';

/** An answer other than 2xx. */
export class KubeError extends Error {
  readonly status: number;
  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** The tests' own client of the API server, independent of the code under test. Call `close` after use. */
export class KubeClient {
  readonly server: string;
  readonly #options: RequestOptions;
  readonly #agent: Agent;

  static async open(kubeconfig: string): Promise<KubeClient> {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return new KubeClient(config.getCurrentCluster()!.server, options);
  }

  private constructor(server: string, options: RequestOptions) {
    this.server = server;
    this.#options = options;
    const { ca, cert, key, rejectUnauthorized } = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 50, ca, cert, key, rejectUnauthorized });
  }

  get(path: string): Promise<KubeObject> {
    return this.call('GET', path);
  }

  /** Returns undefined for a 404. */
  async find(path: string): Promise<KubeObject | undefined> {
    return this.get(path).catch((error) => {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    });
  }

  async list(path: string): Promise<KubeObject[]> {
    return (await this.get(path)).items;
  }

  create(path: string, body: object): Promise<KubeObject> {
    return this.call('POST', path, body);
  }

  patch(path: string, body: object, contentType = MERGE): Promise<KubeObject> {
    return this.call('PATCH', path, body, contentType);
  }

  /** Succeeds even if it does not exist. */
  async delete(path: string, body: object = {}): Promise<void> {
    await this.call('DELETE', path, body).catch((error) => {
      if (!(error instanceof KubeError && error.status === 404)) throw error;
    });
  }

  async call(method: string, path: string, body?: object, contentType = 'application/json'): Promise<KubeObject> {
    const response = await this.#open(method, path, body, contentType);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    const status = response.statusCode!;
    if (status >= 300) throw new KubeError(status, `${method} ${path} was answered with ${status}: ${text}`);
    return JSON.parse(text);
  }

  /** Yields events from a version on, until the signal aborts or the server ends the watch. */
  async *watch(path: string, resourceVersion: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = `${path.includes('?') ? '&' : '?'}watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    const response = await this.#open('GET', path + query, undefined, '', signal);
    for await (const line of createInterface({ input: response, signal })) yield JSON.parse(line);
  }

  close(): void {
    this.#agent.destroy();
  }

  #open(method: string, path: string, body: object | undefined, contentType: string, signal?: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(this.#options.headers as Record<string, string> | undefined),
      accept: 'application/json',
      ...(text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }),
    };
    request(this.server + path, { method, headers, agent: this.#agent, ...(signal ? { signal } : {}) }, resolve)
      .on('error', reject)
      .end(text);
    return promise;
  }
}
