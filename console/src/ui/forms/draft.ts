/**
 * Unsaved changes of forms, kept in the tab's session storage: a reload or a wrong click loses nothing. Secrets are left out: what
 * is in fields for them, and values of environment variables except references to secrets.
 */

const PREFIX = 'podyard-draft:';
const SECRET_FIELDS = new Set(['password', 'current', 'value', 'secret', 'token', 'privateKey', 'webhook', 'url']);
const REFERENCE = /^\s*\{\{\s*RUNPOD_SECRET_[^{}]+\}\}\s*$/;

interface Draft {
  /** A hash of the initial values: a draft is dropped if the settings have changed since. */
  base: string;
  values: unknown;
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Returns the kept values of a form that begins with `initial`; null if there are none. */
export function readDraft<Values>(store: Store, key: string, initial: Values): Values | null {
  try {
    const draft = JSON.parse(store.getItem(PREFIX + key) ?? 'null') as Draft | null;
    if (draft === null || draft.base !== baseOf(initial)) return null;
    return draft.values as Values;
  } catch {
    return null;
  }
}

/** Keeps the values of a form. A store that is full keeps none. */
export function writeDraft<Values>(store: Store, key: string, initial: Values, values: Values): void {
  try {
    store.setItem(PREFIX + key, JSON.stringify({ base: baseOf(initial), values: withoutSecrets(values) }));
  } catch {
    store.removeItem(PREFIX + key);
  }
}

export function dropDraft(store: Store, key: string): void {
  store.removeItem(PREFIX + key);
}

/** The initial values, as a number: they may hold what must not be stored. */
function baseOf(initial: unknown): string {
  let hash = 0;
  for (const character of JSON.stringify(initial)) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0;
  return String(hash);
}

/** Returns the values with nothing secret in them. */
export function withoutSecrets<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutSecrets) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    if (!SECRET_FIELDS.has(name) || typeof member !== 'string') return [name, withoutSecrets(member)];
    return [name, REFERENCE.test(member) ? member : ''];
  });
  return Object.fromEntries(members) as Value;
}
