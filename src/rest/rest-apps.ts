import type { IncomingMessage, ServerResponse } from 'node:http';
import { knownRevisionIn, type RestRevision } from '../core/rest-revisions.ts';
import { LazyApp } from '../http/lazy-app.ts';
import { buildRestApp } from './app.ts';
import type { ServeRevision } from './setup/request-hooks.ts';
import type { RestApp, RestDeps } from './shared/rest-app.ts';

export { isOperatorPath } from './routes.ts';

/**
 * The REST apps of all revisions. A request goes to the revision that its path names, else to the one that its key asks
 * for, else to `plain`. An app is built at its first request: it takes about 10 MB and, in small steps, a tenth of a second.
 */
export class RestApps {
  readonly #deps: RestDeps;
  readonly #options: { plain: RestRevision; isWhole: boolean };
  readonly #apps = new Map<RestRevision, LazyApp<RestApp>>();

  /** `plain`: what a path without a revision speaks. `isWhole`: false for a process that only serves operator routes. */
  constructor(deps: RestDeps, options: { plain: RestRevision; isWhole: boolean }) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Builds the app of paths without a revision. */
  prepare(): void {
    this.get(this.#options.plain).catch(() => {}); // logged; the next request tries again
  }

  get(revision: RestRevision): Promise<RestApp> {
    return this.#app(revision).prepare();
  }

  /** Answers a request that is for REST. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#app(knownRevisionIn(req.url!) ?? this.#options.plain).handle(req, res);
  }

  /** Ends open streams. */
  async close(): Promise<void> {
    for (const app of this.#apps.values()) await app.close();
  }

  #app(revision: RestRevision): LazyApp<RestApp> {
    const known = this.#apps.get(revision);
    if (known) return known;
    const app = new LazyApp({ name: 'REST', load: () => this.#build(revision), logger: this.#deps.logger });
    this.#apps.set(revision, app);
    return app;
  }

  async #build(revision: RestRevision): Promise<RestApp> {
    const { isWhole } = this.#options;
    const serveRevision: ServeRevision = (other, req, res) => this.#app(other).handle(req, res);
    const app = buildRestApp(this.#deps, { revision, isWhole, serveRevision });
    await app.ready();
    return app;
  }
}
