/** Returns the records whose text contains the search term, ignoring case; the same array if the term is blank. */
export function findRecords<Item>(
  items: readonly Item[],
  search: string,
  textOf: (item: Item) => string,
): readonly Item[] {
  const term = search.trim().toLowerCase();
  return term === '' ? items : items.filter((item) => textOf(item).toLowerCase().includes(term));
}
