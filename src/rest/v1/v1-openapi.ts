import type { SwaggerOptions } from '@fastify/swagger';
import type { RouteOptions } from 'fastify';
import { FAILURES, type FailureKind } from '../../core/errors.ts';
import { ref } from '../shared/schema.ts';
import { shareResponses } from '../shared/share-responses.ts';
import { V1Error } from './v1-error.ts';

const WITH_KEY: FailureKind[] = [
  'badRequest',
  'unauthorized',
  'forbidden',
  'tooManyRequests',
  'internal',
  'unavailable',
];
const WITH_BODY: FailureKind[] = ['contentTooLarge', 'unsupportedMediaType'];

export const V1_OPENAPI: SwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Podyard, REST version 1',
      version: '1.0.0',
      description: 'For clients that were written for version 1. New clients use version 2, which can say more.',
    },
    servers: [{ url: 'http://127.0.0.1:8080' }],
    tags: ['pods', 'endpoints', 'templates', 'network volumes', 'container registry auths', 'billing'].map((name) => ({
      name,
    })),
    components: { securitySchemes: { ApiKey: { type: 'http', scheme: 'bearer' } } },
    security: [{ ApiKey: [] }],
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, i) => String(json.$id ?? `schema-${i}`),
  },
  transform: ({ schema, url, route }) => {
    if (!schema || schema.hide) return { schema, url };
    return { schema: { ...schema, response: { ...(schema.response as object), ...errorsOf(route) } }, url };
  },
  transformObject: (document) => {
    if (!('openapiObject' in document)) return {};
    shareResponses(document.openapiObject);
    return document.openapiObject;
  },
};

function errorsOf({ method, config, schema }: RouteOptions): Record<string, object> {
  const kinds = [
    ...WITH_KEY,
    ...(method === 'GET' && schema?.body === undefined ? [] : WITH_BODY), // an unexpected body is read, too
    ...(config?.failures ?? []),
  ];
  const error = (description: string) => ({
    description,
    content: { 'application/json': { schema: ref(V1Error) } },
  });
  const declared = kinds.map((kind) => [FAILURES[kind].status, error(FAILURES[kind].title)] as const);
  return { ...Object.fromEntries(declared), default: error('Any other error.') };
}
