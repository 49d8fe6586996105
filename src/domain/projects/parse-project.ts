import { readFile } from 'node:fs/promises';
import type { ErrorObject } from 'ajv';
import { type Document, isMap, isNode, LineCounter, type Node, parseDocument } from 'yaml';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { fits } from './fits-schema.ts';

/** The members of an endpoint in podyard.yaml on which others depend. */
export interface ProjectFields {
  name?: string;
  gpu?: object;
  cpu?: object;
  image?: string;
  build?: object;
  env?: Record<string, string>;
  secrets?: Record<string, string>;
}

const SCHEMA = new URL('api/podyard-yaml.json', OWN_PACKAGE);
/** The schema is valid, which tests say, and used once: neither checking nor optimizing it pays. */
const AJV = {
  ...{ allErrors: true, strict: false, validateFormats: false, verbose: true },
  ...{ validateSchema: false, meta: false, code: { optimize: false } },
} as const;
/** Where the parser's own words are for programmers. */
const YAML_FAULTS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this field is there already, further up',
  MULTIPLE_DOCS: 'a second document begins here: keep one',
};
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  object: 'a map of fields',
  array: 'a list',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};
const MAX_CHARS = 1_000_000;
const MAX_FAULTS = 10;

/** Returns the endpoints of a podyard.yaml, valid by its schema. Throws a `UsageError` with each fault, its line and column. */
export async function parseProject<Endpoint extends ProjectFields>(file: string, text: string): Promise<Endpoint[]> {
  if (text.length > MAX_CHARS) throw new UsageError(`${file} has more than ${MAX_CHARS} characters`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const [broken] = document.errors;
  if (broken) throw new UsageError(`${place(broken.pos[0])}: ${YAML_FAULTS[broken.code] ?? broken.message}`);
  const value = toPlain(document, file);
  if (value === null) return [{} as Endpoint];
  const schema = JSON.parse(await readFile(SCHEMA, 'utf8')) as Record<string, unknown>;
  const faults = fits(value, schema) ? ownFaults(value as Project) : await findFaults(value, schema);
  if (faults.length === 0) return ((value as Project).endpoints ?? [value as ProjectFields]) as Endpoint[];
  const texts = faults.map(({ path, key, text: what }) => `${place(offsetOf(document, path, key))}: ${what}`);
  throw new UsageError([...new Set(texts)].slice(0, MAX_FAULTS).join('\n'));
}

async function findFaults(value: unknown, schema: object): Promise<Fault[]> {
  const { Ajv } = await import('ajv');
  const validate = new Ajv(AJV).compile(schema);
  return validate(value) ? ownFaults(value as Project) : worded(validate.errors!);
}

type Project = ProjectFields & { endpoints?: (ProjectFields & { name: string })[] };

function toPlain(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`); // aliases that multiply, or without an anchor
  }
}

interface Fault {
  path: (string | number)[];
  /** The fault is a key of the map at `path`. */
  key?: string;
  text: string;
}

/** Rules that the schema cannot express. */
function ownFaults({ endpoints, ...rest }: Project): Fault[] {
  if (endpoints === undefined) return faultsOf(rest, []);
  const [beside] = Object.keys(rest);
  if (beside !== undefined) {
    return [{ path: [], key: beside, text: `${beside} stands beside endpoints: move it into one of them` }];
  }
  const twice = endpoints.findIndex(({ name }, i) => endpoints.findIndex((other) => other.name === name) < i);
  const double = { path: ['endpoints', twice, 'name'], text: `two endpoints are named '${endpoints[twice]?.name}'` };
  return [...endpoints.flatMap((one, i) => faultsOf(one, ['endpoints', i])), ...(twice < 0 ? [] : [double])];
}

function faultsOf({ gpu, cpu, image, build, env = {}, secrets = {} }: ProjectFields, path: Fault['path']): Fault[] {
  const faults: Fault[] = [];
  if (gpu && cpu) faults.push({ path, key: 'cpu', text: 'gpu and cpu exclude each other' });
  if (image !== undefined && build) faults.push({ path, key: 'image', text: 'image and build exclude each other' });
  const both = Object.keys(secrets).find((name) => Object.hasOwn(env, name));
  if (both !== undefined)
    faults.push({ path: [...path, 'secrets'], key: both, text: `env and secrets both set ${both}` });
  return faults;
}

function worded(errors: readonly ErrorObject[]): Fault[] {
  return errors.map((error) => {
    const path = error.instancePath
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const name = path.join('.') || 'the file';
    const { additionalProperty, missingProperty, allowedValues } = error.params as Record<string, unknown>;
    if (typeof additionalProperty === 'string') {
      const known = Object.keys((error.parentSchema as { properties?: object }).properties ?? {});
      const where = path.length === 0 ? '' : ` of ${name}`;
      return {
        path,
        key: additionalProperty,
        text: `'${additionalProperty}' is not a field${where}${didYouMean(additionalProperty, known)}`,
      };
    }
    if (typeof missingProperty === 'string') return { path, text: `${name} lacks ${missingProperty}` };
    if (Array.isArray(allowedValues)) {
      const meant = typeof error.data === 'string' ? didYouMean(error.data, allowedValues as string[]) : '';
      return { path, text: `${name} must be one of ${allowedValues.join(', ')}${meant}` };
    }
    const isUnquoted = error.keyword === 'type' && error.params.type === 'string' && typeof error.data !== 'object';
    const hint = isUnquoted ? `: write "${error.data}" in quotes` : '';
    return { path, text: `${name} ${faultOf(error)}${hint}` };
  });
}

function faultOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  const types: string[] = keyword === 'type' ? [params.type].flat() : [];
  if (types.length > 0) return `must be ${types.map((type) => TYPES[type] ?? type).join(' or ')}`;
  if (keyword === 'minimum') return `must be at least ${params.limit}`;
  if (keyword === 'maximum') return `must be at most ${params.limit}`;
  return message
    .replace(/^must NOT have fewer than 1 items$/, 'must not be empty')
    .replace(/^must NOT have fewer than /, 'must have at least ')
    .replace(/^must NOT have more than /, 'must have at most ');
}

/** Returns where in the text a fault is: its key, its value, or what is nearest around. */
function offsetOf(document: Document, path: Fault['path'], key: string | undefined): number {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const inside = path.slice(0, depth).map((part) => (/^\d+$/.test(String(part)) ? Number(part) : part));
    const node = depth === 0 ? document.contents : (document.getIn(inside, true) as Node | undefined);
    if (!isNode(node)) continue;
    const pair = isMap(node) ? node.items.find((item) => String(item.key) === key) : undefined;
    const found = isNode(pair?.key) ? pair.key : node;
    return found.range?.[0] ?? 0;
  }
  return 0;
}
