import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  OverlappingFieldsCanBeMergedRule,
  parse,
  recommendedRules,
  specifiedRules,
  type Token,
  TokenKind,
  ValuesOfCorrectTypeRule,
  VariablesInAllowedPositionRule,
  validate,
} from 'graphql';
import { Failure } from '../core/errors.ts';
import { badTexts } from '../http/bad-texts.ts';
import { checkLimits, PARSE_LIMITS } from './document-limits.ts';
import { VariablesFitRule } from './variables-fit-rule.ts';

/** A document that may run, or why it may not. Refused ones are not kept: the next is another one anyway. */
export type Prepared = { document: DocumentNode; errors?: undefined } | { errors: readonly GraphQLError[] };

const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 16_384;
const MAX_ERRORS = 20;
/** All that a value written into a document can make wrong (`f(a: 1) f(a: 2)` cannot be merged). */
const VALUE_RULES = [ValuesOfCorrectTypeRule, OverlappingFieldsCanBeMergedRule];
const VALUES: ReadonlySet<string> = new Set([
  TokenKind.STRING,
  TokenKind.BLOCK_STRING,
  TokenKind.INT,
  TokenKind.FLOAT,
  TokenKind.COMMENT,
]);

/**
 * Parses and validates documents, and remembers those that come again. Clients with variables send few different texts: these are kept
 * whole. Clients that write values into the document send few shapes, which is a document without its values: of a shape that
 * was valid once only the values are validated, which is a quarter of the work. No value is kept, for it may be secret.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules;
  readonly #documents = new Map<string, DocumentNode>();
  readonly #shapes = new Map<string, true>();

  constructor(schema: GraphQLSchema, isIntrospectable: boolean) {
    this.#schema = schema;
    this.#rules = [
      ...specifiedRules.map((rule) => (rule === VariablesInAllowedPositionRule ? VariablesFitRule : rule)),
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
      // The parser calls itself for each level: what is too deep for the stack is too deep.
      if (error instanceof RangeError) throw new Failure('badRequest', 'The document is nested too deep.');
      throw error;
    }
    checkLimits(document);
    if (text.includes('\\u')) checkEscapes(document);
    const { shape, hasValues } = shapeOf(document);
    const rules = this.#shapes.has(shape) ? VALUE_RULES : this.#rules;
    const errors = validate(this.#schema, document, rules, { maxErrors: MAX_ERRORS, hideSuggestions: true });
    if (errors.length > 0) return { errors };
    if (shape.length <= MAX_KEPT_LENGTH) {
      if (hasValues) keep(this.#shapes, shape, true);
      else if (text.length <= MAX_KEPT_LENGTH) keep(this.#documents, text, document);
    }
    return { document };
  }
}

/** Throws `badRequest` for a literal that the database cannot store: only an escape can bring such a character. */
function checkEscapes({ loc }: DocumentNode): void {
  for (let token: Token | null | undefined = loc?.startToken; token; token = token.next) {
    const [problem] = VALUES.has(token.kind) ? badTexts(token.value, 'A literal of the document') : [];
    if (problem !== undefined) throw new Failure('badRequest', problem);
  }
}

/** Its tokens, those that are values by their kind alone; comments count as values, because they may hold some. */
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

/** The one that came first leaves a full memory. */
function keep<T>(memory: Map<string, T>, key: string, value: T): void {
  memory.set(key, value);
  if (memory.size > MAX_KEPT) memory.delete(memory.keys().next().value!);
}
