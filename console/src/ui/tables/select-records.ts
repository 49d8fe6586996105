/** By what a list is sorted. */
export interface Sort {
  key: string;
  isDescending: boolean;
}

/** A value that records are sorted by. Null comes last in both directions. */
export type SortValue = string | number | null;

/** `-cost` is descending by cost. */
export function parseSort(text: string | null, keys: readonly string[], fallback: Sort): Sort {
  const isDescending = text?.startsWith('-') ?? false;
  const key = isDescending ? text!.slice(1) : text;
  return key !== null && keys.includes(key) ? { key, isDescending } : fallback;
}

export function sortText({ key, isDescending }: Sort): string {
  return isDescending ? `-${key}` : key;
}

/** Returns the records in order; equal ones keep theirs. Texts are compared in the reader's language. */
export function sortRecords<Item>(
  items: readonly Item[],
  toValue: (item: Item) => SortValue,
  isDescending: boolean,
): readonly Item[] {
  const sign = isDescending ? -1 : 1;
  return items
    .map((item) => ({ item, value: toValue(item) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return sign * compare(a.value, b.value);
    })
    .map(({ item }) => item);
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : COLLATOR.compare(String(a), String(b));
}

/** Returns the records whose text contains the search term, ignoring case; the same array if the term is blank. */
export function findRecords<Item>(
  items: readonly Item[],
  search: string,
  textOf: (item: Item) => string,
): readonly Item[] {
  const term = search.trim().toLowerCase();
  return term === '' ? items : items.filter((item) => textOf(item).toLowerCase().includes(term));
}

/** Returns how many records are in each state that some have, in the order of the states. */
export function countStates<Item>(
  items: readonly Item[],
  stateOf: (item: Item) => string,
  order: readonly string[],
): { state: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(stateOf(item), (counts.get(stateOf(item)) ?? 0) + 1);
  const rank = (state: string) => (order.includes(state) ? order.indexOf(state) : order.length);
  return [...counts].map(([state, count]) => ({ state, count })).sort((a, b) => rank(a.state) - rank(b.state));
}
