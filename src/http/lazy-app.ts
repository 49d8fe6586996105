import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure, messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { asciiJson } from '../core/text/ascii-json.ts';
import { PROBLEM_JSON, renderProblem } from './problem.ts';

/** An HTTP app that is ready: Fastify's, for example. */
export interface LoadedApp {
  routing(req: IncomingMessage, res: ServerResponse): void;
  close(): PromiseLike<unknown>;
}

/** An app that is loaded at its first request, because a start can spare the time and the memory. */
export class LazyApp<App extends LoadedApp = LoadedApp> {
  readonly #options: { name: string; load: () => Promise<App>; logger: Logger };
  #loading: Promise<App> | undefined;

  constructor(options: { name: string; load: () => Promise<App>; logger: Logger }) {
    this.#options = options;
  }

  /** Loads the app unless that was done. After a failure, for example without a free descriptor, the next call tries again. */
  prepare(): Promise<App> {
    if (this.#loading) return this.#loading;
    const loading = this.#options.load();
    this.#loading = loading;
    loading.catch((error: unknown) => {
      this.#loading = undefined;
      const { name, logger } = this.#options;
      logger.error({ err: error }, `cannot load ${name}: ${messageOf(error)}`);
    });
    return loading;
  }

  /** Answers once the app is loaded; with 503 when it cannot be. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    this.prepare().then(
      (app) => app.routing(req, res),
      () => refuse(res),
    );
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }
}

function refuse(res: ServerResponse): void {
  const failure = new Failure('unavailable', 'this part of the server could not be loaded; try again', {
    retryAfterSeconds: 5,
  });
  const { status, headers, problem } = renderProblem(failure);
  const own = ['content-type', PROBLEM_JSON, 'cache-control', 'no-store', 'connection', 'close'];
  res.writeHead(status, [...own, ...headers]).end(asciiJson(problem));
}
