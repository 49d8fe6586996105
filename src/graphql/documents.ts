import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  NoUnusedVariablesRule,
  OverlappingFieldsCanBeMergedRule,
  parse,
  recommendedRules,
  specifiedRules,
  type Token,
  TokenKind,
  type TypeNode,
  ValuesOfCorrectTypeRule,
  VariablesInAllowedPositionRule,
  validate,
} from 'graphql';
import { BoundedMap, BoundedSet } from '../core/bounded-map.ts';
import { Failure } from '../core/errors.ts';
import { badTexts } from '../http/bad-texts.ts';
import { checkLimits, PARSE_LIMITS } from './document-limits.ts';
import { VariablesFitRule } from './variables-fit-rule.ts';

/** Names that input types had in earlier versions, or have in other versions of the public API, and their present ones. */
const PRESENT: Readonly<Record<string, string>> = {
  DeployCpuPodInput: 'deployCpuPodInput',
  CpuFlavorFilter: 'CpuFlavorInput',
};

/** Replaces former names of types in declared variables, so that documents with them stay valid. */
function renameTypes(document: DocumentNode): void {
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    for (const { type } of definition.variableDefinitions ?? []) rename(type);
  }
}

function rename(declared: TypeNode): void {
  let type = declared;
  while (type.kind !== Kind.NAMED_TYPE) type = type.type;
  const name = type.name as { value: string };
  if (Object.hasOwn(PRESENT, name.value)) name.value = PRESENT[name.value]!;
}

/** A document that may run, or its errors. */
export type Prepared = { document: DocumentNode; errors?: undefined } | { errors: readonly GraphQLError[] };

const MAX_CACHED = 500;
const MAX_CACHED_LENGTH = 16_384;
const MAX_ERRORS = 20;
/** The rules that literal values can violate (`f(a: 1) f(a: 2)` cannot be merged). */
const VALUE_RULES = [ValuesOfCorrectTypeRule, OverlappingFieldsCanBeMergedRule];
const VALUES: ReadonlySet<string> = new Set([
  TokenKind.STRING,
  TokenKind.BLOCK_STRING,
  TokenKind.INT,
  TokenKind.FLOAT,
  TokenKind.COMMENT,
]);

/**
 * Parses, validates and caches documents. Clients that use variables send few different texts, which are cached whole.
 * Clients that write values into the document send few shapes (a document without its values): once a shape was valid, only
 * its values are validated, a quarter of the work. Values are never cached: they may be secret.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules;
  readonly #documents = new BoundedMap<string, DocumentNode>(MAX_CACHED);
  readonly #shapes = new BoundedSet<string>(MAX_CACHED);

  constructor(schema: GraphQLSchema, isIntrospectable: boolean) {
    this.#schema = schema;
    this.#rules = [
      // Some clients declare variables that they do not use.
      ...specifiedRules
        .filter((rule) => rule !== NoUnusedVariablesRule)
        .map((rule) => (rule === VariablesInAllowedPositionRule ? VariablesFitRule : rule)),
      ...recommendedRules,
      ...(isIntrospectable ? [] : [NoSchemaIntrospectionCustomRule]),
    ];
  }

  /** Throws `badRequest` for a document beyond the limits. */
  prepare(text: string): Prepared {
    const known = this.#documents.get(text);
    if (known) return { document: known };
    let document: DocumentNode;
    try {
      document = parse(text, PARSE_LIMITS);
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] };
      // The parser recurses for each level and ran out of stack.
      if (error instanceof RangeError) throw new Failure('badRequest', 'The document is nested too deep.');
      throw error;
    }
    checkLimits(document);
    renameTypes(document);
    if (text.includes('\\u')) checkEscapes(document);
    const { shape, hasValues } = shapeOf(document);
    const rules = this.#shapes.has(shape) ? VALUE_RULES : this.#rules;
    const errors = validate(this.#schema, document, rules, { maxErrors: MAX_ERRORS, hideSuggestions: true });
    if (errors.length > 0) return { errors };
    if (shape.length <= MAX_CACHED_LENGTH) {
      if (hasValues) this.#shapes.add(shape);
      else if (text.length <= MAX_CACHED_LENGTH) this.#documents.set(text, document);
    }
    return { document };
  }
}

/** Throws `badRequest` for a literal that PostgreSQL cannot store: only an escape can produce one. */
function checkEscapes({ loc }: DocumentNode): void {
  for (let token: Token | null | undefined = loc?.startToken; token; token = token.next) {
    const [problem] = VALUES.has(token.kind) ? badTexts(token.value, 'A literal of the document') : [];
    if (problem !== undefined) throw new Failure('badRequest', problem);
  }
}

/** Returns the document's tokens, with values reduced to their kind. Comments count as values: they may contain some. */
function shapeOf({ loc }: DocumentNode): { shape: string; hasValues: boolean } {
  let shape = '';
  let hasValues = false;
  for (let token: Token | null | undefined = loc?.startToken; token; token = token.next) {
    const isValue = VALUES.has(token.kind);
    if (token.kind !== TokenKind.COMMENT) shape += isValue ? `<${token.kind}>` : ` ${token.value ?? token.kind}`;
    hasValues ||= isValue;
  }
  return { shape, hasValues };
}
