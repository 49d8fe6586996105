/** docs/interface/graphql.md, "Limits": a short document cannot ask for an answer that takes long or fills the memory. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

const TEMPLATES = 20;

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
  for (let i = 0; i < TEMPLATES; i++) {
    const input = `{name: "t${i}", imageName: "i", containerDiskInGb: 1, volumeInGb: 0, readme: "${'x'.repeat(40_000)}", env: [{key: "A", value: "${'y'.repeat(1_000)}"}]}`;
    await rest.graphql(`mutation { saveTemplate(input: ${input}) { id } }`, { key: rest.alice.key });
  }
});
afterAll(() => rest.close());

const many = (count: number, text: (i: number) => string) => Array.from({ length: count }, (_, i) => text(i)).join(' ');
const ask = (query: string) => rest.graphql(query, { key: rest.alice.key, status: 400 });

test('an answer of too much text is refused, whatever it asks for several times', async () => {
  const { errors } = await ask(`{ myself { podTemplates { ${many(30, (i) => `a${i}: readme`)} } } }`);
  expect(errors).toEqual([
    {
      message: 'The response would have more than 16 MiB of text: ask for fewer fields or records at a time.',
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ]);
  const values = many(900, (i) => `a${i}: value`);
  expect((await ask(`{ podTemplates { env { ${values} } } }`)).errors![0]!.message).toContain('16 MiB of text');
});

test('an answer of too many fields is refused, although each list is short', async () => {
  const env = many(500, (i) => `{key: "K${i}", value: ""}`);
  for (const name of ['large', 'larger']) {
    const input = `{name: "${name}", imageName: "i", containerDiskInGb: 1, volumeInGb: 0, env: [${env}]}`;
    await rest.graphql(`mutation { saveTemplate(input: ${input}) { id } }`, { key: rest.bob.key });
  }
  const query = (count: number) => `{ podTemplates { env { ${many(count, (i) => `a${i}: key`)} } } }`;
  const { data } = await rest.graphql(query(20), { key: rest.bob.key });
  expect(data.podTemplates[1].env).toHaveLength(500);
  const { errors } = await rest.graphql(query(600), { key: rest.bob.key, status: 400 });
  expect(errors).toEqual([
    {
      message:
        'The response would have more than 500000 fields, over all its records: ask for fewer fields or records at a time.',
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ]);
});
