import { isInputObjectType, isObjectType, validateSchema } from 'graphql';
import { expect, test } from 'vitest';
import { createSchema, RESOLVERS } from './schema.ts';

const schema = createSchema();

test('the committed schema is valid', () => {
  expect(validateSchema(schema)).toEqual([]);
});

test('every operation has a resolver, and every resolver a field', () => {
  for (const root of [schema.getQueryType()!, schema.getMutationType()!]) {
    for (const [name, field] of Object.entries(root.getFields())) expect(field.resolve, name).toBeTypeOf('function');
  }
  const named = RESOLVERS.flatMap((resolvers) =>
    Object.entries(resolvers).flatMap(([type, fields]) => Object.keys(fields).map((field) => `${type}.${field}`)),
  );
  const resolved = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).flatMap((field) => (field.resolve ? [`${type.name}.${field.name}`] : []))
      : [],
  );
  expect(named.toSorted()).toEqual(resolved.filter((name) => !name.startsWith('__')).toSorted());
});

test.each([
  'SaveTemplateInput',
  'PodTemplateInput',
  'EnvironmentVariableInput',
  'SecretCreateInput',
  'EndpointInput',
  'PodFindAndDeployOnDemandInput',
  'PodStopInput',
  'PodResumeInput',
  'PodTerminateInput',
  'SaveRegistryAuthInput',
  'UpdateRegistryAuthInput',
  'CreateNetworkVolumeInput',
  'UpdateNetworkVolumeInput',
  'DeleteNetworkVolumeInput',
  'GpuTypeFilter',
  'GpuLowestPriceInput',
  'UpdateUserSettingsInput',
])('clients declare variables of type %s', (name) => {
  expect(isInputObjectType(schema.getType(name))).toBe(true);
});

test('`input` of a mutation is nullable, so clients may declare it either way', () => {
  for (const [name, field] of Object.entries(schema.getMutationType()!.getFields())) {
    const input = field.args.find((argument) => argument.name === 'input');
    if (input) expect(String(input.type), name).not.toMatch(/!$/);
  }
});
