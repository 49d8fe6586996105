import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { NAMED_SCHEMAS as SCHEMAS } from './named-schemas.ts';
import { EXAMPLES } from './openapi.ts';
import { createValidatorCompiler } from './shared/validation.ts';

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

const NAMED_SCHEMAS = SCHEMAS as readonly object[] as readonly { $id: string }[];

let rest: RestFixture;
let description: Description;
beforeAll(async () => {
  rest = await startRestApp();
  description = (await rest.call('GET', '/v2/openapi.json')).json();
});
afterAll(() => rest.close());

const operations = () => Object.values(description.paths).flatMap((path) => Object.values(path));

test.each(NAMED_SCHEMAS.map((schema) => [schema.$id, schema] as const))(
  'the example of %s fits its schema',
  (name, schema) => {
    const compile = createValidatorCompiler(SCHEMAS);
    const validate = compile({ schema, method: 'POST', url: '/', httpPart: 'body' });
    expect(EXAMPLES[name]).toBeDefined();
    expect(validate(EXAMPLES[name])).toEqual({ value: EXAMPLES[name] });
    expect(description.components.schemas[name]?.examples).toEqual([EXAMPLES[name]]);
  },
);

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
