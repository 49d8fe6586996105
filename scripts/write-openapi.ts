import { readFile, writeFile } from 'node:fs/promises';
import swagger, { type SwaggerOptions } from '@fastify/swagger';
import { generateTypes } from '../console/generate-types.ts';
import { projectSchemaOf } from '../src/cli/deploy/project-schema.ts';
import { NO_WORKLOAD_OPTIONS } from '../src/config/workload-option-settings.ts';
import { silentLogger } from '../src/core/logger.ts';
import { REST_REVISIONS } from '../src/core/rest-revisions.ts';
import { unlimited } from '../src/http/floods/rate-limiter.ts';
import { buildRestApp, OPENAPI_FILES } from '../src/rest/app.ts';
import { describeApi } from '../src/rest/openapi.ts';
import type { NamedSchemas } from '../src/rest/shared/example-values.ts';
import type { RestApp, RestDeps } from '../src/rest/shared/rest-app.ts';
import { buildV1App } from '../src/rest/v1/app.ts';
import { V1_OPENAPI } from '../src/rest/v1/v1-openapi.ts';

/**
 * Writes the OpenAPI descriptions that servers answer with: `api/openapi.json`, one for each later revision, and one for REST v1, from the
 * routes themselves; the types of the revisions, for the command line; and the schema of podyard.yaml. With `--check` it writes nothing and fails when a file is out of date.
 */

const DEPS: RestDeps = {
  // The description depends on the routes alone: nothing here is used.
  pool: undefined as never,
  keyRing: undefined as never,
  bus: { publish: () => {}, subscribe: () => () => {} },
  rateLimiter: unlimited,
  answers: undefined as never,
  logSearches: undefined as never,
  secretBox: undefined as never,
  capacity: undefined as never,
  podFigures: undefined as never,
  facts: undefined as never,
  metrics: undefined as never,
  metricsPage: undefined as never,
  readiness: undefined as never,
  logger: silentLogger,
  clock: { now: () => 0 },
  publicUrlFor: () => 'http://127.0.0.1:8080',
  lbHost: null,
  terminal: null,
  models: undefined as never,
  recipes: [],
  notices: undefined as never,
  webhooks: undefined as never,
  own: { isLocalOn: true },
  builds: { hindrance: null, findScarceDisk: async () => null },
  workloadOptions: NO_WORKLOAD_OPTIONS,
};

/** Members of a description that the types need not have: failures, texts and headers. */
const LEFT_OUT = /^(?:[345]\d\d|default|description|summary|examples?|headers)$/;

const schemas: Parameters<typeof projectSchemaOf>[0][] = [];
for (const revision of REST_REVISIONS) {
  const describe = describeBy(describeApi(revision));
  const description = await descriptionOf(buildRestApp(DEPS, { revision, isWhole: true, describe }));
  const name = OPENAPI_FILES[revision];
  await write(name, description);
  schemas.push(JSON.parse(description).components.schemas);
  await write(name.replace('.json', '.d.ts'), await typesOf(description));
}
await write('podyard-yaml.json', `${JSON.stringify(projectSchemaOf(schemas[0]!, schemas[1]!), null, 2)}\n`);
await write('openapi-v1.json', await descriptionOf(buildV1App(DEPS, describeBy(V1_OPENAPI))));

function describeBy(options: SwaggerOptions): (app: RestApp, schemas: NamedSchemas) => void {
  return (app, schemas) => {
    for (const [schema, example] of schemas) app.addSchema({ ...schema, examples: [example] });
    app.register(swagger, options);
  };
}

async function descriptionOf(app: RestApp): Promise<string> {
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  return text;
}

/** Returns the types of requests and of successful responses. The generator is the console's, with the TypeScript that it needs. */
async function typesOf(description: string): Promise<string> {
  const document = JSON.parse(description, (key, value) =>
    LEFT_OUT.test(key) && !isSchema(value) ? undefined : value,
  );
  const types = await generateTypes(document);
  const saysNothing =
    /^ +(?:\w+\?: never;|headers: \{\s+\[name: string\]: unknown;\s+\};|\/\*\* @enum \{string\} \*\/)\n/gm;
  return types
    .replaceAll(saysNothing, '')
    .replaceAll(/\{\s+\}/g, '{}')
    .replaceAll('    ', '  ');
}

/** True for a member of a record that is called like a part of the description. */
function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('type' in value || 'anyOf' in value);
}

async function write(name: string, text: string): Promise<void> {
  const file = new URL(`../api/${name}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`api/${name} is not up to date: run \`node scripts/write-openapi.ts\` and commit what it writes.`);
    process.exitCode = 1;
  }
}
