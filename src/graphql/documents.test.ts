import { expect, test } from 'vitest';
import { Documents } from './documents.ts';
import { createSchema } from './schema.ts';

const documents = new Documents(createSchema(), true);
const problems = (text: string) => documents.prepare(text).errors?.map(({ message }) => message) ?? [];
const documentOf = (text: string) => {
  const prepared = documents.prepare(text);
  return prepared.errors ? undefined : prepared.document;
};

test('a document without values is parsed once', () => {
  const text = 'query ($id: String!) { podTemplate(id: $id) { id } }';
  expect(documentOf(text)).toBe(documentOf(text));
});

test('a document with values or comments is not cached', () => {
  for (const text of ['{ podTemplate(id: "secret") { id } }', '{ myself { id } } # secret']) {
    expect(documentOf(text)).not.toBe(documentOf(text));
  }
});

test('the values of a known shape are still validated', () => {
  const save = (disk: string, ports = '""') =>
    `mutation { saveTemplate(input: {name: "t", imageName: "i", containerDiskInGb: ${disk}, volumeInGb: 0, ports: ${ports}}) { id } }`;
  expect(problems(save('1'))).toEqual([]);
  expect(problems(save('2'))).toEqual([]);
  expect(problems(save('3000000000'))).toHaveLength(1);
  expect(problems(save('"1"'))).toHaveLength(1);
  expect(problems(save('1', 'HTTP'))).toHaveLength(1);
  const two = (one: string, other: string) => `{ podTemplate(id: "${one}") { id } podTemplate(id: "${other}") { id } }`;
  expect(problems(two('a', 'a'))).toEqual([]);
  expect(problems(two('a', 'b'))).toHaveLength(1);
  const enumAsText = (type: string) => `mutation { saveEndpoint(input: {type: "${type}"}) { id } }`;
  expect(problems(enumAsText('QB'))).toEqual([]);
  expect(problems(enumAsText('XX'))).toHaveLength(1);
});

test('documents that differ in more than values never share a shape', () => {
  expect(problems('{ a: myself { id } }')).toEqual([]);
  expect(problems('{ a: myself { ids } }')).toHaveLength(1);
  expect(problems('{ podTemplate(id: "x") { id } }')).toEqual([]);
  expect(problems('{ podTemplate(ids: "x") { id } }')).not.toEqual([]);
  expect(problems('{ podTemplate(id: "x") { i d } }')).not.toEqual([]);
});
