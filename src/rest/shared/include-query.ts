import { Type } from './type.ts';

/** A query with our own `include`: a comma list of words. Unknown words are ignored, as unknown parameters are. */
export function includeQuery(description: string) {
  return Type.Object({ include: Type.Optional(Type.String({ description: `Podyard only. ${description}` })) });
}

/** True if the request asks for `word`. */
export function includes({ include }: { include?: string }, word: string): boolean {
  return include?.split(',').some((one) => one.trim().toUpperCase() === word) ?? false;
}
