import type { RestApp, RestDeps } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';

/** Adds one operation of version 1 to its app. */
export type V1Route = (app: RestApp, deps: RestDeps) => void;

export const IdParams = Type.Object({ id: Type.String({ description: 'Identifier of the record.' }) });

/** A query flag that adds something to the answer. */
export function flag(description: string) {
  return Type.Optional(Type.Boolean({ default: false, description }));
}

/** Values of a repeated query parameter. */
export function anyOf(description: string) {
  return Type.Optional(Type.Array(Type.String(), { description }));
}

/** Every update has two spellings in version 1. */
export const UPDATES = [
  ['PATCH', '', 'Update'],
  ['POST', '/update', 'UpdateByPost'],
] as const;
