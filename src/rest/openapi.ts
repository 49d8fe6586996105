import type { SwaggerOptions } from '@fastify/swagger';
import type { RouteOptions } from 'fastify';
import { FAILURES, type FailureKind } from '../core/errors.ts';
import type { RestRevision } from '../core/rest-revisions.ts';
import { PROBLEM_JSON } from '../http/problem.ts';
import { ErrorResponse, problemExample } from './shared/error-response.ts';
import { ref } from './shared/schema.ts';
import { shareResponses } from './shared/share-responses.ts';

const WITH_KEY: FailureKind[] = ['unauthorized', 'forbidden', 'tooManyRequests', 'internal', 'unavailable'];
const WITH_BODY: FailureKind[] = ['badRequest', 'contentTooLarge', 'unsupportedMediaType', 'unprocessable'];
/** An unexpected body is still read and checked, then ignored. */
const WITH_IGNORED_BODY: FailureKind[] = ['badRequest', 'contentTooLarge', 'unsupportedMediaType', 'unprocessable'];

const header = (type: 'string' | 'integer', description: string) => ({ description, schema: { type } });
const always = (type: 'string' | 'integer', description: string) => ({ ...header(type, description), required: true });
/** Users without a limit get no `RateLimit` headers; all other headers are always present where declared. */
const HEADERS = {
  'x-request-id': always('string', 'Identifies this response; the server’s log shows the same id.'),
  RateLimit: header(
    'string',
    'Structured-field list: per window, `r` requests remaining and `t` seconds until it resets.',
  ),
  'RateLimit-Policy': header(
    'string',
    'Structured-field list: per window, its quota `q` and its length `w` in seconds.',
  ),
  'Retry-After': always('integer', 'Seconds until the exhausted window resets; the longest, if there are several.'),
  'WWW-Authenticate': always('string', 'Always `Bearer`.'),
};

/**
 * Returns what a revision's description says beyond the routes' own schemas. Error responses are added here: in the routes they would repeat
 * each other, and Fastify would compile a serializer for each.
 */
export const describeApi = (revision: RestRevision): SwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Podyard',
      version: '2.0.0',
      description: `Your own serverless compute cloud: revision ${revision} of the API. Operations tagged \`podyard\` are extensions of the public API.`,
    },
    servers: [{ url: 'http://127.0.0.1:8080' }],
    tags: [
      { name: 'pods', description: 'Containers that run until you stop them.' },
      { name: 'clusters', description: 'Pods that are placed together, on a network of their own.' },
      { name: 'serverless', description: 'Endpoints: autoscaled workers behind a queue or a load balancer.' },
      { name: 'templates', description: 'Reusable settings for pods and endpoints.' },
      { name: 'network-volumes', description: 'Persistent storage in a data center.' },
      { name: 'registries', description: 'Credentials for pulling private images.' },
      { name: 'catalog', description: 'GPU types, CPU flavors and data centers, with their availability.' },
      { name: 'billing', description: 'Usage and its cost, metered by the minute.' },
      { name: 'podyard', description: 'Podyard only: not part of the public API.' },
    ],
    components: { headers: HEADERS, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    security: [{ bearer: [] }],
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, i) => String(json.$id ?? `schema-${i}`),
  },
  transform: ({ schema, url, route }) => {
    if (!schema || schema.hide) return { schema, url };
    return { schema: { ...schema, response: { ...(schema.response as object), ...problemsOf(route) } }, url };
  },
  transformObject: (document) => {
    if (!('openapiObject' in document)) return {};
    for (const path of Object.values(document.openapiObject.paths ?? {})) {
      for (const operation of Object.values(path ?? {})) {
        if (typeof operation === 'object' && 'responses' in operation) nameHeaders(operation.responses ?? {});
      }
    }
    shareResponses(document.openapiObject);
    return document.openapiObject;
  },
});

/** Declares the headers of every response. Operations without a 401 need no key and are not rate limited. */
function nameHeaders(responses: Record<string, object>): void {
  for (const [status, response] of Object.entries(responses)) {
    const isCounted = '401' in responses && status !== '401';
    const names: (keyof typeof HEADERS)[] = [
      'x-request-id',
      ...(isCounted ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
      ...(status === '401' ? (['WWW-Authenticate'] as const) : []),
      ...(status === '429' ? (['Retry-After'] as const) : []),
    ];
    const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
    Object.assign(response, { headers });
  }
}

function problemsOf({ method, config, schema }: RouteOptions): Record<string, object> {
  const kinds = [
    ...(config?.permission === 'public' ? [] : WITH_KEY),
    ...(schema?.body === undefined ? [] : WITH_BODY),
    ...(method !== 'GET' && schema?.body === undefined ? WITH_IGNORED_BODY : []),
    ...(config?.failures ?? []),
  ];
  const problem = (description: string, more: object = {}) => ({
    description,
    content: { [PROBLEM_JSON]: { schema: ref(ErrorResponse), ...more } },
  });
  const declared = kinds.map((kind) => {
    const { status, title } = FAILURES[kind];
    return [status, problem(title, { example: problemExample(kind) })] as const;
  });
  return { ...Object.fromEntries(declared), default: problem('Any other error.') };
}
