import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { findImageFault, IMAGE_PATTERN } from '../../domain/images/image-reference.ts';
import { badTexts } from '../../http/bad-texts.ts';
import { MAX_ERRORS, validationFailure } from '../../http/validation-failure.ts';
import { BYTES } from '../shared/schema.ts';
import type { Wire } from '../shared/wire.ts';
import { useUniqueItems } from './unique-items.ts';

/**
 * Two validators: bodies are validated as they are, while the text of URLs is coerced. Neither removes unknown properties
 * nor fills in defaults. All failures are reported, in the form of docs/interface/rest.md, "Errors".
 */
/** Keywords whose failure only repeats another one that is listed as well. */
const LISTED_BESIDE = ['propertyNames', 'if'];
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

const SHARED: Options = {
  removeAdditional: false,
  useDefaults: false,
  allErrors: true,
  verbose: true,
  allowUnionTypes: true,
  discriminator: true,
  formats: {
    'date-time': (text: string) => RFC_3339.test(text) && !Number.isNaN(Date.parse(text)),
    float: true,
    uri: true,
  },
};

/** By `$id` of a schema. */
export type Hints = NonNullable<Wire['hints']>;

/** `schemas` are those with an `$id`. `hints`, by `$id`, explain a refused body further, or know what it means. */
export function createValidatorCompiler(schemas: readonly object[], hints: Hints = {}): FastifySchemaCompiler<object> {
  // Created when they are needed, and Ajv loaded: they read all schemas.
  let bodies: Ajv | undefined;
  let urls: Ajv | undefined;
  const compile = (schema: object, isBody: boolean): ValidateFunction => {
    const { Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
    urls ??= useUniqueItems(new Ajv({ ...SHARED, coerceTypes: true }));
    if (!isBody) return urls.compile(schema);
    bodies ??= useUniqueItems(new Ajv({ ...SHARED, coerceTypes: false })).addSchema([...schemas]);
    return bodies.compile(schema);
  };
  return ({ schema, httpPart }) => {
    if (schema === BYTES) return (value: unknown) => ({ value });
    const isBody = httpPart === 'body';
    const hint = hints[((schema as { $ref?: string }).$ref ?? '').replace('#', '')];
    let validate: ValidateFunction | undefined;
    const root = isBody ? '' : httpPart === 'querystring' ? 'query' : (httpPart ?? '');
    return (data: unknown) => {
      validate ??= compile(schema, isBody); // at the first request, to keep the start fast
      let value = data;
      if (!validate(data)) {
        const errors = describe(validate.errors ?? [], root);
        value = hint?.read?.(data);
        if (value === undefined || !validate(value)) {
          return { error: validationFailure([...errors, ...(hint?.explain(data) ?? [])]) };
        }
      }
      const errors = [...badTexts(value, root), ...infiniteNumbers(value, root)];
      return errors.length === 0 ? { value } : { error: validationFailure(errors) };
    };
  };
}

/** Rejects infinite numbers: `1e999` in a query is coerced to one, and passes every limit. */
function infiniteNumbers(data: unknown, root: string): string[] {
  return Object.entries(data ?? {})
    .filter(([, value]) => typeof value === 'number' && !Number.isFinite(value))
    .map(([name]) => `${root}/${name}: must be a finite number`);
}

function describe(errors: readonly ErrorObject[], root: string): string[] {
  return errors
    .filter((error) => !LISTED_BESIDE.includes(error.keyword))
    .slice(0, MAX_ERRORS)
    .map((error) => `${location(root, error.instancePath)}: ${failureText(error)}`);
}

function location(root: string, path: string): string {
  return `${root}${path}` || '$';
}

/** The pattern of image references is long; what is wrong with one is short. */
function imageFault({ params, data }: ErrorObject): string | null {
  return params.pattern === IMAGE_PATTERN ? findImageFault(data as string) : null;
}

/** The names in a `oneOf` of members that require exactly one, the only kind there is. */
function alternatives(schema: unknown): string[] {
  return (schema as { required?: string[] }[]).flatMap(({ required = [] }) => required);
}

/** The values of the member that says which of the alternatives an object is. */
function tags({ params, parentSchema }: ErrorObject): string[] {
  const { oneOf } = parentSchema as { oneOf: { properties: Record<string, { enum: string[] }> }[] };
  return oneOf.flatMap(({ properties }) => properties[params.tag]!.enum);
}

function failureText(error: ErrorObject): string {
  if (error.propertyName !== undefined) return `name '${error.propertyName}' ${error.message}`;
  switch (error.keyword) {
    case 'additionalProperties':
      return `additional property '${error.params.additionalProperty}' is not allowed`;
    case 'enum':
      return `must be one of ${error.params.allowedValues.join(', ')}`;
    case 'type':
      return `must be ${[error.params.type].flat().join(' or ')}`;
    case 'format':
      return `must be a ${error.params.format}`;
    case 'oneOf':
      return `must have exactly one of ${alternatives(error.schema).join(', ')}`;
    case 'discriminator':
      return `${error.params.tag} must be one of ${tags(error).join(', ')}`;
    case 'not':
      return error.parentSchema?.description ?? error.message!;
    case 'pattern':
      return imageFault(error) ?? error.message!;
    default:
      return error.message ?? error.keyword;
  }
}
