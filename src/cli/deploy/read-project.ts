import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import { type Document, isMap, isNode, LineCounter, type Node, parseDocument } from 'yaml';
import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { ModelRequest } from '../models/endpoint-models.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';

type Create = Schemas['CreateEndpointRequest'];

/** An endpoint as podyard.yaml has it. */
export interface ProjectEndpoint extends Partial<Omit<Create, 'networkVolumes' | 'templateId' | 'models'>> {
  cpu?: NonNullable<NewerSchemas['CreateEndpointRequest']['cpu']>;
  volumes?: string[];
  secrets?: Record<string, string>;
  schedule?: Schemas['ReplaceScheduleRequest'];
  /** A model without patterns and token is its source alone. */
  models?: (string | ModelRequest)[];
  build?: ProjectBuild;
}

export interface ProjectBuild {
  dockerfile?: string;
  target?: string;
  args?: Record<string, string>;
  handler?: string;
  command?: string[];
  base?: string;
  python?: string;
  node?: string;
  systemPackages?: string[];
  secrets?: Record<string, string>;
  registries?: Record<string, string>;
}

const NAMES = ['podyard.yaml', 'podyard.yml'];
const SCHEMA = new URL('../../../api/podyard-yaml.json', import.meta.url);
const MAX_CHARS = 1_000_000;
const MAX_FAULTS = 10;

/**
 * Returns the endpoints of the folder's podyard.yaml; one without fields if there is none. Throws a `UsageError` with each fault, its
 * line and column.
 */
export async function readProject(folder: string): Promise<ProjectEndpoint[]> {
  const found = await Promise.all(NAMES.map((name) => readIfThere(join(folder, name))));
  if (found.every((text) => text !== null)) throw new UsageError(`${NAMES.join(' and ')} are both there: keep one`);
  const at = found.findIndex((text) => text !== null);
  return at < 0 ? [{}] : parseProject(NAMES[at]!, found[at]!);
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null; // the folder is looked at later
    throw error;
  });
}

export async function parseProject(file: string, text: string): Promise<ProjectEndpoint[]> {
  if (text.length > MAX_CHARS) throw new UsageError(`${file} has more than ${MAX_CHARS} characters`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const [broken] = document.errors;
  if (broken) throw new UsageError(`${place(broken.pos[0])}: ${broken.message}`);
  const value = toPlain(document, file);
  if (value === null) return [{}];
  const validate = new Ajv({ allErrors: true, strict: false, validateFormats: false, verbose: true }).compile(
    JSON.parse(await readFile(SCHEMA, 'utf8')),
  );
  const faults = validate(value) ? ownFaults(value as Project) : worded(validate.errors!);
  if (faults.length === 0) return (value as Project).endpoints ?? [value as ProjectEndpoint];
  const texts = faults.map(({ path, key, text: what }) => `${place(offsetOf(document, path, key))}: ${what}`);
  throw new UsageError([...new Set(texts)].slice(0, MAX_FAULTS).join('\n'));
}

type Project = ProjectEndpoint & { endpoints?: (ProjectEndpoint & { name: string })[] };

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

/** What the schema cannot say. */
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

function faultsOf({ gpu, cpu, image, build, env = {}, secrets = {} }: ProjectEndpoint, path: Fault['path']): Fault[] {
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
    return { path, text: `${name} ${error.message}${hint}` };
  });
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
