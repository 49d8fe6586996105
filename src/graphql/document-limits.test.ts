import { getIntrospectionQuery, parse } from 'graphql';
import { expect, test } from 'vitest';
import { checkLimits, checkNesting, countRootFields } from './document-limits.ts';

const check = (text: string) => () => checkLimits(parse(text));
const nested = (depth: number) => `${'{a'.repeat(depth)}${'}'.repeat(depth)}`;

test('the introspection query passes', () => {
  expect(check(getIntrospectionQuery())).not.toThrow();
});

test('16 levels of fields pass, 17 do not, also within fragments', () => {
  expect(check(nested(16))).not.toThrow();
  expect(check(nested(17))).toThrow('16 fields deep');
  expect(check(`{ a ${'{ ...F }'} } fragment F on T ${nested(15)}`)).not.toThrow();
  expect(check(`{ a ${'{ ...F }'} } fragment F on T ${nested(16)}`)).toThrow('16 fields deep');
  expect(check(`{ a { ... on T ${nested(16)} } }`)).toThrow('16 fields deep');
});

test('50 operations pass, 51 do not', () => {
  const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, i) => `a${i}: a`).join(' ')} }`;
  expect(check(aliases(50))).not.toThrow();
  expect(check(aliases(51))).toThrow('cost');
});

test('a fragment’s fields count as often as it is spread, and exponential spreads are rejected fast', () => {
  const doubling = Array.from({ length: 60 }, (_, i) => `fragment F${i} on T { ...F${i + 1} ...F${i + 1} }`).join(' ');
  expect(check(`{ a { ...F0 } } ${doubling} fragment F60 on T { b }`)).toThrow('cost');
});

test('brackets of any kind nest up to 64 levels, in literals and variables too', () => {
  const literal = (depth: number) => `{ a(x: ${'['.repeat(depth)}${']'.repeat(depth)}) }`;
  expect(check(literal(62))).not.toThrow();
  expect(check(literal(63))).toThrow('nested more than 64 levels deep');
  const value = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  expect(() => checkNesting(value(64), 'variables')).not.toThrow();
  expect(() => checkNesting(value(65), 'variables')).toThrow('variables is nested more than 64 levels deep.');
});

test('a fragment that contains itself, directly or not, is rejected', () => {
  expect(check('{ ...F } fragment F on T { a ...F }')).toThrow('The fragment "F" contains itself.');
  expect(check('{ a } fragment F on T { b { ...G } } fragment G on T { c { ...F } }')).toThrow('contains itself');
});

test('operations are counted through fragments; introspection does not count', () => {
  const count = (text: string) => {
    const document = parse(text);
    return countRootFields(document, document.definitions[0] as Parameters<typeof countRootFields>[1]);
  };
  expect(count('{ a b: a __typename }')).toBe(2);
  expect(count('{ ...F ... on Query { b } } fragment F on Query { c ...G } fragment G on Query { d }')).toBe(3);
});
