import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveResponses } from '../../test/resolve-responses.ts';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';
import { namedSchemas } from './named-schemas.ts';
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
  const named = namedSchemas(WIRES[revision]) as readonly (readonly [{ $id: string }, unknown])[];
  let description: Description;
  beforeAll(async () => {
    description = resolveResponses((await rest.call('GET', `/${revision}/v2/openapi.json`)).json());
  });

  const operations = () => Object.values(description.paths).flatMap((path) => Object.values(path));

  test.each(named.map(([schema, example]) => [schema.$id, schema, example] as const))(
    'the example of %s fits its schema',
    (name, schema, example) => {
      const compile = createValidatorCompiler(named.map(([one]) => one));
      const validate = compile({ schema, method: 'POST', url: '/', httpPart: 'body' });
      expect(example).toBeDefined();
      expect(validate(example)).toEqual({ value: example });
      expect(description.components.schemas[name]?.examples).toEqual([example]);
    },
  );

  test('every request, response and error of every operation has an example', () => {
    expect(operations().length).toBeGreaterThan(40);
    for (const { requestBody, responses } of operations()) {
      const answers = Object.values(responses).map((response) => response.content);
      for (const content of [requestBody?.content, ...answers]) {
        for (const media of Object.values(content ?? {})) {
          const example =
            media.example ??
            media.schema?.examples?.[0] ??
            description.components.schemas[media.schema?.$ref?.split('/').at(-1) ?? '']?.examples?.[0];
          expect([media, example === undefined]).toEqual([media, false]);
        }
      }
    }
  });
});
