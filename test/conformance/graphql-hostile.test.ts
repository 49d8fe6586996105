import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/graphql.md, "Limits": hostile documents are refused with a 400 before they cost anything, and the next
 * request is answered as ever.
 */
let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  await rest.graphql('{ __typename }');
});

const many = (count: number, text: (i: number) => string) => Array.from({ length: count }, (_, i) => text(i)).join(' ');

const HOSTILE: Record<string, string> = {
  'a deep selection': `${'{ myself '.repeat(3_000)}{ id }${'}'.repeat(3_000)}`,
  'a selection as deep as a document can be': '{a'.repeat(50_000),
  'a deep list as a literal': `mutation { saveTemplate(input: ${'['.repeat(5_000)}${']'.repeat(5_000)}) { id } }`,
  'a deep object as a literal': `mutation { saveTemplate(input: ${'{a:'.repeat(4_000)}1${'}'.repeat(4_000)}) { id } }`,
  'a deep list as a type': `query ($a: ${'['.repeat(7_000)}Int${']'.repeat(7_000)}) { myself { id } }`,
  'deep inline fragments': `{ ${'... { '.repeat(3_000)} __typename ${'}'.repeat(3_000)} }`,
  'thousands of aliases of a query': `{ ${many(4_000, (i) => `a${i}: gpuTypes { id }`)} }`,
  'thousands of aliases of a mutation': `mutation { ${many(900, (i) => `a${i}: deleteEndpoint(id: "x")`)} }`,
  'thousands of aliases of a field': `{ myself { ${many(5_000, (i) => `a${i}: id`)} } }`,
  'the same field thousands of times': `{ myself { ${'id '.repeat(10_000)} } }`,
  'the same field with other arguments, thousands of times': `{ ${many(1_500, (i) => `a: podTemplate(id: "${i}") { id }`)} }`,
  'a fragment that spreads itself': '{ ...F } fragment F on Query { __typename ...F }',
  'a cycle of a thousand fragments': `{ ...F0 } ${many(1_000, (i) => `fragment F${i} on Query { ...F${(i + 1) % 1_000} }`)}`,
  'fragments that double': `{ myself { ...F0 } } ${many(40, (i) => `fragment F${i} on User { ...F${i + 1} ...F${i + 1} }`)} fragment F40 on User { id }`,
  'a fragment spread thousands of times': `{ myself { ${'...F '.repeat(3_000)} } } fragment F on User { id email pubKey }`,
  'thousands of fragments that nothing uses': `{ __typename } ${many(1_500, (i) => `fragment F${i} on User { id }`)}`,
  'thousands of variables': `query (${many(2_500, (i) => `$v${i}: Int`)}) { __typename }`,
  'thousands of directives': `{ __typename ${'@skip(if: false) '.repeat(2_500)} }`,
  'thousands of operations': many(2_000, (i) => `query Q${i} { __typename }`),
  'introspection that multiplies': `{ __schema { types { ${'fields { type { '.repeat(6)} name ${'} } '.repeat(6)} } } }`,
  'more tokens than a document may have': `{ __typename } ${'# x\n'.repeat(2_000)}`,
  'a number of 90,000 digits': `mutation { createNetworkVolume(input: {name: "a", size: ${'9'.repeat(90_000)}, dataCenterId: "x"}) { id } }`,
  'a name of 90,000 letters': `{ ${'a'.repeat(90_000)} }`,
  'an unterminated text': `mutation { secretCreate(input: {name: "${'a'.repeat(90_000)}`,
  'an unknown field with a long literal beside it': `mutation { secretCreate(input: {name: "a", value: "${'s'.repeat(90_000)}", x: 1}) { id } }`,
};

test.each(Object.keys(HOSTILE))('%s', async (name) => {
  const payload = { query: HOSTILE[name], operationName: name.includes('operations') ? 'Q0' : null };
  const before = process.cpuUsage();
  const response = await rest.callGraphql({ method: 'POST', url: `/graphql?api_key=${rest.alice.key}`, payload });
  const { user, system } = process.cpuUsage(before);
  expect(response.statusCode).toBe(400);
  const { errors } = response.json();
  expect(errors[0].extensions.code).toBe('BAD_USER_INPUT');
  expect(response.body.length).toBeLessThan(20_000);
  expect((user + system) / 1_000).toBeLessThan(5_000); // milliseconds of a processor, unless the cost is quadratic
  const { data } = await rest.graphql('{ myself { id } }', { key: rest.alice.key });
  expect(data).toEqual({ myself: { id: rest.alice.userId } });
});

test('variables nested as deeply as a body allows are rejected', async () => {
  const deep =
    '{"query": "mutation ($c: JSON) { saveTemplate(input: {name: \\"a\\", imageName: \\"i\\", containerDiskInGb: 1, volumeInGb: 0, config: $c}) { id } }", "variables": {"c": ';
  const response = await rest.callGraphql({
    method: 'POST',
    url: `/graphql?api_key=${rest.alice.key}`,
    headers: { 'content-type': 'application/json' },
    payload: `${deep}${'['.repeat(40_000)}${']'.repeat(40_000)}}}`,
  });
  expect(response.json().errors[0].extensions.code).toBe('BAD_USER_INPUT');
});

test('a large literal within the limits is accepted unchanged', async () => {
  const readme = 'x'.repeat(90_000);
  const { data } = await rest.graphql(
    `mutation { saveTemplate(input: {name: "large", imageName: "i", containerDiskInGb: 1, volumeInGb: 0, readme: "${readme}"}) { readme } }`,
    { key: rest.alice.key },
  );
  expect(data.saveTemplate.readme).toBe(readme);
});
