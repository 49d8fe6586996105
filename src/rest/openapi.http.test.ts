import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveResponses } from '../../test/resolve-responses.ts';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';
import { namedSchemas } from './named-schemas.ts';
import { examplesOf } from './openapi.ts';
import { createValidatorCompiler } from './setup/validation.ts';
import { WIRES } from './wires.ts';

interface Media {
  schema?: { $ref?: string; examples?: unknown[] };
  example?: unknown;
}
interface Operation {
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { headers?: object; content?: Record<string, Media> }>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { examples?: unknown[] }> };
}

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

describe.each(REST_REVISIONS)('revision %s', (revision) => {
  const schemas = namedSchemas(WIRES[revision]);
  const EXAMPLES = examplesOf(WIRES[revision]);
  let description: Description;
  beforeAll(async () => {
    description = resolveResponses((await rest.call('GET', `/${revision}/v2/openapi.json`)).json());
  });

  const operations = () => Object.values(description.paths).flatMap((path) => Object.values(path));

  test.each(
    (schemas as readonly object[] as readonly { $id: string }[]).map((schema) => [schema.$id, schema] as const),
  )('the example of %s fits its schema', (name, schema) => {
    const compile = createValidatorCompiler(schemas);
    const validate = compile({ schema, method: 'POST', url: '/', httpPart: 'body' });
    expect(EXAMPLES[name]).toBeDefined();
    expect(validate(EXAMPLES[name])).toEqual({ value: EXAMPLES[name] });
    expect(description.components.schemas[name]?.examples).toEqual([EXAMPLES[name]]);
  });

  test('every example has a schema', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual(Object.keys(description.components.schemas).sort());
  });

  test('every request, response and error of every operation has an example', () => {
    expect(operations().length).toBeGreaterThan(40);
    for (const { requestBody, responses } of operations()) {
      const answers = Object.values(responses).map((response) => response.content);
      for (const content of [requestBody?.content, ...answers]) {
        for (const media of Object.values(content ?? {})) {
          const example =
            media.example ?? media.schema?.examples?.[0] ?? EXAMPLES[media.schema?.$ref?.split('/').at(-1) ?? ''];
          expect([media, example === undefined]).toEqual([media, false]);
        }
      }
    }
  });
});
