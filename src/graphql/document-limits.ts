import { type DocumentNode, Kind, type OperationDefinitionNode, type SelectionSetNode, TokenKind } from 'graphql';
import { Failure } from '../core/errors.ts';

/**
 * Limits of a document, checked before validation, since some validation rules take quadratic time in the number of fields.
 * Real clients stay far below: the introspection query of common tools costs about 300 and is 14 levels deep.
 */
export const PARSE_LIMITS = { maxLexicalTokens: 15_000, maxComments: 1_000 };
const MAX_DEPTH = 16;
/** Nesting of brackets of any kind, including literals: walking a value recurses for each level. */
const MAX_NESTING = 64;
const MAX_COST = 1_000;
/** Cost of a field by depth: a root field runs an operation, a field below it often reads a list. */
const FIELD_COSTS = [20, 5];

interface Size {
  cost: number;
  depth: number;
}

/** Throws `badRequest` for a document that is too deep or too costly, or whose fragments contain themselves. */
export function checkLimits(document: DocumentNode): void {
  if (isNestedTooDeep(document)) throw tooDeep('The document');
  const sizeOf = fragmentAwareSize(document);
  let cost = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) continue;
    const isRoot = definition.kind === Kind.OPERATION_DEFINITION;
    const size = sizeOf(definition.selectionSet, isRoot ? 0 : FIELD_COSTS.length);
    // Unused variables are allowed, so their number needs a limit of its own.
    cost += definition.variableDefinitions?.length ?? 0;
    if (size.depth > MAX_DEPTH) {
      throw new Failure('badRequest', `The document is more than ${MAX_DEPTH} fields deep.`);
    }
    cost += size.cost;
  }
  if (cost > MAX_COST) {
    throw new Failure(
      'badRequest',
      `The document is too costly: its cost is above ${MAX_COST}. Split it into several.`,
    );
  }
}

/** Throws `badRequest` for a JSON value that is nested deeper than a document may be. */
export function checkNesting(value: unknown, name: string, levels = MAX_NESTING): void {
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw tooDeep(name);
  for (const inner of Object.values(value)) checkNesting(inner, name, levels - 1);
}

function tooDeep(what: string): Failure {
  return new Failure('badRequest', `${what} is nested more than ${MAX_NESTING} levels deep.`);
}

function isNestedTooDeep({ loc }: DocumentNode): boolean {
  let depth = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) {
    const { kind } = token;
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth++;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R) depth--;
    if (depth > MAX_NESTING) return true;
  }
  return false;
}

/** Returns the size of a selection at a depth, counting each fragment as often as it is spread. Walks each fragment once per depth class. */
function fragmentAwareSize(document: DocumentNode): (selectionSet: SelectionSetNode, depth: number) => Size {
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition.selectionSet] as const] : [],
    ),
  );
  const known = new Map<string, Size>();
  const open = new Set<string>();
  const sizeOf = (selectionSet: SelectionSetNode, depth: number): Size => {
    const total: Size = { cost: 0, depth: 0 };
    const add = ({ cost, depth: own }: Size) => {
      total.cost += cost;
      total.depth = Math.max(total.depth, own);
    };
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) add(sizeOfFragment(selection.name.value, depth));
      else if (selection.kind === Kind.INLINE_FRAGMENT) add(sizeOf(selection.selectionSet, depth));
      else {
        const inner = selection.selectionSet ? sizeOf(selection.selectionSet, depth + 1) : { cost: 0, depth: 0 };
        add({ cost: (FIELD_COSTS[depth] ?? 1) + inner.cost, depth: 1 + inner.depth });
      }
    }
    return total;
  };
  const sizeOfFragment = (name: string, depth: number): Size => {
    const key = `${Math.min(depth, FIELD_COSTS.length)} ${name}`;
    const before = known.get(key);
    if (before) return before;
    const selectionSet = fragments.get(name);
    if (!selectionSet) return { cost: 0, depth: 0 }; // validation reports it
    if (open.has(name)) throw new Failure('badRequest', `The fragment "${name}" contains itself.`);
    open.add(name);
    const size = sizeOf(selectionSet, depth);
    open.delete(name);
    known.set(key, size);
    return size;
  };
  return sizeOf;
}

/** Returns how many operations a request runs: its root fields, including fragments. Only for a document within limits. */
export function countRootFields(document: DocumentNode, operation: OperationDefinitionNode): number {
  const count = (selectionSet: SelectionSetNode): number =>
    selectionSet.selections.reduce((sum, selection) => {
      if (selection.kind === Kind.FIELD) return sum + (selection.name.value.startsWith('__') ? 0 : 1);
      if (selection.kind === Kind.INLINE_FRAGMENT) return sum + count(selection.selectionSet);
      const fragment = document.definitions.find(
        (one) => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === selection.name.value,
      );
      return sum + (fragment?.kind === Kind.FRAGMENT_DEFINITION ? count(fragment.selectionSet) : 0);
    }, 0);
  return count(operation.selectionSet);
}
