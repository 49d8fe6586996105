import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  recommendedRules,
  specifiedRules,
  TokenKind,
  VariablesInAllowedPositionRule,
  validate,
} from 'graphql';
import { Failure } from '../core/errors.ts';
import { checkLimits, PARSE_LIMITS } from './document-limits.ts';
import { VariablesFitRule } from './variables-fit-rule.ts';

/** A document that may run, or why it may not. Refused ones are not kept: the next is another one anyway. */
export type Prepared = { document: DocumentNode; errors?: undefined } | { errors: readonly GraphQLError[] };

const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 16_384;
const MAX_ERRORS = 20;

/**
 * Parses and validates documents, and keeps those that come again: clients with variables send few. What has values written into it
 * is used once, and may hold secrets: it is not kept.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules;
  readonly #kept = new Map<string, DocumentNode>();

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
    const known = this.#kept.get(text);
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
    const errors = validate(this.#schema, document, this.#rules, { maxErrors: MAX_ERRORS, hideSuggestions: true });
    if (errors.length > 0) return { errors };
    if (text.length <= MAX_KEPT_LENGTH && !holdsTexts(document)) this.#keep(text, document);
    return { document };
  }

  /** The one that came first leaves a full memory. */
  #keep(text: string, document: DocumentNode): void {
    this.#kept.set(text, document);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }
}

function holdsTexts({ loc }: DocumentNode): boolean {
  for (let token = loc?.startToken; token; token = token.next ?? undefined) {
    if (token.kind === TokenKind.STRING || token.kind === TokenKind.BLOCK_STRING || token.kind === TokenKind.COMMENT)
      return true;
  }
  return false;
}
