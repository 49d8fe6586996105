import { Failure } from '../../core/errors.ts';
import { MAX_ENV_BYTES, MAX_ENV_NAMES, MAX_ENV_VALUE_BYTES } from '../../domain/containers/check-container.ts';
import { PORT_PATTERN } from '../../domain/containers/check-ports.ts';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import { IMAGE_PATTERN, MAX_REFERENCE_LENGTH } from '../../domain/images/image-reference.ts';
import { COMMAND, type Command, toArgs } from './command.ts';
import { optional } from './fields.ts';
import { MAX_INTEGER, nullableString } from './schema.ts';
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

const D = CONTAINER_DEFAULTS;

/** The settings in both revisions. The domain fills in the defaults, since a template may provide them. */
export const CONTAINER_FIELDS = {
  image: optional('image', CONTAINER.image),
  args: optional('args', CONTAINER.args, D.args),
  diskGb: optional('disk', CONTAINER.disk, D.diskGb),
  ports: optional('ports', CONTAINER.ports, D.ports),
  env: optional('env', CONTAINER.env, D.env),
  registryId: optional('registry', CONTAINER.registry, D.registryId),
};

/** `args` where a create may give an image's entrypoint and command in lists instead. */
export const ARGS_OR_COMMAND = {
  ...CONTAINER_FIELDS.args,
  create: { ...CONTAINER_FIELDS.args.create, ...COMMAND },
  /** Throws `badRequest` for both. */
  toNew: (body: { args?: string } & Partial<Command>) => {
    const command = toArgs(body);
    if (command === undefined || body.args === undefined) return body.args ?? command;
    throw new Failure('badRequest', 'args: cannot be given together with cmd or entrypoint');
  },
};
