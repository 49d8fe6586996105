import type { Ajv, SchemaValidateFunction } from 'ajv';

/**
 * Replaces Ajv's `uniqueItems`, which compares each object with each other and calls a `toString` or `valueOf` that a client sent:
 * null there is an exception, and 100,000 different objects keep the process busy for minutes. The message is the same.
 */
export function useUniqueItems<Validator extends Pick<Ajv, 'addKeyword' | 'removeKeyword'>>(ajv: Validator): Validator {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: 'full',
    validate: validateUnique,
  });
  return ajv;
}

const validateUnique: SchemaValidateFunction = (isOn: boolean, items: unknown[]) => {
  const repeated = isOn ? findRepeated(items) : null;
  if (repeated === null) return true;
  const message = `must NOT have duplicate items (items ## ${repeated[1]} and ${repeated[0]} are identical)`;
  validateUnique.errors = [{ keyword: 'uniqueItems', message, params: {} }];
  return false;
};

function findRepeated(items: readonly unknown[]): [number, number] | null {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const text = JSON.stringify(item, inOrder);
    const earlier = seen.get(text);
    if (earlier !== undefined) return [earlier, index];
    seen.set(text, index);
  }
  return null;
}

/** The order of members does not distinguish objects. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
