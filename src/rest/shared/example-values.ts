import type { TSchema } from 'typebox';

/** Values that the examples of several resources share: together they show one small cloud. */
export const ENDPOINT_ID = 'k3v8q2m7c1x9za';
export const USER_ID = 'usr1f7w2k9d4hs';
export const CREATED_AT = '2026-11-20T09:30:00.000Z';

export const CONTAINER_EXAMPLE = {
  image: 'ghcr.io/example/transcriber:1.4.0',
  args: '--model large',
  disk: 20,
  ports: ['8000/http'],
  env: { LOG_LEVEL: 'info' },
  registry: null,
};

/** Schemas that the description lists under their `$id`, each with an example. A test validates the examples. */
export type NamedSchemas = readonly (readonly [schema: TSchema, example: unknown])[];
