import { MAX_ENV_BYTES, MAX_ENV_NAMES, MAX_ENV_VALUE_BYTES } from '../../domain/endpoints/check-container.ts';
import { PORT_PATTERN } from '../../domain/endpoints/check-ports.ts';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import { IMAGE_PATTERN, MAX_REFERENCE_LENGTH } from '../../domain/images/image-reference.ts';
import { byDefault, MAX_INTEGER, nullableString } from './schema.ts';
import { Type } from './type.ts';

/**
 * The container settings that templates, pods and endpoints share (docs/interface/rest.md, "Container settings").
 * Responses have all of them.
 */
export const CONTAINER = {
  image: Type.String({
    minLength: 1,
    maxLength: MAX_REFERENCE_LENGTH,
    pattern: IMAGE_PATTERN,
    description: 'Container image reference: `[registry/]path[:tag][@digest]`.',
  }),
  args: Type.String({
    description: 'Container arguments: shell-like, or a JSON string with `entrypoint` and `cmd`.',
  }),
  disk: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'Container disk in GB, wiped on restart.' }),
  ports: Type.Array(Type.String({ pattern: PORT_PATTERN }), { description: 'Ports as `<port>/<protocol>`.' }),
  env: Type.Unsafe<Record<string, string>>({
    type: 'object',
    propertyNames: { pattern: '^[^=]+$' },
    additionalProperties: { type: 'string', maxLength: MAX_ENV_VALUE_BYTES },
    maxProperties: MAX_ENV_NAMES,
    description: `Environment variables, ${MAX_ENV_BYTES / 1024} KiB in total. Replaced as a whole.`,
  }),
  registry: nullableString({
    minLength: 1,
    description: 'Identifier of a registry with credentials for a private image.',
  }),
};

/** The settings in an update, except the image, which each request treats differently. */
export const OPTIONAL_CONTAINER = {
  args: Type.Optional(CONTAINER.args),
  disk: Type.Optional(CONTAINER.disk),
  ports: Type.Optional(CONTAINER.ports),
  env: Type.Optional(CONTAINER.env),
  registry: Type.Optional(CONTAINER.registry),
};

/** The settings in a create, except the image. */
export const OPTIONAL_CONTAINER_WITH_DEFAULTS = {
  args: Type.Optional(byDefault(CONTAINER.args, CONTAINER_DEFAULTS.args)),
  disk: Type.Optional(byDefault(CONTAINER.disk, CONTAINER_DEFAULTS.diskGb)),
  ports: Type.Optional(byDefault(CONTAINER.ports, CONTAINER_DEFAULTS.ports)),
  env: Type.Optional(byDefault(CONTAINER.env, CONTAINER_DEFAULTS.env)),
  registry: Type.Optional(byDefault(CONTAINER.registry, CONTAINER_DEFAULTS.registryId)),
};
