import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLSchema, isEnumType, isObjectType, Kind } from 'graphql';
import type { GraphqlCall, Resolvers } from './graphql-call.ts';
import { accountResolvers } from './resolvers/account-resolvers.ts';
import { catalogResolvers } from './resolvers/catalog-resolvers.ts';
import { endpointResolvers } from './resolvers/endpoint-resolvers.ts';
import { podResolvers } from './resolvers/pod-resolvers.ts';
import { registryResolvers } from './resolvers/registry-resolvers.ts';
import { secretResolvers } from './resolvers/secret-resolvers.ts';
import { templateResolvers } from './resolvers/template-resolvers.ts';
import { volumeResolvers } from './resolvers/volume-resolvers.ts';

const SCHEMA_FILE = new URL('../../api/schema.graphql', import.meta.url);

export const RESOLVERS: readonly Resolvers[] = [
  accountResolvers,
  templateResolvers,
  secretResolvers,
  endpointResolvers,
  podResolvers,
  catalogResolvers,
  volumeResolvers,
  registryResolvers,
];

/** The committed schema with its resolvers. Throws for a resolver of a field that there is not, and for one too many. */
export function createSchema(): GraphQLSchema {
  const schema = buildSchema(readFileSync(SCHEMA_FILE, 'utf8'));
  for (const resolvers of RESOLVERS) {
    for (const [typeName, fields] of Object.entries(resolvers)) attach(schema, typeName, fields);
  }
  for (const type of Object.values(schema.getTypeMap())) if (isEnumType(type)) takeTexts(type);
  return schema;
}

function attach(schema: GraphQLSchema, typeName: string, resolvers: Resolvers[string]): void {
  const type = schema.getType(typeName);
  const fields = isObjectType(type) ? type.getFields() : {};
  for (const [name, resolve] of Object.entries(resolvers)) {
    const field = fields[name];
    if (!field || field.resolve) throw new Error(`${typeName}.${name} is no field, or has two resolvers`);
    field.resolve = (parent: unknown, args: unknown, call: GraphqlCall) => resolve(parent, args, call);
  }
}

/** Clients write a member of an enum as a string literal, too (`type: "QB"`). */
function takeTexts(type: { coerceInputLiteral: (node: never, hide?: boolean | null) => unknown }): void {
  const original = type.coerceInputLiteral.bind(type) as (node: object, hide?: boolean | null) => unknown;
  type.coerceInputLiteral = (node: { kind: string; value?: unknown }, hide) =>
    original(node.kind === Kind.STRING ? { ...node, kind: Kind.ENUM } : node, hide);
}
