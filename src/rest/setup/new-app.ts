import { createRequire } from 'node:module';
import type { SerializerCompiler, SerializerFactory } from '@fastify/fast-json-stringify-compiler';
import type {
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  FastifySerializerCompiler,
  FastifyServerOptions,
  RouteOptions,
} from 'fastify';
import Fastify from 'fastify';
import type { Failure } from '../../core/errors.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import { acceptOnlyJson, REST_BODY_LIMIT_BYTES } from '../../http/accept-only-json.ts';
import { newRequestId } from '../../http/problem.ts';
import { toFailure, toRequestFailure } from '../../http/to-failure.ts';
import type { RestApp, RestDeps } from '../shared/rest-app.ts';
import { KnownPaths, MAX_VALUE_LENGTH } from './known-paths.ts';
import {
  addRequestHooks,
  auditRefusal,
  countRequestOfAnyKey,
  pathNotFound,
  type ServeRevision,
  setCommonHeaders,
} from './request-hooks.ts';
import { createValidatorCompiler, type Hints } from './validation.ts';

interface AppOptions {
  /** Those with an `$id`. The compilers have them; the app itself would copy all of them for each route. */
  schemas: readonly object[];
  hints?: Hints;
  /** The revision that the app speaks. */
  revision: RestRevision;
  api: 'rest' | 'v1';
  serveRevision: ServeRevision | null;
  /** Returns the URL that is routed. */
  rewriteUrl?: (url: string) => string;
  /** Sends a failure in the app's own shape. */
  sendFailure: (deps: RestDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply) => void;
}

/**
 * Returns an app without routes: its limits, validators, serializers, hooks, and the answers to all errors. Call `finish` once it
 * has them. A route that declares no permission is an error.
 */
export function newApp(deps: RestDeps, options: AppOptions): { app: RestApp; finish: () => void } {
  const { schemas, hints, revision, api, serveRevision, rewriteUrl = (url) => url, sendFailure } = options;
  const app: RestApp = Fastify({
    bodyLimit: REST_BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    requestIdHeader: false,
    pluginTimeout: 0, // routes are added in turns, which may take more than its 10 s on a busy machine
    return503OnClosing: false, // Fastify's 503 has another shape; the outer server stops accepting first
    routerOptions: { maxParamLength: MAX_VALUE_LENGTH },
    rewriteUrl: ({ url }) => rewriteUrl(url!),
    schemaController: compilers(createValidatorCompiler(schemas, hints), createSerializerCompiler(schemas)),
    // Raised before any hook ran, for a malformed URL.
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      void countRequestOfAnyKey(deps, request, reply)
        .then(() => error)
        .catch((refusal: unknown) => refusal)
        .then((reason) => sendFailure(deps, toFailure(reason), request, reply));
    },
  });
  acceptOnlyJson(app, {
    ownerOf: ({ actor }) => actor?.userId ?? '',
    isRaw: ({ routeOptions }) => routeOptions.config.takesBytes === true,
    isSigned: ({ routeOptions }) => routeOptions.config.takesSignedBody === true,
    maxValuesOf: ({ routeOptions }) => routeOptions.config.maxBodyValues,
    isEmptyAllowed: true, // clients send the header with a bodiless DELETE or POST
    detail: 'The request could not be processed: its body is not valid JSON.',
  });
  app.setErrorHandler(async (error, request, reply) => {
    await auditRefusal(deps, request, error);
    sendFailure(deps, toRequestFailure(error, request.raw), request, reply);
    return reply;
  });
  app.setNotFoundHandler((request, reply) => sendFailure(deps, pathNotFound(request), request, reply));
  const paths = new KnownPaths();
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    if (config?.permission === undefined) throw new Error(`${method} ${url} declares no permission`);
    if (config.permission !== 'none') paths.add(url, [method].flat());
  });
  addRequestHooks(app, { deps, paths, revision, api, serveRevision });
  return { app, finish: () => paths.shadow(app) };
}

/** Replaces Fastify's compilers before it loads them: 60 modules. Their types know no others. */
function compilers(
  validator: FastifySchemaCompiler<object>,
  serializer: FastifySerializerCompiler<object>,
): NonNullable<FastifyServerOptions['schemaController']> {
  return { compilersFactory: { buildValidator: () => validator, buildSerializer: () => serializer } as object };
}

/**
 * Fastify's serializers, which strip undeclared properties, compiled at first use, when their compiler is loaded: the hundreds of all
 * routes would slow down the start. `schemas` are those with an `$id`. Formats are not checked: they distinguish no members of a union, and
 * our own answers have them.
 */
function createSerializerCompiler(schemas: readonly object[]): FastifySerializerCompiler<object> {
  let compile: SerializerCompiler | undefined;
  return (route) => {
    let serialize: ((data: unknown) => string) | undefined;
    return (data) => {
      compile ??= loadSerializers()(
        Object.fromEntries(schemas.map((schema) => [(schema as { $id: string }).$id, schema])),
        { ajv: { validateFormats: false } } as object,
      );
      serialize ??= compile(route as Parameters<SerializerCompiler>[0]);
      return serialize(data);
    };
  };
}

function loadSerializers(): SerializerFactory {
  const load = createRequire(import.meta.url);
  return (
    load('@fastify/fast-json-stringify-compiler') as { SerializerSelector(): SerializerFactory }
  ).SerializerSelector();
}
