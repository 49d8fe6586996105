/** Shows a schema of an OpenAPI description as nested lists of its fields. */
import { escapeHtml } from './html.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: (string | number | boolean | null)[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  examples?: unknown[];
}

/** Longer patterns are for programs. The field's description has them in words. */
const READABLE_PATTERN = 40;
/** Limits above are those of the number's type, not of the field. */
const LARGEST_SAID = 1_000_000_000;

/** Returns the fields of an object, or what else a body is. `linkOf` gives the URL of a named schema. */
export function fieldsOf(schema: Schema, linkOf: (name: string) => string): string {
  const object = innerOf(schema);
  const parts: string[] = [];
  if (object.properties) {
    const items = Object.entries(object.properties).map(([name, field]) => {
      const isRequired = object.required?.includes(name) ? ' <strong>required</strong>' : '';
      return `<li><code>${escapeHtml(name)}</code> <span>${typeOf(field, linkOf)}</span>${isRequired}${aboutOf(field, linkOf)}</li>`;
    });
    parts.push(`<ul class="fields">${items.join('\n')}</ul>`);
  }
  const variants = (object.oneOf ?? object.anyOf ?? []).filter(({ properties }) => properties);
  for (const [i, variant] of variants.entries()) {
    parts.push(`<p class="variant">${i === 0 ? 'Either' : 'or'}:</p>${fieldsOf(variant, linkOf)}`);
  }
  return parts.join('\n');
}

/** The object in a list, or in a map by name; else the schema. */
function innerOf(schema: Schema): Schema {
  const inner =
    schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
  if (schema.properties || !inner) return schema;
  return innerOf(inner);
}

function aboutOf(field: Schema, linkOf: (name: string) => string): string {
  const sentences = [
    textOf(field.description ?? ''),
    ...factsOf(innerOf(field) === field ? field : innerOf(field), field),
  ];
  const text = sentences.filter(Boolean).join(' ');
  return `${text ? `<p>${text}</p>` : ''}${fieldsOf(field, linkOf)}`;
}

/** Returns what a value is, in words: `array of strings`, `integer or null`. */
export function typeOf(schema: Schema, linkOf: (name: string) => string): string {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1)!;
    return `<a href="${linkOf(name)}">${escapeHtml(name)}</a>`;
  }
  const choices = schema.anyOf ?? (schema.properties ? undefined : schema.oneOf);
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, linkOf)))].join(' or ');
  if (schema.const !== undefined) return codeOf(schema.const);
  const types = [schema.type ?? (schema.properties ? 'object' : 'any')].flat();
  return types
    .map((type) => {
      if (type === 'array') return `array of ${typeOf(schema.items ?? {}, linkOf)}`;
      if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties)
        return `map of ${typeOf(schema.additionalProperties, linkOf)}`;
      return type === 'string' && schema.format ? escapeHtml(schema.format) : type;
    })
    .join(' or ');
}

function factsOf(value: Schema, field: Schema): string[] {
  const facts: string[] = [];
  if (value.enum) facts.push(`One of ${value.enum.map(codeOf).join(', ')}.`);
  if (value.pattern && value.pattern.length <= READABLE_PATTERN) facts.push(`Matches ${codeOf(value.pattern)}.`);
  if (value.minLength && value.minLength > 1) facts.push(`At least ${value.minLength} characters.`);
  if (value.maxLength) facts.push(`At most ${value.maxLength} characters.`);
  if (field.minItems) facts.push(`At least ${field.minItems}.`);
  if (field.maxItems) facts.push(`At most ${field.maxItems}.`);
  facts.push(rangeOf(value));
  if (field.default !== undefined) facts.push(`Default: ${codeOf(field.default)}.`);
  return facts.filter(Boolean);
}

function rangeOf({ minimum, maximum }: Schema): string {
  const most = maximum !== undefined && maximum < LARGEST_SAID ? maximum : undefined;
  if (minimum !== undefined && most !== undefined) return `${minimum} to ${most}.`;
  if (minimum !== undefined) return `At least ${minimum}.`;
  return most === undefined ? '' : `At most ${most}.`;
}

/** Returns a description as HTML: code in backquotes is marked. */
export function textOf(description: string): string {
  return escapeHtml(description).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function codeOf(value: unknown): string {
  return `<code>${escapeHtml(typeof value === 'string' ? value || '""' : JSON.stringify(value))}</code>`;
}
