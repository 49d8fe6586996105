import type { SwaggerOptions } from '@fastify/swagger';
import type { RouteOptions } from 'fastify';
import { FAILURES, type FailureKind } from '../../core/errors.ts';
import type { Examples } from '../shared/example-values.ts';
import { ref } from '../shared/schema.ts';
import { shareResponses } from '../shared/share-responses.ts';
import {
  BillingRecord,
  BillingRecords,
  NetworkVolumeBillingRecord,
  NetworkVolumeBillingRecords,
} from './v1-billing.ts';
import { EndpointCreateInput, EndpointUpdateInput, V1Endpoint, V1Endpoints } from './v1-endpoints.ts';
import { V1Error } from './v1-error.ts';
import { V1_EXAMPLES } from './v1-examples.ts';
import { PodCreateInput, PodUpdateInput } from './v1-pod-inputs.ts';
import { V1Pod, V1Pods } from './v1-pods.ts';
import { ContainerRegistryAuth, ContainerRegistryAuthCreateInput, ContainerRegistryAuths } from './v1-registries.ts';
import { TemplateCreateInput, TemplateUpdateInput, V1Template, V1Templates } from './v1-templates.ts';
import { NetworkVolumeCreateInput, NetworkVolumeUpdateInput, V1NetworkVolume, V1NetworkVolumes } from './v1-volumes.ts';

/** Every schema that the description of version 1 lists under its own name. */
export const V1_SCHEMAS = [
  V1Error,
  V1NetworkVolume,
  V1NetworkVolumes,
  NetworkVolumeCreateInput,
  NetworkVolumeUpdateInput,
  V1Template,
  V1Templates,
  TemplateCreateInput,
  TemplateUpdateInput,
  V1Pod,
  V1Pods,
  PodCreateInput,
  PodUpdateInput,
  V1Endpoint,
  V1Endpoints,
  EndpointCreateInput,
  EndpointUpdateInput,
  ContainerRegistryAuth,
  ContainerRegistryAuths,
  ContainerRegistryAuthCreateInput,
  BillingRecord,
  BillingRecords,
  NetworkVolumeBillingRecord,
  NetworkVolumeBillingRecords,
] as const;

const WITH_KEY: FailureKind[] = [
  'badRequest',
  'unauthorized',
  'forbidden',
  'tooManyRequests',
  'internal',
  'unavailable',
];
const WITH_BODY: FailureKind[] = ['contentTooLarge', 'unsupportedMediaType'];

const EXAMPLES: Examples = V1_EXAMPLES;

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
    const schemas = document.openapiObject.components?.schemas ?? {};
    for (const [name, schema] of Object.entries(schemas)) {
      if (name in EXAMPLES) Object.assign(schema, { examples: [EXAMPLES[name]] });
    }
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
