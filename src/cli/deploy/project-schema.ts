/**
 * The schema of podyard.yaml, made from REST's own: `node scripts/write-openapi.ts` writes it to api/podyard-yaml.json, which the
 * command line validates with and editors complete from.
 */
import { REGISTRY_HOST } from '../../domain/images/image-reference.ts';

interface Schema {
  [member: string]: unknown;
  properties?: Record<string, Schema>;
}

/** Fields that podyard.yaml has under the names of REST. */
const FIELDS = [
  'name',
  'type',
  'gpu',
  'image',
  'args',
  'disk',
  'ports',
  'env',
  'registry',
  'workers',
  'scaling',
  'dataCenterIds',
  'timeout',
  'flashboot',
] as const;

const text = (description: string) => ({ type: 'string', minLength: 1, description });
const texts = (description: string) => ({ type: 'array', items: { type: 'string', minLength: 1 }, description });

const BUILD: Schema = {
  type: 'object',
  description: 'How the folder becomes an image. What is left out is found in the folder.',
  properties: {
    dockerfile: text('Path of the Dockerfile in the folder.'),
    target: text('The stage of the Dockerfile to build.'),
    args: { type: 'object', additionalProperties: { type: 'string' }, description: 'Values of the Dockerfile’s ARGs.' },
    handler: text('The function to serve: a file, or a file and a name such as `src/app.py:run`.'),
    command: { ...texts('The program to start instead of a function.'), minItems: 1 },
    base: text('The image to begin with, such as a CUDA image.'),
    python: { type: 'string', pattern: '^3\\.[0-9]{1,2}$', description: 'Version of Python, such as "3.12".' },
    node: { type: 'string', pattern: '^[0-9]{2}$', description: 'Version of Node.js, such as "24".' },
    systemPackages: { ...texts('Packages of the system, such as ffmpeg.'), uniqueItems: true },
    secrets: {
      type: 'object',
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' },
      additionalProperties: { type: 'string', minLength: 1 },
      description: 'Names of secrets, by the variable with which the installation of dependencies finds each.',
    },
    registries: {
      type: 'object',
      propertyNames: { pattern: REGISTRY_HOST.source },
      additionalProperties: { type: 'string', minLength: 1 },
      description:
        'Registries, by name or id, whose credentials pull private images, by the host with which those begin.',
    },
  },
  additionalProperties: false,
};

/** A model without patterns and token is its source alone. */
function modelsOf({ items, ...models }: Schema): Schema {
  const { description: _, ...item } = items as Schema;
  return { ...models, items: { ...item, type: ['string', 'object'], minLength: 1 } };
}

/** Returns the schema, from the schemas of both revisions: the later one alone has CPU flavors. */
export function projectSchemaOf(schemas: Record<string, Schema>, newer: Record<string, Schema>): Schema {
  const rest = schemas.CreateEndpointRequest!.properties!;
  const { examples: _, description: __, ...schedule } = schemas.ReplaceScheduleRequest!;
  const properties: Record<string, Schema> = {
    ...Object.fromEntries(FIELDS.map((name) => [name, rest[name]!])),
    cpu: newer.CreateEndpointRequest!.properties!.cpu!,
    volumes: texts('Network volumes, by name or id.'),
    secrets: {
      type: 'object',
      propertyNames: { pattern: '^[^=]+$' },
      additionalProperties: { type: 'string', minLength: 1 },
      description: 'Names of secrets, by the environment variable that holds each in a worker.',
    },
    schedule: { ...schedule, description: 'Floors of workers by weekday and time of day.' },
    models: modelsOf(schemas.ReplaceEndpointModelsRequest!.properties!.models!),
    build: BUILD,
  };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'podyard.yaml',
    description: 'An endpoint, or several under `endpoints`. Fields are those of the REST API.',
    type: 'object',
    properties: {
      ...properties,
      endpoints: {
        type: 'array',
        minItems: 1,
        items: { $ref: '#/definitions/endpoint' },
        description: 'Several endpoints of one folder.',
      },
    },
    additionalProperties: false,
    definitions: { endpoint: { type: 'object', required: ['name'], properties, additionalProperties: false } },
  };
}
