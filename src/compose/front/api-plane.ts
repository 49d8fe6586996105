import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config, Role } from '../../config/config.ts';
import type { TrustedAddresses } from '../../core/client-address.ts';
import { withoutRevision } from '../../core/rest-revisions.ts';
import { isQueuePath } from '../../dataplane/data-plane.ts';
import { sendProblem, setCommonHeaders } from '../../dataplane/exchange.ts';
import { normalizeHost } from '../../dataplane/proxy/find-handler.ts';
import { S3Plane } from '../../dataplane/s3/s3-plane.ts';
import { isS3Path } from '../../dataplane/s3/s3-request.ts';
import { findScarceDisk } from '../../db/full-disk.ts';
import type { CapacitySource } from '../../domain/catalog/capacity-source.ts';
import type { PodFigures } from '../../domain/pods/pod-figures.ts';
import { isGraphqlPath, lazyGraphqlApp } from '../../graphql/lazy-app.ts';
import type { RateLimiter } from '../../http/floods/rate-limiter.ts';
import { newRequestId } from '../../http/problem.ts';
import type { MetricsPage } from '../../rest/installation/metrics-page.ts';
import { LogSearches } from '../../rest/logs/log-searches.ts';
import type * as restApps from '../../rest/rest-apps.ts';
import { isV1Path, lazyV1App, refuseV1 } from '../../rest/v1/lazy-v1-app.ts';
import type { WorkloadStorage } from '../../runtimes/runtime.ts';
import { isSignInPath, lazySignInApp, startRefreshing } from '../../sign-in/lazy-sign-in-app.ts';
import { buildHindrance } from '../create-builder.ts';
import { missingRole } from '../roles.ts';
import type { ServerParts } from '../serving.ts';
import { DEFAULT_PROXY_HOST } from './proxy-plane.ts';

/** Answers requests on node's HTTP server. */
export type Responder = (req: IncomingMessage, res: ServerResponse) => void;

export type RestModule = Pick<typeof restApps, 'RestApps' | 'isOperatorPath'>;

/** The parts of REST and GraphQL, besides those that all planes share. */
export interface ApiParts extends ServerParts {
  rateLimiter: RateLimiter;
  capacity: CapacitySource;
  podFigures: PodFigures;
  metricsPage: Pick<MetricsPage, 'isToken' | 'read'>;
  storage: WorkloadStorage;
}

/** REST, GraphQL, S3 and the queue API, on node's HTTP server. S3 and the queue API can be served without it, too. */
export interface ApiPlane {
  respond: Responder;
  s3: Pick<S3Plane, 'handle'>;
  /** Compiles the schemas. Requests that come earlier wait for it. */
  prepare: () => void;
  close: () => Promise<void>;
}

/** Finds the app by path. A request for a role that this process does not have is a 421. */
export function createApiPlane(
  config: Config,
  { RestApps, isOperatorPath }: RestModule,
  { data, storage, ...deps }: ApiParts,
  publicUrlFor: (request: IncomingMessage) => string,
  trustedProxies: TrustedAddresses,
): ApiPlane {
  const { roles } = config;
  const options = { plain: config.restRevision, isWhole: roles.has('api') };
  const restDeps = {
    ...deps,
    answers: data.answers,
    logSearches: new LogSearches(),
    publicUrlFor,
    lbHost: config.lbHost,
    terminal: config.terminal,
    builds: {
      hindrance: buildHindrance(config, deps.runtime),
      findScarceDisk: async () => (config.databaseUrl === null ? findScarceDisk(config.dataDir) : null),
    },
    workloadOptions: config.workloadOptions,
    hasV1: config.isRestV1On,
  };
  const rest = new RestApps(restDeps, options);
  const v1 = config.isRestV1On ? lazyV1App(restDeps) : null;
  const podHost = normalizeHost(config.proxyHost ?? DEFAULT_PROXY_HOST);
  const signInDeps = { ...deps, publicUrlFor, podHost, trustedProxies, lifetime: config.signIn };
  const signIn = lazySignInApp(signInDeps, deps.providers);
  const stopRefreshing = startRefreshing(deps, roles.has('api') ? deps.providers : []);
  const graphql = lazyGraphqlApp({ ...deps, isIntrospectable: config.isGraphqlIntrospectable });
  const s3 = new S3Plane({ ...deps, storage });
  return {
    respond: (req, res) => {
      const url = withoutRevision(req.url!);
      const role = isQueuePath(url) ? 'data' : 'api';
      if (!roles.has(role) && !isOperatorPath(url)) refuseRole(res, role, roles);
      else if (role === 'data') data.handle(at(req, url), res);
      else if (isS3Path(req.url!)) s3.handle(req, res);
      else if (isGraphqlPath(url)) graphql.handle(at(req, url), res);
      else if (isSignInPath(url)) signIn.handle(at(req, url), res);
      else if (isV1Path(req.url!)) v1 ? v1.handle(req, res) : refuseV1(req, res);
      else rest.handle(req, res);
    },
    s3,
    prepare: () => rest.prepare(),
    close: async () => {
      s3.close();
      await rest.close(); // ends the open log streams
      await graphql.close();
      await signIn.close();
      await stopRefreshing();
      await v1?.close();
    },
  };
}

/** Only REST differs between revisions: everything else is the same under each prefix. */
function at(req: IncomingMessage, url: string): IncomingMessage {
  req.url = url;
  return req;
}

function refuseRole(res: ServerResponse, role: Role, roles: ReadonlySet<Role>): void {
  setCommonHeaders(res, ['x-request-id', newRequestId(), 'cache-control', 'no-store']);
  sendProblem(res, missingRole(role, roles));
}
