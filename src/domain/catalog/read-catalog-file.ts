import { readFile } from 'node:fs/promises';
import { Ajv, type ErrorObject } from 'ajv';
import { messageOf } from '../../core/errors.ts';
import { PORT_PATTERN } from '../containers/check-ports.ts';
import { findImageFault } from '../images/image-reference.ts';
import { type Catalog, type CatalogTemplate, COMPLIANCE, OWN_CATALOG, REGIONS, VOLUME_TYPES } from './catalog.ts';

/**
 * An operator's catalog: the lists of catalog.json, each optional. An entry replaces the built-in one with the same id, or is
 * added; with `"replace": true` a given list replaces the built-in one.
 */
interface CatalogFile extends Partial<Omit<Catalog, 'templates'>> {
  replace?: boolean;
  templates?: GivenTemplate[];
}

type GivenTemplate = Pick<CatalogTemplate, 'id' | 'name' | 'image'> & Partial<CatalogTemplate>;

const text = { type: 'string', minLength: 1 };
const price = { type: ['number', 'null'], minimum: 0 };
const count = { type: 'integer', minimum: 0 };

/** Returns the schema of an object with exactly these properties, and perhaps the optional ones. */
function record(properties: Record<string, object>, optional: Record<string, object> = {}): object {
  const required = Object.keys(properties);
  return { type: 'object', properties: { ...properties, ...optional }, required, additionalProperties: false };
}

function list(items: object): object {
  return { type: 'array', items, uniqueItems: true };
}

const gpu = record({
  id: text,
  name: text,
  pool: { type: ['string', 'null'], minLength: 1 },
  manufacturer: { enum: ['NVIDIA', 'AMD', 'UNKNOWN'] },
  memory: { type: 'number', exclusiveMinimum: 0 },
  secure: { type: 'boolean' },
  community: { type: 'boolean' },
  price: record({ secure: price, community: price }),
  maxCount: record({ secure: count, community: count }),
});

const cpu = record({
  id: text,
  name: text,
  group: text,
  vcpu: record({ min: { type: 'integer', minimum: 1 }, max: { type: 'integer', minimum: 1 } }),
  ramGbPerVcpu: { type: 'number', exclusiveMinimum: 0 },
  price: record({
    securePerVcpu: { type: 'number', minimum: 0 },
    serverlessPerVcpu: { type: 'number', minimum: 0 },
  }),
});

const dataCenter = record(
  {
    id: text,
    name: text,
    region: { enum: REGIONS },
    globalNetwork: { type: 'boolean' },
    networkVolumeTypes: list({ enum: VOLUME_TYPES }),
    compliance: list({ enum: COMPLIANCE }),
  },
  { countryCode: { type: 'string', pattern: '^[A-Z]{2}$' } },
);

const TEMPLATE_DEFAULTS: Omit<CatalogTemplate, 'id' | 'name' | 'image'> = {
  args: '',
  diskGb: 20,
  ports: [],
  env: {},
  persistentMount: null,
  category: 'NVIDIA',
  isServerless: false,
  readme: '',
};

const template = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
    name: text,
    image: text,
    args: { type: 'string' },
    diskGb: { type: 'integer', minimum: 1 },
    ports: list({ type: 'string', pattern: PORT_PATTERN }),
    env: { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { pattern: '^[^=\\0]+$' } },
    persistentMount: {
      anyOf: [
        { type: 'null' },
        record({ sizeGb: { type: 'integer', minimum: 1 }, path: { type: 'string', pattern: '^/' } }),
      ],
    },
    category: { enum: ['NVIDIA', 'AMD', 'CPU'] },
    isServerless: { type: 'boolean' },
    readme: { type: 'string' },
  },
  required: ['id', 'name', 'image'],
  additionalProperties: false,
};

const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<CatalogFile>({
  type: 'object',
  properties: {
    replace: { type: 'boolean' },
    gpuPools: list(text),
    gpus: list(gpu),
    cpus: list(cpu),
    dataCenters: list(dataCenter),
    templates: list(template),
  },
  additionalProperties: false,
});

/** Reads an operator's catalog. Throws an error with a line per problem, each with the file and the place in it. */
export async function readCatalogFile(file: string): Promise<Catalog> {
  const content = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new Error(`the catalog ${file} cannot be read: ${cause.message}`, { cause });
  });
  const given = parseJson(content, file);
  if (!validate(given)) throw new Error((validate.errors ?? []).map((error) => problemText(error, file)).join('\n'));
  const problems = findContradictions(given, merge(given));
  if (problems.length > 0) throw new Error(problems.map((problem) => `the catalog ${file}: ${problem}`).join('\n'));
  return merge(given);
}

function parseJson(content: string, file: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new Error(`the catalog ${file} is not valid JSON: ${messageOf(cause)}`, { cause });
  }
}

function problemText({ instancePath, message, params }: ErrorObject, file: string): string {
  const detail = params.additionalProperty ?? params.allowedValues?.join(', ');
  return `the catalog ${file}: ${instancePath || '$'}: ${message}${detail === undefined ? '' : `: ${detail}`}`;
}

function merge(given: CatalogFile): Catalog {
  const own = given.replace ? ({} as Partial<Catalog>) : OWN_CATALOG;
  const mergeById = <T extends { id: string }>(ours: readonly T[], theirs: readonly T[] | undefined, all: T[]): T[] => {
    if (theirs === undefined) return all;
    return [...ours.filter(({ id }) => !theirs.some((entry) => entry.id === id)), ...theirs];
  };
  return {
    gpuPools: given.gpuPools ? [...new Set([...(own.gpuPools ?? []), ...given.gpuPools])] : OWN_CATALOG.gpuPools,
    gpus: mergeById(own.gpus ?? [], given.gpus, OWN_CATALOG.gpus),
    cpus: mergeById(own.cpus ?? [], given.cpus, OWN_CATALOG.cpus),
    dataCenters: mergeById(own.dataCenters ?? [], given.dataCenters, OWN_CATALOG.dataCenters),
    templates: mergeById(
      own.templates ?? [],
      given.templates?.map((one) => ({ ...TEMPLATE_DEFAULTS, ...one })),
      OWN_CATALOG.templates,
    ),
  };
}

/** Checks what a schema cannot: repeated ids, undeclared pools, and ranges. */
function findContradictions(given: CatalogFile, merged: Catalog): string[] {
  const problems: string[] = [];
  for (const name of ['gpus', 'cpus', 'dataCenters', 'templates'] as const) {
    const ids = (given[name] ?? []).map((entry) => entry.id);
    ids.forEach((id, i) => {
      if (ids.indexOf(id) !== i) problems.push(`/${name}/${i}/id: '${id}' is listed twice`);
    });
  }
  (given.gpus ?? []).forEach(({ pool }, i) => {
    if (pool !== null && !merged.gpuPools.includes(pool)) {
      problems.push(`/gpus/${i}/pool: there is no pool '${pool}' in gpuPools`);
    }
  });
  (given.cpus ?? []).forEach(({ vcpu }, i) => {
    if (vcpu.min > vcpu.max) problems.push(`/cpus/${i}/vcpu: min must not be greater than max`);
  });
  (given.templates ?? []).forEach(({ image, isServerless, persistentMount }, i) => {
    const wrong = findImageFault(image);
    if (wrong !== null) problems.push(`/templates/${i}/image: ${wrong}`);
    if (isServerless && persistentMount) problems.push(`/templates/${i}: a serverless template has no persistentMount`);
  });
  return problems;
}
