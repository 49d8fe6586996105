import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLSchema, isEnumType, isObjectType, Kind } from 'graphql';
import { OWN_PACKAGE } from '../core/files/own-package.ts';
import type { GraphqlCall, Resolvers } from './graphql-call.ts';
import { accountResolvers } from './resolvers/account-resolvers.ts';
import { catalogResolvers } from './resolvers/catalog-resolvers.ts';
import { clusterResolvers } from './resolvers/cluster-resolvers.ts';
import { endpointResolvers } from './resolvers/endpoint-resolvers.ts';
import { podResolvers } from './resolvers/pod-resolvers.ts';
import { registryResolvers } from './resolvers/registry-resolvers.ts';
import { secretResolvers } from './resolvers/secret-resolvers.ts';
import { templateResolvers } from './resolvers/template-resolvers.ts';
import { volumeResolvers } from './resolvers/volume-resolvers.ts';

const SCHEMA_FILE = new URL('api/schema.graphql', OWN_PACKAGE);

/** The cost of a field with a resolver (answer-size.ts): it takes about as long as this many others. */
const RESOLVER_FIELDS = 5;

export const RESOLVERS: readonly Resolvers[] = [
  accountResolvers,
  templateResolvers,
  secretResolvers,
  endpointResolvers,
  podResolvers,
  clusterResolvers,
  catalogResolvers,
  volumeResolvers,
  registryResolvers,
];

/** Builds the committed schema with its resolvers. Throws for a resolver of an unknown field, and for a second one of a field. */
export function createSchema(): GraphQLSchema {
  const schema = buildSchema(readFileSync(SCHEMA_FILE, 'utf8'));
  for (const resolvers of RESOLVERS) {
    for (const [typeName, fields] of Object.entries(resolvers)) attach(schema, typeName, fields);
  }
  for (const type of Object.values(schema.getTypeMap())) if (isEnumType(type)) acceptStrings(type);
  return schema;
}

function attach(schema: GraphQLSchema, typeName: string, resolvers: Resolvers[string]): void {
  const type = schema.getType(typeName);
  const fields = isObjectType(type) ? type.getFields() : {};
  for (const [name, resolve] of Object.entries(resolvers)) {
    const field = fields[name];
    if (!field || field.resolve) throw new Error(`${typeName}.${name} is not a field, or has two resolvers`);
    field.resolve = (parent: unknown, args: unknown, call: GraphqlCall) => {
      call.size.addFields(RESOLVER_FIELDS);
      return resolve(parent, args, call);
    };
  }
}

/** Accepts string literals for enum values, which some clients write (`type: "QB"`). */
function acceptStrings(type: { coerceInputLiteral: (node: never, hide?: boolean | null) => unknown }): void {
  const original = type.coerceInputLiteral.bind(type) as (node: object, hide?: boolean | null) => unknown;
  type.coerceInputLiteral = (node: { kind: string; value?: unknown }, hide) =>
    original(node.kind === Kind.STRING ? { ...node, kind: Kind.ENUM } : node, hide);
}
