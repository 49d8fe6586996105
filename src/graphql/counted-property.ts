import { defaultFieldResolver, type GraphQLFieldResolver, getNamedType, isLeafType } from 'graphql';
import type { GraphqlCall } from './graphql-call.ts';

/** Reads a field that is a property of its record, and counts it. */
export const countedProperty: GraphQLFieldResolver<unknown, GraphqlCall> = (record, args, call, info) => {
  const value = defaultFieldResolver(record, args, call, info);
  call.size.addFields(1);
  if (typeof value === 'string') call.size.addText(value.length);
  else if (typeof value === 'object' && value !== null) {
    if (isLeafType(getNamedType(info.returnType)))
      call.size.addText(JSON.stringify(value).length); // texts, or JSON
    else if (Array.isArray(value)) {
      call.size.addFields(value.length);
      return call.inTurns(value, (part) => part);
    }
  }
  return value;
};
